#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "scenarios/line_width.h"
#include "scenarios/report/report.h"

namespace paceline {

void write_assumptions(std::ostream& out, const std::vector<std::string>& assumptions) {
  std::set<std::string> written{""};
  for (const std::string& text : assumptions) {
    if (written.size() == 1 && !text.empty()) out << "\nassumed:\n";
    if (written.insert(text).second) write_line(out, "  " + text);
  }
}

namespace {

// The points that have the text, as few words as tell them: all of a number of GPUs, names of two,
// or how many.
std::string points_of(const std::string& text, const std::vector<PointOutcome>& outcomes) {
  std::vector<const PointOutcome*> having;
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> by_gpus;  // having it, all
  for (const PointOutcome& one : outcomes) {
    const bool has = std::ranges::find(one.assumptions, text) != one.assumptions.end();
    if (has) having.push_back(&one);
    auto& [with, all] = by_gpus[one.gpus];
    with += has ? 1U : 0U;
    ++all;
  }
  if (having.size() == outcomes.size()) return "";
  std::vector<std::uint32_t> gpus;
  bool is_by_gpus = true;
  for (const auto& [number, counts] : by_gpus) {
    const auto& [with, all] = counts;
    is_by_gpus = is_by_gpus && (with == 0 || with == all);
    if (with > 0) gpus.push_back(number);
  }
  if (is_by_gpus) return fmt::format(" (at {} GPUs)", fmt::join(gpus, ", "));
  if (having.size() == 1) return fmt::format(" (at {})", having.front()->name());
  return fmt::format(" (at {} of {} points)", having.size(), outcomes.size());
}

}  // namespace

std::vector<std::string> assumptions_of(const std::vector<PointOutcome>& outcomes) {
  std::vector<std::string> texts;
  std::set<std::string> known{""};
  for (const PointOutcome& one : outcomes) {
    for (const std::string& text : one.assumptions) {
      if (known.insert(text).second) texts.push_back(text);
    }
  }
  for (std::string& text : texts) text += points_of(text, outcomes);
  return texts;
}

}  // namespace paceline
