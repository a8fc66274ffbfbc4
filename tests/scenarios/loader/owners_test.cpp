#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/loader/key_rows.h"

namespace paceline {
namespace owners_test {

struct Given {
  std::string path, value;
};

// A change of one owner of a key's value, and the line of the report, or the refusal, about it.
struct Case {
  std::string key;             // of the value
  std::vector<Given> file;     // beside resnet50 on two nodes of dgx1-v100
  std::vector<Given> setting;  // --set, a sweep's value, or what a candidate of a plan sets
  std::string says;            // an assumption, or the refusal
};

std::string said_by(const Case& one) {
  ScenarioValues values;
  for (const auto& [path, value] : std::vector<Given>{{"name", "owners"},
                                                      {"workload.batch_per_gpu", "64"},
                                                      {"workload.device", "v100-sxm2-16gb"},
                                                      {"cluster.preset", "dgx1-v100"},
                                                      {"cluster.nodes", "2"},
                                                      {"training.strategy", "ddp"}}) {
    values.by_path[path] = value;
  }
  std::vector<ScenarioFile::Setting> settings;
  for (const Given& given : one.file) {
    (given.value.starts_with("[") ? values.yaml : values.by_path)[given.path] = given.value;
  }
  if (!values.yaml.contains("workload.layers") && !values.by_path.contains("workload.layers")) {
    values.by_path.emplace("workload.model", "resnet50");
  }
  for (const Given& given : one.setting) settings.push_back({given.path, given.value});
  std::string all;
  try {
    for (const std::string& sentence :
         scenario_of_options(values, settings).assumptions.sentences()) {
      all += sentence + "\n";
    }
  } catch (const InputError& error) {
    all = error.what();
  }
  return all;
}

const Given speed{"workload.single_gpu_throughput", "350 samples/s"};
const Given speeds{"workload.measured_on",
                   "[{device: v100-sxm2-16gb, batch: 64, throughput: 350 samples/s}]"};
const Given layers{"workload.layers", "[{forward: 1ms, backward: 2ms}]"};
const Given own_network{"cluster.network.bandwidth", "25Gbps"},
    tcp{"cluster.network.transport", "tcp"};

const std::vector<Case> cases{
    {"workload.single_gpu_throughput",
     {speed},
     {{"workload.device", "a100-sxm4-40gb"}},
     "compute: 350 samples/s on v100-sxm2-16gb carried over to a100-sxm4-40gb"},
    {"workload.single_gpu_throughput",
     {speed},
     {{"workload.precision", "amp"}},
     "compute: 350 samples/s on v100-sxm2-16gb in fp32 carried over to v100-sxm2-16gb"},
    {"workload.single_gpu_throughput",
     {speed},
     {{"workload.model", "vgg16"}},
     "workload: left out, because it was given for model resnet50 and this run has vgg16: "
     "single_gpu_throughput 350 samples/s"},
    {"workload.single_gpu_throughput",
     {speed, {"workload.model", "bert-base"}},
     {{"workload.sequence", "512"}},
     "compute: 350 samples/s on v100-sxm2-16gb with sequences of 128 carried over to "},
    {"workload.single_gpu_throughput",
     {speed},
     {{"workload.batch_per_gpu", "128"}},
     "compute: scaled to 350 samples/s on one GPU at batch 64"},
    {"workload.measured_on",
     {speeds},
     {{"workload.precision", "amp"}},
     "compute: 350 samples/s on v100-sxm2-16gb in fp32 carried over to v100-sxm2-16gb"},
    {"workload.measured_on",
     {speeds},
     {{"workload.model", "vgg16"}},
     "workload: left out, because it was given for model resnet50 and this run has vgg16: "
     "measured_on another"},
    {"workload.layers",
     {layers},
     {{"workload.device", "a100-sxm4-40gb"}},
     "command line: layers was given for device v100-sxm2-16gb, and this run has a100-sxm4-40gb"},
    {"cluster.network.efficiency",
     {own_network},
     {},
     "cluster.network: left out, because it was given for bandwidth 100Gbps and this run has "
     "25Gbps: efficiency 0.92"},
    {"cluster.network.efficiency",
     {},
     {tcp},
     "cluster.network: left out, because it was given for transport rdma and this run has tcp: "
     "efficiency 0.92"},
    {"cluster.network.efficiency", {}, {own_network}, ""},  // a faster network of the same kind
    {"cluster.network.provider",
     {{"cluster.preset", "aws-p3-16xlarge"}, {"cluster.network.bandwidth", "40Gbps"}},
     {},
     "cluster.network: left out, because it was given for bandwidth 25Gbps and this run has "
     "40Gbps: provider aws"},
    {"cluster.network.provider",
     {{"cluster.network.provider", "own"}},
     {{"cluster.preset", "aws-p3-16xlarge"}},
     "cluster.network: left out, because it was given for bandwidth another and this run has "
     "25Gbps: provider own"},
    {"cluster.network.sockets",
     {tcp, {"cluster.network.sockets", "8"}},
     {{"cluster.network.transport", "rdma"}},
     "cluster.network: left out, because it was given for transport tcp and this run has rdma: "},
    {"cluster.intra_node.switch_bandwidth",
     {{"cluster.preset", "pcie-tree-8"}, {"cluster.nodes", "1"}},
     {{"cluster.intra_node.kind", "nvswitch"}, {"cluster.intra_node.bandwidth", "240GBps"}},
     "cluster.intra_node: left out, because it was given for kind pcie and this run has nvswitch"},
    {"cluster.intra_node.bandwidth",
     {},
     {{"cluster.intra_node.kind", "pcie"}},
     "command line: cluster.intra_node.bandwidth is missing; write bandwidth: 12GBps"},
    {"cluster.intra_node.box_spread",
     {{"cluster.preset", "geforce-pcie-8"}, {"cluster.nodes", "1"}},
     {{"cluster.intra_node.bandwidth", "3GBps"}},
     "cluster.intra_node: left out, because it was given for bandwidth "},
    {"training.bucket_cap",
     {{"training.bucket_cap", "1MiB"}},
     {{"training.strategy", "wait_free"}},
     "training: left out, because it was given for strategy ddp and this run has wait_free: "
     "bucket_cap 1MiB"},
    {"training.bucket_cap", {{"training.bucket_cap", "1MiB"}}, {{"training.strategy", "ddp"}}, ""},
};

TEST(Owners, DecideWhatBecomesOfAValue) {
  for (const Case& one : cases) {
    const std::string said = said_by(one);
    SCOPED_TRACE(one.key + ": " + said);
    if (one.says.empty()) {
      EXPECT_EQ(said.find("left out, because"), std::string::npos);
    } else {
      EXPECT_NE(said.find(one.says), std::string::npos);
    }
  }
}

// A misspelt owner would never change.
TEST(Owners, AreKeysOfTheTables) {
  std::size_t owned = 0;
  for (const test::Row& row : test::all_rows()) {
    const auto is_known = [&](std::string_view owner) {
      if (owner.empty()) return true;
      const std::string path = row.prefix + std::string(owner);
      return std::ranges::any_of(test::all_rows(),
                                 [&](const test::Row& other) { return other.path() == path; });
    };
    const auto& [all, named, then] = row.key->owners;
    EXPECT_TRUE(std::ranges::all_of(all, is_known)) << row.path();
    EXPECT_TRUE(std::ranges::all_of(named, is_known)) << row.path();
    if (row.key->owners != settings::Owners{}) ++owned;
  }
  EXPECT_GE(owned, 19U);
}

// Of a list of parameters only a measured step says how long it takes.
TEST(Layers, WithoutTimesDivideAMeasuredStep) {
  const Given listed{"workload.layers", "[{parameters: [1000]}, {parameters: [2000, 1000]}]"};
  EXPECT_NE(said_by({"", {listed}, {}, ""})
                .find("layers has no times, and a list of parameters does not say how long"),
            std::string::npos);
  ScenarioValues values = small_values();
  values.by_path.erase("workload.model");
  values.by_path["cluster.preset"] = "dgx1-v100";
  values.by_path["workload.single_gpu_throughput"] = "100 samples/s";
  values.by_path["training.optimizer.time"] = "0ms";
  values.yaml["workload.layers"] = listed.value;
  const Scenario scenario = scenario_of_options(values, {});
  const auto& timed = scenario.workload.layers;
  EXPECT_NEAR(timed[0].forward.value(), 0.01 / 12, 1e-9);
  EXPECT_NEAR(timed[1].backward.value(), 0.01 / 2, 1e-9);
}

}  // namespace owners_test
}  // namespace paceline
