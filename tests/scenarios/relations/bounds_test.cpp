// No prediction, and no end of its interval, beats what wires and chips can do (cuts.h), whatever
// the scenario; nor do several GPUs beat as many of one, but for named reasons. 60 seeds;
// PACELINE_RELATION_SEEDS as many (many_seeds.sh). PACELINE_RELATION_SHIPPED: all shipped ones.

#include "models/cost/bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "scenarios/predict/link_forms.h"
#include "scenarios/report/collective_report.h"
#include "sim/folded/predicted_point.h"
#include "tests/scenarios/relations/beaten.h"
#include "tests/scenarios/relations/tried_scenario.h"
#include "tests/scenarios/relations/varied_scenario.h"

namespace paceline::test {
namespace {

class BoundRelations : public TriedRelation {
 protected:
  BoundRelations() : TriedRelation(60) {}

  void look_at(const std::string& name, const std::string& path,
               const TriedScenario::Settings& settings, const RunOptions& options = {}) {
    const auto tried = TriedScenario::run(path, settings, options);
    if (!tried) return;
    bool is_tried = false;
    std::string why;
    for (std::size_t point = 0; point < tried->outcomes().size(); ++point) {
      const PointOutcome& outcome = tried->outcomes()[point];
      if (!outcome.predicted) continue;
      is_tried = true;
      if (why.empty()) why = beaten(*tried->scenario(point), *tried->prepared(point), outcome);
    }
    if (is_tried) count(name, why, path);
  }
};

TEST_F(BoundRelations, StepsKeepToThem) {
  for (std::uint64_t seed = first_; seed < end_; ++seed) {
    const Folder folder;
    look_at(std::to_string(seed), folder.write("s.yaml", varied_scenario(seed).text()), {});
  }
}

// Of logs that are no faster than their wires: in all of the job, or on one node, or two.
TEST_F(BoundRelations, CalibratedStepsKeepToThem) {
  for (std::uint64_t seed = first_; seed < end_; ++seed) {
    if (seed % 4 != 1) continue;
    const Folder folder;
    Values values = varied_scenario(seed);
    const std::string path = folder.write("s.yaml", values.text());
    try {
      const auto file = ScenarioFile::read(path, {});
      topology::Cluster logged = file.scenario(0).cluster;
      Random random(seed);
      if (random.chance(0.5)) logged.nodes = std::min(logged.nodes, 2U);
      if (logged.ranks() == RankCount(1)) continue;
      Cuts cuts(logged, false);
      cuts.add({.collective = collectives::Collective::all_reduce,
                .count = ElementCount(250'000'000),
                .element_size = ElementSize(4)});
      folder.write("c.yaml", calibration_of(random, logged, cuts.longest().seconds));
    } catch (const InputError&) {
      continue;
    }
    values.set("cluster.calibration", "c.yaml");
    look_at(std::to_string(seed), folder.write("s.yaml", values.text()), {});
  }
}

// As `paceline collective` has them: a call alone, with the interval of its choice from what the
// command takes for its bound.
TEST_F(BoundRelations, CallsKeepToThem) {
  using collectives::Collective;
  for (std::uint64_t seed = first_; seed < end_; ++seed) {
    const Folder folder;
    const std::string path = folder.write("s.yaml", varied_scenario(seed).text());
    Random random(seed);
    try {
      const auto file = ScenarioFile::read(path, {});
      const Scenario scenario = file.scenario(0);
      if (scenario.cluster.ranks() == RankCount(1)) continue;
      const Collective collective = random.chance(0.5)   ? Collective::all_reduce
                                    : random.chance(0.5) ? Collective::all_gather
                                                         : Collective::reduce_scatter;
      const auto size = static_cast<std::uint64_t>(random.spread(1e4, 3e8));
      const auto made =
          prepare_calls(scenario, {{collective, ElementCount(size), ElementSize(4)}}, "");
      const ResolvedPoint& point = made.calls.front().point;
      Result result = sim::predict_folded(point);
      const auto bound =
          cost::least_times(scenario.cluster, *call_of(result.trace.program.operations.front()));
      const PredictedCall predicted{Bytes(4 * size), "", std::move(result),
                                    bound.node_links + bound.network};
      Cuts cuts(job_cluster(point), nvswitch_adds(scenario));
      cuts.add(predicted.call());
      const Cuts::Longest least = cuts.longest();
      const Seconds time = predicted.time(), low = predicted.low();
      std::string why;
      if (beats(low, least.seconds)) {
        why = fmt::format(
            "{} of {} bytes on {} nodes of {}: {:.6g} s, from {:.6g} s on, at least {:.6g} s: {}",
            to_text(collective), 4 * size, scenario.cluster.nodes, scenario.cluster.gpus_per_node,
            time.value(), low.value(), least.seconds, least.where);
      }
      count(std::to_string(seed), why, path);
    } catch (const InputError&) {
    } catch (const sim::NotSimulated&) {
    }
  }
}

// Functions of latency and bandwidth in place of simulations.
TEST_F(BoundRelations, FormsKeepToThem) {
  for (std::uint64_t seed = first_; seed < end_; ++seed) {
    if (seed % 10 != 1) continue;
    Values values = varied_scenario(seed);
    if (values.number("cluster.nodes") < 2) continue;
    const Folder folder;
    const TriedScenario::Settings links{
        {"sweep.cluster.network.bandwidth",
         "[1Gbps, 4Gbps, 10Gbps, 25Gbps, 50Gbps, 100Gbps, 200Gbps, 400Gbps]"},
        {"sweep.cluster.network.latency", "[1us, 2us, 4us, 8us, 16us, 32us, 64us, 128us]"}};
    const std::string path = folder.write("s.yaml", values.text());
    try {
      const auto file = ScenarioFile::read(path, links);
      Preparer points(file);
      LinkForms forms(file, false, unconditioned_belief());
      std::string why;
      bool is_tried = false;
      for (std::size_t point = seed % 5; point < file.point_count() && why.empty(); point += 5) {
        const auto outcome = forms.outcome(point);
        if (!outcome || !outcome->predicted) continue;
        is_tried = true;
        why = beaten(*points.scenario(point), *points.prediction(point), *outcome);
      }
      if (is_tried) count(std::to_string(seed), why, path);
    } catch (const InputError&) {
    }
  }
}

TEST_F(BoundRelations, ShippedScenariosKeepToThem) {
  each_shipped(12, [&](const std::string& name, const std::string& path, std::uint64_t) {
    look_at(name, path, {});
  });
}

}  // namespace
}  // namespace paceline::test
