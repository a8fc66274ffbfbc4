#include "traces/json/protocol.h"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "traces/json/spans.h"
#include "traces/json/values.h"

namespace paceline {

using nlohmann::json;

namespace {

using topology::Framing;
using topology::IntraNodeKind;
using topology::Placement;
using topology::Receives;
using topology::Transport;
using traces::decode_lanes;
using traces::parse_word;
using traces::whole;

constexpr std::array fidelities{Fidelity::flow, Fidelity::folded, Fidelity::closed,
                                Fidelity::measured};
constexpr std::array collective_modes{CollectiveMode::native, CollectiveMode::plan};
constexpr std::array node_kinds{IntraNodeKind::nvswitch, IntraNodeKind::nvlink_mesh,
                                IntraNodeKind::pcie};
constexpr std::array placements{Placement::packed, Placement::spread};
constexpr std::array framings{Framing::none, Framing::ethernet_tcp, Framing::ip_tcp};
constexpr std::array transports{Transport::rdma, Transport::tcp};
constexpr std::array receives_all{Receives::ready, Receives::announced, Receives::announced_ahead,
                                  Receives::announced_to_strangers};

// Words that stand in these lines only.
std::string_view word(IntraNodeKind kind) {
  if (kind == IntraNodeKind::nvswitch) return "nvswitch";
  return kind == IntraNodeKind::nvlink_mesh ? "nvlink_mesh" : "pcie";
}
std::string_view word(Framing framing) {
  if (framing == Framing::none) return "none";
  return framing == Framing::ethernet_tcp ? "ethernet_tcp" : "ip_tcp";
}
std::string_view word(Placement placement) {
  return placement == Placement::packed ? "packed" : "spread";
}
std::string_view word(Transport transport) { return transport == Transport::rdma ? "rdma" : "tcp"; }
constexpr auto by_word = [](auto value) { return word(value); };
constexpr auto by_text = [](auto value) { return to_text(value); };

json encode(const topology::PcieTree& tree) {
  json out{{"gpus_per_switch", tree.gpus_per_switch},
           {"switch_bandwidth_bytes_per_s", tree.switch_bandwidth},
           {"switches_per_socket", tree.switches_per_socket},
           {"peer_to_peer", tree.peer_to_peer}};
  if (tree.socket_bandwidth) out["socket_bandwidth_bytes_per_s"] = *tree.socket_bandwidth;
  return out;
}

topology::PcieTree decode_pcie_tree(const json& in) {
  topology::PcieTree tree;
  tree.gpus_per_switch = whole<std::uint32_t>(in.at("gpus_per_switch"));
  in.at("switch_bandwidth_bytes_per_s").get_to(tree.switch_bandwidth);
  tree.switches_per_socket = whole<std::uint32_t>(in.at("switches_per_socket"));
  in.at("peer_to_peer").get_to(tree.peer_to_peer);
  if (in.contains("socket_bandwidth_bytes_per_s")) {
    tree.socket_bandwidth = in.at("socket_bandwidth_bytes_per_s").get<BytesPerSecond>();
  }
  return tree;
}

json encode(const topology::FatTree& tree) {
  return {{"nodes_per_leaf", tree.nodes_per_leaf},
          {"oversubscription", tree.oversubscription},
          {"core_latency_s", tree.core_latency},
          {"rails", tree.rails},
          {"placement", word(tree.placement)}};
}

topology::FatTree decode_fat_tree(const json& in) {
  return {whole<std::uint32_t>(in.at("nodes_per_leaf")), in.at("oversubscription").get<double>(),
          in.at("core_latency_s").get<Seconds>(), in.at("rails").get<bool>(),
          parse_word(in.at("placement"), placements, by_word)};
}

json encode(const topology::Cluster& cluster) {
  const auto& node = cluster.intra_node;
  const auto& network = cluster.network;
  json out{{"name", cluster.name},
           {"nodes", cluster.nodes},
           {"gpus_per_node", cluster.gpus_per_node},
           {"servers", cluster.servers},
           {"intra_node",
            {{"kind", word(node.kind)},
             {"bandwidth_bytes_per_s", node.bandwidth},
             {"latency_s", node.latency},
             {"lanes", node.lanes}}},
           {"network",
            {{"bandwidth_bytes_per_s", network.bandwidth},
             {"latency_s", network.latency},
             {"nics_per_node", network.nics_per_node},
             {"efficiency", network.efficiency},
             {"transport", word(network.transport)},
             {"framing", word(network.framing)},
             {"receives", to_text(network.receives)},
             {"mtu_bytes", network.mtu}}}};
  if (cluster.reduction_bandwidth) {
    out["reduction_bandwidth_bytes_per_s"] = *cluster.reduction_bandwidth;
  }
  if (network.rendezvous_above) {
    out["network"]["rendezvous_above_bytes"] = *network.rendezvous_above;
  }
  if (node.host_bandwidth) {
    out["intra_node"]["host_bandwidth_bytes_per_s"] = *node.host_bandwidth;
  }
  if (node.pcie_tree) out["intra_node"]["pcie_tree"] = encode(*node.pcie_tree);
  if (network.fat_tree) out["network"]["fat_tree"] = encode(*network.fat_tree);
  return out;
}

topology::Cluster decode_cluster(const json& in) {
  topology::Cluster cluster;
  in.at("name").get_to(cluster.name);
  cluster.nodes = whole<std::uint32_t>(in.at("nodes"));
  cluster.gpus_per_node = whole<std::uint32_t>(in.at("gpus_per_node"));
  cluster.servers = whole<std::uint32_t>(in.at("servers"));
  const json& node = in.at("intra_node");
  cluster.intra_node.kind = parse_word(node.at("kind"), node_kinds, by_word);
  node.at("bandwidth_bytes_per_s").get_to(cluster.intra_node.bandwidth);
  node.at("latency_s").get_to(cluster.intra_node.latency);
  node.at("lanes").get_to(cluster.intra_node.lanes);
  if (node.contains("host_bandwidth_bytes_per_s")) {
    cluster.intra_node.host_bandwidth = node.at("host_bandwidth_bytes_per_s").get<BytesPerSecond>();
  }
  if (node.contains("pcie_tree")) {
    cluster.intra_node.pcie_tree = decode_pcie_tree(node.at("pcie_tree"));
  }
  const json& network = in.at("network");
  network.at("bandwidth_bytes_per_s").get_to(cluster.network.bandwidth);
  network.at("latency_s").get_to(cluster.network.latency);
  cluster.network.nics_per_node = whole<std::uint32_t>(network.at("nics_per_node"));
  network.at("efficiency").get_to(cluster.network.efficiency);
  cluster.network.transport = parse_word(network.at("transport"), transports, by_word);
  cluster.network.framing = parse_word(network.at("framing"), framings, by_word);
  network.at("mtu_bytes").get_to(cluster.network.mtu);
  cluster.network.receives = parse_word(network.at("receives"), receives_all, by_text);
  if (network.contains("rendezvous_above_bytes")) {
    cluster.network.rendezvous_above = network.at("rendezvous_above_bytes").get<Bytes>();
  }
  if (network.contains("fat_tree")) {
    cluster.network.fat_tree = decode_fat_tree(network.at("fat_tree"));
  }
  if (in.contains("reduction_bandwidth_bytes_per_s")) {
    cluster.reduction_bandwidth = in.at("reduction_bandwidth_bytes_per_s").get<BytesPerSecond>();
  }
  return cluster;
}

json encode(const collectives::AlgorithmOptions& options) {
  return {{"channels", options.channels}, {"chunk_size_bytes", options.chunk_size},
          {"inner", options.inner},       {"outer", options.outer},
          {"servers", options.servers},   {"separate_servers", options.separate_servers}};
}

collectives::AlgorithmOptions decode_options(const json& in) {
  return {whole<std::uint32_t>(in.at("channels")), in.at("chunk_size_bytes").get<Bytes>(),
          in.at("inner").get<std::string>(),       in.at("outer").get<std::string>(),
          whole<std::uint32_t>(in.at("servers")),  in.at("separate_servers").get<bool>()};
}

json encode(const training::Operation& operation) {
  json out{{"name", operation.name},
           {"kind", to_text(operation.kind)},
           {"lane", operation.lane},
           {"after", operation.after}};
  if (const auto* time = std::get_if<Seconds>(&operation.work)) {
    out["time_s"] = *time;
    if (!operation.rank_parts.empty()) out["rank_parts"] = operation.rank_parts;
    return out;
  }
  const auto& call = std::get<training::CollectiveCall>(operation.work);
  out["call"] = {{"collective", to_text(call.collective)},
                 {"count", call.count},
                 {"element_size_bytes", call.element_size},
                 {"root", call.root},
                 {"algorithm", call.algorithm},
                 {"options", encode(call.options)}};
  if (call.known_time) out["call"]["known_time_s"] = *call.known_time;
  if (call.wire != topology::Wire{}) {
    out["call"]["wire"] = {{"bytes", call.wire.bytes},
                           {"start_s", call.wire.start},
                           {"local_hop_s", call.wire.local_hop},
                           {"remote_hop_s", call.wire.remote_hop}};
  }
  return out;
}

training::Operation decode_operation(const json& in) {
  training::Operation operation{
      in.at("name").get<std::string>(), traces::decode_operation_kind(in.at("kind")),
      whole<training::LaneId>(in.at("lane")),
      in.at("after").get<std::vector<training::OperationId>>(), Seconds(0)};
  if (in.contains("time_s")) {
    operation.work = in.at("time_s").get<Seconds>();
    if (in.contains("rank_parts")) in.at("rank_parts").get_to(operation.rank_parts);
    return operation;
  }
  const json& call = in.at("call");
  training::CollectiveCall made{
      parse_word(call.at("collective"), collectives::collectives_all, by_text),
      call.at("count").get<ElementCount>(),
      call.at("element_size_bytes").get<ElementSize>(),
      call.at("root").get<Rank>(),
      call.at("algorithm").get<std::string>(),
      decode_options(call.at("options"))};
  if (call.contains("known_time_s")) made.known_time = call.at("known_time_s").get<Seconds>();
  if (call.contains("wire")) {
    const json& wire = call.at("wire");
    made.wire = {wire.at("bytes").get<double>(), wire.at("start_s").get<Seconds>(),
                 wire.at("local_hop_s").get<Seconds>(), wire.at("remote_hop_s").get<Seconds>()};
  }
  operation.work = std::move(made);
  return operation;
}

json encode(const MeasureSettings& settings) {
  return {{"mode", to_text(settings.mode)}, {"warmup", settings.warmup}, {"steps", settings.steps}};
}

MeasureSettings decode_measure_settings(const json& in) {
  return {parse_word(in.at("mode"), collective_modes, by_text),
          whole<std::uint32_t>(in.at("warmup")), whole<std::uint32_t>(in.at("steps"))};
}

json encode(const Measurement& measurement) {
  return {{"backend", measurement.backend},
          {"mode", to_text(measurement.mode)},
          {"steps_s", measurement.steps},
          {"median_s", measurement.median},
          {"mad_s", measurement.mad},
          {"cpu_busy", measurement.cpu_busy},
          {"clock_error_s", measurement.clock_error}};
}

Measurement decode_measurement(const json& in) {
  return {in.at("backend").get<std::string>(),
          parse_word(in.at("mode"), collective_modes, by_text),
          in.at("steps_s").get<std::vector<Seconds>>(),
          in.at("median_s").get<Seconds>(),
          in.at("mad_s").get<Seconds>(),
          in.at("cpu_busy").get<double>(),
          in.at("clock_error_s").get<Seconds>()};
}

json encode(const Result& result) {
  json out{{"id", result.id},
           {"fidelity", to_text(result.fidelity)},
           {"totals",
            {{"step_s", result.totals.step},
             {"compute_s", result.totals.compute},
             {"communication_s", result.totals.communication},
             {"exposed_communication_s", result.totals.exposed_communication}}},
           {"trace", traces::encode_step_trace(result.trace)},
           {"transfers", result.transfers},
           {"simgrid_solves", result.simgrid_solves},
           {"notes", result.notes}};
  if (result.measurement) out["measurement"] = encode(*result.measurement);
  return out;
}

Result decode_result(const json& in) {
  Result result;
  result.id = whole<std::uint64_t>(in.at("id"));
  result.fidelity = parse_word(in.at("fidelity"), fidelities, by_text);
  const json& totals = in.at("totals");
  totals.at("step_s").get_to(result.totals.step);
  totals.at("compute_s").get_to(result.totals.compute);
  totals.at("communication_s").get_to(result.totals.communication);
  totals.at("exposed_communication_s").get_to(result.totals.exposed_communication);
  result.trace = traces::decode_step_trace(in.at("trace"));
  result.transfers = whole<std::uint64_t>(in.at("transfers"));
  result.simgrid_solves = whole<std::uint64_t>(in.at("simgrid_solves"));
  in.at("notes").get_to(result.notes);
  if (in.contains("measurement")) result.measurement = decode_measurement(in.at("measurement"));
  return result;
}

// nlohmann's own exceptions name the byte or the key; callers get one type.
template <class Decode>
auto decoded(std::string_view line, Decode decode) {
  try {
    return decode(json::parse(line));
  } catch (const json::exception& error) {
    throw std::runtime_error(error.what());
  }
}

}  // namespace

namespace traces {

std::string to_line(const ResolvedPoint& point) {
  json operations = json::array();
  for (const auto& operation : point.program.operations) operations.push_back(encode(operation));
  json jobs = json::array();
  for (const Job& job : point.jobs) jobs.push_back({{"nodes", job.nodes}, {"start_s", job.start}});
  json out{{"schema", "paceline.point/1"},
           {"id", point.id},
           {"cluster", encode(point.cluster)},
           {"program",
            {{"lanes", encode_lanes(point.program.lanes)}, {"operations", std::move(operations)}}},
           {"slowdown", point.slowdown},
           {"jobs", std::move(jobs)},
           {"fidelity", to_text(point.fidelity)},
           {"force", point.force}};
  if (point.measure) out["measure"] = encode(*point.measure);
  return out.dump();
}

ResolvedPoint point_from_line(std::string_view line) {
  return decoded(line, [](const json& in) {
    if (in.at("schema") != "paceline.point/1") throw std::runtime_error("not a paceline.point/1");
    ResolvedPoint point;
    point.id = whole<std::uint64_t>(in.at("id"));
    point.cluster = decode_cluster(in.at("cluster"));
    point.program.lanes = decode_lanes(in.at("program").at("lanes"));
    for (const json& operation : in.at("program").at("operations")) {
      point.program.operations.push_back(decode_operation(operation));
    }
    in.at("slowdown").get_to(point.slowdown);
    for (const json& job : in.at("jobs").get_ref<const json::array_t&>()) {
      Job& decoded = point.jobs.emplace_back();
      for (const json& node : job.at("nodes").get_ref<const json::array_t&>()) {
        decoded.nodes.push_back(whole<std::uint32_t>(node));
      }
      job.at("start_s").get_to(decoded.start);
    }
    point.fidelity = parse_word(in.at("fidelity"), fidelities, by_text);
    in.at("force").get_to(point.force);
    if (in.contains("measure")) point.measure = decode_measure_settings(in.at("measure"));
    return point;
  });
}

std::string to_line(const Reply& reply) {
  if (const auto* failure = std::get_if<Failure>(&reply)) {
    return json{{"id", failure->id}, {"failure", failure->what}, {"refused", failure->refused}}
        .dump();
  }
  return encode(std::get<Result>(reply)).dump();
}

Reply reply_from_line(std::string_view line) {
  return decoded(line, [](const json& in) -> Reply {
    if (in.contains("failure")) {
      return Failure{whole<std::uint64_t>(in.at("id")), in.at("failure").get<std::string>(),
                     in.value("refused", false)};
    }
    return decode_result(in);
  });
}

std::string to_line(const Progress& progress) {
  return json{{"id", progress.id}, {"step", progress.step}, {"duration_s", progress.duration}}
      .dump();
}

std::optional<Progress> progress_from_line(std::string_view line) {
  return decoded(line, [](const json& in) -> std::optional<Progress> {
    if (!in.contains("duration_s")) return std::nullopt;
    return Progress{whole<std::uint64_t>(in.at("id")), whole<std::uint32_t>(in.at("step")),
                    in.at("duration_s").get<Seconds>()};
  });
}

std::string to_text(const std::vector<Span>& spans) { return encode_spans(spans).dump(); }

std::vector<Span> spans_from_text(std::string_view text) { return decoded(text, decode_spans); }

}  // namespace traces
}  // namespace paceline
