#include "traces/ddp_logging/reports.h"

#include <algorithm>
#include <array>
#include <utility>

#include "traces/text/clean_text.h"
#include "traces/text/lines.h"

namespace paceline::traces::ddp_logging {
namespace {

// One of these tells such a dictionary from others.
constexpr std::array own_keys{"bucket_cap_bytes", "avg_backward_comm_time",
                              "total_parameter_size_bytes"};

constexpr std::size_t value_most = 1U << 20U;  // bytes; ten thousand buckets are a tenth of it

bool is_of_numbers(std::string_view text) {
  return text.find_first_not_of("0123456789, ") == std::string_view::npos;
}

bool is_word(char c) { return is_digit(c) || is_letter(c) || contains("_.-+", c); }

// Behind a word of more than one letter, which Python's strings may have before them.
bool is_apostrophe(std::string_view line, std::size_t at) {
  return line[at] == '\'' && at > 1 && is_word(line[at - 1]) && is_word(line[at - 2]);
}

// Dictionaries in the lines of a text, as print(), pprint, rich and json write them: over several
// lines, long strings in pieces, inside others.
class Dictionaries {
 public:
  void take(std::size_t number, std::string_view line) {
    std::size_t at = continued_ == '\0' ? 0 : take_rest_of_list(line);
    while (at < line.size()) {
      if (!is_open_) at = std::min(line.find('{', at), line.size());
      if (at == line.size()) return;
      const char c = line[at];
      if (c == '{') {
        close(true);
        is_open_ = true;
        report_.line = number;
      } else if (c == '}') {
        close(false);
      } else if ((c == '\'' || c == '"') && !is_apostrophe(line, at)) {
        at = take_string(line, at + 1, c);
        continue;
      } else if (is_word(c)) {
        at = take_word(line, at);
        continue;
      } else if (c == ',') {
        end_value();
      } else if (c == ':' && key_.empty()) {
        key_ = std::exchange(last_string_, {});
      }
      ++at;
    }
  }

  // Those that ended, and those of torch's that did not.
  [[nodiscard]] Reports all() && {
    close(true);
    return std::move(found_);
  }

 private:
  // These return where the line goes on. A quote without an end is an apostrophe, but for a list of
  // buckets that a terminal broke.
  std::size_t take_string(std::string_view line, std::size_t at, char quote) {
    std::size_t end = at;
    while (end < line.size() && line[end] != quote) end += line[end] == '\\' ? 2U : 1U;
    if (end < line.size()) {
      add_string(line.substr(at, end - at));
      return end + 1;
    }
    if (key_.empty() || !is_of_numbers(line.substr(at))) return at;
    add_string(line.substr(at));
    continued_ = quote;
    return line.size();
  }

  std::size_t take_rest_of_list(std::string_view line) {
    const std::size_t end = std::min(line.find(continued_), line.size());
    const bool is_list = is_of_numbers(line.substr(0, end));
    if (is_list) add_string(line.substr(0, end));
    if (is_list && end == line.size()) return end;
    continued_ = '\0';
    return is_list ? end + 1 : 0;
  }

  std::size_t take_word(std::string_view line, std::size_t at) {
    const std::size_t begin = at;
    while (at < line.size() && is_word(line[at])) ++at;
    if (!key_.empty() && !value_) value_ = line.substr(begin, std::min(at - begin, value_most));
    return at;
  }

  // Python writes long strings as pieces beside one another.
  void add_string(std::string_view text) {
    if (key_.empty()) {
      last_string_ = text.substr(0, value_most);
      return;
    }
    if (!value_) value_.emplace();
    *value_ += text.substr(0, value_most - std::min(value_most, value_->size()));
  }

  void end_value() {
    if (value_ && kind_of(key_)) report_.values.insert_or_assign(key_, std::move(*value_));
    value_.reset();
    key_.clear();
    last_string_.clear();
  }

  void close(bool is_cut) {
    end_value();
    is_open_ = false;
    Report report = std::exchange(report_, {});
    if (std::ranges::none_of(own_keys,
                             [&](const char* key) { return report.values.contains(key); })) {
      return;
    }
    found_.reports.push_back(std::move(report));
    found_.cut_off += is_cut ? 1 : 0;
  }

  bool is_open_ = false;
  Report report_;
  std::string key_, last_string_;
  std::optional<std::string> value_;
  char continued_ = '\0';  // the quote of a list of numbers that goes on in the next line
  Reports found_;
};

// Empty where a mark is not there.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const auto rest = behind(line, before);
  if (!rest) return {};
  const std::size_t end = after.empty() ? rest->size() : rest->find(after);
  return end == rest->npos ? std::string_view() : trimmed(rest->substr(0, end));
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> runtime_lines{
    {{"Avg forward compute time:", "avg_forward_compute_time"},
     {"Avg backward compute time:", "avg_backward_compute_time"},
     {"Avg backward comm. time:", "avg_backward_comm_time"},
     {"Avg backward comm/comp overlap time:", "avg_backward_compute_comm_overlap_time"},
     {"Gradient comm. hook:", "comm_hook"}}};

// Messages of torch's logger, which go over several lines.
class Messages {
 public:
  void take(std::size_t number, std::string_view line) {
    if (contains(line, "DDP Initialized with:")) {
      begin(number, State::construction);
      put("rank", between(line, "[Rank ", "]"));
    } else if (contains(line, "[Rank ") && contains(line, "] Training ")) {
      begin(number, State::runtime);
      take_heading(line);
    } else if (state_ == State::construction) {
      take_construction(trimmed(line));
    } else if (state_ == State::runtime) {
      take_runtime(trimmed(line));
    }
  }

  [[nodiscard]] Reports all() && {
    end();
    return std::move(found_);
  }

 private:
  enum class State : std::uint8_t { none, construction, runtime };

  void begin(std::size_t number, State state) {
    end();
    state_ = state;
    report_.line = number;
  }

  void end() {
    if (report_.values.size() > 1) found_.reports.push_back(std::move(report_));
    report_ = {};
    state_ = State::none;
  }

  // False for a value that is there: two ranks wrote at once.
  bool put(std::string_view key, std::string_view value) {
    return value.empty() || report_.values.try_emplace(std::string(key), value).second;
  }

  // "[Rank 1 / 2] [before iteration 20] Training Net unused_parameter_size=0"; 1.9: no iteration.
  void take_heading(std::string_view line) {
    put("rank", between(line, "[Rank ", "/"));
    put("world_size", between(line.substr(line.find("[Rank ")), "/", "]"));
    put("iteration", between(line, "iteration ", "]"));
    const std::string_view rest = between(line, "] Training ", "");
    put("module_name", rest.substr(0, rest.find(' ')));
    put("unused_parameter_size", between(line, "unused_parameter_size=", ""));
  }

  void take_construction(std::string_view line) {
    const std::size_t colon = line.find(':');
    const std::string_view key = line.substr(0, colon);
    if (colon == std::string_view::npos || !kind_of(key)) return;
    // The rank stands in the heading, too.
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (put(key, value) || (key == "rank" && report_.text("rank") == value)) return;
    ++found_.mixed;
  }

  void take_runtime(std::string_view line) {
    for (const auto& [beginning, key] : runtime_lines) {
      if (!line.starts_with(beginning)) continue;
      if (!put(key, trimmed(line.substr(beginning.size())))) ++found_.mixed;
      return;
    }
    // Where a page broke the line.
    if (line.starts_with("unused_parameter_size=")) {
      put("unused_parameter_size", between(line, "=", ""));
    }
  }

  State state_ = State::none;
  Report report_;
  Reports found_;
};

}  // namespace

std::optional<Kind> kind_of(std::string_view key) {
  const auto is_of = [&](std::initializer_list<std::string_view> keys) {
    return is_one_of(key, keys);
  };
  if (key.ends_with("_time")) return Kind::nanoseconds;
  if (is_of({"world_size", "rank", "iteration", "num_parameter_tensors"})) return Kind::count;
  if (is_of({"module_name", "backend_name", "dtypes", "comm_hook"})) return Kind::text;
  if (is_of({"total_parameter_size_bytes", "bucket_cap_bytes", "unused_parameter_size"})) {
    return Kind::bytes;
  }
  if (is_of({"bucket_sizes", "rebuilt_bucket_sizes", "rebuilt_bucket_size_limits"})) {
    return Kind::sizes;
  }
  if (is_of({"broadcast_buffers", "find_unused_parameters", "gradient_as_bucket_view",
             "static_graph"})) {
    return Kind::flag;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Report::number(std::string_view key) const {
  const std::string_view value = text(key);
  if (value == "True" || value == "true") return 1;
  if (value == "False" || value == "false") return 0;
  return number_of<std::uint64_t>(value);
}

std::string_view Report::text(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::string_view() : found->second;
}

Reports reports_of(std::string_view text) {
  const CleanText clean(text);
  Dictionaries dictionaries;
  Messages messages;
  for (const CleanLine& line : clean.lines()) {
    dictionaries.take(line.number, line.text);
    messages.take(line.number, line.text);
  }
  Reports all = std::move(dictionaries).all(), logged = std::move(messages).all();
  std::ranges::move(logged.reports, std::back_inserter(all.reports));
  std::ranges::stable_sort(all.reports, {}, &Report::line);
  all.mixed += logged.mixed;
  return all;
}

}  // namespace paceline::traces::ddp_logging
