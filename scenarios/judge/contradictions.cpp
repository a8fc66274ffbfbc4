#include "scenarios/judge/contradictions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "models/contract.h"
#include "models/units/parse.h"
#include "scenarios/predict/evidence.h"

namespace paceline {
namespace {

using uncertain::Cause, uncertain::Explanation;
using Rows = std::vector<const PointOutcome*>;

Seconds measured_step(const PointOutcome& outcome) {
  return Seconds(outcome.samples_per_step / outcome.measured->throughput.value());
}

bool is_judged(const PointOutcome& outcome) {
  return outcome.predicted && outcome.measured && outcome.predicted->described.step > Seconds(0);
}

// Of a known row that of its description, as it is predicted for what it is.
StepInterval interval_of(const PointOutcome& outcome) {
  if (!outcome.measured->known) return outcome.predicted->interval;
  const DescribedStep& described = outcome.predicted->described;
  const uncertain::Believed believed = unconditioned_belief().of(described.response);
  return to_interval(described.step * std::exp(believed.moved), believed);
}

double beyond(const PointOutcome& outcome) {
  const Seconds measured = measured_step(outcome);
  const StepInterval interval = interval_of(outcome);
  return measured > interval.low ? std::max(measured / interval.high, 1.0)
                                 : measured / interval.low;
}

// The log of measured over described, not over what known rows made of the description. A step of
// one GPU says what several may have in common, and is no news itself.
uncertain::MeasuredStep row_of(const PointOutcome& outcome) {
  const DescribedStep& described = outcome.predicted->described;
  return {described.response,
          std::log(measured_step(outcome) / described.step),
          described.step,
          outcome.samples_per_step,
          described.kernels,
          outcome.predicted->totals_alone.communication -
              outcome.predicted->totals_alone.exposed_communication,
          outcome.measured->is_time,
          outcome.gpus > 1 && beyond(outcome) != 1};
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

// What the machine's calibration learnt from other scenarios, which are numbered from 1.
std::vector<uncertain::KnownRow> learnt_by(const PointOutcome& outcome) {
  std::vector<uncertain::KnownRow> learnt;
  for (uncertain::KnownRow row : outcome.predicted->belief.rows()) {
    if (row.response.place.workload == 0) continue;
    row.composed = nullptr;
    learnt.push_back(std::move(row));
  }
  return learnt;
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

// "a batch of 16 per GPU, not 8"
std::string words_of_work(const Explanation& work, const Rows& rows) {
  const double times = work.value;
  if (work.told == uncertain::Told::passes) {
    return fmt::format("{:g} times as many accumulated passes in each step", times);
  }
  const auto batch =
      shared(rows, [](const PointOutcome& row) -> double { return row.setup.batch_per_gpu; });
  const auto sequence =
      shared(rows, [](const PointOutcome& row) { return static_cast<double>(row.setup.sequence); });
  std::string words = fmt::format("{:g} times the work in each step: ", times);
  const bool is_whole = batch && std::fmod(*batch * times, 1) == 0;
  words += is_whole ? fmt::format("a batch of {:g} per GPU, not {:g}", *batch * times, *batch)
                    : "another batch";
  if (sequence.value_or(0) > 0) {
    words += fmt::format(" or sequences of {:g} tokens, not {:g}", *sequence * times, *sequence);
  }
  return words;
}

std::string_view words_of_unit(uncertain::Told told) {
  switch (told) {
    case uncertain::Told::steps: return "throughput in steps/s, not samples/s";
    case uncertain::Told::steps_of_each: return "throughput in steps/s summed over GPUs";
    default: return "throughput of one GPU, not of all";
  }
}

std::string words_of_one_gpu(double times, const Rows& rows) {
  const auto speed =
      shared(rows, [](const PointOutcome& row) { return row.predicted_one_gpu().value(); });
  constexpr const char* mostly = "(another precision, kernels or clock)";
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
    case Cause::unit: return std::string(words_of_unit(explanation.told));
    case Cause::work: return words_of_work(explanation, rows);
    case Cause::network: return words_of_network(value, rows);
    case Cause::node_links:
      return fmt::format("links in a node {:.2g} times as fast as described", 1 / value);
    case Cause::input:
      return fmt::format("an input pipeline, or something else serial, of {} samples/s",
                         figure(value));
    case Cause::overlap: return "no communication that hides behind compute";
    case Cause::straggler:
      return fmt::format("a slowest rank that computes {:.0f} % longer", 100 * (value - 1));
    case Cause::shared:
      return fmt::format(
          "what GPUs of a node share (CPUs, PCIe, memory, power): {:.2g} % more compute with each "
          "further one",
          100 * value);
    case Cause::host:  // in 10 of DDP's 17 us
      return fmt::format("a host that takes {:.2g} times as long in the strategy's hooks",
                         1 + value * 10 / 17);
    case Cause::each_step: return fmt::format("{} more in each step", to_text(Seconds(value)));
    case Cause::one_gpu: return words_of_one_gpu(value, rows);
  }
  PACELINE_UNREACHABLE("a cause outside the enumeration");
  return "";
}

// What to run, or to look at, for a cause to show.
std::string check_of(Cause cause, const PointOutcome& row) {
  switch (cause) {
    case Cause::unit: return "100 steps by the clock";
    case Cause::work: return "the shape of a batch on one rank, and the calls of optimizer.step()";
    case Cause::network:
      return row.setup.transport == topology::Transport::tcp
                 ? "iperf3 -P 4 between two nodes"
                 : "all_reduce_perf -b 64M -e 1G -g 1 on one GPU of each of two nodes";
    case Cause::node_links:
      return fmt::format("all_reduce_perf -b 64M -e 1G -g {} in a node", row.setup.gpus_per_node);
    case Cause::input: return "the same job on synthetic data";
    case Cause::overlap:
    case Cause::host:
    case Cause::each_step: return "a trace of torch.profiler in paceline import";
    case Cause::straggler: return "traces of all ranks in paceline import";
    case Cause::shared: return "as many GPUs over more nodes";
    case Cause::one_gpu: return "the same job on one GPU";
  }
  PACELINE_UNREACHABLE("a cause outside the enumeration");
  return "";
}

}  // namespace

bool FoundContradiction::is_beyond_doubt() const {
  return std::ranges::any_of(
      rows, [](const Row& row) { return row.contradicts || row.counted.has_value(); });
}

bool FoundContradiction::is_claimed() const {
  return !explained_by.empty() && explained_by.front().evidence > 0;
}

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
  // Beside causes by how likely it is.
  const auto chance =
      std::ranges::find_if(explained_by, [](const Cause& cause) { return cause.evidence <= 0; });
  const bool is_likely =
      is_claimed() && explained_by.front().evidence < std::log(uncertain::told_apart);
  if (chance != explained_by.end() || is_likely) {
    words.insert(words.begin() + (chance - explained_by.begin()), "chance");
  }
  const bool is_of_priors = rows.size() == 1 && rows.front().counted;
  const std::string why =
      !words.empty()
          ? fmt::format("{} {}; to check: {}", is_claimed() ? "it may be" : "no cause is clear:",
                        fmt::join(words, ", or "), told_apart_by)
      : is_of_priors ? "no setting within 99 % of what is expected reaches it"
      : is_beyond_doubt()
          ? "no cause alone explains all rows: neither links, input, ranks, host, batch nor unit"
          : "no cause is clear";
  const auto is_slower = [](const Row& row) { return row.beyond > 1; };
  const std::string_view side = std::ranges::all_of(rows, is_slower)    ? "slower than 90 %"
                                : std::ranges::none_of(rows, is_slower) ? "faster than 90 %"
                                                                        : "on both sides of 90 %";
  return fmt::format("{}: {} the step described, {}: {}",
                     is_beyond_doubt() ? "contradiction" : "outside", fmt::join(points, ", "), side,
                     why);
}

std::optional<FoundContradiction> contradiction_of(const std::vector<PointOutcome>& outcomes) {
  FoundContradiction made;
  Rows judged;
  std::vector<uncertain::MeasuredStep> steps;
  const uncertain::Priors& priors = uncertain::known_priors();
  for (const PointOutcome& outcome : outcomes) {
    if (!is_judged(outcome)) continue;
    const uncertain::MeasuredStep row = row_of(outcome);
    const auto taken_for = counted(outcome);
    if (row.is_outside || taken_for) {
      made.rows.push_back({outcome.name(), outcome.measured->known, std::exp(row.measured),
                           beyond(outcome), contradicts(priors, row), taken_for});
    }
    judged.push_back(&outcome);
    steps.push_back(row);
  }
  if (made.rows.empty()) return std::nullopt;
  const std::vector<Explanation> found =
      uncertain::explanations_of(priors, steps, learnt_by(*judged.front()));
  for (const Explanation& one : found) {
    made.explained_by.push_back({one.cause, one.value, one.evidence, words_of(one, judged)});
  }
  if (!found.empty()) {
    const Cause first = std::ranges::min(found, {}, &Explanation::cause).cause;
    made.told_apart_by = check_of(first, *judged.back());
  }
  return made;
}

}  // namespace paceline
