#include <array>
#include <cmath>

#include "models/text/json_writer.h"
#include "scenarios/capacity/answer.h"

namespace paceline {

constexpr auto fields_of(const Targets*) {
  return Fields(field("deadline_s", &Targets::deadline),
                field("throughput_per_s", &Targets::throughput), field("budget", &Targets::budget));
}

namespace capacity {

constexpr auto fields_of(const Promise*) {
  return Fields(field("throughput_per_s", &Promise::median_throughput),
                field("throughput_per_s_limit", &Promise::limit_throughput),
                field("time_s", &Promise::median), field("time_s_limit", &Promise::limit),
                field("cost", &Promise::median_cost), field("cost_limit", &Promise::limit_cost),
                field("probability", &Promise::probability));
}

constexpr auto fields_of(const Settling*) {
  return Fields(field("hangs_on", &Settling::hangs_on), field("measure", &Settling::measure),
                field("time_s_limit_after", &Settling::limit_after),
                field("cost_limit_after", &Settling::limit_cost_after));
}

constexpr auto fields_of(const Answer*) {
  return Fields(field("knee_nodes", &Answer::knee_nodes),
                field("inefficient_from_nodes", &Answer::inefficient_from_nodes),
                field("setups", &Answer::setups), field("predicted", &Answer::predicted),
                field("refused", &Answer::refused));
}

namespace {

class JsonOfAnswer {
 public:
  JsonOfAnswer(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
               const Predictor& predictor)
      : json_(out), job_(job), grid_(grid), answer_(answer), predictor_(predictor) {}

  void write() {
    json_.object([&] {
      json_.put("schema", "paceline.capacity/1");
      json_.put("complete", answer_.is_complete);
      write_job();
      put_row("best", answer_.best);
      put_row("nearest", answer_.nearest);
      put_rows("others", answer_.others);
      put_row("nearby", answer_.nearby);
      put_rows("front", answer_.front);
      put_row("may_win", answer_.would_win);
      json_.put_list("by_nodes", answer_.by_nodes, [&](const OfNodes& one) {
        json_.object([&] {
          put_row("plan", one.row);
          json_.put("efficiency", one.efficiency);
        });
      });
      json_.put_list("further", answer_.further, [&](const Further& one) {
        json_.object([&] {
          json_.put("what", one.words);
          put_row("best", one.best);
        });
      });
      json_.put_list("settling", answer_.settling, [&](const Settling& one) {
        json_.object([&] {
          put_row("plan", one.row);
          json_.put_fields(one);
        });
      });
      json_.put_list("left_out", grid_.left_out, [&](const LeftOut& one) {
        json_.object([&] {
          json_.put("machine", job_.machines[one.machine].full_name());
          json_.put("why", one.why);
        });
      });
      json_.put("machines", job_.machines.size() - grid_.left_out.size());
      json_.put_fields(answer_);
    });
  }

 private:
  void write_job() {
    json_.put("job", job_.name);
    json_.put("described", std::array{job_.network, job_.amount});
    json_.put("samples", job_.samples);
    json_.put("targets", job_.targets);
    json_.put("probability", job_.probability);
    json_.put("currency", job_.currency);
  }

  void put_row(std::string_view key, const std::optional<Row>& row) {
    json_.key(key);
    row ? write_row(*row) : json_.value(nullptr);
  }

  void put_rows(std::string_view key, const std::vector<Row>& rows) {
    json_.put_list(key, rows, [&](const Row& row) { write_row(row); });
  }

  void write_row(const Row& row) {
    const Setup& setup = grid_.candidates[row.plan.candidate].setup;
    const PlannedJob::Strategy& strategy = job_.strategies[setup.strategy];
    const PointOutcome& outcome = *predictor_.outcome(setup);
    const Speed speed = speed_of(job_, setup, outcome);
    const auto other_price = better_below(job_, grid_, answer_, row);
    json_.object([&] {
      write_machine(job_.machines[setup.machine], setup, row.plan.pricing);
      json_.put("better_below_per_node_hour",
                other_price ? std::optional(other_price->value() * hour) : std::nullopt);
      json_.put("strategy", strategy.name);
      json_.put("bucket_cap", unless_empty<&PlannedJob::Strategy::bucket_cap>(strategy));
      json_.put("batch_per_gpu", setup.batch);
      json_.put("passes", setup.passes);
      json_.put("step_s", speed.step_within(0.5));
      json_.put("step_s_low", speed.step_within(0.05));
      json_.put("step_s_high", speed.step_within(0.95));
      const Seconds input = speed.input.within(0.5);
      json_.put("input_s", input > Seconds(0) ? std::optional(input) : std::nullopt);
      json_.put("one_gpu_is_modelled", grid_.machines[setup.machine].speed_is_modelled);
      json_.put_fields(row.promise);
      json_.put("assumptions", outcome.assumptions);
    });
  }

  void write_machine(const Machine& machine, const Setup& setup, Pricing pricing) {
    // Null where nobody says how often a node is taken away, and of nodes that are not.
    const bool may_be_taken = pricing == Pricing::spot;
    json_.put("catalogue", machine.catalogue);
    json_.put("machine", machine.name);
    json_.put("region", machine.region);
    json_.put("device", machine.device);
    json_.put("nodes", setup.nodes);
    json_.put("gpus", gpus_of(job_, setup));
    json_.put("pricing", machine.is_owned ? "owned" : to_text(pricing));
    json_.put("price_per_node_hour", machine.price_of(pricing)->value() * hour);
    json_.put("preemptions_per_s", may_be_taken ? machine.spot->preemptions_per_s : std::nullopt);
    json_.put("reserved_for_s",
              pricing == Pricing::reserved ? std::optional(machine.reserved->term) : std::nullopt);
    json_.put("priced_on", machine.date);
  }

  static constexpr double hour = 3600;

  JsonWriter json_;
  const PlannedJob& job_;
  const Grid& grid_;
  const Answer& answer_;
  const Predictor& predictor_;
};

}  // namespace

void write_json(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
                const Predictor& predictor) {
  JsonOfAnswer(out, job, grid, answer, predictor).write();
}

}  // namespace capacity
}  // namespace paceline
