#include "scenarios/outcome/losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/outcome/step_terms.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {
namespace {

LossKind loss_of(TermKind kind) {
  switch (kind) {
    case TermKind::exposed_call: return LossKind::communication;
    case TermKind::slowest_rank:
    case TermKind::others: return LossKind::stragglers;
    case TermKind::contention: return LossKind::contention;
    case TermKind::copies: return LossKind::copies;
    case TermKind::engine_copies:
    case TermKind::engine_waits: return LossKind::engine;
    case TermKind::load: return LossKind::input;
    case TermKind::input:
    case TermKind::passes:
    case TermKind::optimizer:
    case TermKind::believed:
    case TermKind::host:
    case TermKind::idle: break;
  }
  return LossKind::rest;
}

// Where the call goes, and its name, of all that are exposed.
std::string largest_call_of(const PointOutcome& outcome, const StepTerms& terms) {
  const StepTerm* largest = nullptr;
  std::size_t exposed = 0;
  for (const StepTerm& term : terms.terms) {
    if (term.part != TermKind::exposed_call) continue;
    ++exposed;
    if (largest == nullptr || term.time > largest->time) largest = &term;
  }
  if (largest == nullptr) return "";
  const auto& operation = outcome.predicted->trace.program.operations[largest->operation];
  const bool crosses = outcome.nodes > 1 && call_of(operation)->group != training::Group::node;
  return fmt::format(
      "{}, {} of it, {}; {}", operation.name, to_text(largest->time),
      crosses ? "between nodes" : "within the node",
      exposed == 1 ? "no other call is exposed" : fmt::format("the longest of {}", exposed));
}

// What is lost, without the launches.
std::string shares_in_words(const PointOutcome& outcome) {
  const Losses& losses = *outcome.losses;
  const double speedup = outcome.predicted_speedup(), lost = outcome.gpus - speedup;
  const std::string reached = fmt::format("{} reach {:.3g}x one", outcome.name(), speedup);
  constexpr double nothing = 0.005, shown_from = 0.01;  // parts of the GPUs; of what is lost
  if (std::abs(lost) < nothing * outcome.gpus) return reached + ": next to nothing is lost";
  if (lost < 0) {
    return fmt::format("{}, as {} take less than on one GPU", reached,
                       to_text(losses.parts.back().kind));
  }
  std::vector<std::string> parts;
  std::string gained;
  for (const Loss& one : losses.parts) {
    const double share = one.time / losses.all();
    if (std::abs(share) < shown_from) continue;
    const bool is_calls = one.kind == LossKind::communication;
    std::string part = fmt::format("{:.0f} % {}{}", 100 * std::abs(share), to_text(one.kind),
                                   is_calls ? fmt::format(" ({})", losses.largest_call) : "");
    share > 0 ? parts.push_back(std::move(part)) : void(gained += ", less " + part);
  }
  return fmt::format("{}; of the {:.3g}x lost: {}{}", reached, lost, fmt::join(parts, ", "),
                     gained);
}

}  // namespace

Seconds Losses::all() const {
  return std::accumulate(parts.begin(), parts.end(), Seconds(0),
                         [](Seconds sum, const Loss& one) { return sum + one.time; });
}

Losses losses_of(const PointOutcome& outcome) {
  const Prediction& predicted = *outcome.predicted;
  const auto timeline = timeline_of(predicted.trace, predicted.alone->point.cluster.gpus_per_node);
  const StepTerms terms = terms_of(outcome, timeline);
  Losses made;
  std::array<Seconds, words_of(LossKind{}).size()> times{};
  for (const StepTerm& term : terms.terms) {
    times[static_cast<std::size_t>(loss_of(term.part))] += term.time;
    if (term.part == TermKind::host) made.launches = term.time / timeline.step;
  }
  times[static_cast<std::size_t>(LossKind::rest)] += Seconds(0) - outcome.one_gpu_step;
  constexpr double shown_from = 1e-9;  // of the step; less is rounding
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (std::abs(times[i] / timeline.step) < shown_from) continue;
    made.parts.push_back({static_cast<LossKind>(i), times[i]});
  }
  std::ranges::stable_sort(made.parts,
                           [](const Loss& a, const Loss& b) { return a.time > b.time; });
  made.largest_call = largest_call_of(outcome, terms);
  return made;
}

std::string losses_in_words(const PointOutcome& outcome) {
  constexpr double most = 0.5;  // of the step
  const double launches = outcome.losses->launches;
  return shares_in_words(outcome) +
         (launches < most
              ? ""
              : fmt::format("; {:.0f} % of the step is launches of the host that GPUs wait for",
                            100 * launches));
}

}  // namespace paceline
