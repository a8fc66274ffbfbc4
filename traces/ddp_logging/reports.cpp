#include "traces/ddp_logging/reports.h"

#include <algorithm>
#include <array>
#include <utility>

#include "models/text/number.h"
#include "traces/ddp_logging/dictionaries.h"
#include "traces/text/clean_text.h"

namespace paceline::traces::ddp_logging {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t";
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

// What is between two marks; empty where one is not there.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + before.size());
  const std::size_t end = after.empty() ? line.size() : line.find(after);
  return end == std::string_view::npos ? std::string_view() : trimmed(line.substr(0, end));
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
    if (line.find("DDP Initialized with:") != std::string_view::npos) {
      begin(number, State::construction);
      put("rank", between(line, "[Rank ", "]"));
    } else if (line.find("[Rank ") != std::string_view::npos &&
               line.find("] Training ") != std::string_view::npos) {
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

  // "[Rank 1 / 2] [before iteration 20] Training Net unused_parameter_size=0"; without the
  // iteration until torch 1.9.
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
    if (colon == std::string_view::npos || !is_known(key)) return;
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
  std::move(logged.reports.begin(), logged.reports.end(), std::back_inserter(all.reports));
  std::stable_sort(all.reports.begin(), all.reports.end(),
                   [](const Report& a, const Report& b) { return a.line < b.line; });
  all.mixed += logged.mixed;
  return all;
}

}  // namespace paceline::traces::ddp_logging
