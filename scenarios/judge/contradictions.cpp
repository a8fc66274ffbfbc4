#include "scenarios/judge/contradictions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "models/contract.h"
#include "models/units/parse.h"

namespace paceline {
namespace {

using uncertain::Cause, uncertain::Explanation;
using Rows = std::vector<const PointOutcome*>;

// The log of measured over described, not over what known rows made of the description.
uncertain::MeasuredStep measured_step(const PointOutcome& outcome) {
  const DescribedStep& described = outcome.predicted->described;
  const Seconds measured(outcome.samples_per_step / outcome.measured->throughput.value());
  return {described.response, std::log(measured / described.step), described.step,
          outcome.samples_per_step};
}

bool is_judged(const PointOutcome& outcome) {
  return outcome.predicted && outcome.measured && outcome.gpus > 1 &&
         outcome.predicted->described.step > Seconds(0);
}

// A figure of rows, where all have the same.
template <class Figure>
std::optional<double> shared(const Rows& rows, const Figure& figure) {
  const double first = figure(*rows.front());
  const bool is_one = std::ranges::all_of(rows, [&](const PointOutcome* row) {
    return std::abs(figure(*row) - first) <= 1e-6 * std::abs(first);
  });
  return is_one ? std::optional(first) : std::nullopt;
}

// Three digits, without an exponent below a million.
std::string figure(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return fmt::format("{:g}", std::round(value / unit) * unit);
}

// What no quantity reaches counts as what is reached; empty of other rows.
std::optional<double> counted(const PointOutcome& outcome) {
  const auto& row = outcome.predicted->believed.row;
  if (!row || !row->contradicts()) return std::nullopt;
  return std::exp(row->counted);
}

FoundContradiction::Row row_of(const PointOutcome& outcome, const uncertain::MeasuredStep& step) {
  return {outcome.name(), outcome.measured->known, std::exp(step.measured), counted(outcome)};
}

std::string words_of_batch(double times, const Rows& rows) {
  const auto batch =
      shared(rows, [](const PointOutcome& row) { return row.samples_per_step / row.gpus; });
  if (!batch) return fmt::format("batches {:g} times as large", times);
  return fmt::format("a batch of {:g} a GPU, not {:g}", *batch * times, *batch);
}

std::string words_of_one_gpu(double times, const Rows& rows) {
  const auto speed =
      shared(rows, [](const PointOutcome& row) { return row.predicted_one_gpu().value(); });
  constexpr const char* mostly = "(another batch or precision)";
  if (!speed) return fmt::format("one GPU {:.2g} times as fast {}", 1 / times, mostly);
  return fmt::format("one GPU with {} samples/s, not {} {}", figure(*speed / times), figure(*speed),
                     mostly);
}

std::string gigabits(double bytes_per_second) {
  return fmt::format("{} Gb/s", figure(8e-9 * bytes_per_second));
}

// Below this part of it a NIC is not what limits, but its host.
constexpr double of_the_wire = 0.85;

std::string words_of_network(double times, const Rows& rows) {
  const auto wire = shared(rows, [](const PointOutcome& row) { return row.nic.value(); });
  const auto part = shared(rows, [](const PointOutcome& row) { return row.nic_efficiency; });
  if (!wire || !part) return fmt::format("a network {:.2g} times as fast", 1 / times);
  const double described = *part < of_the_wire ? *wire * *part : *wire;
  const std::string said = fmt::format(
      "{} {} {}", gigabits(described / times),
      *part < of_the_wire ? "through each NIC, of whose hosts" : "where", gigabits(described));
  return fmt::format("a network that carries {} are {}", said,
                     *part < of_the_wire ? "expected" : "described");
}

std::string words_of(const Explanation& explanation, const Rows& rows) {
  const double value = explanation.value;
  switch (explanation.cause) {
    case Cause::batch: return words_of_batch(value, rows);
    case Cause::one_gpu: return words_of_one_gpu(value, rows);
    case Cause::network: return words_of_network(value, rows);
    case Cause::node_links:
      return fmt::format("links in a node {:.2g} times as fast as described", 1 / value);
    case Cause::input:
      return fmt::format("{} samples/s from something serial, such as the input pipeline",
                         figure(value));
    case Cause::each_step:
      return fmt::format("{} more of each step in something serial, such as the input pipeline",
                         to_text(Seconds(value)));
  }
  PACELINE_UNREACHABLE("a cause outside the enumeration");
  return "";
}

}  // namespace

std::string FoundContradiction::sentence() const {
  constexpr std::size_t named = 4;  // in a line
  std::vector<std::string> points;
  for (const Row& row : rows) {
    if (points.size() == named) {
      points.push_back(fmt::format("{} more", rows.size() - named));
      break;
    }
    const std::string taken = row.counted ? fmt::format(", taken for {:.2f}x", *row.counted) : "";
    points.push_back(fmt::format("{}{} {:.2f}x{}", row.point, row.known ? " (known row)" : "",
                                 row.times, taken));
  }
  std::vector<std::string> words;
  for (const Cause& cause : explained_by) words.push_back(cause.words);
  const bool is_of_priors = rows.size() == 1 && rows.front().counted && words.empty();
  const std::string why =
      is_of_priors    ? "no setting within 99 % of what is expected reaches it"
      : words.empty() ? "neither another batch, speed of one GPU or links nor something serial "
                        "explains it"
                      : fmt::format("would fit {}", fmt::join(words, ", or "));
  return fmt::format("{} the step described: {}", fmt::join(points, ", "), why);
}

std::vector<FoundContradiction> contradictions_of(const std::vector<PointOutcome>& outcomes) {
  Rows judged;
  std::vector<uncertain::MeasuredStep> steps;
  for (const PointOutcome& outcome : outcomes) {
    if (!is_judged(outcome)) continue;
    judged.push_back(&outcome);
    steps.push_back(measured_step(outcome));
  }
  std::vector<FoundContradiction> all;
  std::vector<bool> is_named(judged.size());
  for (const auto& found : uncertain::contradictions(uncertain::known_priors(), steps)) {
    FoundContradiction& made = all.emplace_back();
    Rows of_it;
    for (const std::size_t i : found.rows) {
      of_it.push_back(judged[i]);
      made.rows.push_back(row_of(*judged[i], steps[i]));
      is_named[i] = true;
    }
    for (const Explanation& one : found.explanations) {
      made.explained_by.push_back({one.cause, one.value, words_of(one, of_it)});
    }
  }
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (!is_named[i] && counted(*judged[i])) all.push_back({{row_of(*judged[i], steps[i])}, {}});
  }
  return all;
}

}  // namespace paceline
