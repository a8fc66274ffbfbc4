#include "scenarios/init/draft.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "models/shipped_file.h"
#include "models/text/number.h"
#include "models/training/step_program.h"
#include "models/training/strategy.h"
#include "models/units/parse.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/data_files/hugging_face.h"
#include "scenarios/data_files/node_class.h"
#include "scenarios/data_files/shipped.h"
#include "scenarios/document/reader.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline::init {
namespace {

std::string backend_for(const doctor::Examination& machine, bool has_gpus) {
  const auto* backend = has_gpus ? doctor::find_backend_for("gpus", machine) : nullptr;
  if (backend == nullptr) backend = doctor::find_backend_for("cpus", machine);
  return backend == nullptr ? "" : backend->name;
}

std::string trimmed(const std::string& line) {
  constexpr const char* blanks = " \t\r";
  const auto first = line.find_first_not_of(blanks);
  if (first == line.npos) return "";
  return line.substr(first, line.find_last_not_of(blanks) + 1 - first);
}

std::optional<std::string> fault_of(const Question& question, const std::string& answer) {
  if (question.choices.empty()) return question.fault ? question.fault(answer) : std::nullopt;
  if (std::ranges::find(question.choices, answer) != question.choices.end()) return std::nullopt;
  const auto close = loader::nearest(answer, question.choices);
  return fmt::format("\"{:.60}\" is none of the choices{}", answer,
                     close ? fmt::format("; did you mean {}?", *close) : "");
}

constexpr const char* none = "none";
constexpr const char* unless_known_device = "a100-sxm4-40gb";

std::vector<std::string> strategy_choices(bool has_trace) {
  std::vector<std::string> names;
  for (const training::Strategy* row : training::strategies()) {
    if (!row->replays_trace || has_trace) names.emplace_back(row->name);
  }
  return names;
}

// What a preset leaves open.
struct PresetNodes {
  std::optional<std::uint32_t> gpus_per_node;
  bool has_links = false, has_network = false;
  std::uint32_t nics_per_node = 1;
  std::string gpu;
};

PresetNodes nodes_of(const std::string& preset) {
  const auto load = [&](const std::map<std::string, std::string>& values) {
    const auto document = loader::make_document("command line", values);
    return loader::load_described_cluster(
        loader::Section(loader::Reader(loader::Field(document, document->root, "cluster")),
                        loader::cluster_keys()));
  };
  PresetNodes nodes;
  std::optional<loader::DescribedCluster> described;
  try {
    described = load({{"preset", preset}});
    nodes.gpus_per_node = described->cluster.gpus_per_node;
  } catch (const InputError&) {  // a box of any number of GPUs, or no such preset
    described = load({{"preset", preset}, {"gpus_per_node", "1"}});
  }
  nodes.has_links = described->cluster.intra_node.bandwidth > BytesPerSecond(0);
  nodes.has_network = described->cluster.network.bandwidth > BytesPerSecond(0);
  nodes.nics_per_node = described->cluster.network.nics_per_node;
  nodes.gpu = described->cluster.gpu;
  if (nodes.gpu.empty() && described->devices) nodes.gpu = described->devices->devices.front();
  return nodes;
}

std::optional<std::string> fault_of_count(const std::string& answer) {
  const auto count = number_of<std::uint32_t>(answer);
  if (count && *count > 0) return std::nullopt;
  return fmt::format("\"{:.60}\" is no number; write 8", answer);
}

std::optional<std::string> fault_of_bandwidth(const std::string& answer) {
  const auto parsed = parse_bandwidth(answer);
  const auto* error = std::get_if<UnitError>(&parsed);
  if (error == nullptr) return std::nullopt;
  return fmt::format("\"{:.60}\" {}; {}", answer, error->what, error->hint);
}

// Of a port of PCIe 3.0 with 16 lanes, as NCCL counts it (scenarios/SCHEMA.md, slot_lanes).
constexpr const char* pcie_links = "{kind: pcie, bandwidth: 12GBps}";

class Drafter {
 public:
  Drafter(const Wishes& wishes, const Facts& facts, Asker& asker, std::string folder)
      : wishes_(wishes), facts_(facts), asker_(asker), folder_(std::move(folder)) {}

  Draft make() {
    draft_.notes = facts_.notes;
    add_workload();
    add_cluster();
    const std::uint32_t of_node = number_of<std::uint32_t>(gpus_per_node_).value_or(1);
    Origin origin = Origin::given;
    const std::string gpus =
        decide(wishes_.gpus, facts_.gpus ? std::to_string(*facts_.gpus) : "",
               {"How many GPUs in all, at most?", {}, std::to_string(4 * of_node), fault_of_count},
               origin);
    add_network(number_of<std::uint32_t>(gpus).value_or(1));
    add_training();
    add_sweep(gpus);
    draft_.entries.back().origin = origin;
    const Entry* model = draft_.find("workload.model");
    draft_.name = fmt::format("{} on {} GPUs, {}", model != nullptr ? model->value : "a traced run",
                              gpus, draft_.find("training.strategy")->value);
    draft_.measures = !facts_.backend.empty();
    draft_.measure_first = facts_.traces.empty()
                               ? fmt::format(
                                     "the throughput of the training script on one {}: "
                                     "workload.single_gpu_throughput",
                                     device_)
                               : "the bandwidth between two nodes, with nccl-tests or ib_write_bw: "
                                 "cluster.network.bandwidth";
    constexpr std::array order{"workload", "cluster", "training", "real", "gpus", "sweep"};
    const auto place = [&](const Entry& entry) {
      const std::string section = entry.path.substr(0, entry.path.find('.'));
      return std::ranges::find(order, section) - order.begin();
    };
    std::ranges::stable_sort(draft_.entries, {}, place);
    load();
    return std::move(draft_);
  }

 private:
  void put(const std::string& path, const std::string& value, Origin origin,
           const std::string& from = "") {
    draft_.entries.push_back({path, value, origin, from});
  }

  // What was wished, found or answered, in this order.
  std::string choose(const std::string& path, const std::string& wish, const std::string& found,
                     const Question& question, const std::string& why = "") {
    Origin origin = Origin::given;
    const std::string value = decide(wish, found, question, origin);
    put(path, value, origin, origin == Origin::found ? facts_.found_in : why);
    return value;
  }

  // The same of what the scenario has no single key for.
  std::string decide(const std::string& wish, const std::string& found, const Question& question,
                     Origin& origin) {
    origin = !wish.empty() ? Origin::given : Origin::found;
    if (!wish.empty()) return wish;
    if (!found.empty()) return found;
    const auto answer = asker_.ask(question);
    origin = answer.is_default ? Origin::assumed : Origin::answered;
    return answer.text;
  }

  void add_workload() {
    const bool has_trace = !facts_.traces.empty();
    if (has_trace) {
      const bool is_one = facts_.traces.size() == 1;
      put("workload.trace",
          is_one ? facts_.traces.front() : fmt::format("[{}]", fmt::join(facts_.traces, ", ")),
          Origin::given);
      if (!wishes_.model.empty()) put("workload.model", wishes_.model, Origin::given);
    } else {
      choose("workload.model", wishes_.model, "",
             {"Which network?", loader::names_of(shipped_networks()), "resnet50"});
    }
    add_tokens();
    choose("workload.batch_per_gpu", wishes_.batch, facts_.batch,
           {"How many samples does a GPU take in a pass?", {}, "32", fault_of_count},
           has_trace ? "not in the trace" : "");
  }

  [[nodiscard]] bool is_by_config() const {
    const Entry* model = draft_.find("workload.model");
    return model != nullptr && loader::is_config_file(folder_ + model->value);
  }

  // Of networks by a config.json nobody knows them; others have what their file says.
  void add_tokens() {
    const bool is_config = is_by_config();
    const bool is_open =
        is_config && loader::asks_for_sequence(folder_ + draft_.find("workload.model")->value);
    if (is_open || !wishes_.sequence.empty()) {
      choose("workload.sequence", wishes_.sequence, "",
             {"How many tokens has a sample?", {}, "2048", fault_of_count});
    }
    if (is_config || !wishes_.precision.empty()) {
      choose("workload.precision", wishes_.precision, "",
             {"What do products compute in?", {"fp32", "tf32", "amp", "bf16", "fp16"}, "amp"});
    }
  }

  void add_cluster() {
    const std::string known = !wishes_.device.empty() ? wishes_.device : facts_.device;
    const std::uint32_t found_per_node = facts_.gpus_per_node.value_or(8);
    std::string preset = none;
    Origin origin = Origin::given;
    if (!facts_.is_alone) {
      std::string likely = "dgx-a100";
      if (!known.empty()) {
        const auto like = loader::node_class_of(known, found_per_node);
        likely = like ? like->preset : none;
      } else if (!wishes_.gpus_per_node.empty() || !facts_.traces.empty()) {
        likely = none;
      }
      auto presets = loader::names_of(shipped_clusters());
      presets.insert(presets.begin(), none);
      preset =
          decide(wishes_.preset, "",
                 {"Which machines? none: your own figures", std::move(presets), likely}, origin);
    }
    has_preset_ = preset != none;
    if (has_preset_) {
      nodes_ = nodes_of(loader::names_a_file(preset) ? folder_ + preset : preset);
      put("cluster.preset", preset, origin,
          known.empty() ? "" : "the shipped machines with such GPUs");
    }
    if (facts_.traces.empty()) {
      const std::string likely = nodes_.gpu.empty() ? unless_known_device : nodes_.gpu;
      device_ = choose("workload.device", wishes_.device, facts_.device,
                       {"Which GPU?", loader::names_of(shipped_devices()), likely},
                       has_preset_ && !nodes_.gpu.empty() ? "the preset's" : "");
    } else {
      device_ = known;
    }
    const bool is_of_preset = nodes_.gpus_per_node && wishes_.gpus_per_node.empty();
    if (is_of_preset) {
      gpus_per_node_ = std::to_string(*nodes_.gpus_per_node);
    } else {
      const std::string found = facts_.is_alone        ? "1"
                                : facts_.gpus_per_node ? std::to_string(*facts_.gpus_per_node)
                                                       : "";
      gpus_per_node_ = choose("cluster.gpus_per_node", wishes_.gpus_per_node, found,
                              {"How many GPUs does a node contain?", {}, "8", fault_of_count});
    }
    add_links();
  }

  void add_links() {
    if (gpus_per_node_ == "1" || (has_preset_ && nodes_.has_links)) return;
    const auto like =
        loader::node_class_of(device_, number_of<std::uint32_t>(gpus_per_node_).value_or(8));
    if (like) {
      put("cluster.intra_node", like->intra_node, Origin::assumed,
          fmt::format("as in preset {}", like->preset));
    } else {
      put("cluster.intra_node", pcie_links, Origin::assumed, "16 lanes of PCIe 3.0");
    }
  }

  void add_network(std::uint32_t gpus) {
    const std::uint32_t of_node = number_of<std::uint32_t>(gpus_per_node_).value_or(1);
    if (facts_.is_alone) {  // the figures of the quick start (scenarios/library)
      put("cluster.network.bandwidth", wishes_.network.empty() ? "1GBps" : wishes_.network,
          wishes_.network.empty() ? Origin::assumed : Origin::given, "the loopback interface");
      put("cluster.network.latency", "50us", Origin::assumed, "the loopback interface");
      put("cluster.network.transport", "tcp", Origin::found, facts_.found_in);
      return;
    }
    const bool is_needed = gpus > of_node && !nodes_.has_network;
    if (!is_needed && wishes_.network.empty() && wishes_.transport.empty()) return;
    const bool keeps_bandwidth = nodes_.has_network && wishes_.network.empty();
    if (!keeps_bandwidth) {
      choose("cluster.network.bandwidth", wishes_.network, "",
             {"What does one NIC carry, one way?", {}, "100Gbps", fault_of_bandwidth});
    }
    // Another bandwidth than the preset's may be of other NICs: how many there are is to be seen.
    if (nodes_.has_network && !keeps_bandwidth) {
      put("cluster.network.nics_per_node", std::to_string(nodes_.nics_per_node), Origin::assumed,
          "as the preset has");
    }
    const bool is_tcp = wishes_.transport == "tcp";
    if (!nodes_.has_network || !wishes_.transport.empty()) {
      put("cluster.network.transport", is_tcp ? "tcp" : "rdma",
          wishes_.transport.empty() ? Origin::assumed : Origin::given,
          "InfiniBand or RoCE; tcp for other Ethernet");
    }
    if (nodes_.has_network) return;
    put("cluster.network.latency", is_tcp ? "25us" : "3us", Origin::assumed,
        is_tcp ? "TCP, as in preset aws-g5-48xlarge" : "RDMA, as in preset dgx-a100");
  }

  // One GPU, a full node, and all of them, as far as these differ.
  void add_sweep(const std::string& gpus) {
    draft_.largest = gpus;
    const auto most = number_of<std::uint32_t>(gpus);
    const auto of_node = number_of<std::uint32_t>(gpus_per_node_);
    if (!most || !of_node || !facts_.traces.empty()) {
      put("gpus", gpus, Origin::assumed);
      return;
    }
    std::set<std::uint32_t> sizes{1, std::min(*of_node, *most), *most};
    put("sweep.gpus", fmt::format("[{}]", fmt::join(sizes, ", ")), Origin::assumed,
        "one GPU, a full node, and all");
  }

  void add_training() {
    const bool has_trace = !facts_.traces.empty();
    choose("training.strategy", wishes_.strategy, facts_.strategy,
           {"How are gradients reduced?", strategy_choices(has_trace), "ddp"});
    if (is_by_config() && draft_.find("training.strategy")->value == "fsdp") {
      put("training.wrap", "blocks", Origin::assumed, "as transformer_auto_wrap_policy");
    }
    if (!facts_.backend.empty())
      put("real.backend", facts_.backend, Origin::found, facts_.found_in);
  }

  void load() const {
    ScenarioValues values{{{"name", draft_.name}}};
    std::vector<ScenarioFile::Setting> axes;
    for (const Entry& entry : draft_.entries) {
      if (entry.path == "workload.trace") {
        for (const std::string& path : facts_.traces) {
          values.lists[entry.path].push_back(folder_ + path);
        }
      } else if (entry.path.starts_with("sweep.")) {
        axes.push_back({entry.path, entry.value});
      } else if (entry.path == "cluster.intra_node") {
        values.yaml[entry.path] = entry.value;
      } else {
        values.by_path[entry.path] = loadable(entry);
      }
    }
    const auto file = ScenarioFile::of_values("command line", values, axes);
    for (std::size_t point = 0; point < file.point_count(); ++point) (void)file.scenario(point);
  }

  // The paths of a document without a file start in the working directory.
  [[nodiscard]] std::string loadable(const Entry& entry) const {
    static const std::set<std::string> of_files{"workload.model", "workload.device",
                                                "cluster.preset"};
    return of_files.contains(entry.path) && loader::names_a_file(entry.value)
               ? folder_ + entry.value
               : entry.value;
  }

  const Wishes& wishes_;
  const Facts& facts_;
  Asker& asker_;
  std::string folder_;
  Draft draft_;
  std::string device_, gpus_per_node_;
  PresetNodes nodes_;
  bool has_preset_ = false;
};

}  // namespace

Facts facts_of_traces(const std::vector<std::string>& paths, const std::string& folder) {
  const auto traced = read_traced_run(paths);
  const traces::TraceRun& run = traced->run;
  Facts facts{.found_in = "the trace"};
  for (const std::string& path : paths) {
    facts.traces.push_back(folder.empty() ? path
                                          : std::filesystem::proximate(path, folder).string());
  }
  if (run.batch_per_gpu) facts.batch = std::to_string(*run.batch_per_gpu);
  facts.device = loader::device_called(run.device).value_or("");
  facts.gpus = run.world_size.value_or(rank_count(run.trace));
  const std::uint32_t of_node = std::min(run.gpus_per_node.value_or(1), *facts.gpus);
  facts.gpus_per_node = of_node > 0 && *facts.gpus % of_node == 0 ? of_node : 1;
  facts.strategy = training::has_gradients_of_known_sizes(run.trace.program) ? "ddp" : "traced";
  facts.notes.push_back(fmt::format("Compute comes from the traced step of {}{}.", run.name,
                                    run.device.empty() ? "" : " on " + run.device));
  if (facts.strategy == "traced") {
    facts.notes.emplace_back(
        "The trace does not contain the sizes of all gradients, so other strategies need "
        "workload.model.");
  }
  return facts;
}

Facts facts_of_machine(const doctor::Examination& machine,
                       const std::vector<std::string>& gpu_names) {
  Facts facts{.found_in = "this machine"};
  facts.backend = backend_for(machine, !gpu_names.empty());
  if (gpu_names.empty()) {
    constexpr std::uint32_t ranks_most = 4;  // as the quick start runs
    facts.is_alone = true;
    facts.gpus = std::clamp<std::uint32_t>(machine.cpus, 1, ranks_most);
    facts.gpus_per_node = 1;
    facts.notes.push_back(
        fmt::format("No GPU was found here. On the {} CPUs, ranks wait for as long as the device "
                    "would compute, and exchange real gradients.",
                    machine.cpus));
    return facts;
  }
  facts.gpus = facts.gpus_per_node = static_cast<std::uint32_t>(gpu_names.size());
  facts.device = loader::device_called(gpu_names.front()).value_or("");
  if (facts.device.empty()) {
    facts.notes.push_back(
        fmt::format("The GPUs here are called {}, and no shipped device is: write a file of schema "
                    "paceline.device/1 for them.",
                    gpu_names.front()));
  }
  if (machine.tracing.nvidia_smi) {
    facts.notes.emplace_back(
        "For the links of this machine itself: nvidia-smi topo -m > topo.txt, then paceline "
        "topology topo.txt -o cluster.yaml, and cluster: {preset: cluster.yaml}.");
  }
  return facts;
}

Asker::Answer Asker::ask(const Question& question) {
  while (in_ != nullptr) {
    if (!question.choices.empty()) {
      fmt::print(*out_, "choices: {}\n", fmt::join(question.choices, ", "));
    }
    fmt::print(*out_, "{} [{}] ", question.text, question.unless_answered);
    out_->flush();
    std::string line;
    if (!std::getline(*in_, line)) {
      *out_ << "\nthe input ended: defaults from here on\n";
      in_ = nullptr;
      break;
    }
    const std::string answer = trimmed(line);
    if (answer.empty()) break;
    const auto fault = fault_of(question, answer);
    if (!fault) return {answer, false};
    fmt::print(*out_, "{}\n", *fault);
  }
  return {question.unless_answered, true};
}

const Entry* Draft::find(const std::string& path) const {
  const auto found = std::ranges::find(entries, path, &Entry::path);
  return found == entries.end() ? nullptr : &*found;
}

Draft make_draft(const Wishes& wishes, const Facts& facts, Asker& asker,
                 const std::string& folder) {
  const std::string prefix = folder.empty() ? "" : (std::filesystem::path(folder) / "").string();
  return Drafter(wishes, facts, asker, prefix).make();
}

}  // namespace paceline::init
