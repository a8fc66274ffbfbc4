#include "traces/ddp_logging/dictionaries.h"

#include <algorithm>
#include <array>
#include <utility>

namespace paceline::traces::ddp_logging {
namespace {

constexpr std::array<std::string_view, 33> known_keys{"world_size",
                                                      "rank",
                                                      "iteration",
                                                      "module_name",
                                                      "backend_name",
                                                      "num_parameter_tensors",
                                                      "total_parameter_size_bytes",
                                                      "dtypes",
                                                      "bucket_cap_bytes",
                                                      "bucket_sizes",
                                                      "initial_bucket_size_limits",
                                                      "has_rebuilt_buckets",
                                                      "rebuilt_bucket_sizes",
                                                      "rebuilt_bucket_size_limits",
                                                      "broadcast_buffers",
                                                      "find_unused_parameters",
                                                      "gradient_as_bucket_view",
                                                      "static_graph",
                                                      "can_set_static_graph",
                                                      "unused_parameter_size",
                                                      "has_sync_bn",
                                                      "is_multi_device_module",
                                                      "join_uneven_inputs",
                                                      "comm_hook",
                                                      "gloo_num_threads",
                                                      "avg_forward_compute_time",
                                                      "avg_backward_compute_time",
                                                      "avg_backward_comm_time",
                                                      "avg_backward_compute_comm_overlap_time",
                                                      "forward_compute_time",
                                                      "backward_compute_time",
                                                      "backward_comm_time",
                                                      "backward_compute_comm_overlap_time"};

// One of these tells such a dictionary from others.
constexpr std::array<std::string_view, 3> own_keys{"bucket_cap_bytes", "avg_backward_comm_time",
                                                   "total_parameter_size_bytes"};

constexpr std::size_t deepest = 64;              // of dictionaries in dictionaries
constexpr std::size_t value_most = 1U << 20U;    // bytes; ten thousand buckets are a tenth of it
constexpr std::size_t keyless_lines_most = 512;  // behind a brace that is none of a dictionary

bool is_of_numbers(std::string_view text) {
  return text.find_first_not_of("0123456789, ") == std::string_view::npos;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

// Behind a word of more than one letter, which Python's strings may have before them.
bool is_apostrophe(std::string_view line, std::size_t at) {
  return line[at] == '\'' && at > 1 && is_word(line[at - 1]) && is_word(line[at - 2]);
}

}  // namespace

bool is_known(std::string_view key) {
  return std::find(known_keys.begin(), known_keys.end(), key) != known_keys.end();
}

void Dictionaries::take(std::size_t number, std::string_view line) {
  std::size_t at = 0;
  if (open_.empty()) {
    at = line.find('{');
    if (at == std::string_view::npos) return;
  } else if (++lines_for_nothing_ > keyless_lines_most) {
    while (!open_.empty()) close(true);
    continued_ = '\0';
    return take(number, line);
  }
  if (continued_ != '\0') {
    const std::size_t end = line.find(continued_);
    const std::string_view part = line.substr(0, end);
    continued_ = end == std::string_view::npos && is_of_numbers(part) ? continued_ : '\0';
    if (is_of_numbers(part)) {
      add_string(part);
      if (end == std::string_view::npos) return;
      at = end + 1;
    }
  }
  while (at < line.size()) {
    const char c = line[at];
    if (open_.empty() && c != '{') {
      ++at;
    } else if (is_apostrophe(line, at)) {
      ++at;
    } else if (c == '\'' || c == '"') {
      take_string(line, at);
    } else if (is_word(c)) {
      take_word(line, at);
    } else {
      take_mark(number, c);
      ++at;
    }
  }
}

// A quote that nothing closes is an apostrophe, but for a list of buckets that goes on.
void Dictionaries::take_string(std::string_view line, std::size_t& at) {
  const char quote = line[at++];
  std::size_t end = at;
  while (end < line.size() && line[end] != quote) end += line[end] == '\\' ? 2U : 1U;
  if (end < line.size()) {
    add_string(line.substr(at, end - at));
    at = end + 1;
    return;
  }
  const std::string_view rest = line.substr(at);
  if (!open_.back().has_key || !is_of_numbers(rest)) return;
  add_string(rest);
  continued_ = quote;
  at = line.size();
}

void Dictionaries::take_word(std::string_view line, std::size_t& at) {
  const std::size_t begin = at;
  while (at < line.size() && is_word(line[at])) ++at;
  Open& open = open_.back();
  if (!open.has_key || open.has_value) return;
  open.value = line.substr(begin, std::min(at - begin, value_most));
  open.has_value = true;
}

// Python writes long strings as pieces beside one another.
void Dictionaries::add_string(std::string_view text) {
  Open& open = open_.back();
  if (!open.has_key) {
    last_string_ = text.substr(0, value_most);
    return;
  }
  open.value += text.substr(0, value_most - std::min(value_most, open.value.size()));
  open.has_value = true;
}

void Dictionaries::take_mark(std::size_t number, char mark) {
  switch (mark) {
    case '{':
      if (open_.size() >= deepest) return;
      open_.emplace_back().report.line = number;
      last_string_.clear();
      return;
    case '}': return close(false);
    case ',': last_string_.clear(); return end_value();
    case ':':
      if (open_.back().has_key || last_string_.empty()) return;
      open_.back().key = std::exchange(last_string_, {});
      open_.back().has_key = true;
      return;
    default: return;
  }
}

void Dictionaries::end_value() {
  Open& open = open_.back();
  if (open.has_value && is_known(open.key)) {
    open.report.values.insert_or_assign(open.key, std::move(open.value));
    lines_for_nothing_ = 0;
  }
  open.value.clear();
  open.has_key = open.has_value = false;
}

void Dictionaries::close(bool is_cut) {
  end_value();
  Report report = std::move(open_.back().report);
  open_.pop_back();
  lines_for_nothing_ = 0;
  // The value of a key around it.
  if (!open_.empty()) open_.back().has_value = false;
  const bool is_own = std::any_of(own_keys.begin(), own_keys.end(), [&](std::string_view key) {
    return report.values.find(key) != report.values.end();
  });
  if (!is_own) return;
  found_.reports.push_back(std::move(report));
  found_.cut_off += is_cut ? 1 : 0;
}

Reports Dictionaries::all() && {
  while (!open_.empty()) close(true);
  return std::move(found_);
}

}  // namespace paceline::traces::ddp_logging
