#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

std::vector<std::string> described_in(const std::string& text,
                                      const std::vector<ScenarioFile::Setting>& settings = {}) {
  const Folder folder;
  return described(ScenarioFile::read(folder.write("s.yaml", text), settings));
}

using Texts = std::vector<std::string>;

TEST(Described, SaysWhatIsPredicted) {
  EXPECT_EQ(described_in(std::string(small_scenario)),
            (Texts{"layers, fp32, 8 samples per GPU", "v100-sxm2-16gb, 2 GPUs per node",
                   "network 10 Gb/s RDMA", "bulk_synchronous"}));
  EXPECT_EQ(described_in(std::string(small_scenario), {{"cluster.network.transport", "tcp"},
                                                       {"cluster.network.nics_per_node", "2"}})
                .at(2),
            "network 2 x 10 Gb/s TCP");
  EXPECT_EQ(described_in(std::string(small_scenario),
                         {{"sweep.cluster.network.bandwidth", "[1Gbps, 10Gbps]"},
                          {"cluster.network.nics_per_node", "2"}})
                .at(2),
            "network RDMA, 2 NICs per node");
}

TEST(Described, LeavesOutWhatEachPointHasOfItsOwn) {
  const std::string sweep =
      "sweep: {workload.batch_per_gpu: [8, 16], cluster.network.bandwidth: [1Gbps, 10Gbps], "
      "training.strategy: [ddp, bulk_synchronous]}\n";
  EXPECT_EQ(
      described_in(std::string(small_scenario) + sweep + "", {{"workload.layers_batch", "8"}}),
      (Texts{"layers, fp32", "v100-sxm2-16gb, 2 GPUs per node", "network RDMA"}));
}

TEST(Described, HasNoNetworkOnOneNodeAndSequencesWhereThereAreSome) {
  const std::string text =
      "schema: paceline/1\nname: n\nworkload: {model: bert-base, batch_per_gpu: 1, device: "
      "v100-sxm2-16gb}\ncluster: {preset: dgx1-v100}\ntraining: {strategy: ddp}\nsweep: {gpus: "
      "[8]}\n";
  EXPECT_EQ(described_in(text), (Texts{"bert-base, fp32, 1 sample per GPU, sequences of 128 tokens",
                                       "v100-sxm2-16gb, 8 GPUs per node", "ddp"}));
}

TEST(Described, IsEmptyWhereTheLastPointIsRefused) {
  EXPECT_EQ(described_in(std::string(small_scenario) + "sweep: {gpus: [4, 3]}\n"), Texts{});
}

}  // namespace
}  // namespace paceline::test
