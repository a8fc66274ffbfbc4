#include "traces/json/protocol.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "traces/json/step_trace.h"
#include "traces/json/values.h"

namespace paceline {

using nlohmann::json;

namespace {

using traces::parse_word;
using traces::whole;

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
          {"placement", to_text(tree.placement)}};
}

topology::FatTree decode_fat_tree(const json& in) {
  return {whole<std::uint32_t>(in.at("nodes_per_leaf")), in.at("oversubscription").get<double>(),
          in.at("core_latency_s").get<Seconds>(), in.at("rails").get<bool>(),
          parse_word<topology::Placement>(in.at("placement"))};
}

json encode(const topology::Cluster& cluster) {
  const auto& node = cluster.intra_node;
  const auto& network = cluster.network;
  json out{{"name", cluster.name},
           {"nodes", cluster.nodes},
           {"gpus_per_node", cluster.gpus_per_node},
           {"servers", cluster.servers},
           {"intra_node",
            {{"kind", to_text(node.kind)},
             {"bandwidth_bytes_per_s", node.bandwidth},
             {"latency_s", node.latency},
             {"lanes", node.lanes}}},
           {"network",
            {{"bandwidth_bytes_per_s", network.bandwidth},
             {"latency_s", network.latency},
             {"nics_per_node", network.nics_per_node},
             {"efficiency", network.efficiency},
             {"transport", to_text(network.transport)},
             {"framing", to_text(network.framing)},
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
  if (network.sharp) out["network"]["sharp"] = true;
  return out;
}

topology::Cluster decode_cluster(const json& in) {
  topology::Cluster cluster;
  in.at("name").get_to(cluster.name);
  cluster.nodes = whole<std::uint32_t>(in.at("nodes"));
  cluster.gpus_per_node = whole<std::uint32_t>(in.at("gpus_per_node"));
  cluster.servers = whole<std::uint32_t>(in.at("servers"));
  const json& node = in.at("intra_node");
  cluster.intra_node.kind = parse_word<topology::IntraNodeKind>(node.at("kind"));
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
  cluster.network.transport = parse_word<topology::Transport>(network.at("transport"));
  cluster.network.framing = parse_word<topology::Framing>(network.at("framing"));
  network.at("mtu_bytes").get_to(cluster.network.mtu);
  cluster.network.receives = parse_word<topology::Receives>(network.at("receives"));
  if (network.contains("rendezvous_above_bytes")) {
    cluster.network.rendezvous_above = network.at("rendezvous_above_bytes").get<Bytes>();
  }
  if (network.contains("fat_tree")) {
    cluster.network.fat_tree = decode_fat_tree(network.at("fat_tree"));
  }
  cluster.network.sharp = network.value("sharp", false);
  if (in.contains("reduction_bandwidth_bytes_per_s")) {
    cluster.reduction_bandwidth = in.at("reduction_bandwidth_bytes_per_s").get<BytesPerSecond>();
  }
  return cluster;
}

json encode(const MeasureSettings& settings) {
  json out{
      {"mode", to_text(settings.mode)}, {"warmup", settings.warmup}, {"steps", settings.steps}};
  if (settings.calls) {
    out["calls"] = {{"type", to_text(settings.calls->type)},
                    {"iterations", settings.calls->iterations}};
  }
  return out;
}

MeasureSettings decode_measure_settings(const json& in) {
  MeasureSettings settings{parse_word<CollectiveMode>(in.at("mode")),
                           whole<std::uint32_t>(in.at("warmup")),
                           whole<std::uint32_t>(in.at("steps"))};
  if (in.contains("calls")) {
    const json& calls = in.at("calls");
    settings.calls = {parse_word<DataType>(calls.at("type")),
                      whole<std::uint32_t>(calls.at("iterations"))};
  }
  return settings;
}

json encode(const RepeatedTime& call) {
  json out{{"time_s", call.time}, {"alone_s", call.alone}, {"wrong", call.wrong}};
  if (call.device) out["device_s"] = *call.device;
  return out;
}

RepeatedTime decode_call_time(const json& in) {
  RepeatedTime call;
  in.at("time_s").get_to(call.time);
  if (in.contains("device_s")) call.device = in.at("device_s").get<Seconds>();
  in.at("alone_s").get_to(call.alone);
  call.wrong = whole<std::uint64_t>(in.at("wrong"));
  return call;
}

json encode(const RepeatedTimes& calls) {
  json out = json::object();
  if (calls.out_of_place) out["out_of_place"] = encode(*calls.out_of_place);
  if (calls.in_place) out["in_place"] = encode(*calls.in_place);
  return out;
}

RepeatedTimes decode_call_times(const json& in) {
  RepeatedTimes calls;
  if (in.contains("out_of_place")) calls.out_of_place = decode_call_time(in.at("out_of_place"));
  if (in.contains("in_place")) calls.in_place = decode_call_time(in.at("in_place"));
  return calls;
}

json encode(const Measurement& measurement) {
  json out{{"backend", measurement.backend},
           {"mode", to_text(measurement.mode)},
           {"steps_s", measurement.steps},
           {"median_s", measurement.median},
           {"mad_s", measurement.mad},
           {"cpu_busy", measurement.cpu_busy},
           {"clock_error_s", measurement.clock_error}};
  if (measurement.calls) out["calls"] = encode(*measurement.calls);
  return out;
}

Measurement decode_measurement(const json& in) {
  Measurement measurement{in.at("backend").get<std::string>(),
                          parse_word<CollectiveMode>(in.at("mode")),
                          in.at("steps_s").get<std::vector<Seconds>>(),
                          in.at("median_s").get<Seconds>(),
                          in.at("mad_s").get<Seconds>(),
                          in.at("cpu_busy").get<double>(),
                          in.at("clock_error_s").get<Seconds>()};
  if (in.contains("calls")) measurement.calls = decode_call_times(in.at("calls"));
  return measurement;
}

json encode(const Result& result) {
  json out{{"id", result.id},
           {"fidelity", to_text(result.fidelity)},
           {"totals",
            {{"step_s", result.totals.step},
             {"compute_s", result.totals.compute},
             {"communication_s", result.totals.communication},
             {"exposed_communication_s", result.totals.exposed_communication}}},
           {"classes", traces::encode_classes(result.trace.classes)},
           {"transfers", result.transfers},
           {"simgrid_solves", result.simgrid_solves},
           {"notes", result.notes}};
  for (const auto& [id, algorithm] : result.chosen) out["chosen"].push_back({id, algorithm});
  if (result.measurement) out["measurement"] = encode(*result.measurement);
  return out;
}

// Which algorithms automatic calls were given, also in the program that ran.
void decode_chosen(const json& in, Result& result) {
  for (const auto& [id, algorithm] :
       in.get<std::vector<std::pair<training::OperationId, std::string>>>()) {
    auto& operations = result.trace.program.operations;
    auto* call = id < operations.size() ? call_of(operations[id]) : nullptr;
    if (call == nullptr || call->options() == nullptr) throw std::runtime_error("chosen: no call");
    result.chosen[id] = algorithm;
    call->how = training::SimulatedCall{algorithm, *call->options()};
  }
}

// The intervals of each class are those of the program's operations, and each rank is in one; calls
// that are made again and again have no steps, and none.
void expect_classes_of(const training::StepProgram& program, const std::vector<RankClass>& all) {
  std::size_t ranks = 0;
  for (const RankClass& members : all) {
    ranks += members.ranks.size();
    if (members.ranks.empty()) throw std::runtime_error("a class has no ranks");
    if (members.intervals.size() != program.operations.size()) {
      throw std::runtime_error("intervals are not those of the program that was sent");
    }
  }
  std::vector<bool> is_known(ranks);
  for (const RankClass& members : all) {
    for (const Rank rank : members.ranks) {
      if (rank.value() >= ranks || is_known[rank.value()]) {
        throw std::runtime_error("ranks are not each in one class");
      }
      is_known[rank.value()] = true;
    }
  }
}

Result decode_result(const json& in, const training::StepProgram& program) {
  Result result;
  result.id = whole<std::uint64_t>(in.at("id"));
  result.fidelity = parse_word<Fidelity>(in.at("fidelity"));
  const json& totals = in.at("totals");
  totals.at("step_s").get_to(result.totals.step);
  totals.at("compute_s").get_to(result.totals.compute);
  totals.at("communication_s").get_to(result.totals.communication);
  totals.at("exposed_communication_s").get_to(result.totals.exposed_communication);
  result.trace = {program, traces::decode_classes(in.at("classes"))};
  expect_classes_of(program, result.trace.classes);
  if (in.contains("chosen")) decode_chosen(in.at("chosen"), result);
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
  json jobs = json::array();
  for (const Job& job : point.jobs) jobs.push_back({{"nodes", job.nodes}, {"start_s", job.start}});
  json out{{"schema", "paceline.point/1"},        {"id", point.id},
           {"cluster", encode(point.cluster)},    {"program", encode_program(point.program)},
           {"slowdown", point.slowdown},          {"jobs", std::move(jobs)},
           {"fidelity", to_text(point.fidelity)}, {"force", point.force}};
  if (point.measure) out["measure"] = encode(*point.measure);
  return out.dump();
}

ResolvedPoint point_from_line(std::string_view line) {
  return decoded(line, [](const json& in) {
    if (in.at("schema") != "paceline.point/1") throw std::runtime_error("not a paceline.point/1");
    ResolvedPoint point;
    point.id = whole<std::uint64_t>(in.at("id"));
    point.cluster = decode_cluster(in.at("cluster"));
    point.program = decode_program(in.at("program"));
    in.at("slowdown").get_to(point.slowdown);
    for (const json& job : in.at("jobs").get_ref<const json::array_t&>()) {
      Job& decoded = point.jobs.emplace_back();
      for (const json& node : job.at("nodes").get_ref<const json::array_t&>()) {
        decoded.nodes.push_back(whole<std::uint32_t>(node));
      }
      job.at("start_s").get_to(decoded.start);
    }
    point.fidelity = parse_word<Fidelity>(in.at("fidelity"));
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

Reply reply_from_line(std::string_view line, const training::StepProgram& program) {
  return decoded(line, [&](const json& in) -> Reply {
    if (in.contains("failure")) {
      return Failure{whole<std::uint64_t>(in.at("id")), in.at("failure").get<std::string>(),
                     in.value("refused", false)};
    }
    return decode_result(in, program);
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

std::string to_text(const RepeatedTime& call) { return encode(call).dump(); }

RepeatedTime call_time_from_text(std::string_view text) { return decoded(text, decode_call_time); }

std::string to_text(const std::vector<training::Interval>& intervals) {
  return encode_intervals(intervals).dump();
}

std::vector<training::Interval> intervals_from_text(std::string_view text) {
  return decoded(text, decode_intervals);
}

}  // namespace traces
}  // namespace paceline
