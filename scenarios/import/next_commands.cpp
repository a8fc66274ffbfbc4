#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "models/cost/collective_fit.h"
#include "models/cost/link_fit.h"
#include "models/cost/nccl_tuning.h"
#include "models/run/as_it_ran.h"
#include "models/training/traced_step.h"
#include "scenarios/data_files/node_class.h"
#include "scenarios/errors.h"
#include "scenarios/import/cluster_file.h"
#include "scenarios/import/shell_word.h"
#include "scenarios/import/summaries.h"
#include "traces/archive/input.h"

namespace paceline {
namespace {

using collectives::Collective;
using Kind = Import::Origin::Kind;
using Paths = std::vector<std::string>;

// A value that tables tell, or that whoever asks has to tell: of several tables alike.
template <class Value>
class Open {
 public:
  void add(std::optional<Value> told) {
    if (!told) {
      is_open_ = true;
    } else {
      told_.insert(*told);
    }
  }
  [[nodiscard]] bool is_open() const { return is_open_; }
  // What an option may say without contradicting any: `example` where none tells.
  [[nodiscard]] std::optional<Value> option(Value example) const {
    if (told_.empty()) return example;
    return told_.size() == 1 ? std::optional(*told_.begin()) : std::nullopt;
  }
  [[nodiscard]] bool is_contradiction() const { return is_open_ && told_.size() > 1; }

 private:
  bool is_open_ = false;
  std::set<Value> told_;
};

// No option, however the file is called.
std::string path_word(const std::string& path) {
  const bool is_like_an_option = path.starts_with('-') && path != traces::standard_input;
  return shell_word(is_like_an_option ? "./" + path : path);
}

std::string words(const Paths& paths) {
  std::string text;
  for (const std::string& path : paths) text += " " + path_word(path);
  return text;
}

bool is_file(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown);
}

// The paths as they were given, of what has that kind, each once.
Paths given_paths(const Import& import, Kind kind) {
  Paths paths;
  for (const Import::Origin& origin : import.origins) {
    if (origin.kind == kind && std::ranges::find(paths, origin.path) == paths.end()) {
      paths.push_back(origin.path);
    }
  }
  return paths;
}

// Files of that kind; none where one is in an archive or a stream.
Paths files_of(const Import& import, Kind kind) {
  Paths files;
  for (const Import::Origin& origin : import.origins) {
    if (origin.kind != kind) continue;
    if (!is_file(origin.file)) return {};
    files.push_back(origin.file);
  }
  return files;
}

// A refused part of a file is called by it: "a.sqlite (GPU 1)".
bool is_refused_in_part(const Import& import, const std::string& file) {
  return std::ranges::any_of(import.refused, [&](const auto& refused) {
    return refused.file == file || refused.file.starts_with(file + " (");
  });
}

// What may be named: a replay takes one run, and refuses what it cannot read beside it.
Paths paths_of_replay(const Import& import, Kind kind) {
  const Paths given = given_paths(import, kind);
  const bool is_alone =
      import.refused.empty() && std::ranges::none_of(import.origins, [&](const auto& one) {
        const bool is_other_run =
            (one.kind == Kind::trace || one.kind == Kind::run) && one.kind != kind;
        return is_other_run && std::ranges::find(given, one.path) != given.end();
      });
  if (is_alone) return given;
  Paths files = files_of(import, kind);
  const bool is_one_mixed = std::ranges::any_of(
      files, [&](const std::string& file) { return is_refused_in_part(import, file); });
  return is_one_mixed ? Paths{} : files;
}

constexpr std::uint32_t gpus_elsewhere = 16;  // of a run of one GPU

training::TracedWork work_of(const TracedRun& traced) {
  training::TracedWork work;
  work.ranks = rank_count(traced.run.trace);
  work.world = traced.run.world_size.value_or(work.ranks);
  work.program = as_it_ran(traced.run.trace);
  training::count_calls(traced.step, work);
  return work;
}

// Why not on so many GPUs; nullopt: it can be. Without collectives, buckets are filled with its
// gradients.
std::optional<training::Refusal> refused_elsewhere(const training::TracedWork& work,
                                                   std::uint32_t gpus) {
  if (work.calls > 0 || !training::has_gradients_of_known_sizes(work.program)) {
    return refuse_to_guess(work, gpus);
  }
  return std::nullopt;
}

std::string settings_elsewhere(const TracedRun& traced, std::uint32_t world) {
  std::string settings = world == 1 ? fmt::format(" --set gpus={}", gpus_elsewhere) : "";
  const std::uint32_t of_node = traced.run.gpus_per_node.value_or(1);
  const bool has_nodes = of_node > 1 && world > 1;
  if (has_nodes && !loader::node_class_of(traced.run.device, std::min(of_node, world))) {
    settings += " --set cluster.gpus_per_node=1";
  }
  return settings + " --set cluster.network.bandwidth=100Gbps";
}

// As it was, and on another network, or why not there.
void add_replays(const Import& import, const TracedRun& traced, std::vector<NextCommand>& all) {
  const Paths paths = paths_of_replay(import, Kind::trace);
  if (paths.empty()) {
    all.push_back({"", fmt::format("paceline replay takes the files of one run alone, without {}",
                                   import.refused.empty() ? "other runs" : "what is refused")});
    return;
  }
  const std::string replay = "paceline replay" + words(paths);
  all.push_back({replay, ""});
  const training::TracedWork work = work_of(traced);
  const std::uint32_t gpus = work.world == 1 ? gpus_elsewhere : work.world;
  if (const auto refusal = refused_elsewhere(work, gpus)) {
    all.push_back(
        {"", fmt::format("not on another network: {}; {}", refusal->what, refusal->hint)});
  } else {
    all.push_back({replay + settings_elsewhere(traced, work.world), ""});
  }
}

void add_runs(const Import& import, std::vector<NextCommand>& all) {
  const Paths paths = paths_of_replay(import, Kind::run);
  if (paths.empty()) return;
  if (import.runs.size() == 1) all.push_back({"paceline replay" + words(paths), ""});
  const bool are_two = paths.size() == 2 && import.runs.size() == 2;
  if (are_two && rank_count(import.runs[0].trace) == rank_count(import.runs[1].trace)) {
    all.push_back({"paceline compare" + words(paths), ""});
  } else if (import.runs.size() > 1) {
    all.push_back({fmt::format("paceline import{} --timeline timeline.json", words(paths)),
                   "ui.perfetto.dev shows the timeline"});
  }
}

// What the tables of some files leave open for paceline calibrate.
struct Measured {
  Open<Collective> collective;
  Open<std::uint32_t> ranks, nodes;
  Open<cost::LinkPlace> between;
  std::map<Collective, std::vector<cost::CollectiveSample>> samples;  // of what can be fitted
  std::map<cost::LinkPlace, std::vector<cost::LinkSample>> links;
  std::vector<Collective> may_be;
  std::uint32_t most_ranks = 0;

  // Nodes of eight where one has no room for more.
  [[nodiscard]] std::uint32_t nodes_example() const {
    constexpr std::uint32_t of_node = 8;
    return most_ranks > of_node && most_ranks % of_node == 0 ? most_ranks / of_node : 1;
  }

  void add(const traces::CollectiveLog& log) {
    if (!log.other.empty()) return;  // is left out
    collective.add(log.collective);
    if (!log.collective && may_be.empty()) may_be = log.may_be;
    const auto told = [](std::uint32_t count) {
      return count > 0 ? std::optional(count) : std::nullopt;
    };
    ranks.add(told(log.ranks));
    most_ranks = std::max(most_ranks, log.ranks);
    nodes.add(told(log.nodes));
    const Collective kind = log.collective.value_or(example());
    if (!cost::nccl::has_algorithms(kind) || log.ranks == 1) return;
    constexpr Bytes least{1024};  // as paceline calibrate has it where --min does not say it
    auto& all = samples[kind];
    for (const auto& row : log.rows) {
      if (row.size >= least) all.push_back({{kind, 1, 2}, row.size, row.times[0], 0});
    }
  }
  void add(const traces::PingPong& table) {
    between.add(table.between);
    auto& all = links[table.between.value_or(cost::LinkPlace::network)];
    for (const auto& row : table.rows) all.push_back({row.size, row.time});
  }

  // Why they cannot be fitted; empty where they can.
  [[nodiscard]] std::string too_little() const {
    if (!may_be.empty() && std::ranges::none_of(may_be, cost::nccl::has_algorithms)) {
      return "paceline calibrate fits no " + traces::listed(may_be);
    }
    for (const auto& [kind, all] : samples) {
      if (cost::are_enough(all)) continue;
      return fmt::format(
          "paceline calibrate takes {} of {} sizes or more from 1KiB on, the largest {} times the "
          "least",
          to_text(kind), cost::samples_least, cost::span_least);
    }
    for (const auto& [place, all] : links) {
      const auto fitted = cost::fit_link(all);
      const auto* fault = std::get_if<cost::LinkFault>(&fitted);
      if (fault != nullptr) return fmt::format("the ping-pong {}; {}", fault->what, fault->hint);
    }
    return "";
  }

  [[nodiscard]] Collective example() const {
    const auto one = std::ranges::find_if(may_be, cost::nccl::has_algorithms);
    return one == may_be.end() ? Collective::all_reduce : *one;
  }

  [[nodiscard]] bool is_contradiction() const {
    return collective.is_contradiction() || ranks.is_contradiction() || nodes.is_contradiction() ||
           between.is_contradiction();
  }
};

// Options that say what is open, and which of them are examples.
std::string options_of(const Measured& measured) {
  std::string options;
  if (measured.collective.is_open()) {
    const auto which = measured.may_be.empty() ? *measured.collective.option(measured.example())
                                               : measured.example();
    options += fmt::format(" --collective {}", to_text(which));
  }
  constexpr std::uint32_t ranks_example = 16, of_node_example = 8;
  const auto nodes = measured.nodes.option(
      measured.ranks.is_open() ? ranks_example / of_node_example : measured.nodes_example());
  if (measured.ranks.is_open()) {
    options +=
        fmt::format(" --gpus {}", *measured.ranks.option(nodes.value_or(1) * of_node_example));
  }
  if (measured.nodes.is_open()) options += fmt::format(" --nodes {}", *nodes);
  if (measured.between.is_open()) {
    const auto place = *measured.between.option(cost::LinkPlace::network);
    options += place == cost::LinkPlace::network ? " --between nodes" : " --between gpus";
  }
  return options;
}

Measured measured_in(const Import& import, const Paths& files) {
  const auto is_of = [&](const std::string& file) {
    return files.empty() || std::ranges::find(files, file) != files.end();
  };
  Measured all;
  for (const Import::Log& log : import.logs) {
    if (is_of(log.file)) all.add(log.content);
  }
  for (const Import::Link& link : import.links) {
    if (is_of(link.file)) all.add(link.content);
  }
  return all;
}

std::optional<NextCommand> calibrate(const Measured& measured, const Paths& paths,
                                     const std::string& output) {
  const bool is_none = measured.samples.empty() && measured.links.empty();
  if (is_none || measured.is_contradiction()) return std::nullopt;
  if (std::string why = measured.too_little(); !why.empty()) return NextCommand{"", std::move(why)};
  const std::string options = options_of(measured);
  return NextCommand{
      fmt::format("paceline calibrate{}{} -o {}", words(paths), options, output),
      options.empty() ? ""
                      : fmt::format("{} stand{} for what the files do not tell", options.substr(1),
                                    std::ranges::count(options, ' ') > 2 ? "" : "s")};
}

// One command for all, or where what some tell contradicts what others need, one a file.
void add_calibrations(const Import& import, std::vector<NextCommand>& all) {
  const Measured together = measured_in(import, {});
  if (!together.is_contradiction()) {
    if (auto one =
            calibrate(together, given_paths(import, Kind::log), "cluster-calibration.yaml")) {
      all.push_back(std::move(*one));
    }
    return;
  }
  std::size_t made = 0;
  for (const std::string& file : files_of(import, Kind::log)) {
    const std::string output = fmt::format("cluster-calibration-{}.yaml", made + 1);
    if (auto one = calibrate(measured_in(import, {file}), {file}, output)) {
      all.push_back(std::move(*one));
      ++made;
    }
  }
}

struct Answer {
  const char* options;
  const char* note;
};

// Those that paceline topology may ask for; figures of a GPU and a NIC that are common.
constexpr Answer answers[] = {
    {"", ""},
    {" --link-bandwidth 20GBps", "20GBps stands for one NVLink, one way; --device tells it, too"},
    {" --link-bandwidth 20GBps --network-bandwidth 25Gbps --nics 1",
     "the bandwidths and NICs stand for those of your nodes"},
    {" --device a100-sxm4-40gb", "a100-sxm4-40gb stands for your kind of GPU"},
    {" --device v100-sxm2-16gb", "v100-sxm2-16gb stands for your kind of GPU"},
    {" --no-nvlink", "--no-nvlink stands for GPUs that are cards without NVLinks"}};

bool is_enough(const Import::Topology& topology, const Answer& answer) {
  const std::string_view options = answer.options;
  TopologyOptions known;
  const auto has = [&](const char* name) { return options.find(name) != options.npos; };
  try {
    if (has("--device"))
      known.device = device_named(std::string(options.substr(options.rfind(' ') + 1)));
    if (has("--link-bandwidth")) known.link_bandwidth = BytesPerSecond(20e9);
    if (has("--network-bandwidth")) known.network_bandwidth = BytesPerSecond(25e9 / 8);
    if (has("--nics")) known.nics_per_node = 1;
    known.has_no_nvlink = has("--no-nvlink");
    (void)cluster_file_text({topology.file, topology.content.format, topology.content.topology},
                            known);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// Each alone: a cluster is of nodes of one kind.
void add_topologies(const Import& import, std::vector<NextCommand>& all) {
  std::size_t made = 0;
  for (const Import::Topology& topology : import.topologies) {
    const auto origin = std::ranges::find(import.origins, topology.file, &Import::Origin::file);
    const bool is_given =
        std::ranges::count(import.origins, origin->path, &Import::Origin::path) == 1;
    const std::string path = is_file(topology.file) || !is_given ? topology.file : origin->path;
    if (path == topology.file && !is_file(path) && path != origin->path) continue;  // of an archive
    const auto enough = std::ranges::find_if(
        answers, [&](const Answer& answer) { return is_enough(topology, answer); });
    if (enough == std::end(answers)) continue;
    const std::string output =
        made == 0 ? "cluster.yaml" : fmt::format("cluster-{}.yaml", made + 1);
    all.push_back(
        {fmt::format("paceline topology {}{} -o {}", path_word(path), enough->options, output),
         enough->note});
    ++made;
  }
}

}  // namespace

std::vector<NextCommand> next_commands(const Import& import, const TracedRun* profiled) {
  std::vector<NextCommand> all;
  if (profiled != nullptr) add_replays(import, *profiled, all);
  if (!import.runs.empty()) add_runs(import, all);
  if (!import.logs.empty() || !import.links.empty()) add_calibrations(import, all);
  add_topologies(import, all);
  for (const auto& [file, kind] : import.own) {
    if (!kind.command.empty() && is_file(file)) {
      all.push_back({fmt::format(fmt::runtime(kind.command), shell_word(file)), ""});
    }
  }
  const bool reads_standard_input = std::ranges::any_of(
      import.origins, [](const auto& origin) { return origin.path == traces::standard_input; });
  if (reads_standard_input && !all.empty()) {
    std::string& note = all.back().note;
    note += (note.empty() ? "" : "; ") + std::string("- is standard input: give it again");
  }
  return all;
}

}  // namespace paceline
