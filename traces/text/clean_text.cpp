#include "traces/text/clean_text.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "traces/text/lines.h"
#include "traces/text/prefixes.h"

namespace paceline::traces {
namespace {

constexpr std::string_view nccl_marks[] = {"NCCL INFO ", "NCCL WARN ", "NCCL TRACE "};

// Where a message of NCCL's begins in a line at its mark, from a place on; npos without one.
std::size_t nccl_mark(std::string_view line, std::size_t from = 0) {
  for (std::size_t at = line.find("NCCL ", from); at != line.npos;
       at = line.find("NCCL ", at + 1)) {
    for (const std::string_view mark : nccl_marks) {
      if (line.substr(at).starts_with(mark)) return at;
    }
  }
  return std::string_view::npos;
}

bool is_of_host(char c) { return is_letter(c) || is_digit(c) || contains("-._", c); }

// "node-a:1001:1011 [0] NCCL INFO ...": where the host begins and ends. nullopt: no such prefix.
struct HostPlace {
  std::size_t start, end;
};

std::optional<HostPlace> host_before(std::string_view line, std::size_t mark) {
  std::size_t at = line.substr(0, mark).rfind('[');
  if (at == std::string_view::npos) return std::nullopt;
  while (at > 0 && line[at - 1] == ' ') --at;
  for (int part = 0; part < 2; ++part) {  // thread and process
    const std::size_t colon = line.substr(0, at).rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    if (!is_whole_number(line.substr(colon + 1, at - colon - 1))) return std::nullopt;
    at = colon;
  }
  std::size_t start = at;
  while (start > 0 && is_of_host(line[start - 1])) --start;
  return HostPlace{start, at};
}

bool is_blank(std::string_view text) { return trimmed(text).empty(); }

// Two numbers and a word: what a line of a table begins with.
bool begins_table_line(std::string_view line) {
  const auto words = words_of(line.substr(0, 256));
  return words.size() >= 3 && is_whole_number(words[0]) && is_whole_number(words[1]) &&
         !number_of<double>(words[2]);
}

class Hosts {
 public:
  void take(std::string_view line) {
    const std::size_t mark = nccl_mark(line);
    const auto host = mark == std::string_view::npos ? std::nullopt : host_before(line, mark);
    if (host && host->start == 0 && host->end > 0) {
      const std::string_view name = line.substr(0, host->end);
      // "16node-a" may be a number of a line that was broken before "node-a".
      const bool may_be_glued = is_digit(name.front());
      if (!may_be_glued || !seen_.insert(name).second) names_.insert(name);
    }
    const std::size_t on = line.find(" on ");  // "Rank  0 Pid 7 on node-a device  0"
    if (on == std::string_view::npos || line.find(" device ", on) == std::string_view::npos) return;
    const auto words = words_of(line.substr(on + 4));
    if (words.size() > 1 && words[1] == "device") names_.insert(words[0]);
  }

  // Where the longest known name begins that the text ends with; its length for none.
  [[nodiscard]] std::size_t start_in(std::string_view text) const {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (names_.contains(text.substr(at))) return at;
    }
    return text.size();
  }

 private:
  std::unordered_set<std::string_view> names_, seen_;
};

// Makes lines whole that a message broke in two.
class Mender {
 public:
  explicit Mender(std::span<const CleanLine> lines, std::deque<std::string>& made,
                  std::map<std::string, std::size_t>& changes)
      : made_(made), changes_(changes) {
    for (const CleanLine& line : lines) hosts_.take(line.text);
    out_.reserve(lines.size());
    for (const CleanLine& line : lines) take(line);
    flush();
  }

  [[nodiscard]] std::vector<CleanLine> lines() && { return std::move(out_); }
  [[nodiscard]] const std::vector<CleanLine>& lost() const { return lost_; }

 private:
  void take(const CleanLine& line) {
    std::size_t mark = nccl_mark(line.text);
    if (mark == std::string_view::npos) return take_other(line);
    const MessageStart message = start_of_message(line.text, mark);
    const std::string_view before = line.text.substr(0, message.at);
    if (!is_blank(before) || !message.is_sure) {
      flush();
      broken_ = CleanLine{line.number, line.column, before, line.writer};
      is_sure_ = message.is_sure;
    }
    // Several may stand on a line.
    for (std::size_t at = message.at; at < line.text.size();) {
      const std::size_t next = nccl_mark(line.text, mark + 1);
      const std::size_t end = next == line.text.npos
                                  ? line.text.size()
                                  : std::max(start_of_message(line.text, next).at, mark + 1);
      out_.push_back({line.number, line.column + at, line.text.substr(at, end - at), line.writer});
      mark = next;
      at = end;
    }
  }

  struct MessageStart {
    std::size_t at;
    bool is_sure;
  };

  [[nodiscard]] MessageStart start_of_message(std::string_view line, std::size_t mark) const {
    const auto host = host_before(line, mark);
    if (!host) return {mark, false};
    const std::string_view name = line.substr(host->start, host->end - host->start);
    const std::size_t known = hosts_.start_in(name);
    if (known < name.size()) return {host->start + known, true};
    // What may stand glued to an unknown name goes with it.
    const bool may_be_glued = name.empty() || (is_digit(name.front()));
    return {host->start, is_blank(line.substr(0, host->start)) && !may_be_glued};
  }

  // What follows a broken line is its end, or where that is lost the table's next line.
  void take_other(const CleanLine& line) {
    if (!broken_ || is_blank(line.text)) return add(line);
    const bool is_end = !begins_table_line(line.text) && is_blank_or_digit(line.text.front()) &&
                        broken_->writer == line.writer;
    if (!is_end) {
      flush();
      return add(line);
    }
    if (!is_sure_) {  // neither part is whole
      flush();
      return lose(line);
    }
    const std::string& whole =
        made_.emplace_back(std::string(broken_->text) + std::string(line.text));
    add({broken_->number, broken_->column, whole, line.writer, true});
    ++changes_["line that a message broke"];
    broken_.reset();
  }

  [[nodiscard]] static bool is_blank_or_digit(char c) {
    return is_digit(c) || contains(" \t.-", c);
  }

  // A beginning without its end is left out: what it says may be cut.
  void flush() {
    if (broken_) {
      ++changes_["line that a message broke, left out"];
      lose(*broken_);
    }
    broken_.reset();
  }

  void lose(const CleanLine& part) {
    const std::string_view text = trimmed(part.text);
    const bool is_of_row = !text.empty() && is_digit(text.front());
    loses_more_than_rows_ = loses_more_than_rows_ || !is_of_row;
    lost_.push_back(part);
  }

  void add(CleanLine line) {
    line.follows_loss = std::exchange(loses_more_than_rows_, false);
    out_.push_back(line);
  }

  std::deque<std::string>& made_;
  std::map<std::string, std::size_t>& changes_;
  Hosts hosts_;
  bool loses_more_than_rows_ = false;  // since the last line
  std::vector<CleanLine> out_, lost_;
  std::optional<CleanLine> broken_;  // its beginning, whose end may follow
  bool is_sure_ = false;             // all of it is there
};

// By name, in the order of their first lines.
class Writers {
 public:
  std::size_t of(const std::string& name) {
    if (name == last_ && !numbers_.empty()) return last_number_;
    last_ = name;
    last_number_ = numbers_.try_emplace(name, numbers_.size()).first->second;
    return last_number_;
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::string last_;
  std::size_t last_number_ = 0;
};

}  // namespace

CleanText::CleanText(std::string_view text) {
  const bool has_codes = may_have_codes(text);
  const Prefixes prefixes(text);
  Writers writers;
  std::string writer;
  for_each_line(text, [&](std::size_t number, std::string_view line) {
    std::string_view clean = line;
    if (has_codes) {
      if (auto plain = without_codes(line)) clean = made_.emplace_back(std::move(*plain));
    }
    const std::size_t before = clean.size();
    writer.clear();
    clean.remove_prefix(prefixes.length(clean, writer, changes_));
    const std::size_t of = writers.of(writer);
    if (writer.empty()) nameless_ = of;
    lines_.push_back({number, before - clean.size() + 1, clean, of});
  });
  if (writers.size() > 1) {
    std::vector<std::vector<CleanLine>> by_writer(writers.size());
    for (const CleanLine& line : lines_) by_writer[line.writer].push_back(line);
    lines_.clear();
    for (const auto& lines : by_writer) lines_.insert(lines_.end(), lines.begin(), lines.end());
  }
  if (!contains(text, "NCCL")) return;
  Mender mender(lines_, made_, changes_);
  broken_ = mender.lost();
  lines_ = std::move(mender).lines();
}

std::vector<std::span<const CleanLine>> CleanText::by_writer() const {
  std::vector<std::span<const CleanLine>> writers;
  const std::span<const CleanLine> all(lines_);
  std::size_t start = 0;
  for (std::size_t i = 1; i <= all.size(); ++i) {
    const bool is_next = i == all.size() || all[i].writer != all[i - 1].writer;
    if (!is_next || (i < all.size() && nameless_ == all[i - 1].writer)) continue;
    writers.push_back(all.subspan(start, i - start));
    start = i;
  }
  return writers;
}

std::string_view kind_of_foreign(std::string_view line) {
  const std::string_view rest = trimmed(line);
  if (rest.empty()) return "";
  if (nccl_mark(line) != std::string_view::npos) return "NCCL's log";
  if (rest.starts_with("```") || rest.starts_with("#") || rest.starts_with("*")) return "Markdown";
  if (rest.starts_with("srun:") || rest.starts_with("slurmstepd:") || rest.starts_with("salloc:")) {
    return "Slurm";
  }
  if (contains_any(line, {"OpenFabrics", "Open MPI", "mpirun", "prterun", "MPI_", "UCX"}) ||
      rest.starts_with("-----") || rest.starts_with("=====")) {
    return "MPI";
  }
  if (rest.starts_with("$ ") || rest.starts_with("+ ") || rest.starts_with("# ")) return "shell";
  return "other";
}

}  // namespace paceline::traces
