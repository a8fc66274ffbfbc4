#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/capacity/answer.h"

namespace paceline::capacity {
namespace {

using nlohmann::ordered_json;

// What never ends has no number in JSON.
ordered_json finite(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

class Json {
 public:
  Json(const PlannedJob& job, const Grid& grid, const Predictor& predictor)
      : job_(job), grid_(grid), predictor_(predictor) {}

  [[nodiscard]] ordered_json row(const std::optional<Row>& row) const {
    if (!row) return nullptr;
    const Setup& setup = grid_.candidates[row->plan.candidate].setup;
    const Machine& machine = job_.machines[setup.machine];
    const PlannedJob::Strategy& strategy = job_.strategies[setup.strategy];
    const Promise& promise = row->promise;
    const Speed speed = speed_of(*predictor_.outcome(setup));
    const MoneyPerSecond price = price_of(machine, row->plan.pricing);
    constexpr double hour = 3600;
    return {{"catalogue", machine.catalogue},
            {"machine", machine.name},
            {"region", machine.region},
            {"device", machine.device},
            {"nodes", setup.nodes},
            {"gpus", gpus_of(job_, setup)},
            {"pricing", machine.is_owned ? "owned" : to_text(row->plan.pricing)},
            {"price_per_node_hour", price.value() * hour},
            {"preemptions_per_s", preemptions(machine, row->plan.pricing)},
            {"priced_on", machine.date},
            {"strategy", strategy.name},
            {"bucket_cap", strategy.bucket_cap.empty() ? ordered_json(nullptr)
                                                       : ordered_json(strategy.bucket_cap)},
            {"batch_per_gpu", setup.batch},
            {"passes", setup.passes},
            {"step_s", speed.step.value()},
            {"step_s_low", (speed.step * std::exp(speed.low)).value()},
            {"step_s_high", (speed.step * std::exp(speed.high)).value()},
            {"one_gpu_is_modelled", grid_.machines[setup.machine].speed_is_modelled},
            {"throughput_per_s", promise.median_throughput.value()},
            {"throughput_per_s_limit", promise.limit_throughput.value()},
            {"time_s", finite(promise.median.value())},
            {"time_s_limit", finite(promise.limit.value())},
            {"cost", finite(promise.median_cost.value())},
            {"cost_limit", finite(promise.limit_cost.value())},
            {"probability", promise.probability},
            {"assumptions", predictor_.outcome(setup)->assumptions}};
  }

  // Of a node that may be taken away: null where nobody says, and of others.
  [[nodiscard]] static ordered_json preemptions(const Machine& machine, Pricing pricing) {
    if (pricing != Pricing::spot || !machine.spot->preemptions_per_s) return nullptr;
    return *machine.spot->preemptions_per_s;
  }

  [[nodiscard]] ordered_json rows(const std::vector<Row>& all) const {
    ordered_json list = ordered_json::array();
    for (const Row& one : all) list.push_back(row(one));
    return list;
  }

  [[nodiscard]] ordered_json targets() const {
    const Targets& targets = job_.targets;
    const auto value = [](const auto& target) {
      return target ? ordered_json(target->value()) : ordered_json(nullptr);
    };
    return {{"deadline_s", value(targets.deadline)},
            {"throughput_per_s", value(targets.throughput)},
            {"budget", value(targets.budget)}};
  }

 private:
  const PlannedJob& job_;
  const Grid& grid_;
  const Predictor& predictor_;
};

}  // namespace

void write_json(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
                const Predictor& predictor) {
  const Json json(job, grid, predictor);
  ordered_json further = ordered_json::array(), settling = ordered_json::array();
  for (const Further& one : answer.further) {
    further.push_back({{"what", one.words}, {"best", json.row(one.best)}});
  }
  for (const Settling& one : answer.settling) {
    settling.push_back({{"plan", json.row(one.row)},
                        {"hangs_on", one.hangs_on},
                        {"measure", one.measure},
                        {"time_s_limit_after", finite(one.limit_after.value())},
                        {"cost_limit_after", finite(one.limit_cost_after.value())}});
  }
  ordered_json left_out = ordered_json::array();
  for (const LeftOut& one : grid.left_out) {
    left_out.push_back({{"machine", job.machines[one.machine].full_name()}, {"why", one.why}});
  }
  const ordered_json all{{"schema", "paceline.capacity/1"},
                         {"job", job.name},
                         {"described", {job.network, job.amount}},
                         {"samples", job.samples},
                         {"targets", json.targets()},
                         {"probability", job.probability},
                         {"currency", job.currency},
                         {"best", json.row(answer.best)},
                         {"nearest", json.row(answer.nearest)},
                         {"others", json.rows(answer.others)},
                         {"nearby", json.row(answer.nearby)},
                         {"front", json.rows(answer.front)},
                         {"may_win", json.row(answer.would_win)},
                         {"further", std::move(further)},
                         {"settling", std::move(settling)},
                         {"left_out", std::move(left_out)},
                         {"machines", job.machines.size() - grid.left_out.size()},
                         {"setups", answer.setups},
                         {"predicted", answer.predicted},
                         {"refused", answer.refused}};
  out << all.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::capacity
