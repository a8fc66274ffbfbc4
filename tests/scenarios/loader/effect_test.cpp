// Every key that is set changes what is predicted or measured, or is refused: none is accepted and
// ignored.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/prepare/preparer.h"
#include "tests/scenarios/loader/key_rows.h"
#include "tests/scenarios/process.h"
#include "traces/json/protocol.h"

namespace paceline::test {
namespace effect_test {

using Settings = std::vector<ScenarioFile::Setting>;

constexpr std::string_view base = R"(schema: paceline/1
name: two nodes
workload: {model: resnet50, batch_per_gpu: 64, device: v100-sxm2-16gb}
cluster:
  nodes: 2
  gpus_per_node: 4
  intra_node: {bandwidth: 100GBps, latency: 2us}
  network: {bandwidth: 10Gbps, latency: 5us}
training: {strategy: ddp}
)";

// A key, another value than it has, and what the base needs first for the key to mean something: a
// setting a line. Only of keys of which their tables do not tell enough to try them.
struct Trial {
  std::string_view path, value, on = {};
};

#define PACELINE_LAYERED                                 \
  "workload={batch_per_gpu: 8, device: v100-sxm2-16gb, " \
  "layers: [{forward: 1ms, backward: 2ms, parameters: [1000, 20], rows: [1000, 20]}]}"
#define PACELINE_TRACED "workload={trace: SOURCE/scenarios/library/traces/resnet50-v100.trace}"

constexpr Trial trials[] = {
    {"contention", "1.5"},
    {"workload.model", "resnet101"},
    {"workload.layers", "[{forward: 2ms, backward: 1ms}]", PACELINE_LAYERED},
    {"workload.layers.0.forward", "3ms", PACELINE_LAYERED},
    {"workload.layers.0.backward", "3ms", PACELINE_LAYERED},
    {"workload.layers.0.parameters", "[2000, 20]", PACELINE_LAYERED},
    {"workload.layers.0.repeat", "2", PACELINE_LAYERED},
    {"workload.layers.0.type", "fp16", PACELINE_LAYERED},
    {"workload.layers.0.rows", "[10, 20]",
     PACELINE_LAYERED "\n"
                      "training.comm_hook=powersgd"},
    {"workload.trace", "SOURCE/tests/fixtures/kineto/torch_2_1.json",
     PACELINE_TRACED "\ntraining.strategy=traced\ncluster={gpus_per_node: 1}"},
    {"workload.calls", "as_traced",
     "workload={trace: SOURCE/tests/fixtures/kineto/torch_2_1.json}\n"
     "training.strategy=traced\ncluster={gpus_per_node: 1}"},
    {"workload.input_rate", "100 samples/s"},
    {"workload.device", "a100-sxm4-40gb"},
    {"workload.precision", "fp16"},
    {"workload.sequence", "256", "workload.model=bert-base"},
    {"workload.pretraining_heads", "true", "workload.model=bert-base"},
    {"workload.fused_attention", "true", "workload.model=bert-base"},
    {"workload.lora.rank", "16", "workload.model=qwen3-0.6b"},
    {"workload.lora.targets", "[k_proj]", "workload.model=qwen3-0.6b\nworkload.lora.rank=16"},
    {"workload.memory_format", "channels_last", "workload.precision=amp"},
    {"workload.float8", "true",
     "workload.model=qwen3-0.6b\nworkload.precision=bf16\nworkload.device=h100-sxm5-80gb"},
    {"workload.layers_batch", "4", PACELINE_LAYERED},
    {"workload.single_gpu_throughput", "100 samples/s"},
    {"workload.single_gpu_batch", "4", "workload.single_gpu_throughput=100 samples/s"},
    {"workload.single_gpu_wrapped", "true", "workload.single_gpu_throughput=100 samples/s"},
    {"workload.measured_on", "[{device: a100-sxm4-40gb, batch: 8, throughput: 300 samples/s}]"},
    {"job.global_batch", "128"},
    {"cluster.preset", "dgx-a100", "cluster={preset: dgx1-v100, nodes: 2}"},
    {"cluster.calibration", "SOURCE/scenarios/library/calibrations/abci-v100.yaml",
     "cluster={gpus_per_node: 4, intra_node: {kind: nvlink_mesh, bandwidth: 20GBps, latency: 1us, "
     "lanes: [[0, 2, 2, 2], [2, 0, 2, 2], [2, 2, 0, 2], [2, 2, 2, 0]]}}"},
    {"cluster.intra_node.lanes", "[[0, 2, 2, 2], [2, 0, 2, 2], [2, 2, 0, 2], [2, 2, 2, 0]]",
     "cluster.intra_node.kind=nvlink_mesh\ncluster.intra_node.bandwidth=20GBps"},
    {"cluster.intra_node.gpus_per_switch", "1",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps\n"
     "cluster.intra_node.gpus_per_switch=2\n"
     "cluster.intra_node.switch_bandwidth=12GBps"},
    {"cluster.intra_node.switch_bandwidth", "10GBps",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps\n"
     "cluster.intra_node.gpus_per_switch=2\n"
     "cluster.intra_node.switch_bandwidth=12GBps"},
    {"cluster.intra_node.socket_bandwidth", "5GBps",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps\n"
     "cluster.intra_node.gpus_per_switch=2\n"
     "cluster.intra_node.switch_bandwidth=12GBps\n"
     "cluster.intra_node.sockets=2\n"
     "cluster.intra_node.socket_bandwidth=10GBps"},
    {"cluster.intra_node.peer_to_peer", "false",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps\n"
     "cluster.intra_node.gpus_per_switch=2\n"
     "cluster.intra_node.switch_bandwidth=12GBps"},
    {"cluster.intra_node.staging_bandwidth", "500MBps",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps\n"
     "cluster.intra_node.gpus_per_switch=2\n"
     "cluster.intra_node.switch_bandwidth=12GBps\n"
     "cluster.intra_node.peer_to_peer=false"},
    {"cluster.intra_node.groups",
     "[{gpus: [0, 1, 2], path: PIX, bandwidth: 1GBps}, {gpus: [3], path: PIX}]",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps"},
    {"cluster.intra_node.kind", "pcie", "cluster.intra_node.bandwidth=20GBps"},
    {"cluster.intra_node.slot_lanes", "[1, 1, 1, 1]",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps"},
    {"cluster.intra_node.slot_generation", "1",
     "cluster.intra_node.kind=pcie\ncluster.intra_node.bandwidth=20GBps\n"
     "cluster.intra_node.slot_lanes=[1, 1, 1, 1]"},
    {"cluster.network.nodes_per_leaf", "2",
     "cluster.network.fabric=fat_tree\n"
     "cluster.network.nodes_per_leaf=1"},
    {"cluster.network.oversubscription", "2",
     "cluster.network.fabric=fat_tree\n"
     "cluster.network.nodes_per_leaf=1"},
    {"cluster.network.core_latency", "2us",
     "cluster.network.fabric=fat_tree\n"
     "cluster.network.nodes_per_leaf=1"},
    {"cluster.network.rails", "true",
     "cluster.network.fabric=fat_tree\n"
     "cluster.network.nodes_per_leaf=1"},
    {"cluster.network.placement", "spread",
     "cluster.network.fabric=fat_tree\n"
     "cluster.network.nodes_per_leaf=1"},
    {"cluster.network.provider", "azure", "cluster.network.transport=tcp"},
    {"cluster.network.stream_bandwidth", "0.5GBps", "cluster.network.transport=tcp"},
    {"collective.version", "\"2.18\""},
    {"collective.nvls", "false",
     "workload.device=h100-sxm5-80gb\n"
     "cluster.intra_node.bandwidth=450GBps\n"
     "cluster.gpus_per_node=8"},
    {"collective.nvb", "false",
     "cluster={nodes: 1, gpus_per_node: 3, intra_node: {kind: nvlink_mesh, bandwidth: 20GBps, "
     "latency: 1us, host_bandwidth: 12GBps, lanes: [[0, 1, 0], [1, 0, 1], [0, 1, 0]]}}"},
    {"ranks.slowdown", "{1: 1.5}"},
    {"ranks.slowdown.1", "1.5"},
    {"other_jobs.start", "1ms", "other_jobs.count=1"},
    {"other_jobs.placement", "alternate", "other_jobs.count=1"},
    {"simulation.seed", "2", "ranks.jitter=5%"},
    {"training.first_bucket", "20MiB"},
    {"training.torch_version", "\"1.5\""},
    {"training.static_graph", "true", "training.find_unused_parameters=true"},
    {"training.no_sync", "false", "training.gradient_accumulation=2"},
    {"training.parameters_as_bucket_view", "true", "training.zero_redundancy_optimizer=true"},
    {"training.matrix_approximation_rank", "2", "training.comm_hook=powersgd"},
    {"training.min_compression_rate", "1000", "training.comm_hook=powersgd"},
    {"training.use_error_feedback", "false", "training.comm_hook=powersgd"},
    {"training.orthogonalization_time", "1ms", "training.comm_hook=powersgd"},
    {"training.allreduce_always_fp32", "true",
     "training.strategy=apex_ddp\n"
     "workload.precision=fp16"},
    {"training.version", "\"0.18\"", "training.strategy=horovod"},
    {"training.hierarchical_allreduce", "true",
     "training.strategy=horovod\n"
     "cluster.intra_node.host_bandwidth=12GBps"},
    {"training.min_num_params", "1000000", "training.strategy=fsdp"},
    {"training.unsharded_accumulation", "true",
     "training.strategy=fsdp\n"
     "training.gradient_accumulation=2"},
    {"training.stage3_prefetch_bucket_size", "0",
     "training.strategy=deepspeed_zero\n"
     "training.stage=3"},
    {"training.stage3_max_live_parameters", "1000",
     "training.strategy=deepspeed_zero\n"
     "training.stage=3"},
    {"training.stage3_max_reuse_distance", "0",
     "training.strategy=deepspeed_zero\ntraining.stage=3\n"
     "training.stage3_prefetch_bucket_size=0"},
    {"training.stage3_param_persistence_threshold", "0",
     "training.strategy=deepspeed_zero\n"
     "training.stage=3"},
    {"training.input_size", "1MiB",
     "training.strategy=data_parallel\n"
     "cluster.nodes=1"},
    {"training.output_size", "1MiB",
     "training.strategy=data_parallel\n"
     "cluster.nodes=1"},
    {"training.optimizer.fp32_master", "true", "workload.precision=fp16"},
};

std::string with_source(std::string_view text) {
  constexpr std::string_view name = "SOURCE";
  std::string all(text);
  if (const auto at = all.find(name); at != all.npos) {
    all.replace(at, name.size(), PACELINE_SOURCE_DIR);
  }
  return all;
}

Settings settings_of(std::string_view lines) {
  Settings settings;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const auto equals = line.find('=');
    settings.push_back({std::string(line.substr(0, equals)), with_source(line.substr(equals + 1))});
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return settings;
}

Settings settings_of(const Trial& trial) {
  Settings settings = settings_of(trial.on);
  settings.push_back({std::string(trial.path), with_source(trial.value)});
  return settings;
}

std::string fingerprint(const PreparedPoint& made) {
  const auto& contention = made.contention;
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {}", traces::to_line(made.point),
      made.one_gpu_step.value(), made.samples_per_step, made.place.compute, contention.automatic,
      contention.assumed, contention.more, contention.slowdown, contention.calls.value_or(0),
      made.channels, made.device.name, made.device.multiprocessors,
      made.device.memory_bandwidth.value(), made.decided_by != nullptr);
  text += fmt::format(" {} {} {} {}", paceline::to_text(made.place.node),
                      paceline::to_text(made.place.network), made.place.hides_behind_slow,
                      made.place.box);
  if (made.memory) {
    const auto& model = made.memory->model;
    for (const Bytes part : {model.parameters, model.gradients, model.optimizer, model.buckets,
                             model.gathered, made.memory->buffers, made.memory->activations}) {
      text += fmt::format(" {}", part.value());
    }
  }
  return text + fmt::format(" {} {} {} {} {}", made.real.backend,
                            paceline::to_text(made.real.measure.mode), made.real.measure.steps,
                            made.real.measure.warmup, made.real.timeout.value());
}

// What the base makes with the settings, to be predicted and to be measured. Throws InputError
// where it is neither.
std::string prepared(const Settings& settings) {
  const Folder folder;
  const auto file = ScenarioFile::read(folder.write("s.yaml", base), settings);
  Preparer points(file);
  std::string text = fingerprint(*points.prediction(0));
  try {
    text += fingerprint(*points.measurement(0));
  } catch (const InputError&) {
    text += " not to be measured";
  }
  return text;
}

TEST(Effect, OfKeysWithATrialIsSeen) {
  for (const Trial& trial : trials) {
    SCOPED_TRACE(fmt::format("{}={}", trial.path, trial.value));
    try {
      EXPECT_NE(prepared(settings_of(trial)), prepared(settings_of(trial.on)));
    } catch (const InputError& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// Values that a key takes, one of which it does not have.
std::vector<std::string> values_of(const settings::Type& type) {
  using Texts = std::vector<std::string>;
  struct Visitor {
    Texts operator()(const settings::Flag&) const { return {"true", "false"}; }
    Texts operator()(const settings::Count& of) const {
      return {fmt::format("{}", of.least), fmt::format("{}", of.least + 1),
              fmt::format("{}", of.least + 4)};
    }
    Texts operator()(const settings::Number& of) const {
      return {fmt::format("{}", of.least), fmt::format("{}", (of.least + of.most) / 2)};
    }
    Texts operator()(const settings::Fraction& of) const {
      return {fmt::format("{}", of.least), fmt::format("{}", (of.least + of.most) / 2)};
    }
    Texts operator()(const settings::Time&) const { return {"1ms", "10s"}; }
    Texts operator()(const settings::Bandwidth&) const { return {"20GBps", "2GBps"}; }
    Texts operator()(const settings::Size&) const { return {"1MiB", "64KiB"}; }
    Texts operator()(const settings::ComputeSpeed&) const { return {"1TFLOPS"}; }
    Texts operator()(const settings::Throughput&) const { return {"10 samples/s"}; }
    Texts operator()(const settings::OneOf& of) const { return {of.words.begin(), of.words.end()}; }
    Texts operator()(const settings::VersionNumber&) const { return {}; }
    Texts operator()(const settings::Text&) const { return {}; }
    Texts operator()(const settings::Structure&) const { return {}; }
    Texts operator()(const settings::Map&) const { return {}; }
  };
  return std::visit(Visitor{}, type);
}

// Settings beside which a key may mean something: what its table says that it needs, and what that
// needs; keys that need each other once.
std::string context_of(const Row& row) {
  std::string on;
  std::set<std::string_view> seen{row.key->name};
  for (const settings::Key* key = row.key; !key->needs.key.empty();) {
    const settings::Needs& needs = key->needs;
    if (!seen.insert(needs.key).second) break;
    key = &row.of_table(needs.key);
    const auto values = values_of(key->type);
    if (needs.values[0].empty() && values.empty()) break;
    const std::string value = needs.values[0].empty() ? values[0] : std::string(needs.values[0]);
    on = fmt::format("{}{}={}\n", row.prefix, needs.key, value) + on;
  }
  return on;
}

std::string outcome_of(const Settings& settings) {
  try {
    return prepared(settings);
  } catch (const InputError&) {
    return "";
  }
}

// Whether one of its values changes what is prepared.
bool has_effect(const Row& row) {
  const std::string path = row.path(), on = context_of(row);
  const std::string without = outcome_of(settings_of(on));
  return std::ranges::any_of(values_of(row.key->type), [&](const std::string& value) {
    const std::string with = outcome_of(settings_of(Trial{path, value, on}));
    return !without.empty() && !with.empty() && with != without;
  });
}

// Beside what makes them mean nothing.
constexpr Trial ignored[] = {
    {"workload.layers.0.forward", "1ms"},
    {"workload.layers.0.forward", "1ms", PACELINE_TRACED},
    {"workload.precision", "amp", PACELINE_LAYERED},
    {"workload.device", "a100-sxm4-40gb", PACELINE_TRACED},
    {"workload.sequence", "256", PACELINE_LAYERED},
    {"workload.calls", "as_traced"},
    {"workload.single_gpu_wrapped", "true"},
    {"workload.single_gpu_batch", "4"},
    {"workload.single_gpu_batch", "4",
     PACELINE_TRACED "\nworkload.single_gpu_throughput=100 samples/s"},
    {"workload.layers_batch", "4"},
    {"workload.layers_batch", "4", PACELINE_TRACED},
    {"job.global_batch", "128", PACELINE_TRACED},
    {"cluster.nodes", "3", "gpus=8"},
    {"cluster.intra_node.lanes", "[[0, 1], [1, 0]]", "cluster.gpus_per_node=2"},
    {"cluster.network.mtu", "9000"},
    {"cluster.network.oversubscription", "2"},
    {"training.message_size", "1000000",
     "training.strategy=apex_ddp\ntraining.delay_allreduce=true"},
    {"training.fusion_threshold", "1MiB", "training.strategy=horovod\ntraining.fusion=false"},
    {"training.unused_search_time", "1us"},
    {"training.cycle_time", "1ms"},
    {"training.matrix_approximation_rank", "2"},
    {"training.stage3_max_live_parameters", "0", "training.strategy=deepspeed_zero"},
    {"training.blocks_per_checkpoint", "2", "workload.model=bert-base"},
    {"training.optimizer.kind", "adam", PACELINE_TRACED "\ncluster.gpus_per_node=1"},
    {"training.optimizer.fp32_master", "true", PACELINE_TRACED "\ncluster.gpus_per_node=1"},
    {"training.optimizer.kind", "adam", PACELINE_LAYERED "\ntraining.optimizer.time=1ms"},
    {"training.host.computes", "true",
     "training.host={per_operation: 0s, per_gradient: 0s, per_call: 0s}"},
    {"collective.protocol", "ll", "collective.library=gloo"},
    {"collective.min_ctas", "2", "collective.channels=4"},
    {"collective.chunk_size", "64KiB", "collective.library=plan\ncollective.algorithm=ring"},
    {"collective.inner", "direct"},
    {"collective.servers", "2"},
    {"other_jobs.start", "1ms", "other_jobs.count=0"},
    {"other_jobs.placement", "random", "other_jobs.count=0"},
};

TEST(Effect, OfWhatHasNoneIsRefusedByName) {
  for (const Trial& trial : ignored) {
    SCOPED_TRACE(fmt::format("{}={} beside {}", trial.path, trial.value, trial.on));
    ASSERT_NE(prepared(settings_of(trial.on)), "");
    try {
      (void)prepared(settings_of(trial));
      ADD_FAILURE() << "is accepted";
    } catch (const InputError& error) {
      const std::string_view key = trial.path.substr(trial.path.rfind('.') + 1);
      EXPECT_NE(std::string_view(error.what()).find(key), std::string_view::npos) << error.what();
    }
  }
}

// Those that say nothing of what is prepared, and why.
constexpr std::pair<std::string_view, std::string_view> without_trial[] = {
    {"schema", "has one value"},
    {"name", "is the report's"},
    {"cluster.name", "is the report's"},
    {"cluster.gpu", "is what paceline collective and paceline nccl take"},
    {"cluster.gpus", "is what warnings say (expect_device_test.cpp)"},
    {"sweep", "is of points; no setting"},
    {"measured.source", "is the report's; no setting"},
    {"measured.by", "is the report's; no setting"},
    {"measured.network", "is the report's; no setting"},
    {"measured.points", "is the report's; no setting"},
    {"cluster.intra_node.sockets", "stands or falls with socket_bandwidth"},
    {"cluster.network.fabric", "stands or falls with nodes_per_leaf"},
};

TEST(Effect, OfAllOtherKeysIsSeen) {
  std::set<std::string, std::less<>> tried, left_out;
  for (const Trial& trial : trials) tried.emplace(trial.path);
  for (const auto& [path, why] : without_trial) left_out.emplace(path);
  for (const Row& row : all_rows()) {
    if (tried.contains(row.path()) || left_out.contains(row.path())) continue;
    EXPECT_TRUE(has_effect(row))
        << row.path() << " changes nothing beside "
        << (context_of(row).empty() ? "the base" : context_of(row))
        << ": it needs a trial above that says what it means something beside";
  }
}

// Where a key has a trial by hand, its table alone does not show what it does.
TEST(Effect, IsTriedByHandOnlyOfKeysThatNeedIt) {
  for (const Row& row : all_rows()) {
    const bool has_trial =
        std::ranges::any_of(trials, [&](const Trial& trial) { return trial.path == row.path(); });
    EXPECT_FALSE(has_trial && has_effect(row)) << row.path() << " needs no trial by hand";
  }
}

}  // namespace effect_test
}  // namespace paceline::test
