#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/contract.h"
#include "models/cost/library_choice.h"
#include "models/workload/attained.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using training::Strategy;
using workload::Workload;

std::vector<std::string_view> strategy_names() {
  std::vector<std::string_view> names;
  for (const Strategy* row : training::strategies()) names.push_back(row->name);
  return names;
}

std::string strategy_summaries() {
  std::string text = "how gradients are reduced. ";
  for (const Strategy* row : training::strategies()) {
    text += fmt::format("{}: {}; ", row->name, row->summary);
  }
  return text + "with a trace all but traced need gradients that it tells";
}

// Each strategy's own, which need it, or one that does; then those of every strategy.
std::vector<Key> make_training_keys() {
  static const auto names = strategy_names();
  static const auto summaries = strategy_summaries();
  std::vector<Key> keys{{"strategy", OneOf{names}, required, summaries, "ddp"}};
  for (const Strategy* strategy : training::strategies()) {
    for (Key key : strategy->keys) {
      if (key.needs.key.empty()) key.needs = {"strategy", {strategy->name}};
      keys.push_back(key);
    }
  }
  keys.insert(keys.end(), training::common_keys().begin(), training::common_keys().end());
  return keys;
}

training::ActivationCheckpointing checkpointing_of(const Section& training) {
  return *training.find<training::ActivationCheckpointing>("activation_checkpointing");
}

constexpr AssumptionKind selective_checkpoints{
    "{}: selective activation checkpointing: never measured"};

// What is recomputed joins the backward.
void recompute_checkpoints(Section& training, Scenario& scenario) {
  if (scenario.training.checkpoints == workload::Checkpoints{}) return;
  const Field field = training.require("activation_checkpointing");
  if (scenario.traced) {
    field.fail("needs the blocks of a network, and a trace does not contain them",
               "leave it out: traced compute already includes recomputation");
  }
  auto& layers = scenario.workload.layers;
  const workload::Checkpoints checkpoints = scenario.training.checkpoints;
  if (segments_of(std::span<const workload::TimedLayer>(layers), checkpoints).empty()) {
    const std::string& name = scenario.workload.name;
    if (checkpoints.attention) field.fail("finds no attention in " + name, "leave it out");
    field.fail(checkpoints.every > 1
                   ? fmt::format("finds fewer than {} checkpoints in {}", checkpoints.every, name)
                   : fmt::format("finds no blocks in {}", name),
               "leave it out, or put layers under repeat: in a network's file");
  }
  if (checkpoints.every > 1 || checkpoints.attention) {
    scenario.assumptions.add({selective_checkpoints, "compute"});
  }
  recompute(layers, scenario.training.checkpoints);
}

constexpr AssumptionKind given_host{
    "{}: takes the times that training.host gives; each step begins with no launch queued"};
constexpr AssumptionKind turns_of_host{
    "{}: launches and compute take turns, as on CPUs, because calls hold the host; for GPUs "
    "set host.computes: false"};

constexpr std::array host_times{"host.per_operation", "host.per_gradient", "host.per_call"};

void load_host(Section& training, Scenario& scenario) {
  training::HostCosts& host = scenario.training.host;
  workload::Launches& launches = host.launches;
  const auto given = training.find<Seconds>("host.per_operation");
  if (given) launches = {.forward = *given, .backward = *given, .optimizer = *given};
  const auto hook = training.find<Seconds>("host.per_gradient");
  const auto call = training.find<Seconds>("host.per_call");
  host.per_gradient = hook.value_or(Seconds(0));
  host.per_call = call.value_or(Seconds(0));
  if (host.any()) scenario.assumptions.add({given_host, "host"});
  const auto computes = training.find<bool>("host.computes");
  const bool turns = host.any() && !computes && scenario.training.calls_hold_host;
  if (turns) scenario.assumptions.add({turns_of_host, "host"});
  scenario.host_given = {given.has_value(), hook.has_value(), call.has_value()};
  if (scenario.models_host()) {
    const training::HookTimes& hooks = scenario.strategy->hooks;
    if (!given) {
      launches = launches_of(scenario.workload.layers, workload::known_attained(),
                             scenario.network->launching);
    }
    if (!hook) host.per_unit = hooks.per_unit;
    host.per_gradient = hook.value_or(hooks.per_gradient);
    host.per_call = call.value_or(hooks.per_call);
  }
  launches.take_turns = computes.value_or(turns);
  const bool are_swept = std::ranges::any_of(host_times, [&](const char* key) {
    const auto field = training.field(key);
    return field && field->is_of_several();
  });
  if (computes && !host.any() && !are_swept) {
    const auto field = training.field("host.computes");
    if (!field->is_of_several()) {
      field->fail("has no effect: the host takes no time",
                  "give per_operation, per_gradient or per_call, or leave it out");
    }
  }
  if (scenario.traced && launches.any()) {
    training.field("host.per_operation")->fail("is in the compute that was traced", "leave it out");
  }
}

// Where neither the optimizer's time nor the memory that its states take depends on them.
void refuse_states_without_effect(Section& training, const Scenario& scenario) {
  for (const char* key :
       {"optimizer.kind", "optimizer.fp32_master", "optimizer.fused", "optimizer.ema"}) {
    const auto given = training.field(key);
    if (given && scenario.traced) {
      given->fail("is that of the trace, whose optimizer takes what it took",
                  "leave it out, or give optimizer.time");
    }
  }
  if (!training.is_given("optimizer.time")) return;
  for (const settings::Key& key : scenario.strategy->keys) {
    const bool is_offload = key.name == "cpu_offload" || key.name == "offload_optimizer";
    if (!is_offload || !training.get<bool>(key.name)) continue;
    training.field("optimizer.time")
        ->fail(fmt::format("is a GPU's, and {} leaves the optimizer to CPUs", key.name),
               "leave it out");
  }
  if (!scenario.traced) {
    training.refuse_set("optimizer.fused",
                        "has no effect: optimizer.time says how long the optimizer takes",
                        "leave it out, or optimizer.time");
  }
  if (scenario.workload.activations.has_value()) return;
  for (const char* key : {"optimizer.kind", "optimizer.fp32_master", "optimizer.ema"}) {
    training.refuse_set(key, "has no effect: optimizer.time says how long the optimizer takes",
                        "leave it out, or optimizer.time");
  }
}

constexpr AssumptionKind unmeasured_optimizer{
    "{}: {} by the memory traffic of its kernel: never measured"};

bool load_optimizer(Section& training, Scenario& scenario) {
  Workload& workload = scenario.workload;
  refuse_states_without_effect(training, scenario);
  workload.optimizer_states = {*training.find<workload::OptimizerKind>("optimizer.kind"),
                               *training.find<bool>("optimizer.fp32_master"),
                               *training.find<bool>("optimizer.fused"),
                               *training.find<bool>("optimizer.ema")};
  if (workload.optimizer_states.kind == workload::OptimizerKind::adam8bit) {
    scenario.assumptions.add({unmeasured_optimizer, "optimizer", {"8-bit states"}});
  }
  if (workload.optimizer_states.ema) {
    scenario.assumptions.add({unmeasured_optimizer, "optimizer", {"a moving average"}});
  }
  const auto given = training.find<Seconds>("optimizer.time");
  if (given) workload.optimizer = *given;
  if (given || scenario.traced) return false;
  workload.optimizer = optimizer_time(workload.optimizer_states, workload.layers, workload.device,
                                      workload::known_attained());
  return true;
}

}  // namespace

std::span<const Key> training_keys() {
  static const std::vector<Key> keys = make_training_keys();
  return keys;
}

workload::Checkpoints checkpoints_of(Section& training) {
  const auto blocks = training.get<std::uint32_t>("blocks_per_checkpoint");
  const auto every = training.get<std::uint32_t>("checkpoint_every");
  switch (checkpointing_of(training)) {
    case training::ActivationCheckpointing::none: return {};
    case training::ActivationCheckpointing::blocks: return {.blocks = blocks, .every = every};
    case training::ActivationCheckpointing::attention: return {.attention = true};
  }
  PACELINE_UNREACHABLE("a way of checkpointing outside the enumeration");
}

bool load_training(Section& section, Scenario& scenario) {
  scenario.strategy = training::find_strategy(section.get<std::string_view>("strategy"));
  section.say_left_out(scenario.assumptions);
  if (scenario.strategy->replays_trace) check_traced_training(section);
  scenario.strategy_settings = read_settings(section.map(), scenario.strategy->keys, {});
  scenario.training.gradient_accumulation = section.get<std::uint32_t>("gradient_accumulation");
  scenario.training.collectives_in_flight =
      section.find<std::uint32_t>("collectives_in_flight")
          .value_or(cost::default_in_flight(scenario.collective.library));
  scenario.training.calls_hold_host = scenario.collective.library != cost::Library::nccl;
  load_host(section, scenario);
  recompute_checkpoints(section, scenario);
  if (section.is_given("input_time")) scenario.workload.input = section.get<Seconds>("input_time");
  return load_optimizer(section, scenario);
}

void check_strategy(Section& training, const Scenario& scenario) {
  const Field field = training.require("strategy");
  check_traced_gradients(field, scenario);
  if (scenario.strategy->refuse == nullptr) return;
  if (const auto refusal = scenario.strategy->refuse(strategy_request(scenario))) {
    throw StrategyRefusal(field.location(), std::string(scenario.strategy->name), refusal->what,
                          refusal->hint);
  }
}

}  // namespace paceline::loader
