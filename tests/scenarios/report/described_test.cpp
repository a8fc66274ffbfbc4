// The lines above the table of a run (scenarios/report/described.h).

#include "scenarios/report/described.h"

#include <gtest/gtest.h>

#include "scenarios/predict/run_scenario.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

using Texts = std::vector<std::string>;
using Settings = std::vector<ScenarioFile::Setting>;

Described described_in(const std::string& text, const Settings& settings = {}) {
  const Folder folder;
  const ScenarioFile file = ScenarioFile::read(folder.write("s.yaml", text), settings);
  return described(file, run_scenario(file, {}));
}

// GPT-2 has 124,439,808 parameters.
std::string gpt2(const std::string& workload, const std::string& more) {
  return "schema: paceline/1\nname: n\nworkload: {model: gpt2, device: a100-sxm4-40gb, " +
         workload +
         "}\ncluster: {gpus_per_node: 2, intra_node: {kind: pcie, bandwidth: 12GBps}, network: "
         "{bandwidth: 10Gbps}}\ntraining: {strategy: ddp}\n" +
         more;
}

// 4,020 parameters of four bytes.
TEST(Described, SaysWhatDecides) {
  const Described found = described_in(std::string(small_scenario));
  EXPECT_EQ(found.setup, (Texts{"layers, fp32 (default), 8 samples per GPU",
                                "v100-sxm2-16gb, 2 GPUs per node"}));
  EXPECT_EQ(found.gradients,
            "bulk_synchronous: 0.01608 MB of fp32 gradients a step in 1 call over nvswitch and 10 "
            "Gb/s RDMA (default)");
}

TEST(Described, MarksWhatNobodyGives) {
  const std::string text = gpt2("batch_per_gpu: 4", "gpus: 4\n");
  const Described found = described_in(text);
  EXPECT_EQ(found.setup.at(0), "gpt2, fp32 (default), 4 samples per GPU, 1024 tokens (default)");
  EXPECT_EQ(
      found.gradients,
      "ddp: 497.8 MB of fp32 gradients a step in 13 calls over pcie and 10 Gb/s RDMA (default)");
  EXPECT_EQ(found.defaults, (Texts{"workload.precision.compute", "workload.sequence",
                                   "cluster.network.transport"}));
  const Described told = described_in(text, {{"workload.precision", "fp32"},
                                             {"workload.sequence", "512"},
                                             {"cluster.network.transport", "tcp"},
                                             {"cluster.network.nics_per_node", "2"}});
  EXPECT_EQ(told.setup.at(0), "gpt2, fp32, 4 samples per GPU, 512 tokens");
  EXPECT_EQ(told.gradients,
            "ddp: 497.8 MB of fp32 gradients a step in 13 calls over pcie and 2 x 10 Gb/s TCP");
  EXPECT_EQ(told.defaults, Texts{});
}

// Presets say what their machines have.
TEST(Described, TakesPresetsForGiven) {
  const Described found =
      described_in(gpt2("batch_per_gpu: 4", "gpus: 16\n"),
                   {{"cluster", "{preset: dgx1-v100}"}, {"workload.device", "v100-sxm2-16gb"}});
  EXPECT_EQ(found.defaults, (Texts{"workload.precision.compute", "workload.sequence"}));
}

// 497,759,232 bytes of fp32 and half as many of bf16.
TEST(Described, HasTheTypeOfGradientsOnTheWire) {
  const auto gradients = [](const char* precision) {
    return described_in(gpt2("batch_per_gpu: 4", "gpus: 2\n"), {{"workload.precision", precision}})
        .gradients;
  };
  EXPECT_TRUE(gradients("bf16").starts_with("ddp: 248.9 MB of bf16 gradients"));
  EXPECT_TRUE(gradients("amp").starts_with("ddp: 497.8 MB of fp32 gradients"));
  EXPECT_TRUE(
      gradients("{compute: amp, gradient: fp16}").starts_with("ddp: 248.9 MB of fp16 gradients"));
}

// 64 samples on 2 and on 4 GPUs.
TEST(Described, HasTheRangeOfABatchThatAllGpusShare) {
  const Described found =
      described_in(gpt2("precision: amp", "job: {global_batch: 64}\nsweep: {gpus: [2, 4]}\n"));
  EXPECT_EQ(found.setup.at(0), "gpt2, amp, 16 to 32 samples per GPU, 1024 tokens (default)");
}

TEST(Described, LeavesOutWhatEachPointHasOfItsOwn) {
  const std::string sweep =
      "sweep: {gpus: [2, 4], workload.batch_per_gpu: [8, 16], cluster.network.bandwidth: [1Gbps, "
      "10Gbps], "
      "training.strategy: [ddp, bulk_synchronous]}\n";
  const Described found = described_in(gpt2("precision: amp", sweep));
  EXPECT_EQ(found.setup.at(0), "gpt2, amp, 1024 tokens (default)");
  EXPECT_EQ(found.gradients,
            "497.8 MB of fp32 gradients a step in 1 to 13 calls over pcie and RDMA (default)");
}

// A rank reduces all in its node, and a half of it, 2 GPUs sharing it, between the nodes.
TEST(Described, TellsGroupsOfRanksApart) {
  const std::string found = described_in(gpt2("batch_per_gpu: 4", "gpus: 4\n"),
                                         {{"training", "{strategy: fsdp, sharding: hybrid}"}})
                                .gradients;
  EXPECT_NE(found.find("497.8 MB of fp32 gradients a step in "), found.npos) << found;
  EXPECT_NE(found.find(" calls over pcie, 248.9 MB of fp32 in "), found.npos) << found;
  EXPECT_NE(found.find(" calls over 10 Gb/s RDMA (default)"), found.npos) << found;
}

TEST(Described, SaysNothingOfLinksOnOneGpu) {
  EXPECT_EQ(described_in(gpt2("batch_per_gpu: 4", "gpus: 1\n")).gradients, "ddp");
}

}  // namespace
}  // namespace paceline::test
