#include "scenarios/loader/load_scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "models/collectives/registry.h"
#include "models/text/number.h"
#include "models/topology/ring_orders.h"
#include "models/units/parse.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/data_files/shipped.h"
#include "scenarios/errors.h"
#include "scenarios/loader/backend_kind.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array point_table{
    Key{"throughput",
        Throughput{.or_tokens = true},
        "none",
        "what was measured",
        "921.3 samples/s",
        {},
        {"step"}},
    Key{"step", Time{.above_zero = true}, "none", "in place of `throughput`"},
    Key{"known", Flag{}, false,
        "the row is evidence: predictions of all points are conditioned by it, and it is never "
        "counted as predicted"},
    Key{"std", Number{0.001, 0.5}, "none",
        "of a known row: the standard deviation of its measurement over its value, 0.05 for 5 %"},
};

constexpr std::array point_forms{Form{Map{rows<point_table>}, Form::Of::list}};

constexpr std::array contention_words{automatic, std::string_view("off"),
                                      std::string_view("assumed")};
constexpr std::array contention_forms{Form{OneOf{contention_words}},
                                      Form{Text{.what = "", .pattern = "^assumed\\+[0-9]"}},
                                      Form{Number{1, 100}}};

constexpr std::array measured_table{
    Key{"source", Text{"text"}, required, "where the figures come from",
        "where the figures come from"},
    Key{"by", Text{"text"}, "none",
        "the group of people who measured them, in a word: `validate --leave-out source` takes "
        "what they measured apart",
        "hkbu"},
    Key{"network", OneOf{texts_of<NetworkKnowledge>},
        "measured with `cluster.calibration` or a known point, else described",
        "what is known of the links. described: figures of their parts, or of machines alike; "
        "measured: a log of them, or rows of theirs that are known, in this file or in another"},
    Key{"points", Structure{"a list of maps", rows<point_forms>}, required,
        "`{gpus: 8, throughput: ..}` or `step: ..`, with every axis the point belongs to; "
        "`known: true` for a row that is evidence: predictions of all points are conditioned by "
        "it, and it is never counted as predicted",
        "[{gpus: 8, throughput: ...}]"},
};

constexpr std::array scenario_table{
    schema_key("paceline/1"),
    Key{"name", Text{"text"}, required, "the title of the report", "my scenario"},
    Key{"workload", Map{workload_keys}, required, "what a GPU computes",
        "{model: resnet50, batch_per_gpu: 32, ...}"},
    Key{"cluster", Map{cluster_keys}, required, "what it runs on",
        "{nodes: 4, gpus_per_node: 8, ...}"},
    Key{"training", Map{training_keys}, required, "what a step does", "{strategy: ddp}"},
    Key{"collective", Map{collective_keys}, "", "which library's collectives, and how"},
    Key{"ranks", Map{ranks_keys}, "", "how ranks differ"},
    Key{"contention",
        Structure{"auto, off, assumed, assumed+0.1, or a factor of 1 to 100",
                  rows<contention_forms>},
        automatic,
        "how compute slows down while collectives run. auto: with `library: nccl` as assumed, "
        "else off; assumed: by the multiprocessors that NCCL's channels hold and by the "
        "collectives' memory traffic; assumed+0.1: by so much more; 1.3: a factor that was fitted "
        "or measured",
        "1.3"}
        .of_prediction(),
    Key{"call_contention", Number{1, 100}, automatic,
        "how many times as long a collective takes while a rank computes beside it. auto: with "
        "`library: nccl`, where `contention` is auto or assumed, what measured runs suggest "
        "(scenarios/prepare/overheads.h), else 1"}
        .of_prediction(),
    Key{"job", Map{job_keys}, "", "the training that steps are of"},
    Key{"other_jobs", Map{other_jobs_keys}, "", "jobs beside this one"},
    Key{"simulation", Map{simulation_keys}, "", "how points are predicted"}.of_prediction(),
    Key{"real", Map{real_keys}, "", "how `paceline measure` and `run --measure` measure"},
    Key{"sweep", Structure{"a map"}, "none",
        "every key is the path of an axis and every value a list; the grid is their product. "
        "`gpus`: n fills n/gpus_per_node nodes, or a part of one",
        "{gpus: [2, 4]}"},
    Key{"gpus", Count{1, 1'000'000}, "of all nodes", "a single value instead of an axis"},
    Key{"measured", Map{measured_keys}, "", "figures to compare the predictions with"},
};

// Whether a value at a path is another one than the file has, or what holds where it has none, and
// is of what runs. `map` has the keys of the table.
bool is_of_another_run(std::span<const Key> keys, Reader map, std::string_view path,
                       const Field& value) {
  for (const Key& key : keys) {
    if (path == key.name) {
      return !key.is_of_prediction && !are_alike(key, value, map.find_below(path, 0));
    }
    const bool is_below = path.starts_with(key.name) && path[key.name.size()] == '.';
    const auto* inner = std::get_if<Map>(&key.type);
    if (!is_below || inner == nullptr) continue;
    return !key.is_of_prediction && is_of_another_run(inner->keys(), map.map(std::string(key.name)),
                                                      path.substr(key.name.size() + 1), value);
  }
  return true;  // in a list
}

Contention load_contention(Section& file) {
  Contention contention{.calls = file.find<double>("call_contention")};
  const auto field = file.field("contention");
  if (!field || field->text() == automatic) return contention;
  contention.automatic = false;
  const std::string said = field->text();
  constexpr std::string_view and_more = "assumed+";
  contention.assumed = said == "assumed" || said.starts_with(and_more);
  if (said == "off" || said == "assumed") return contention;
  if (said.starts_with(and_more)) {
    const auto more = number_of<double>(std::string_view(said).substr(and_more.size()));
    if (!more || !(*more >= 0 && *more <= 10)) {
      field->fail("needs a number from 0 to 10 after assumed+", "write contention: assumed+0.1");
    }
    contention.more = *more;
    return contention;
  }
  const auto factor = number_of<double>(said);
  if (!factor || !(*factor >= 1 && *factor <= 100)) {
    field->fail("is neither auto, off, assumed, assumed+0.1 nor a factor of 1 to 100",
                "write contention: 1.3");
  }
  contention.slowdown = *factor;
  return contention;
}

// What a calibration's file has, as its uppermost keys say.
struct CalibrationParts {
  bool has_logs = true;    // fits of logs or ping-pongs: `collectives`, `links`
  bool is_learnt = false;  // what steps said of the machine: `learnt`
};

// Of a file that was not looked at since it was written last, as each point of a sweep asks; one
// that cannot be read has what whoever reads it complains of.
CalibrationParts calibration_parts_of(const std::string& path) {
  namespace fs = std::filesystem;
  using Written = std::pair<fs::file_time_type, std::uintmax_t>;
  static std::mutex mutex;
  static std::map<std::string, std::pair<Written, CalibrationParts>> seen;
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) return {};  // a pipe is read once
  const Written now{fs::last_write_time(path, unknown), fs::file_size(path, unknown)};
  const std::lock_guard lock(mutex);
  auto& [written, parts] = seen[path];
  if (written == now) return parts;
  written = now;
  try {
    const Node root = read_document(path)->root;
    parts = {.has_logs = !root["learnt"] || root["collectives"] || root["links"],
             .is_learnt = bool(root["learnt"])};
  } catch (const InputError&) {
    parts = {};
  }
  return parts;
}

struct CalibrationPaths {
  std::string logs, learnt;  // empty: none
};

// Beside the scenario's own file.
CalibrationPaths calibration_of(Section& cluster) {
  const auto field = cluster.field("calibration");
  if (!field) return {};
  const std::string path = field->file_path();
  const CalibrationParts parts = calibration_parts_of(path);
  return {parts.has_logs ? path : "", parts.is_learnt ? path : ""};
}

topology::Cluster sized(Section& file, const topology::Cluster& cluster) {
  const auto gpus = file.find<std::uint32_t>("gpus");
  if (!gpus) return cluster;
  if (const auto with_gpus = cluster.with_gpus(*gpus)) return *with_gpus;
  file.require("gpus").fail(
      fmt::format("does not fill nodes of {} GPUs", cluster.gpus_per_node),
      fmt::format("write a multiple of {}, or less for a part of one node", cluster.gpus_per_node));
}

// Warns, and assumes, where the workload's device is a shipped one that machines of the preset do
// not have: its links are then those of other GPUs. One GPU alone has none, a trace tells no
// device, and of a file of one's own no preset can know. Precondition: the cluster has its size.
void expect_device(const PresetDevices& known, Section& workload, Scenario& scenario) {
  const auto field = workload.field("device");
  if (!field || scenario.cluster.ranks().value() == 1) return;
  const std::string device = field->text();
  if (!is_shipped_device(device) || std::ranges::find(known.devices, device) != known.devices.end())
    return;
  const std::string all = fmt::format("{}", fmt::join(known.devices, ", "));
  warn(field->location(),
       fmt::format("device \"{}\" is not one that {} contains ({}); the links are used unchanged",
                   device, known.preset, all),
       "name another preset or give cluster.intra_node");
  scenario.assumptions.add({links_of_other_device, "links", {known.preset, all, device}});
}

// Switches that add are NVSwitches, of nodes with several GPUs. Calls that logs give their times
// have no plans; those that they do not are refused when they are planned.
void check_switches(Section& file, const Scenario& scenario) {
  if (!scenario.calibration.empty()) return;
  const topology::Cluster& cluster = scenario.cluster;
  const auto* row = collectives::find_algorithm(collectives::Collective::all_reduce,
                                                scenario.collective.algorithm);
  if (row == nullptr || row->reduces == collectives::Reduces::endpoints) return;
  if (cluster.gpus_per_node == 1 || cluster.intra_node.kind == topology::IntraNodeKind::nvswitch) {
    return;
  }
  file.below("collective").require("algorithm").fail("is for nodes on NVSwitch", "name another");
}

}  // namespace

std::span<const Key> measured_keys() { return measured_table; }
std::span<const Key> scenario_keys() { return scenario_table; }

bool is_of_another_run(const DocumentPtr& document, std::string_view path, const Field& value) {
  return is_of_another_run(scenario_table, Reader(document), path, value);
}

namespace {

// What is read without a look at the workload or the cluster.
Scenario read_apart(Section& file, const Overrides& overrides) {
  Scenario scenario;
  scenario.name = file.text("name");
  for (const auto& [path, field] : overrides) scenario.set_paths.insert(path);
  scenario.real = load_real(file.below("real"));
  scenario.collective =
      load_collective(file.below("collective"),
                      file.map().has("real") ? library_of(scenario.real) : cost::Library::nccl);
  scenario.ranks = load_ranks(file.below("ranks"));
  scenario.other_jobs = load_other_jobs(file.below("other_jobs"));
  scenario.contention = load_contention(file);
  Section simulation = file.below("simulation");
  simulation.finish();
  scenario.fidelity = simulation.get<Fidelity>("fidelity");
  scenario.seed = simulation.get<std::uint64_t>("seed");
  return scenario;
}

// The cluster with the point's GPUs, as described: how the library uses it follows from more.
void size(Section& file, Section& workload, Section& training, Scenario& scenario) {
  Section cluster = file.below("cluster");
  const CalibrationPaths calibration = calibration_of(cluster);
  scenario.calibration = calibration.logs;
  scenario.learnt = calibration.learnt;
  const DescribedCluster described = load_described_cluster(std::move(cluster));
  scenario.tcp_hosts = described.tcp;
  scenario.assumptions.add(described.left_out);
  scenario.cluster = sized(file, described.cluster);
  if (described.devices) expect_device(*described.devices, workload, scenario);
  scenario.training.checkpoints = checkpoints_of(training);
}

// What one GPU does in a step, and how long it takes. Precondition: the cluster has its size.
void load_step(Section& file, const Overrides& overrides, Section& workload, Section& training,
               Scenario& scenario) {
  const Shares shares = shares_of(file.below("job"), workload, training, scenario);
  load_workload(workload, overrides, shares.batch, scenario);
  if (const auto rate = workload.field("input_rate")) {
    scenario.input_rate = throughput_of(*rate, scenario.network.get());
  }
  const bool optimizer_modelled = load_training(training, scenario);
  if (shares.passes) scenario.training.gradient_accumulation = *shares.passes;
  find_one_gpu_speed(workload, optimizer_modelled, scenario);
  if (scenario.workload.one_gpu_step(1) == Seconds(0)) {
    throw InputError(workload.location(), "the step takes no time", "give layers that take some");
  }
}

// What several sections together may not ask for.
void check(Section& file, Section& workload, Section& training, Scenario& scenario) {
  if (scenario.traced && scenario.contention.assumed) {
    throw InputError(
        file.require("contention").location(),
        "assumed contention needs the device's memory bandwidth, and a trace does not contain it",
        "leave it out: traced compute already includes the slowdown by collectives");
  }
  check_switches(file, scenario);
  check_strategy(training, scenario);
  check_other_jobs(file.below("other_jobs"), scenario);
  check_traced_ranks(workload, scenario);
}

}  // namespace

Scenario load_scenario(const DocumentPtr& document, const Overrides& overrides) {
  Section file(Reader(document, document->root, "", overrides), scenario_keys());
  file.map().expect_schema("paceline/1");
  Section workload = file.below("workload"), training = file.below("training");
  Scenario scenario = read_apart(file, overrides);
  size(file, workload, training, scenario);
  load_step(file, overrides, workload, training, scenario);
  const UsedLinks links = used_links(file, scenario);
  scenario.cluster = links.cluster;
  scenario.tcp_rate = links.tcp_rate;
  scenario.sums_in_host_memory = links.sums_in_host_memory;
  scenario.assumptions.add(links.assumptions);
  check(file, workload, training, scenario);
  for (Section* one : {&workload, &training, &file}) one->finish();
  return scenario;
}

}  // namespace paceline::loader
