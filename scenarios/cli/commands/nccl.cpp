#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <iosfwd>
#include <iostream>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/assumption.h"
#include "models/cost/nccl_call.h"
#include "models/cost/nccl_tuning.h"
#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/import/cluster_file.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/report/report.h"
#include "scenarios/text_table.h"
#include "traces/text/lines.h"

namespace paceline::cli {
namespace nccl_command {

using collectives::Collective;
using cost::nccl::Graph;
using cost::nccl::Group;
using cost::nccl::LocalLink;
using cost::nccl::Processor;
using cost::nccl::Release;
using cost::nccl::Tuning;

// In the order of NCCL's table.
constexpr std::array nccl_collectives{Collective::broadcast, Collective::reduce,
                                      Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_reduce};

struct NcclChoices {
  struct Row {
    Bytes size;
    cost::nccl::Choice choice;
  };

  Tuning tuning;
  Collective collective;
  std::vector<Row> rows;
};

using cost::nccl::Algorithm, cost::nccl::algorithms_all;
using cost::nccl::Protocol, cost::nccl::protocols_all;

constexpr std::string_view none = "-";

// Of latency, in us, and bandwidth, in GB/s, as NCCL's table has them.
std::string cell(const Tuning& tuning, Collective collective, Algorithm algorithm,
                 Protocol protocol) {
  const auto cost = tuning.cost(collective, algorithm, protocol);
  if (cost.bandwidth <= BytesPerSecond(0)) return std::string(none);
  return fmt::format("{:.1f}/{:.1f}", cost.latency.value() * 1e6, cost.bandwidth.value() * 1e-9);
}

void write_costs(std::ostream& out, const Tuning& tuning) {
  std::vector<std::pair<Algorithm, Protocol>> columns;
  for (const Algorithm algorithm : algorithms_all) {
    for (const Protocol protocol : protocols_all) {
      const bool is_any = std::ranges::any_of(nccl_collectives, [&](Collective one) {
        return cell(tuning, one, algorithm, protocol) != none;
      });
      if (is_any) columns.emplace_back(algorithm, protocol);
    }
  }
  std::vector<std::string> header{"us / GB/s"};
  for (const auto& [algorithm, protocol] : columns) {
    header.push_back(fmt::format("{} {}", to_text(algorithm), to_text(protocol)));
  }
  TextTable table(header, 1);
  for (const Collective collective : nccl_collectives) {
    std::vector<std::string> row{std::string(to_text(collective))};
    for (const auto& [algorithm, protocol] : columns) {
      row.push_back(cell(tuning, collective, algorithm, protocol));
    }
    table.add(std::move(row));
  }
  table.write(out);
}

void write_text(std::ostream& out, const NcclChoices& choices) {
  const auto& group = choices.tuning.group();
  fmt::print(out, "NCCL 2.{}, {} ranks on {}, {} channels\n\n", group.release.minor,
             group.ranks.value(), counted(group.nodes, "node"), group.ring.channels);
  write_costs(out, choices.tuning);
  fmt::print(out, "\n{}\n", to_text(choices.collective));
  TextTable table({"size (B)", "algorithm", "protocol", "channels", "threads", "time (us)"}, 0);
  for (const auto& [size, choice] : choices.rows) {
    table.add({std::to_string(size.value()), std::string(to_text(choice.algorithm)),
               std::string(to_text(choice.protocol)), std::to_string(choice.channels),
               std::to_string(choice.threads), fmt::format("{:.3f}", choice.time.value() * 1e6)});
  }
  table.write(out);
}

constexpr auto fields_of(const NcclChoices::Row*) {
  using Row = NcclChoices::Row;
  using cost::nccl::Choice;
  return Fields(field("size_bytes", &Row::size),
                field("algorithm", at<&Row::choice, &Choice::algorithm>),
                field("protocol", at<&Row::choice, &Choice::protocol>),
                field("channels", at<&Row::choice, &Choice::channels>),
                field("threads", at<&Row::choice, &Choice::threads>),
                field("time_s", at<&Row::choice, &Choice::time>));
}

// paceline.nccl/1
void write_json(std::ostream& out, const NcclChoices& choices) {
  const auto& group = choices.tuning.group();
  JsonWriter json(out);
  const auto write_costs = [&] {
    for (const Collective collective : nccl_collectives) {
      for (const Algorithm algorithm : algorithms_all) {
        for (const Protocol protocol : protocols_all) {
          const auto cost = choices.tuning.cost(collective, algorithm, protocol);
          if (cost.bandwidth <= BytesPerSecond(0)) continue;
          json.object([&] {
            json.put("collective", collective);
            json.put("algorithm", algorithm);
            json.put("protocol", protocol);
            json.put("latency_s", cost.latency);
            json.put("bandwidth_bytes_per_s", cost.bandwidth);
          });
        }
      }
    }
  };
  json.object([&] {
    json.put("schema", "paceline.nccl/1");
    json.put("release", "2." + std::to_string(group.release.minor));
    json.put("ranks", group.ranks);
    json.put("nodes", group.nodes);
    json.put_list("costs", write_costs);
    json.put("collective", choices.collective);
    json.put("choices", choices.rows);
  });
}

// For NCCL's example tuner plugin (ext-tuner/example of NVIDIA/nccl), which takes the first line
// that fits. A size stands for all up to the next one; -1: whatever it is, or what NCCL does.
void write_tuner(std::ostream& out, const NcclChoices& choices) {
  const auto& [tuning, collective, rows] = choices;
  const auto same = [](const NcclChoices::Row& a, const NcclChoices::Row& b) {
    return a.choice.algorithm == b.choice.algorithm && a.choice.protocol == b.choice.protocol;
  };
  fmt::print(out,
             "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n");
  std::string name(to_text(collective));
  std::erase(name, '_');
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t next = first + 1;
    while (next < rows.size() && same(rows[first], rows[next])) ++next;
    const std::uint64_t last =
        next < rows.size() ? rows[next].size.value() - 1 : rows.back().size.value();
    fmt::print(out, "{},{},{},{},{},-1,{},{}\n", name, first == 0 ? 0 : rows[first].size.value(),
               last, traces::in_lower(to_text(rows[first].choice.algorithm)),
               traces::in_lower(to_text(rows[first].choice.protocol)), tuning.group().nodes,
               tuning.group().ranks.value());
    first = next;
  }
}

struct Options {
  std::string version = fmt::format("2.{}", Release::unless_said), device = "", processor = "intel",
              link = "nvlink";
  std::string cluster, gpus, local, remote, network_latency = "0us";
  std::uint32_t nodes = 1, gpus_per_node = 8, channels = 0, nvls_channels = 0, collnet_channels = 0;
  bool plain_tree = false, different_channels = false, no_ll128 = false;
  std::string collective = "all_reduce", min_size = "1KiB", max_size = "1GiB";
  files::OutputFile json, tuner;
};

const Words<Processor> processors{{"intel", Processor::intel_or_other}, {"amd", Processor::amd}};
const Words<LocalLink> links{{"nvlink", LocalLink::nvlink}, {"pci", LocalLink::pci}};

Words<Collective> all_collectives() {
  Words<Collective> all;
  for (const Collective one : nccl_collectives) all.emplace_back(to_text(one), one);
  return all;
}

std::uint32_t minor_of(const std::string& version) {
  if (const auto minor = Release::minor_of(version)) return *minor;
  throw InputError({"--version"}, fmt::format("\"{}\" is not a version of NCCL", version),
                   "write 2.18 to 2.30");
}

constexpr std::uint32_t channels_max = Release{Release::newest}.channels_max();

void expect_within(std::uint32_t least, std::uint32_t most, const char* option, std::uint32_t value,
                   const char* hint) {
  if (value >= least && value <= most) return;
  throw InputError({option}, fmt::format("{} is out of range", value), hint);
}

double capability_of(const std::string& device) {
  return device_named(device.empty() ? "a100-sxm4-40gb" : device).sm / 10.0;
}

// A preset, or a file: what a scenario on it would take.
Group group_on_cluster(const Options& options, Release release) {
  ScenarioValues values = small_values();
  values.set_given({{"cluster.preset", options.cluster},
                    {"cluster.gpus", "any"},  // the device is none that anyone named
                    {"gpus", options.gpus}});
  const topology::Cluster cluster = scenario_of_options(values, {}).cluster;
  if (cluster.ranks() < RankCount(2)) {
    throw InputError({"--gpus"}, "one GPU sends nothing", "write 2 or more");
  }
  return cost::nccl::group_of(cluster, release,
                              capability_of(options.device.empty() ? cluster.gpu : options.device));
}

// As the other options describe it.
Group described_group(const Options& options, Release release) {
  expect_within(1, 1U << 20, "--nodes", options.nodes, "write 1 or more");
  expect_within(1, 1024, "--gpus-per-node", options.gpus_per_node, "write 1 to 1024");
  if (options.nodes * options.gpus_per_node < 2) {
    throw InputError({"--gpus-per-node"}, "one GPU sends nothing", "write 2 or more, or --nodes 2");
  }
  expect_within(1, channels_max, "--channels", options.channels,
                "write 1 to 64, as NCCL_DEBUG_SUBSYS=GRAPH prints, or name a cluster");
  if (options.nodes == 1 && (options.plain_tree || !options.remote.empty())) {
    throw InputError({options.plain_tree ? "--plain-tree" : "--remote"},
                     "has no effect on one node", "leave it out, or write --nodes 2");
  }
  Group group;
  group.release = release;
  group.nodes = options.nodes;
  group.ranks = RankCount(options.nodes * options.gpus_per_node);
  group.gpu = cost::nccl::architecture_of(capability_of(options.device));
  group.link = word("--link", options.link, links);
  const auto local = positive_bandwidth("--local", options.local);
  const auto remote =
      options.remote.empty() ? local : positive_bandwidth("--remote", options.remote);
  group.ring = group.tree = {options.channels, local, remote, options.plain_tree,
                             !options.different_channels};
  group.has_ll128 = group.link == LocalLink::nvlink || options.gpus_per_node == 1;
  return group;
}

Graph with_channels(Graph graph, std::uint32_t channels) {
  graph.channels = channels;
  return graph;
}

Group group_of(const Options& options) {
  const Release release = Release::nearest(minor_of(options.version));
  Group group = options.cluster.empty() ? described_group(options, release)
                                        : group_on_cluster(options, release);
  group.processor = word("--processor", options.processor, processors);
  group.network_latency = quantity("--network-latency", options.network_latency, parse_seconds);
  expect_within(0, channels_max, "--nvls-channels", options.nvls_channels, "write 1 to 64");
  expect_within(0, channels_max, "--collnet-channels", options.collnet_channels, "write 1 to 64");
  if (options.nvls_channels > 0) group.nvls = with_channels(group.ring, options.nvls_channels);
  if (options.collnet_channels > 0) {
    group.collnet = with_channels(group.ring, options.collnet_channels);
  }
  if (group.nvls.channels > 0 || options.collnet_channels > 0) group.has_nvswitch = true;
  if (options.no_ll128) group.has_ll128 = false;
  return group;
}

std::vector<NcclChoices::Row> choices(const Options& options, const Tuning& tuning,
                                      Collective collective) {
  const Bytes least = quantity("--min", options.min_size, parse_bytes);
  if (least == Bytes(0)) throw InputError({"--min"}, "is zero", "write 1KiB");
  std::vector<NcclChoices::Row> rows;
  for (const Bytes size : sizes_between(least, options.max_size, 2)) {
    rows.push_back({size, tuning.choose(collective, size)});
  }
  return rows;
}

constexpr AssumptionKind own_model{
    "{}: NCCL's own model, which NCCL uses to choose; small messages take several times as "
    "long when measured"};
constexpr AssumptionKind one_graph{"{} share one graph; no SHARP, no NVLS"};
constexpr AssumptionKind one_graph_for_all{
    "{} share one graph; --nvls-channels and --collnet-channels use its bandwidths too"};
constexpr AssumptionKind suggested_channels{"{} channels of {}, derived from the cluster"};

Assumptions assumptions_of(const Options& options, const Group& group) {
  Assumptions all;
  all.add({own_model, "times"});
  const bool is_plain = group.nvls.channels + group.collnet.channels == 0;
  all.add({is_plain ? one_graph : one_graph_for_all, "rings and trees"});
  if (!options.cluster.empty()) {
    all.add({suggested_channels,
             std::to_string(group.ring.channels),
             {std::string(to_text(group.ring.remote))}});
  }
  if (minor_of(options.version) != group.release.minor) {
    all.add({cost::nccl::unmodelled_release,
             "NCCL " + options.version,
             {fmt::format("2.{}", group.release.minor)}});
  }
  return all;
}

int run(Options& options) {
  const Collective collective = word("--collective", options.collective, all_collectives());
  const Tuning tuning(group_of(options));
  const NcclChoices made{tuning, collective, choices(options, tuning, collective)};
  if (!options.json.is_standard_output() && !options.tuner.is_standard_output()) {
    write_text(std::cout, made);
    write_assumptions(std::cout, assumptions_of(options, tuning.group()).sentences());
  }
  options.json.write_if_asked([&](std::ostream& out) { write_json(out, made); });
  options.tuner.write_if_asked([&](std::ostream& out) { write_tuner(out, made); });
  return exit_done;
}

void add_description(CommandOptions& app, Options& options, const Option& cluster) {
  CommandOptions machine = app.in_group("Machine, in place of a cluster");
  for (const Option& option :
       {machine.add_option("--nodes", options.nodes, "The number of nodes (default: 1)."),
        machine.add_option("--gpus-per-node", options.gpus_per_node,
                           "The number of GPUs per node (default: 8)."),
        machine.add_option(
            "--channels", options.channels,
            "The number of channels of rings and trees, as NCCL_DEBUG_SUBSYS=GRAPH prints it."),
        machine.add_option("--local", options.local,
                           "The bandwidth of a channel inside a node, such as 20GBps."),
        machine.add_option("--remote", options.remote,
                           "The bandwidth of a channel between nodes (default: that of --local)."),
        machine
            .add_option("--link", options.link,
                        "The links inside a node: nvlink or pci (default: nvlink).")
            .suggests({"nvlink", "pci"}),
        machine.add_flag("--plain-tree", options.plain_tree,
                         "Only one rank per node talks to other nodes (pattern 1 in NCCL's log)."),
        machine.add_flag("--different-channels", options.different_channels,
                         "Channels differ, where NCCL's log says sameChannels 0.")}) {
    option.excludes(cluster);
  }
  CommandOptions any = app.in_group("Machine");
  add_device(any, options.device);
  any.add_option("--processor", options.processor,
                 "The CPU: intel (and all others) or amd (default: intel).")
      .suggests({"intel", "amd"});
  any.add_option("--nvls-channels", options.nvls_channels,
                 "The number of channels where NVSwitches reduce (NVLS), with the bandwidths of "
                 "rings (default: those of the cluster and the GPU, else none).");
  any.add_option("--collnet-channels", options.collnet_channels,
                 "The number of channels where network switches reduce (SHARP), likewise.");
  any.add_option("--network-latency", options.network_latency,
                 "The latency that the network plugin states (default: 0us, as NCCL's own plugins "
                 "do).");
  any.add_flag("--no-ll128", options.no_ll128, "NCCL does not consider LL128 safe here.");
}

}  // namespace nccl_command

Action attach_nccl(CommandOptions& app) {
  using namespace nccl_command;
  auto options = std::make_shared<Options>();
  const Option cluster = app.add_option(
      "cluster", options->cluster,
      "The cluster, a preset or a file (paceline list presets); or describe one with the options "
      "below.");
  cluster.reads_files("").suggests(shipped_presets);
  app.add_option("--gpus", options->gpus,
                 "The number of GPUs of the cluster (default: those of one node).")
      .needs(cluster);
  app.add_option("--version", options->version,
                 "The version of NCCL, 2.18 to 2.30 (default: 2.28).");
  app.add_option("--collective", options->collective,
                 "all_reduce, reduce_scatter, all_gather, broadcast or reduce (default: "
                 "all_reduce).")
      .suggests({"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce"});
  app.add_option("--min", options->min_size, "The smallest size (default: 1KiB).");
  app.add_option("--max", options->max_size,
                 "The largest size (default: 1GiB); each size is twice the one before.");
  add_description(app, *options, cluster);
  CommandOptions output = app.in_group("Output");
  add_json(app, options->json, "the table");
  output.add_output("--tuner", options->tuner,
                    "Write the choices as a file for NCCL's example tuner plugin.");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
