#include "scenarios/loader/load_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/library_choice.h"
#include "scenarios/loader/load_trace.h"
#include "scenarios/loader/read_settings.h"

namespace paceline::loader {
namespace {

using training::Strategy;
using workload::Workload;

bool has_key(std::span<const settings::Key> keys, std::string_view name) {
  return std::ranges::find(keys, name, settings::top_of) != keys.end();
}

void expect_known_keys(const Reader& training) {
  std::vector<std::string_view> known{"strategy"};
  for (const auto& key : training::common_keys()) known.push_back(settings::top_of(key));
  for (const Strategy* strategy : training::strategies()) {
    for (const auto& key : strategy->keys) known.push_back(settings::top_of(key));
  }
  training.expect_only(known);
}

const Strategy& read_strategy(Reader& training) {
  const Field field = training.require("strategy", "ddp");
  std::vector<std::string_view> known;
  for (const Strategy* row : training::strategies()) known.push_back(row->name);
  return *training::strategies()[field.word(known)];
}

// A key that only other strategies take does nothing, which its writer would not expect.
void refuse_keys_of_others(Reader& training, const Strategy& strategy) {
  for (const Strategy* other : training::strategies()) {
    for (const auto& key : other->keys) {
      const std::string name(settings::top_of(key));
      if (has_key(strategy.keys, name) || !training.has(name)) continue;
      const auto field = training.find(name);
      throw InputError(
          field ? field->location() : training.location(),
          fmt::format("{} is a key of strategy {}, not of {}", name, other->name, strategy.name),
          fmt::format("leave it out, or take strategy: {}", other->name));
    }
  }
}

Bytes parameter_bytes(const Workload& workload) {
  Bytes total;
  for (const workload::TimedLayer& layer : workload.layers) {
    for (const auto& tensor : layer.parameters) total += tensor.count * element_size(tensor.type);
  }
  return total;
}

bool load_optimizer(const settings::Settings& common, Scenario& scenario) {
  Workload& workload = scenario.workload;
  const auto given = common.find<Seconds>("optimizer.time");
  if (given) workload.optimizer = *given;
  if (given || scenario.traced) return false;
  const auto kind = common.word<workload::OptimizerKind>("optimizer.kind");
  workload.optimizer = optimizer_time(kind, parameter_bytes(workload), workload.device);
  return true;
}

}  // namespace

bool load_training(Reader& reader, Scenario& scenario) {
  expect_known_keys(reader);
  scenario.strategy = &read_strategy(reader);
  refuse_keys_of_others(reader, *scenario.strategy);
  if (scenario.strategy->replays_trace) check_traced_training(reader);
  scenario.strategy_settings = read_settings(reader, scenario.strategy->keys);
  const settings::Settings common = read_settings(reader, training::common_keys());
  training::CommonSettings& training = scenario.training;
  training.gradient_accumulation =
      static_cast<std::uint32_t>(common.get<std::uint64_t>("gradient_accumulation"));
  training.collectives_in_flight = static_cast<std::uint32_t>(
      common.find<std::uint64_t>("collectives_in_flight")
          .value_or(cost::default_in_flight(scenario.collective.library)));
  if (common.is_given("input_time")) scenario.workload.input = common.get<Seconds>("input_time");
  return load_optimizer(common, scenario);
}

void check_strategy(Reader& training, const Scenario& scenario) {
  const Field field = training.require("strategy", "ddp");
  check_traced_gradients(field, scenario);
  if (scenario.strategy->refuse == nullptr) return;
  if (const auto refusal = scenario.strategy->refuse(strategy_request(scenario))) {
    field.fail(refusal->what, refusal->hint);
  }
}

}  // namespace paceline::loader
