#include "scenarios/compare/write_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/line_width.h"
#include "scenarios/text_table.h"

namespace paceline::compare {
namespace {

std::string signed_text(Seconds time) {
  if (time == Seconds(0)) return "0s";
  const bool negative = time < Seconds(0);
  return (negative ? "-" : "+") + to_text(negative ? Seconds(-time.value()) : time);
}

std::string cause_text(const Difference& difference) {
  if (!difference.is_clear) return "nothing clear";
  const Cause mostly = difference.mostly();
  const bool told_apart = difference.network == NetworkPart::split;
  if (mostly == Cause::bandwidth && !told_apart) return "bandwidth or latency";
  return std::string(to_text(mostly));
}

// Parts that are rounding beside the step are none.
Seconds shown(Seconds part, const PointPair& pair) {
  constexpr double shown_from = 1e-7;  // of the step
  return std::abs(part.value()) < shown_from * pair.a.step.value() ? Seconds(0) : part;
}

std::vector<std::string> row_of(const PointPair& pair, const std::set<std::string>& paths) {
  std::vector<std::string> row;
  for (const std::string& path : paths) {
    const auto axis = pair.axes.find(path);
    row.push_back(axis == pair.axes.end() ? "" : axis->second);
  }
  row.push_back(pair.a.gpus == pair.b.gpus ? std::to_string(pair.a.gpus)
                                           : fmt::format("{}, {}", pair.a.gpus, pair.b.gpus));
  row.push_back(to_text(pair.a.step));
  row.push_back(to_text(pair.b.step));
  row.push_back(fmt::format("{:+.1f}%", 100 * pair.difference.step.value() / pair.a.step.value()));
  row.push_back(signed_text(shown(pair.difference.step, pair)));
  for (const Seconds part : pair.difference.parts) row.push_back(signed_text(shown(part, pair)));
  row.push_back(cause_text(pair.difference));
  return row;
}

// What the pairs' sides are, when all are alike.
std::string_view sides_text(const Comparison& comparison, PointPair::End PointPair::*end) {
  std::set<Kind> kinds;
  for (const PointPair& pair : comparison.pairs) kinds.insert((pair.*end).is);
  return kinds.size() == 1 ? to_text(*kinds.begin()) : "measured where it was, else predicted";
}

void write_notes(std::ostream& out, const Comparison& comparison) {
  const auto any = [&](NetworkPart part) {
    return std::ranges::any_of(
        comparison.pairs, [&](const PointPair& pair) { return pair.difference.network == part; });
  };
  std::vector<std::string> notes;
  if (any(NetworkPart::one_size)) {
    notes.emplace_back(
        "bandwidth: includes latency where all calls are about the same size, because one size "
        "cannot separate the two");
  }
  if (any(NetworkPart::no_calls)) {
    notes.emplace_back(
        "bandwidth: is the whole network's difference where a side lists no calls (for a step "
        "alone, rest is); paceline run --calls writes them");
  }
  for (const std::string& point : comparison.alone) notes.push_back("only in " + point);
  if (!notes.empty()) out << '\n';
  for (const std::string& note : notes) write_line(out, note);
}

void write_speedups(std::ostream& out, const Comparison& comparison) {
  bool is_first = true;
  for (const PointPair& pair : comparison.pairs) {
    if (pair.a.gpus == pair.b.gpus) continue;
    const std::string batch =
        pair.b_batch == 1 ? "" : fmt::format(", with {:.4g} times the batch per GPU", pair.b_batch);
    if (std::exchange(is_first, false)) out << '\n';
    write_line(out, fmt::format("speedup of {} over {}: {:.2f}{}", pair.b.gpus, pair.a.gpus,
                                speedup(pair), batch));
  }
}

}  // namespace

void write_table(std::ostream& out, const Comparison& comparison) {
  write_line(out, fmt::format("A: {}, {}", comparison.a, sides_text(comparison, &PointPair::a)));
  write_line(out, fmt::format("B: {}, {}", comparison.b, sides_text(comparison, &PointPair::b)));
  out << '\n';
  std::set<std::string> paths;
  for (const PointPair& pair : comparison.pairs) {
    for (const auto& [path, value] : pair.axes) paths.insert(path);
  }
  std::vector<std::string> header;
  for (const std::string& path : paths) header.push_back(path.substr(path.rfind('.') + 1));
  header.insert(header.end(), {"gpus", "step A", "step B", "B/A", "B-A"});
  for (const auto& [cause, word] : words_of(Cause{})) header.emplace_back(word);
  header.emplace_back("mostly");
  TextTable table(std::move(header), paths.size() + 1);
  for (const PointPair& pair : comparison.pairs) table.add(row_of(pair, paths));
  table.write(out);
  write_speedups(out, comparison);
  write_notes(out, comparison);
}

void write_json(std::ostream& out, const Comparison& comparison) {
  using nlohmann::ordered_json;
  ordered_json pairs = ordered_json::array();
  for (const PointPair& pair : comparison.pairs) {
    const Difference& difference = pair.difference;
    ordered_json parts;
    for (const auto& [cause, word] : words_of(Cause{})) {
      parts[std::string(word) + "_s"] = difference.part(cause).value();
    }
    pairs.push_back({{"axes", pair.axes},
                     {"gpus", pair.a.gpus},
                     {"b_gpus", pair.b.gpus},
                     {"speedup", speedup(pair)},
                     {"a", {{"is", to_text(pair.a.is)}, {"step_s", pair.a.step.value()}}},
                     {"b", {{"is", to_text(pair.b.is)}, {"step_s", pair.b.step.value()}}},
                     {"difference_s", difference.step.value()},
                     {"parts", std::move(parts)},
                     {"latency_told_apart", difference.network == NetworkPart::split},
                     {"is_clear", difference.is_clear},
                     {"mostly", to_text(difference.mostly())}});
  }
  const ordered_json result{{"schema", "paceline.comparison/1"},
                            {"a", comparison.a},
                            {"b", comparison.b},
                            {"pairs", std::move(pairs)},
                            {"without_partner", comparison.alone}};
  out << result.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::compare
