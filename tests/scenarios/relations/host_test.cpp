// What a host takes is neither divided among ranks nor lost: relations of a step that launches
// bound, over all strategies.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/training/strategy.h"
#include "tests/scenarios/relations/tried_scenario.h"

namespace paceline::test {
namespace host_test {

using Settings = TriedScenario::Settings;

constexpr std::string_view bound = R"(schema: paceline/1
name: bound by the host
gpus: 8
contention: off
workload: {model: resnet50, batch_per_gpu: 1, device: a100-sxm4-40gb, precision: amp}
cluster: {preset: dgx-a100}
training: {strategy: ddp, optimizer: {kind: adam}}
)";

PointOutcome outcome(const Settings& settings) {
  const Folder folder;
  const auto tried = TriedScenario::run(folder.write("s.yaml", bound), settings, {});
  if (!tried) throw InputError({"settings"}, "are refused", "");
  return tried->outcomes().front();
}

double step(const Settings& settings) { return outcome(settings).predicted->totals.step.value(); }

// Those that take a network of layers.
std::vector<std::string> strategies() {
  std::vector<std::string> names;
  for (const training::Strategy* one : training::strategies()) {
    if (!one->replays_trace) names.emplace_back(one->name);
  }
  return names;
}

TEST(HostRelations, NoStepIsShorterThanTheLaunchesOfOneGpu) {
  const PointOutcome alone = outcome({{"gpus", "1"}});
  ASSERT_TRUE(alone.launches);
  for (const std::string& name : strategies()) {
    EXPECT_GE(step({{"training.strategy", name}}), alone.launches->value()) << name;
  }
}

TEST(HostRelations, ALongerOptimizerMakesNoStepShorter) {
  for (const std::string& name : strategies()) {
    double before = 0;
    for (const char* time : {"0s", "1ms", "5ms", "20ms", "60ms", "200ms"}) {
      const double now = step({{"training.strategy", name},
                               {"training.optimizer.kind", "sgd_momentum"},
                               {"training.optimizer.time", time}});
      EXPECT_GE(now, before * (1 - 1e-12)) << name << " " << time;
      before = now;
    }
  }
}

// Of next to nothing it is as of nothing; its own term is as it was for others.
TEST(HostRelations, AKeyReplacesItsOwnTermAlone) {
  for (const std::string& name : strategies()) {
    for (const char* key : {"per_operation", "per_gradient", "per_call"}) {
      const std::string path = std::string("training.host.") + key;
      const auto at = [&](const char* value) {
        return step({{"training.strategy", name}, {path, value}});
      };
      const double nothing = at("0s"), some = at("300us");
      EXPECT_NEAR(at("1ns"), nothing, nothing * 1e-3) << name << " " << key;
      EXPECT_GE(some, nothing * (1 - 1e-12)) << name << " " << key;
      if (path.ends_with("per_operation")) continue;
      EXPECT_GE(nothing, outcome({{"gpus", "1"}}).launches->value()) << name << " " << key;
    }
  }
}

TEST(HostRelations, AMeasuredStepOfOneGpuIsThatWhateverTheHostTakes) {
  for (const char* speed : {"10 samples/s", "40 samples/s", "100 samples/s"}) {
    const Settings measured{{"gpus", "1"}, {"workload.single_gpu_throughput", speed}};
    for (const char* operation : {"auto", "0s", "1us", "10us"}) {
      Settings with = measured;
      if (std::string_view(operation) != "auto") {
        with.push_back({"training.host.per_operation", operation});
      }
      EXPECT_NEAR(step(with) * std::stod(speed), 1, 1e-9) << speed << " " << operation;
    }
  }
}

// A measured step of one rank with its wrapper has the wrapper's hooks.
TEST(HostRelations, AWrappedStepHasItsHooks) {
  const Settings measured{{"workload.single_gpu_throughput", "25 samples/s"},
                          {"training.host.per_call", "0s"}};
  Settings wrapped = measured, without = measured;
  wrapped.emplace_back("workload.single_gpu_wrapped", "true");
  without.emplace_back("training.host.per_gradient", "0s");
  EXPECT_GT(step(measured), 1.05 * step(without));
  EXPECT_NEAR(step(wrapped), step(without), 0.01 * step(without));
}

// Where the host bounds a step the report says what hooks were taken to cost, unless keys say so.
TEST(HostRelations, AreToldOfHooks) {
  const auto tells = [](const Settings& settings) {
    return std::ranges::any_of(outcome(settings).assumptions, [](const std::string& one) {
      return one.starts_with("host: hooks of ");
    });
  };
  for (const std::string& name : strategies()) {
    EXPECT_TRUE(tells({{"training.strategy", name}})) << name;
    EXPECT_FALSE(tells({{"training.strategy", name}, {"workload.batch_per_gpu", "512"}})) << name;
    EXPECT_FALSE(tells({{"training.strategy", name},
                        {"training.host.per_gradient", "17us"},
                        {"training.host.per_call", "40us"}}))
        << name;
  }
  EXPECT_FALSE(tells({{"gpus", "1"}}));
}

}  // namespace host_test
}  // namespace paceline::test
