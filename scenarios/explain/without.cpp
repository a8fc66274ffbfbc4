#include "scenarios/explain/without.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/composed_step.h"
#include "models/run/as_it_ran.h"
#include "models/units/parse.h"
#include "scenarios/advise/search.h"
#include "scenarios/predict/attempt.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::explain {
namespace {

using training::OperationKind;

struct Change {
  std::string what;
  Settings settings;
};

bool has_network(const PointOutcome& outcome) { return outcome.nodes > 1 || outcome.servers > 0; }

std::optional<Change> no_latency(const ExplainedPoint& point) {
  const topology::Cluster& cluster = point.scenario.cluster;
  Change made{"latency of links", {}};
  if (has_network(point.outcome)) made.settings.push_back({"cluster.network.latency", "0us"});
  if (cluster.gpus_per_node > 1) made.settings.push_back({"cluster.intra_node.latency", "0us"});
  if (has_network(point.outcome) && cluster.network.fat_tree) {
    made.settings.push_back({"cluster.network.core_latency", "0us"});
  }
  if (made.settings.empty()) return std::nullopt;
  return made;
}

// The setting that gives such links their bandwidth; empty: several keys do.
std::string bandwidth_key(const std::string& link) {
  if (link == "NIC") return "cluster.network.bandwidth";
  if (link == "GPU port" || link == "NVLink lanes") return "cluster.intra_node.bandwidth";
  if (link == "host link") return "cluster.intra_node.host_bandwidth";
  return "";
}

// So many times the bandwidth stands for any bandwidth: it leaves a thousandth of the bytes' time.
constexpr double widened = 1000;

std::optional<Change> no_bottleneck(const ExplainedPoint& point) {
  const ExplainedCall* longest = nullptr;
  for (const ExplainedCall& call : point.calls) {
    if (!call.parts || !call.parts->link) continue;
    if (longest == nullptr || call.exposed > longest->exposed) longest = &call;
  }
  if (longest == nullptr) return std::nullopt;
  const std::string& link = longest->parts->link->name;
  const std::string key = bandwidth_key(link);
  if (key.empty()) return std::nullopt;
  const topology::Cluster& cluster = point.scenario.cluster;
  BytesPerSecond now = cluster.intra_node.bandwidth;
  if (link == "NIC") now = cluster.network.bandwidth;
  if (link == "host link") now = *cluster.intra_node.host_bandwidth;
  return Change{
      fmt::format("limit of the {} ({:.0f} times its bandwidth)", link, widened),
      {{key, fmt::format("{:.0f}GBps", std::max(1.0, std::round(now.value() * widened * 1e-9)))}}};
}

std::optional<Change> no_contention(const ExplainedPoint& point) {
  const auto& slowdown = point.outcome.predicted->contention;
  if (!slowdown) return std::nullopt;
  Change made{"contention", {{"contention", "off"}}};
  if (slowdown->calls > 1) made.settings.push_back({"call_contention", "1"});
  return made;
}

std::optional<Change> no_stragglers(const ExplainedPoint& point) {
  if (point.outcome.predicted->alone->point.slowdown.empty()) return std::nullopt;
  Change made{"stragglers", {{"ranks.spread", "0%"}}};
  if (point.scenario.jitter > 0) made.settings.push_back({"ranks.jitter", "0%"});
  if (!point.scenario.slowdown.empty()) made.settings.push_back({"ranks.slowdown", "{}"});
  return made;
}

std::optional<Change> no_host(const ExplainedPoint& point) {
  const training::HostCosts& host = point.scenario.training.host;
  Change made{"the host's cost", {}};
  const auto none = [&](Seconds cost, const char* key) {
    if (cost > Seconds(0)) made.settings.push_back({key, "0us"});
  };
  none(host.per_operation, "training.host.per_operation");
  none(host.per_gradient, "training.host.per_gradient");
  none(host.per_call, "training.host.per_call");
  if (made.settings.empty()) return std::nullopt;
  return made;
}

class Repredicted {
 public:
  Repredicted(const ExplainedPoint& point, const RunOptions& options)
      : point_(point), options_(options) {}

  void add(const std::optional<Change>& change) {
    if (change) rows_.push_back(with(*change));
  }

  // The quickest of those that the library can be told, by which any call runs otherwise.
  void add_other_algorithm() {
    if (point_.calls.empty()) return;
    std::optional<Without> best;
    for (const auto& axis : advise::options_of(point_.scenario)) {
      for (const advise::Candidate& other : axis) {
        if (other.option != advise::Option::collective || other.settings.empty()) continue;
        std::vector<CallTimes> calls;
        Without made = with({"the algorithm: the best other one", other.settings}, &calls);
        const bool is_other = !std::ranges::equal(calls, point_.outcome.predicted->calls, {},
                                                  &CallTimes::algorithm, &CallTimes::algorithm);
        if (made.step && is_other && (!best || *made.step < *best->step)) best = std::move(made);
      }
    }
    if (best) rows_.push_back(std::move(*best));
  }

  // The step that ran, with other calls.
  void add_replays() {
    if (point_.calls.empty()) return;
    const StepTrace& trace = point_.outcome.predicted->trace;
    ResolvedPoint ran;
    ran.cluster.gpus_per_node = rank_count(trace);
    ran.program = as_it_ran(trace);
    for (training::Operation& operation : ran.program.operations) {
      if (call_of(operation) != nullptr) continue;
      std::erase_if(operation.after, [&](training::OperationId before) {
        return call_of(ran.program.operations[before]) != nullptr;
      });
    }
    rows_.push_back({"waiting for calls: perfect overlap", {}, step_of(ran), ""});
    ran.program = as_it_ran(trace);
    for (training::Operation& operation : ran.program.operations) {
      auto* call = call_of(operation);
      if (call != nullptr) std::get<training::KnownCall>(call->how).time = Seconds(0);
    }
    rows_.push_back({"any time of calls", {}, step_of(ran), ""});
  }

  [[nodiscard]] std::vector<Without> rows() { return std::move(rows_); }

 private:
  [[nodiscard]] static Seconds step_of(const ResolvedPoint& ran) {
    return totals_of(cost::trace_of(ran)).step;
  }

  // `calls`, unless null, gets those of the step.
  [[nodiscard]] Without with(const Change& change, std::vector<CallTimes>* calls = nullptr) const {
    Settings all = point_.settings;
    all.insert(all.end(), change.settings.begin(), change.settings.end());
    Without made{change.what, change.settings, std::nullopt, ""};
    try {
      const Attempt made_of =
          attempt([&] { return ScenarioFile::read(point_.path, all); }, options_);
      made.refusal = made_of.refusal;
      if (made_of.outcome) made.step = made_of.outcome->predicted->totals.step;
      if (made_of.outcome && calls != nullptr) *calls = made_of.outcome->predicted->calls;
    } catch (const InputError& error) {
      made.refusal = error.what();
    } catch (const BackendError& error) {
      made.refusal = error.what();  // of this step; the one that is explained has its own
    }
    return made;
  }

  const ExplainedPoint& point_;
  const RunOptions& options_;
  std::vector<Without> rows_;
};

}  // namespace

std::vector<Without> without_each(const ExplainedPoint& point, const RunOptions& options) {
  Repredicted made(point, options);
  made.add(no_latency(point));
  made.add(no_bottleneck(point));
  made.add(no_contention(point));
  made.add(no_stragglers(point));
  made.add(no_host(point));
  made.add_other_algorithm();
  made.add_replays();
  return made.rows();
}

}  // namespace paceline::explain
