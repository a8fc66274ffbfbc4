#include <fmt/format.h>

#include <utility>

#include "traces/collective_log/comments.h"
#include "traces/nccl_tests/device_list.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/nccl_tests/row.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using Words = std::vector<std::string_view>;

// "NCCL version 2.8.4-1+cuda11.2", or the code 22903 that nccl-tests print. Empty for neither.
std::string version_in(std::string_view line) {
  constexpr std::string_view library = "nccl-library=", name = "NCCL version";
  constexpr std::string_view digits = "0123456789";
  constexpr std::size_t longest = 16;
  std::string_view word;
  if (const auto at = line.find(library); at != std::string_view::npos) {
    word = line.substr(at + library.size());
  } else if (const auto in = line.find(name); in != std::string_view::npos) {
    const auto rest = line.substr(in + name.size());
    const auto first = rest.find_first_not_of(": v");  // "NCCL version: not stated" has none
    if (first != std::string_view::npos) word = rest.substr(first);
  }
  word = word.substr(0, word.find_first_not_of("0123456789."));
  word = word.substr(0, word.find_last_of(digits) + 1);  // the full stop of a sentence
  if (word.empty() || word.size() > longest || word.front() == '.') return "";
  if (word.find('.') != std::string_view::npos) return std::string(word);
  return version_of_code(number_of<std::uint64_t>(word).value_or(0));
}

// What is left of a row that breaks off before its redop ends: size, count and perhaps the type.
bool is_start_of_row(const Words& words) {
  return words.size() >= 2 && words.size() <= 4 && is_whole_number(words[0]) &&
         is_whole_number(words[1]);
}

// A table is open from its header, or its first row, until the next header, or what describes the
// next run: its devices or comments.
class TextReader {
 public:
  void take(std::size_t number, std::string_view line) {
    const Words words = words_of(line);
    if (words.empty()) return;
    if (begins_row(words)) {
      take_row(number, words);
    } else {
      take_other(number, line, words);
    }
  }

  std::vector<CollectiveLog> logs() && {
    close();
    return std::move(logs_);
  }

 private:
  void take_row(std::size_t number, const Words& words) {
    if (number_of<std::uint64_t>(words[0]) == 0) return;  // sizes too small for an element a rank
    if (!open_) open();
    ParsedRow parsed = row_of(number, words, layout_);
    if (parsed.why_not.empty()) {
      kinds_.push_back(parsed.kind);
      open_->rows.push_back(std::move(parsed.row));
    } else {
      open_->skipped.push_back({number, std::move(parsed.why_not)});
    }
  }

  void take_other(std::size_t number, std::string_view line, const Words& words) {
    if (is_filled() && is_start_of_row(words)) {
      open_->skipped.push_back({number, "the line breaks off"});
      return;
    }
    if (const auto program = program_in(line)) take_program(*program, line);
    if (const auto layout = layout_of(words)) {
      close();
      layout_ = *layout;
      open();
    }
    const bool lists = line.find("Using devices") != std::string_view::npos;
    if (lists || (is_device_line(words) && is_filled())) {
      close();
      devices_ = {};
    }
    take_device_line(line, words, devices_);
    take_comment(comment_of(words));
    take_version(number, line);
  }

  // The line that ends a run names the program once more.
  void take_program(const Program& program, std::string_view line) {
    if (line.find("test concluded") == std::string_view::npos) {
      next_program_ = program;
    } else if (is_filled() && !program_) {
      program_ = program;
    }
  }

  void take_comment(const Comment& said) {
    if (!said.says_something()) return;
    if (is_filled()) {
      close();
      if (said.ranks || said.nodes) devices_ = {};
    }
    if (said.ranks) said_.ranks = said.ranks;
    if (said.nodes) said_.nodes = said.nodes;
    if (said.collective) next_program_ = Program{said.collective};
  }

  void take_version(std::size_t number, std::string_view line) {
    const std::string version = version_in(line);
    if (version.empty()) return;
    if (!version_.empty() && version != version_) {
      throw FormatError(number,
                        fmt::format("is of NCCL {}, what came before of {}", version, version_),
                        "give logs of one version, a file each");
    }
    version_ = version;
  }

  [[nodiscard]] bool is_filled() const {
    return open_ && !(open_->rows.empty() && open_->skipped.empty());
  }

  // What was said of a table came before it, or before the header that is repeated here.
  void open() {
    open_.emplace();
    if (next_program_) program_ = std::exchange(next_program_, std::nullopt);
  }

  void close() {
    if (!is_filled()) return;
    devices_.tell(*open_, 1);
    if (open_->ranks == 0) open_->ranks = said_.ranks.value_or(0);
    if (open_->nodes == 0) open_->nodes = said_.nodes.value_or(0);
    open_->release = version_;
    open_->collective = program_ ? program_->collective : collective_of_kinds();
    logs_.push_back(std::move(*open_));
    open_.reset();
    kinds_.clear();
    program_.reset();
  }

  // The last row has the most telling busbw.
  [[nodiscard]] std::optional<Collective> collective_of_kinds() const {
    for (auto kind = kinds_.rbegin(); kind != kinds_.rend(); ++kind) {
      if (const auto found = collective_of_row(*kind, open_->ranks)) return found;
    }
    return std::nullopt;
  }

  std::vector<CollectiveLog> logs_;
  std::optional<CollectiveLog> open_;
  std::vector<RowKind> kinds_;           // of open_'s rows
  std::optional<Program> program_;       // of open_
  std::optional<Program> next_program_;  // of the next table
  TableLayout layout_;                   // as the last header says
  DeviceList devices_;
  Comment said_;
  std::string version_;
};

}  // namespace

bool is_nccl_tests_text(std::string_view text) {
  return has_line(text, [](std::string_view line) { return begins_row(words_of(line)); });
}

std::vector<CollectiveLog> read_nccl_tests_text(std::string_view text) {
  TextReader reader;
  for_each_line(text,
                [&](std::size_t number, std::string_view line) { reader.take(number, line); });
  auto logs = std::move(reader).logs();
  if (logs.empty()) {
    throw FormatError(0, "has tables of empty buffers only", "give a run with larger sizes");
  }
  return logs;
}

}  // namespace paceline::traces
