// Schemas take every shipped file, and refuse what the loader refuses for one key, type, unit or
// range.

#include "scenarios/schema/json_schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/scenarios/loader/bad_batches.h"
#include "tests/scenarios/loader/bad_scenarios.h"
#include "tests/scenarios/loader/job/bad_jobs.h"
#include "tests/scenarios/loader/job/small_job.h"
#include "tests/scenarios/loader/key_rows.h"
#include "tests/scenarios/schema/validator.h"

namespace paceline::test {
namespace {

namespace fs = std::filesystem;

const fs::path source_dir = PACELINE_SOURCE_DIR;

const schema::Kind& kind_called(std::string_view name) {
  return *std::ranges::find(schema::kinds(), name, &schema::Kind::name);
}

SchemaValidator validator_of(std::string_view kind) {
  return SchemaValidator(schema::json_schema(kind_called(kind)));
}

const std::map<std::string, std::string> kinds_by_schema{{"paceline/1", "scenario"},
                                                         {"paceline.job/1", "job"},
                                                         {"paceline.catalogue/1", "catalogue"},
                                                         {"paceline.cluster/1", "cluster"},
                                                         {"paceline.network/1", "network"},
                                                         {"paceline.device/1", "device"}};

// Of files that only paceline writes, and of claims, which have no table of keys.
const std::set<std::string> without_a_schema{"paceline.calibration/1", "paceline.claim/1"};

std::string schema_word(const std::string& text) {
  return YAML::Load(text)["schema"].as<std::string>("");
}

TEST(JsonSchema, TakesEveryShippedFile) {
  std::map<std::string, SchemaValidator> validators;
  for (const auto& [word, kind] : kinds_by_schema) {
    validators.try_emplace(word, schema::json_schema(kind_called(kind)));
  }
  std::map<std::string, int> taken;
  for (const char* folder : {"scenarios/library", "models/workload", "models/topology/presets"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const std::string text = text_of(entry.path()), word = schema_word(text);
      if (without_a_schema.contains(word)) continue;
      ASSERT_TRUE(validators.contains(word)) << entry.path() << ": schema " << word;
      EXPECT_EQ(validators.at(word).fault_of(text), "") << entry.path();
      ++taken[word];
    }
  }
  for (const auto& [word, kind] : kinds_by_schema) EXPECT_GE(taken[word], 5) << kind;
  EXPECT_GE(taken["paceline/1"], 90);
}

TEST(JsonSchema, SaysOfEveryKeyWhatItMeans) {
  const auto schema = nlohmann::json::parse(schema::json_schema(kind_called("scenario")));
  for (const Row& row : all_rows()) {
    const nlohmann::json* part = &schema;
    std::string path = row.path();
    for (std::size_t dot = 0; !path.empty(); path.erase(0, dot + 1)) {
      dot = std::min(path.find('.'), path.size() - 1);
      const std::string key = path.substr(0, path.find('.'));
      ASSERT_TRUE(part->contains("properties")) << row.path();
      ASSERT_TRUE(part->at("properties").contains(key)) << row.path();
      part = &part->at("properties").at(key);
    }
    EXPECT_NE(part->at("description").get<std::string>().find(row.key->meaning), std::string::npos)
        << row.path();
  }
}

// What a schema does not say, and why.
enum class Beyond {
  other_keys,   // two keys or rows that contradict each other, or need each other's values
  other_files,  // what other files have
  arithmetic,   // what figures make together
  numbers,      // of texts: ranges, whole bytes, days of months
  yaml,         // editors see it before a schema does
};

const std::map<std::string, Beyond> beyond_a_schema{
    {"KeyThatStandsTwice", Beyond::yaml},
    {"NestedKeyThatStandsTwice", Beyond::yaml},
    {"InfiniteBandwidth", Beyond::numbers},
    {"FractionOfAByte", Beyond::numbers},
    {"NoTimeLeftForTheLayers", Beyond::arithmetic},
    {"GpusThatDoNotFillNodes", Beyond::arithmetic},
    {"GpusThatDoNotFillNodesInASweep", Beyond::arithmetic},
    {"MoreGpusThanAMillion", Beyond::arithmetic},
    {"MoreNicsThanGpus", Beyond::other_keys},
    {"NodesWithoutANetwork", Beyond::other_keys},
    {"LanesThatAreNotSymmetric", Beyond::arithmetic},
    {"LanesThatAreNotSquare", Beyond::arithmetic},
    {"LanesFromAGpuToItself", Beyond::arithmetic},
    {"MeshWithoutAPath", Beyond::arithmetic},
    {"PcieSwitchOfOneGpuWithoutABandwidth", Beyond::other_keys},
    {"LanesWithoutABandwidth", Beyond::other_keys},
    {"PortsWithoutABandwidth", Beyond::other_keys},
    {"NodesWithNothingBetweenTheirGpus", Beyond::other_keys},
    {"ModelBesideLayers", Beyond::other_keys},
    {"MeasuredPointOfTwoGridPoints", Beyond::other_keys},
    {"AxisWithTheSameTimeTwice", Beyond::other_keys},
    {"TwoMeasuredPointsOfOneGridPoint", Beyond::other_keys},
    {"KnownInBothSpellings", Beyond::other_keys},
    {"GlobalBatchThatPassesOfABatchDoNotReach", Beyond::arithmetic},
    {"GlobalBatchBesideBatchAndPasses", Beyond::other_keys},
    {"GlobalBatchThatDoesNotDivide", Beyond::arithmetic},
    {"GlobalBatchOfFewerSamplesThanGpus", Beyond::arithmetic},
    {"GlobalBatchThatPassesDoNotDivide", Beyond::arithmetic},
    {"GlobalBatchWithoutThatOfTheLayers", Beyond::other_keys},
    {"GlobalBatchWithoutThatOfTheMeasurement", Beyond::other_keys},
    {"GlobalBatchOfATrace", Beyond::other_keys},
    {"BatchOfLayersThatAreNotThere", Beyond::other_keys},
    {"ThroughputsOfOneBatch", Beyond::other_keys},
    {"BatchBesideThroughputsThatHaveTheirs", Beyond::other_keys},
    {"GlobalBatchThatAnAxisDoesNotDivide", Beyond::arithmetic},
    {"TwoAxesOfBatches", Beyond::other_keys},
    {"keys of jobs: LayersWithoutTheirBatch", Beyond::other_keys},
    {"keys of jobs: LayersOfTwoDevices", Beyond::other_files},
    {"amounts of jobs: Empty", Beyond::other_keys},
    {"amounts of jobs: Two", Beyond::other_keys},
    {"amounts of jobs: TokensOfImages", Beyond::other_files},
    {"machines of jobs: NodesTwice", Beyond::other_keys},
    {"targets of jobs: None", Beyond::other_keys},
    {"targets of jobs: TokensOfImages", Beyond::other_files},
    {"targets of jobs: LowProbability", Beyond::numbers},
    {"choices of jobs: NoBatch", Beyond::other_keys},
    {"choices of jobs: BothBatchesExact", Beyond::other_keys},
    {"choices of jobs: OneBatchTwice", Beyond::other_keys},
    {"choices of jobs: StrategyTwice", Beyond::other_keys},
    {"choices of jobs: MeasuredOnTwice", Beyond::other_keys},
    {"machines of jobs: CatalogueTwice", Beyond::other_keys},
    {"machines of jobs: NoMachineInTheRegion", Beyond::other_files},
    {"machines of jobs: AnotherRegionOfTwoLetters", Beyond::other_files},
    {"keys of jobs: TextOfImages", Beyond::other_keys},
    {"targets of jobs: DeadlineWithinTheStart", Beyond::other_keys},
    {"machines of jobs: UnknownMachine", Beyond::other_files},
    {"machines of jobs: NothingLeft", Beyond::other_files},
    {"catalogues: NoPrice", Beyond::other_keys},
    {"catalogues: OtherCurrency", Beyond::other_keys},
    {"catalogues: MachineTwice", Beyond::other_keys},
    {"catalogues: NoDate", Beyond::numbers},
    {"catalogues: PriceBesideOwned", Beyond::other_keys},
};

// Whether a schema refuses it, or it is named above; not both.
void expect_fault(SchemaValidator& validator, const std::string& text, const std::string& name) {
  std::string fault;
  try {
    fault = validator.fault_of(text);
  } catch (const YAML::Exception& error) {
    fault = error.what();
  }
  EXPECT_EQ(fault.empty(), beyond_a_schema.contains(name))
      << name << (fault.empty() ? ": is taken" : ": is refused: " + fault);
}

TEST(JsonSchema, RefusesWhatTheLoaderRefusesForOneKey) {
  SchemaValidator validator = validator_of("scenario");
  EXPECT_EQ(validator.fault_of(std::string(small_scenario)), "");
  const auto expect_all = [&](std::span<const BadScenario> rows) {
    for (const BadScenario& bad : rows) {
      const Marked marked(changed(small_scenario, bad.from, bad.to));
      expect_fault(validator, marked.text, bad.name);
    }
  };
  for (const BadScenarioTable& table : bad_scenarios) expect_all(table.rows);
  expect_all(bad_batches);
}

TEST(JsonSchema, RefusesJobsAndCataloguesLikewise) {
  SchemaValidator jobs = validator_of("job"), catalogues = validator_of("catalogue");
  EXPECT_EQ(jobs.fault_of(std::string(small_job)), "");
  EXPECT_EQ(catalogues.fault_of(std::string(small_catalogue)), "");
  for (const auto& [about, rows] : bad_job_tables) {
    for (const BadJobFile& bad : rows) {
      const Marked marked(changed(small_job, bad.from, bad.to));
      expect_fault(jobs, marked.text, fmt::format("{} of jobs: {}", about, bad.name));
    }
  }
  for (const BadJobFile& bad : bad_machines_of_catalogues) {
    const Marked marked(changed(small_catalogue, bad.from, bad.to));
    expect_fault(catalogues, marked.text, fmt::format("catalogues: {}", bad.name));
  }
}

std::string fault_with(std::string_view from, std::string_view to) {
  static SchemaValidator validator = validator_of("scenario");
  return validator.fault_of(changed(small_scenario, from, to));
}

TEST(JsonSchema, KnowsWhichKeysBelongToAStrategy) {
  EXPECT_EQ(fault_with("{strategy: bulk_synchronous,", "{strategy: ddp, bucket_cap: 5MiB,"), "");
  EXPECT_NE(fault_with("{strategy: bulk_synchronous,", "{strategy: horovod, bucket_cap: 5MiB,"),
            "");
  EXPECT_EQ(
      fault_with("{strategy: bulk_synchronous,", "{strategy: horovod, fusion_threshold: 5MiB,"),
      "");
}

TEST(JsonSchema, AsksForNothingThatAnAxisGives) {
  EXPECT_NE(fault_with("{strategy: bulk_synchronous, ", "{"), "");
  EXPECT_EQ(
      fault_with("training: {strategy: bulk_synchronous, optimizer: {kind: sgd, time: 1ms}}\n",
                 "sweep: {training.strategy: [ddp, wait_free]}\n"),
      "");
  EXPECT_EQ(fault_with("training: {strategy: bulk_synchronous,",
                       "sweep: {training.strategy: [ddp, horovod]}\n"
                       "training: {bucket_cap: 5MiB,"),
            "");
}

TEST(JsonSchema, TakesAxesOfTheTypesOfTheirKeys) {
  EXPECT_EQ(fault_with("", "sweep: {cluster.network.latency: [1us, 2us], gpus: [2, 4]}\n"), "");
  EXPECT_NE(fault_with("", "sweep: {cluster.network.latency: [1, 2us]}\n"), "");
  EXPECT_EQ(fault_with("", "sweep: {workload.layers.0.forward: [1ms], ranks.slowdown.1: [2]}\n"),
            "");
  EXPECT_NE(fault_with("", "sweep: {workload.layers.0.forward: [1]}\n"), "");
  EXPECT_NE(fault_with("", "sweep: {workload.layers.0.foward: [1ms]}\n"), "");
}

TEST(JsonSchema, LetsMeasuredPointsNameAxes) {
  EXPECT_EQ(fault_with("",
                       "sweep: {cluster.network.latency: [1us, 2us]}\nmeasured: {source: s, "
                       "points: [{cluster.network.latency: 1us, step: 1s}]}\n"),
            "");
  EXPECT_NE(fault_with("",
                       "measured: {source: s, points: [{cluster.network.latency: 1, step: "
                       "1s}]}\n"),
            "");
}

TEST(JsonSchema, LeavesToAPresetWhatItMayGive) {
  const std::string cluster =
      "  nodes: 2\n  gpus_per_node: 2\n  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: "
      "2us}\n";
  EXPECT_NE(fault_with(cluster, "  nodes: 2\n"), "");
  EXPECT_EQ(fault_with(cluster, "  preset: dgx1-v100\n"), "");
  EXPECT_EQ(fault_with(cluster, "  preset: pcie-tree-8\n  intra_node: {gpus_per_switch: 4}\n"), "");
}

TEST(JsonSchema, RefusesBadDataFiles) {
  const std::string device =
      "schema: paceline.device/1\nname: mine\nmemory_bandwidth: 900GBps\nsmall_kernel_time: 5us\n"
      "peak: {fp32: 10TFLOPS}\n";
  SchemaValidator devices = validator_of("device");
  EXPECT_EQ(devices.fault_of(device), "");
  EXPECT_NE(devices.fault_of(changed(device, "10TFLOPS", "10")), "");
  EXPECT_NE(devices.fault_of(changed(device, "name: mine\n", "")), "");
  EXPECT_NE(devices.fault_of(changed(device, "peak", "peek")), "");
  const std::string network =
      "schema: paceline.network/1\nname: mine\nlayers:\n  - {linear: fc, in: 8, out: 8}\n";
  SchemaValidator networks = validator_of("network");
  EXPECT_EQ(networks.fault_of(network), "");
  EXPECT_NE(networks.fault_of(changed(network, "linear", "liner")), "");
  EXPECT_NE(networks.fault_of(changed(network, "in: 8", "in: 0")), "");
  EXPECT_NE(networks.fault_of(changed(network, "in: 8", "kernel: 8")), "");
}

}  // namespace
}  // namespace paceline::test
