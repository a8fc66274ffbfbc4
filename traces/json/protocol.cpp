#include "traces/json/protocol.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "traces/json/fields.h"
#include "traces/json/step_trace.h"

namespace paceline::traces {

using nlohmann::json;
using topology::Cluster;
using topology::FatTree;
using topology::IntraNode;
using topology::Network;
using topology::PcieGroup;
using topology::PcieTree;

template <>
constexpr auto fields<PcieGroup> =
    std::tuple{field("gpus", &PcieGroup::gpus), field("path", &PcieGroup::path),
               field("bandwidth_bytes_per_s", &PcieGroup::bandwidth),
               field<Key::unless_default>("nics", &PcieGroup::nics)};

template <>
constexpr auto fields<PcieTree> = std::tuple{
    field("groups", &PcieTree::groups), field("peer_to_peer", &PcieTree::peer_to_peer),
    field<Key::unless_default>("staging_bandwidth_bytes_per_s", &PcieTree::staging_bandwidth)};

template <>
constexpr auto fields<FatTree> =
    std::tuple{field("nodes_per_leaf", &FatTree::nodes_per_leaf),
               field("oversubscription", &FatTree::oversubscription),
               field("core_latency_s", &FatTree::core_latency), field("rails", &FatTree::rails),
               field("placement", &FatTree::placement)};

template <>
constexpr auto fields<IntraNode> =
    std::tuple{field("kind", &IntraNode::kind),
               field("bandwidth_bytes_per_s", &IntraNode::bandwidth),
               field("latency_s", &IntraNode::latency),
               field("lanes", &IntraNode::lanes),
               field("host_bandwidth_bytes_per_s", &IntraNode::host_bandwidth),
               field("pcie_tree", &IntraNode::pcie_tree),
               field<Key::unless_default>("over_neighbours", &IntraNode::over_neighbours),
               field<Key::may_lack>("slot_generation", &IntraNode::slot_generation),
               field<Key::unless_default>("slot_lanes", &IntraNode::slot_lanes),
               field<Key::unless_default>("box_spread", &IntraNode::box_spread)};

template <>
constexpr auto fields<Network> =
    std::tuple{field("bandwidth_bytes_per_s", &Network::bandwidth),
               field("latency_s", &Network::latency),
               field("nics_per_node", &Network::nics_per_node),
               field("efficiency", &Network::efficiency),
               field("transport", &Network::transport),
               field("framing", &Network::framing),
               field("mtu_bytes", &Network::mtu),
               field("rendezvous_above_bytes", &Network::rendezvous_above),
               field("receives", &Network::receives),
               field("fat_tree", &Network::fat_tree),
               field<Key::unless_default>("sharp", &Network::sharp)};

template <>
constexpr auto fields<Cluster> =
    std::tuple{field("name", &Cluster::name),
               field("nodes", &Cluster::nodes),
               field("gpus_per_node", &Cluster::gpus_per_node),
               field("servers", &Cluster::servers),
               field("intra_node", &Cluster::intra_node),
               field("network", &Cluster::network),
               field("reduction_bandwidth_bytes_per_s", &Cluster::reduction_bandwidth)};

template <>
constexpr auto fields<RepeatedCalls> = std::tuple{field("type", &RepeatedCalls::type),
                                                  field("iterations", &RepeatedCalls::iterations)};

template <>
constexpr auto fields<MeasureSettings> =
    std::tuple{field("mode", &MeasureSettings::mode), field("warmup", &MeasureSettings::warmup),
               field("steps", &MeasureSettings::steps), field("calls", &MeasureSettings::calls)};

template <>
constexpr auto fields<RepeatedTime> =
    std::tuple{field("time_s", &RepeatedTime::time), field("device_s", &RepeatedTime::device),
               field("alone_s", &RepeatedTime::alone), field("wrong", &RepeatedTime::wrong)};

template <>
constexpr auto fields<RepeatedTimes> =
    std::tuple{field("out_of_place", &RepeatedTimes::out_of_place),
               field("in_place", &RepeatedTimes::in_place)};

template <>
constexpr auto fields<Measurement> = std::tuple{field("backend", &Measurement::backend),
                                                field("mode", &Measurement::mode),
                                                field("steps_s", &Measurement::steps),
                                                field("median_s", &Measurement::median),
                                                field("mad_s", &Measurement::mad),
                                                field("cpu_busy", &Measurement::cpu_busy),
                                                field("clock_error_s", &Measurement::clock_error),
                                                field("calls", &Measurement::calls)};

template <>
constexpr auto fields<StepTotals> =
    std::tuple{field("step_s", &StepTotals::step), field("compute_s", &StepTotals::compute),
               field("communication_s", &StepTotals::communication),
               field("exposed_communication_s", &StepTotals::exposed_communication)};

template <>
constexpr auto fields<Job> = std::tuple{field("nodes", &Job::nodes), field("start_s", &Job::start)};

template <>
constexpr auto fields<ResolvedPoint> = std::tuple{field("id", &ResolvedPoint::id),
                                                  field("cluster", &ResolvedPoint::cluster),
                                                  field("slowdown", &ResolvedPoint::slowdown),
                                                  field("jobs", &ResolvedPoint::jobs),
                                                  field("fidelity", &ResolvedPoint::fidelity),
                                                  field("force", &ResolvedPoint::force),
                                                  field("measure", &ResolvedPoint::measure)};

template <>
constexpr auto fields<Result> =
    std::tuple{field("id", &Result::id),         field("fidelity", &Result::fidelity),
               field("totals", &Result::totals), field("transfers", &Result::transfers),
               field("notes", &Result::notes),   field("measurement", &Result::measurement)};

template <>
constexpr auto fields<Failure> =
    std::tuple{field("id", &Failure::id), field("failure", &Failure::what),
               field<Key::may_lack>("refused", &Failure::refused)};

template <>
constexpr auto fields<Progress> =
    std::tuple{field("id", &Progress::id), field("step", &Progress::step),
               field("duration_s", &Progress::duration)};

namespace {

constexpr const char* point_schema = "paceline.point/1";

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
  auto result = decode<Result>(in);
  result.trace = {program, member(in, "classes", decode_classes)};
  expect_classes_of(program, result.trace.classes);
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

std::string to_line(const ResolvedPoint& point) {
  json out = encode(point);
  out["schema"] = point_schema;
  out["program"] = encode_program(point.program);
  return out.dump();
}

ResolvedPoint point_from_line(std::string_view line) {
  return decoded(line, [](const json& in) {
    if (in.at("schema") != point_schema) {
      throw std::runtime_error(std::string("not a ") + point_schema);
    }
    auto point = decode<ResolvedPoint>(in);
    point.program = member(in, "program", decode_program);
    return point;
  });
}

std::string to_line(const Reply& reply) {
  json out = std::visit([](const auto& either) { return encode(either); }, reply);
  if (const auto* result = std::get_if<Result>(&reply)) {
    out["classes"] = encode_classes(result->trace.classes);
  }
  return out.dump();
}

Reply reply_from_line(std::string_view line, const training::StepProgram& program) {
  return decoded(line, [&](const json& in) -> Reply {
    if (in.contains("failure")) return decode<Failure>(in);
    return decode_result(in, program);
  });
}

std::string to_line(const Progress& progress) { return encode(progress).dump(); }

std::optional<Progress> progress_from_line(std::string_view line) {
  return decoded(line, [](const json& in) -> std::optional<Progress> {
    if (!in.contains("duration_s")) return std::nullopt;
    return decode<Progress>(in);
  });
}

std::string to_text(const RepeatedTime& call) { return encode(call).dump(); }

RepeatedTime call_time_from_text(std::string_view text) {
  return decoded(text, decode<RepeatedTime>);
}

std::string to_text(const std::vector<training::Interval>& intervals) {
  return encode_intervals(intervals).dump();
}

std::vector<training::Interval> intervals_from_text(std::string_view text) {
  return decoded(text, decode_intervals);
}

}  // namespace paceline::traces
