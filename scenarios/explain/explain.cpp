#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/explain/calls.h"
#include "scenarios/explain/explanation.h"
#include "scenarios/outcome/step_terms.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/run_scenario.h"
#include "scenarios/prepare/overheads.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::explain {
namespace {

using uncertain::Unknown;

// What an exposed call of several operations took alone: bytes, hops, and its start.
std::string alone_text(const ExplainedCall& call, const CallParts& parts) {
  std::string text;
  const auto plus = [&](const std::string& part) { text += (text.empty() ? "" : " + ") + part; };
  const double size = static_cast<double>(call.size.value());
  if (parts.link && parts.bandwidth > Seconds(0)) {
    const double carried = parts.link->busy.value() * parts.link->bandwidth.value();
    const BytesPerSecond rate(carried / parts.bandwidth.value());
    plus(fmt::format("{} x {} / {}", to_text(call.size), factor_text(carried / size),
                     to_text(rate)));
  } else if (parts.bandwidth > Seconds(0)) {
    plus(to_text(parts.bandwidth));
  }
  if (parts.latency > Seconds(0) && parts.rounds > 0) {
    plus(fmt::format("{} x {}", parts.rounds,
                     to_text(parts.latency / static_cast<double>(parts.rounds))));
  }
  if (parts.start > Seconds(0)) plus(to_text(parts.start));
  return text;
}

// "25MiB x 1.938 / 11.2GBps + 62 x 3.1us + 60us", what is hidden, what others add.
std::string formula_of(const ExplainedCall& call) {
  std::string text = call.parts ? alone_text(call, *call.parts) : to_text(call.together);
  if (call.parts && call.parts->time > Seconds(0)) {
    constexpr double alike = 1e-4;
    const double times = call.together / call.parts->time;
    if (std::abs(times - 1) > alike) text = fmt::format("({}) x {}", text, factor_text(times));
  }
  const Seconds in_flight = call.end - std::max(call.joined, call.start);
  const Seconds hidden = in_flight - call.exposed;
  constexpr double least = 1e-6;
  if (hidden > in_flight * least) text += fmt::format(" - {} hidden", to_text(hidden));
  return text;
}

// How parts of a step come about, with their numbers filled in. All must outlive it.
class Formulas {
 public:
  Formulas(const Prediction& predicted, const StepTerms& terms)
      : predicted_(predicted), terms_(terms) {}

  [[nodiscard]] std::string of(TermKind part) const {
    const ComputeTimes& compute = terms_.compute;
    const auto longer = [](Seconds before, Seconds after) {
      return fmt::format("{} x ({} - 1)", to_text(before), factor_text(after / before));
    };
    switch (part) {
      case TermKind::input:
      case TermKind::copies:
      case TermKind::optimizer: return "as described";
      case TermKind::passes:
        return fmt::format("forward {} + backward {}", to_text(compute.forward),
                           to_text(compute.backward));
      case TermKind::slowest_rank:
        return longer(compute.described, compute.on_rank) +
               fmt::format(", of rank {}", terms_.rank.value());
      case TermKind::contention: {
        std::string text = longer(compute.on_rank, compute.contended);
        if (predicted_.contention) {
          text +=
              fmt::format(", {} where a call goes on", factor_text(predicted_.contention->compute));
        }
        return text;
      }
      case TermKind::believed: return longer(compute.contended, compute.believed);
      case TermKind::host:
        return fmt::format("{} of launches, less what hides them", to_text(terms_.launches));
      case TermKind::load:
        return to_text(predicted_.alone->load) + " of a node, less what hides it";
      case TermKind::engine_copies:
        return "an engine's, into and out of its buffer, or a GPU's, from and to its host";
      case TermKind::engine_waits: return "to its next wake, and until ranks agree";
      case TermKind::others: return "this rank is in a call, another is not yet";
      case TermKind::exposed_call:
      case TermKind::idle: break;
    }
    return "neither compute, calls nor launches";
  }

 private:
  const Prediction& predicted_;
  const StepTerms& terms_;
};

class Sources {
 public:
  // All must outlive it. `file` is of the point alone.
  Sources(const ScenarioFile& file, const Settings& settings, const PointOutcome& outcome)
      : file_(file), settings_(settings), outcome_(outcome) {}

  [[nodiscard]] std::string of(TermKind part) const {
    const auto unless = [](std::string given, const char* otherwise) {
      return given.empty() ? std::string(otherwise) : given;
    };
    switch (part) {
      case TermKind::input: return unless(place_of({"training.input_time"}), "the trace");
      case TermKind::passes: return of_passes();
      case TermKind::copies:
        return unless(place_of({"training.strategy"}), "the strategy") +
               "; memory traffic of its kernels (models/workload/workload.h: kernel_time)";
      case TermKind::optimizer: {
        const std::string host = place_of({"training.cpu_offload", "training.offload_optimizer"});
        if (!host.empty()) return host + "; CPUs (models/training/host_offload.cpp)";
        return unless(place_of({"training.optimizer.time"}),
                      "memory traffic of its kernels (models/workload/attained.h)");
      }
      case TermKind::slowest_rank: {
        const std::string given = place_of({"ranks.slowdown", "ranks.jitter", "ranks.spread"});
        if (!given.empty()) return given;
        return fmt::format(
            "ranks.spread unless given: gpu_spread = {} (scenarios/prepare/overheads.h)",
            gpu_spread);
      }
      case TermKind::contention:
        return unless(place_of({"contention", "call_contention"}),
                      "channels and memory traffic of calls (models/cost/contention.h)");
      case TermKind::believed: return outcome_.predicted->belief.told_by();
      case TermKind::host:
        return unless(place_of({"training.host"}),
                      "launches of layers and hooks as on average (models/workload/attained.h, "
                      "models/training/strategy.h)");
      case TermKind::load: return place_of({"workload.input_rate"});
      case TermKind::engine_waits: return place_of({"training.cycle_time", "training.strategy"});
      case TermKind::engine_copies: return place_of({"training.strategy"});
      case TermKind::exposed_call:
      case TermKind::others:
      case TermKind::idle: break;
    }
    return "the schedule of the step (models/training/scheduler.h)";
  }

  [[nodiscard]] std::string of_call(const ExplainedCall& call) const {
    if (!call.parts) return call.chosen_by;
    const std::string links = of_links();
    return links + (links.empty() ? "" : "; ") + "chosen by " + call.chosen_by;
  }

 private:
  // "scenario.yaml:12 workload.model", or the setting, for the first path given; empty: none is.
  [[nodiscard]] std::string place_of(std::initializer_list<const char*> paths) const {
    for (const std::string path : paths) {
      for (const ScenarioFile::Setting& one : settings_) {
        const bool is_it = one.path == path || one.path.starts_with(path + ".");
        if (is_it) return one.as_typed();
      }
      if (const auto place = file_.place_of(path)) {
        return fmt::format("{}:{} {}", place->file, place->line, path);
      }
    }
    return "";
  }

  [[nodiscard]] std::string of_passes() const {
    const auto& assumptions = outcome_.predicted->alone->assumptions;
    const std::string given =
        place_of({"workload.single_gpu_throughput", "workload.layers", "workload.trace"});
    if (!given.empty()) return given;
    const std::string model = place_of({"workload.model"});
    if (assumptions.has(carried_speed)) {
      return fmt::format("{}; {}", place_of({"workload.measured_on"}), model);
    }
    return model + "; modelled by what training attains (models/workload/attained.h)";
  }

  [[nodiscard]] std::string of_links() const {
    const std::string calibration = place_of({"cluster.calibration"});
    if (!calibration.empty()) return calibration;
    return outcome_.nodes > 1 ? place_of({"cluster.network.bandwidth", "cluster.network.latency",
                                          "cluster.preset", "cluster.network", "cluster"})
                              : place_of({"cluster.intra_node.bandwidth", "cluster.preset",
                                          "cluster.intra_node", "cluster"});
  }

  const ScenarioFile& file_;
  const Settings& settings_;
  const PointOutcome& outcome_;
};

class Teller {
 public:
  Teller(const ScenarioFile& file, Explanation& made)
      : sources_(file, made.point, made.outcome), made_(made) {}

  void tell(const StepTerms& terms) {
    const Formulas formulas(*made_.outcome.predicted, terms);
    std::vector<StepTerm> calls;
    for (const StepTerm& term : terms.terms) {
      if (term.part == TermKind::exposed_call) {
        calls.push_back(term);
        continue;
      }
      // Before what comes behind compute.
      if (term.part > TermKind::exposed_call && !calls.empty())
        tell_calls(std::exchange(calls, {}));
      add(std::string(to_text(term.part)), term.time, formulas.of(term.part),
          sources_.of(term.part));
    }
    if (!calls.empty()) tell_calls(std::move(calls));
    if (terms.hidden_calls > 0) {
      add(counted(terms.hidden_calls, "hidden call"), Seconds(0), "compute goes on all the while",
          sources_.of(TermKind::idle));
    }
  }

 private:
  void add(std::string name, Seconds time, std::string formula, std::string source,
           bool is_call = false) {
    made_.terms.push_back({std::move(name), time, time / made_.outcome.step(), std::move(formula),
                           std::move(source), is_call});
  }

  void tell_calls(std::vector<StepTerm> calls) {
    std::ranges::stable_sort(calls,
                             [](const StepTerm& a, const StepTerm& b) { return a.time > b.time; });
    Seconds others;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (i >= call_terms_most) {
        others += calls[i].time;
        continue;
      }
      const auto call =
          std::ranges::find(made_.calls, calls[i].operation, &ExplainedCall::operation);
      add("exposed: " + call->name, calls[i].time, formula_of(*call), sources_.of_call(*call),
          true);
    }
    if (calls.size() <= call_terms_most) return;
    add(fmt::format("exposed: {} more calls", calls.size() - call_terms_most), others,
        "each less than those above", sources_.of(TermKind::exposed_call), true);
  }

  Sources sources_;
  Explanation& made_;
};

std::vector<Width> widths_of(const uncertain::Believed& believed) {
  std::vector<Width> widths;
  double all = 0;
  const auto add = [&](std::string quantity, double low, double high) {
    if (high - low <= 0) return;
    all += (high - low) * (high - low);
    widths.push_back(
        {std::move(quantity), std::expm1(low), std::expm1(high), (high - low) * (high - low)});
  };
  for (const auto& [quantity, words] : words_of(Unknown{})) {
    const auto q = static_cast<std::size_t>(quantity);
    add(std::string(words), believed.lows[q], believed.highs[q]);
  }
  add("the unexplained rest", believed.rest_low, believed.rest_high);
  for (Width& one : widths) one.share /= all;
  std::ranges::stable_sort(widths,
                           [](const Width& a, const Width& b) { return a.share > b.share; });
  return widths;
}

}  // namespace

std::string factor_text(double factor) { return fmt::format("{:.4g}", factor); }

Explanation explain(const std::string& path, const Settings& settings, const std::string& point,
                    const RunOptions& options) {
  const ProgressEnd end(options.progress);
  if (options.progress) options.progress({.of = "predictions", .doing = "the point as it is"});
  Explanation made;
  made.path = path;
  RunOptions with_belief = options;
  made.point = ScenarioFile::read(path, settings).settings_of(point);
  with_belief.belief = belief_of(path, settings, options);
  RunOptions with_trace = with_belief;
  with_trace.keep_traces = true;
  const auto read = [&] { return ScenarioFile::read(path, made.point); };
  const ScenarioFile file = read();
  made.name = file.name();
  Attempt attempted = attempt(read, with_trace);
  if (!attempted.outcome) {
    throw InputError({path}, "the strategy " + attempted.refusal, "");
  }
  made.outcome = std::move(*attempted.outcome);
  const Scenario scenario = file.scenario(0);
  const Timeline timeline =
      timeline_of(made.outcome.predicted->trace, scenario.cluster.gpus_per_node);
  made.calls = calls_of_step(scenario, made.outcome, timeline);
  const StepTerms terms = terms_of(made.outcome, timeline);
  made.rank = terms.rank;
  Teller(file, made).tell(terms);
  made.widths = widths_of(made.outcome.predicted->believed);
  made.without = without_each({path, made.point, scenario, made.outcome, made.calls}, with_belief);
  return made;
}

}  // namespace paceline::explain
