// All-reduces of GPUs' tensors in host memory: when they are assumed, and what they take.

#include "models/cost/host_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/run_scenario.h"
#include "scenarios/prepare/library_calls.h"
#include "scenarios/prepare/preparer.h"
#include "scenarios/prepare/resolve.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace host_sums_test {

using Settings = std::vector<ScenarioFile::Setting>;
using uncertain::LinkClass;

// One all-reduce after the backward: 25,557,032 parameters.
constexpr const char* by_mpi = R"(schema: paceline/1
name: sums in host memory
workload: {model: resnet50, batch_per_gpu: 64, precision: fp32, device: p100-pcie-16gb}
cluster:
  gpus_per_node: 4
  intra_node: {kind: pcie, bandwidth: 12GBps, latency: 2us}
  network: {bandwidth: 54.3Gbps, latency: 3us}
training: {strategy: bulk_synchronous}
collective: {library: mpi}
gpus: 4
)";

ScenarioFile file_of(const Settings& settings) {
  const test::Folder folder;
  return ScenarioFile::read(folder.write("s.yaml", by_mpi), settings);
}

Scenario scenario_with(const Settings& settings) { return file_of(settings).scenario(0); }

PreparedPoint prepared_with(const Settings& settings) {
  const ScenarioFile file = file_of(settings);
  return *Preparer(file).prediction(0);
}

double communication(const Settings& settings) {
  const auto outcomes = run_scenario(file_of(settings), {});
  EXPECT_TRUE(outcomes.front().predicted);
  return outcomes.front().predicted->totals.communication.value();
}

// A ring of four: six rounds of chunks of 25,557,032 bytes, 2 us and 2.129753 ms each. In three of
// them a rank adds what arrives: 25,557,032 / 0.74 GB/s is 34.536530 ms. All: 116.400107 ms.
TEST(HostSums, AddToTheRoundsOfARingThatReduce) {
  EXPECT_NEAR(communication({}), 116.400107e-3, 1e-8);
  EXPECT_NEAR(communication(
                  {{"cluster.reduction_bandwidth", "1.48GBps"}, {"collective.algorithm", "ring"}}),
              116.400107e-3 - 1.5 * 34.536530e-3, 1e-8);
}

TEST(HostSums, AreTheSameByMpiAndGloo) {
  for (const char* library : {"mpi", "gloo"}) {
    const PreparedPoint prepared = prepared_with({{"collective.library", library}});
    EXPECT_EQ(prepared.point.cluster.reduction_bandwidth, cost::host_sums);
    const std::vector<std::string> said = prepared.assumptions.sentences();
    const std::string wanted =
        std::string("collective: ") + library +
        " sums tensors of GPUs in host memory, with its copies at 740MBps a "
        "rank (168.2MBps to 3.256GBps); cluster.reduction_bandwidth overrides it";
    EXPECT_EQ(std::ranges::count(said, wanted), 1) << library;
    const uncertain::Place& place = prepared.place;
    EXPECT_EQ(place.node, LinkClass::host_sums);
    EXPECT_EQ(place.network, LinkClass::host_sums);
    EXPECT_TRUE(place.hides_behind_slow);
  }
}

// NCCL sums on GPUs; a rate that is told stays; a GPU alone sums nothing; servers are CPUs whose
// rate is another.
TEST(HostSums, AreNotAssumedWhereNothingIsSummedThereOrItsRateIsTold) {
  for (const Settings& settings :
       {Settings{{"collective.library", "nccl"}}, Settings{{"gpus", "1"}},
        Settings{{"training.strategy", "parameter_server"}}}) {
    EXPECT_FALSE(prepared_with(settings).point.cluster.reduction_bandwidth);
  }
  const Scenario told = scenario_with({{"cluster.reduction_bandwidth", "9GBps"}});
  EXPECT_EQ(told.cluster.reduction_bandwidth, BytesPerSecond(9e9));
  EXPECT_EQ(place_of(told).node, LinkClass::pcie_peers);
}

// Layers with times of their own, ranks of a section `real`, and calls alone may be of CPUs.
TEST(HostSums, AreNotAssumedOfRanksThatMayBeCpus) {
  const test::Folder folder;
  const auto sums = [&](const std::string& text) {
    return ScenarioFile::read(folder.write("s.yaml", text), {}).scenario(0).sums_in_host_memory;
  };
  EXPECT_TRUE(sums(by_mpi));
  EXPECT_FALSE(sums(std::string(by_mpi) + "real: {backend: mpi}\n"));
  EXPECT_FALSE(
      sums(test::changed(test::small_scenario, "library: plan, algorithm: ring", "library: gloo")));
  const auto alone = prepare_calls(
      scenario_with({}),
      {{collectives::Collective::all_reduce, ElementCount(1000), ElementSize(4)}}, "");
  EXPECT_FALSE(alone.calls.front().point.cluster.reduction_bandwidth);
}

// coll_tuned_decision_fixed.c of Open MPI before 4.1; libnbc, which blocks nobody, has trees.
TEST(HostSums, AreOfCallsThatBlock) {
  EXPECT_EQ(cost::blocking_mpi_all_reduce(Bytes(9'999)), "recursive_doubling");
  EXPECT_EQ(cost::blocking_mpi_all_reduce(Bytes(10'000)), "ring");
  const Scenario scenario = scenario_with({{"gpus", "3"}});
  LibraryCalls library(scenario);
  training::CollectiveCall call{collectives::Collective::all_reduce, ElementCount(1 << 20),
                                ElementSize(4)};
  library.plan(call);
  EXPECT_EQ(algorithm_of(call), "ring");
}

}  // namespace host_sums_test
}  // namespace paceline
