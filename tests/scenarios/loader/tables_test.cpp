// What must hold of every row of the tables of keys: the loader takes it, and refuses it without
// what it needs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "models/collectives/algorithms.h"
#include "models/cost/nccl_tuning.h"
#include "models/units/parse.h"
#include "scenarios/loader/load_scenario.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/loader/key_rows.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace tables_test {

using settings::Key;
using settings::Needs;

// By path: what is set on a scenario.
using Set = std::map<std::string, std::string>;

struct Sample {
  const Key& key;

  std::string operator()(settings::Flag) const { return "true"; }
  std::string operator()(settings::Count range) const { return std::to_string(range.least); }
  std::string operator()(settings::Number range) const { return fmt::format("{}", range.most); }
  std::string operator()(settings::Fraction range) const { return fmt::format("{}", range.most); }
  std::string operator()(settings::Time time) const {
    return time.least > Seconds(0) ? paceline::to_text(time.least) : "5us";
  }
  std::string operator()(settings::Bandwidth) const { return "10GBps"; }
  std::string operator()(settings::Size) const { return "4KiB"; }
  std::string operator()(settings::ComputeSpeed) const { return "1TFLOPS"; }
  std::string operator()(settings::Throughput) const { return "1 samples/s"; }
  std::string operator()(settings::OneOf known) const { return std::string(known.words.front()); }
  std::string operator()(settings::VersionNumber) const { return "\"2.1\""; }
  std::string operator()(auto) const { return std::string(key.example); }
};

std::string sample_of(const Key& key) {
  return key.example.empty() ? std::visit(Sample{key}, key.type) : std::string(key.example);
}

// What the key needs, and what that needs in turn; but for `model`, which the scenario has.
void set_needs(const Row& row, const Needs& needs, Set& set) {
  if (needs.key.empty() || needs.key == "model") return;
  const Key& needed = row.of_table(needs.key);
  set[row.prefix + std::string(needs.key)] =
      needs.values.front().empty() ? sample_of(needed) : std::string(needs.values.front());
  set_needs(row, needed.needs, set);
}

// The other keys of the table that are required beside those that are set.
void set_required(const Row& row, Set& set) {
  if (set.contains("other_jobs.count")) set["other_jobs.count"] = "1";  // none have nothing
  // Another kind has other rates.
  if (set.contains("cluster.intra_node.kind")) set["cluster.intra_node.bandwidth"] = "20GBps";
  for (const Key& key : row.table) {
    const std::string path = row.prefix + std::string(key.name);
    if (key.needs.key.empty() || set.contains(path) || !says(key, settings::required)) continue;
    const auto needed = set.find(row.prefix + std::string(key.needs.key));
    if (needed == set.end()) continue;
    const std::string_view value = key.needs.values.front();
    if (value.empty() || needed->second == value) set[path] = sample_of(key);
  }
}

constexpr std::string_view modelled_scenario = R"(schema: paceline/1
name: one node
workload: {model: bert-base, batch_per_gpu: 8, device: a100-sxm4-40gb}
cluster: {gpus_per_node: 2, intra_node: {bandwidth: 100GBps}}
training: {strategy: bulk_synchronous}
collective: {library: plan}
)";

ScenarioFile file_of(std::string_view text, const std::vector<ScenarioFile::Setting>& set) {
  const test::Folder folder;
  return ScenarioFile::read(folder.write("s.yaml", std::string(text)), set);
}

// "" when it is loaded, else why not.
std::string refusal_of(std::string_view text, const Set& set) {
  std::vector<ScenarioFile::Setting> given;
  for (const auto& [path, value] : set) given.push_back({path, value});
  try {
    (void)file_of(text, given);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Other tests have these: files; what would stand beside a model; a preset's own nodes; what cannot
// be set; what says how another key of its strategy acts.
bool is_left_out(const Row& row) {
  static const std::set<std::string> known{"workload.trace",
                                           "workload.calls",
                                           "workload.layers",
                                           "workload.layers_batch",
                                           "workload.float8",
                                           "workload.lora.rank",
                                           "workload.lora.targets",
                                           "cluster.calibration",
                                           "cluster.preset",
                                           "sweep",
                                           "measured.source",
                                           "measured.by",
                                           "measured.network",
                                           "measured.points",
                                           "training.host.computes",
                                           "training.parameters_as_bucket_view",
                                           "training.matrix_approximation_rank",
                                           "training.min_compression_rate",
                                           "training.use_error_feedback",
                                           "training.orthogonalization_time",
                                           "training.stage3_prefetch_bucket_size",
                                           "training.stage3_max_live_parameters",
                                           "training.stage3_max_reuse_distance",
                                           "training.stage3_param_persistence_threshold"};
  return known.contains(row.path());
}

TEST(Tables, HaveKeysThatTheLoaderTakes) {
  for (const Row& row : all_rows()) {
    if (is_left_out(row)) continue;
    Set set{{row.path(), sample_of(*row.key)}};
    set_needs(row, row.key->needs, set);
    set_required(row, set);
    EXPECT_EQ(refusal_of(modelled_scenario, set), "") << row.path();
  }
}

TEST(Tables, HaveDefaultsThatMayBeGiven) {
  for (const Row& row : all_rows()) {
    const auto* value = std::get_if<settings::Value>(&row.key->unless_given);
    if (value == nullptr || is_left_out(row)) continue;
    Set set{{row.path(), spelled(*row.key, *value)}};
    set_needs(row, row.key->needs, set);
    set_required(row, set);
    EXPECT_EQ(refusal_of(modelled_scenario, set), "") << row.path();
  }
}

// The small scenario has nothing that any key needs.
TEST(Tables, HaveKeysThatAreRefusedWithoutWhatTheyNeed) {
  std::size_t refused = 0;
  for (const Row& row : all_rows()) {
    const Needs& needs = row.key->needs;
    if (needs.key.empty()) continue;
    ++refused;
    const std::string said = refusal_of(small_scenario, {{row.path(), sample_of(*row.key)}});
    EXPECT_NE(said.find(row.key->name), std::string::npos) << row.path() << ": " << said;
    // What a key needs may be what is missed first.
    const bool is_of_strategy = row.of_table(needs.key).needs.key == "strategy";
    const std::string refusal =
        needs.refusal.empty() || is_of_strategy ? "belongs to " : std::string(needs.refusal);
    EXPECT_NE(said.find(refusal), std::string::npos) << row.path() << ": " << said;
  }
  EXPECT_GE(refused, 15U);
}

TEST(Tables, HaveKeysThatAreMissedBesideWhatTheyNeed) {
  for (const Row& row : all_rows()) {
    if (row.key->needs.key.empty() || !says(*row.key, settings::required)) continue;
    Set set{{row.path(), sample_of(*row.key)}};
    set_needs(row, row.key->needs, set);
    set_required(row, set);
    set.erase(row.path());
    EXPECT_NE(refusal_of(modelled_scenario, set)
                  .find(fmt::format("{} is missing; write {}: {}", row.path(), row.key->name,
                                    row.key->example)),
              std::string::npos)
        << row.path();
  }
}

TEST(Tables, NameEachKeyOnce) {
  std::set<std::string> paths;
  for (const Row& row : all_rows()) EXPECT_TRUE(paths.insert(row.path()).second) << row.path();
}

// What the structs say without any file.
TEST(Tables, HaveTheDefaultsOfTheStructs) {
  const Scenario loaded = file_of(modelled_scenario, {}).scenario(0);
  const Scenario plain;
  const topology::Network &network = loaded.cluster.network, &other = plain.cluster.network;
  EXPECT_EQ(network.latency, other.latency);
  EXPECT_EQ(network.nics_per_node, other.nics_per_node);
  EXPECT_EQ(network.efficiency, other.efficiency);
  EXPECT_EQ(network.transport, other.transport);
  EXPECT_EQ(network.framing, other.framing);
  EXPECT_EQ(network.mtu, other.mtu);
  EXPECT_EQ(network.rendezvous_above, other.rendezvous_above);
  EXPECT_EQ(network.receives, other.receives);
  EXPECT_EQ(network.fat_tree, other.fat_tree);
  EXPECT_EQ(loaded.cluster.intra_node.kind, plain.cluster.intra_node.kind);
  EXPECT_EQ(loaded.cluster.intra_node.latency, plain.cluster.intra_node.latency);
  EXPECT_EQ(loaded.cluster.intra_node.pcie_tree, plain.cluster.intra_node.pcie_tree);
  EXPECT_EQ(loaded.cluster.nodes, plain.cluster.nodes);
  EXPECT_EQ(loaded.cluster.reduction_bandwidth, plain.cluster.reduction_bandwidth);
  EXPECT_EQ(loaded.collective.options, plain.collective.options);
  EXPECT_EQ(loaded.real.backend, plain.real.backend);
  EXPECT_EQ(loaded.real.measure, plain.real.measure);
  EXPECT_EQ(loaded.real.timeout, plain.real.timeout);
  EXPECT_EQ(loaded.other_jobs.count, plain.other_jobs.count);
  EXPECT_EQ(loaded.other_jobs.start, plain.other_jobs.start);
  EXPECT_EQ(loaded.other_jobs.placement, plain.other_jobs.placement);
  EXPECT_EQ(loaded.fidelity, plain.fidelity);
  EXPECT_EQ(loaded.seed, plain.seed);
  EXPECT_EQ(loaded.ranks.jitter, plain.ranks.jitter);
  EXPECT_EQ(loaded.training.gradient_accumulation, plain.training.gradient_accumulation);
}

std::string_view words_for(std::string_view path) {
  const auto rows = all_rows();
  return std::get<std::string_view>(std::ranges::find(rows, path, &Row::path)->key->unless_given);
}

// Where a table says in words what holds, those are held to the code here.
TEST(Tables, SayInWordsWhatHolds) {
  EXPECT_EQ(words_for("collective.version"),
            fmt::format("2.{}, assumed", cost::nccl::Release::unless_said));
  EXPECT_EQ(words_for("collective.inner"), collectives::inner_algorithms().front());
  EXPECT_EQ(words_for("collective.outer"), collectives::outer_algorithms().front());
}

}  // namespace tables_test
}  // namespace paceline::test
