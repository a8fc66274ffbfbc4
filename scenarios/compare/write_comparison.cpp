#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "models/text/json_writer.h"
#include "models/units/parse.h"
#include "scenarios/compare/comparison.h"
#include "scenarios/text_form.h"
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
  std::vector<std::string> notes = comparison.outside;
  if (any(NetworkPart::one_size)) {
    notes.emplace_back(
        "bandwidth: includes latency where all calls are about the same size, because one size "
        "cannot separate the two");
  }
  if (any(NetworkPart::no_calls)) {
    notes.emplace_back(
        "bandwidth: is the whole network's difference where a side lists no calls (for a step "
        "alone, rest is); paceline run SCENARIO --calls --json FILE writes them");
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

void write_text(std::ostream& out, const Comparison& comparison) {
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

constexpr auto fields_of(const PointPair::End*) {
  return Fields(field("is", &PointPair::End::is), field("step_s", &PointPair::End::step));
}

constexpr auto fields_of(const PointPair*) {
  constexpr auto parts = [](const PointPair& pair) {
    std::vector<std::pair<std::string, Seconds>> all;
    for (const auto& [cause, word] : words_of(Cause{})) {
      all.emplace_back(std::string(word) + "_s", pair.difference.part(cause));
    }
    return all;
  };
  constexpr auto is_split = [](const PointPair& pair) {
    return pair.difference.network == NetworkPart::split;
  };
  return Fields(field("axes", &PointPair::axes),
                field("gpus", at<&PointPair::a, &PointPair::End::gpus>),
                field("b_gpus", at<&PointPair::b, &PointPair::End::gpus>),
                field("speedup", speedup), field("a", &PointPair::a), field("b", &PointPair::b),
                field("difference_s", at<&PointPair::difference, &Difference::step>),
                field("parts", parts), field("latency_told_apart", is_split),
                field("is_clear", at<&PointPair::difference, &Difference::is_clear>),
                field("mostly", at<&PointPair::difference, &Difference::mostly>));
}

constexpr auto fields_of(const Comparison*) {
  return Fields(constant("schema", "paceline.comparison/1"), field("a", &Comparison::a),
                field("b", &Comparison::b), field("pairs", &Comparison::pairs),
                field("without_partner", &Comparison::alone),
                field("outside", &Comparison::outside));
}

void write_json(std::ostream& out, const Comparison& comparison) {
  JsonWriter(out).value(comparison);
}

}  // namespace paceline::compare
