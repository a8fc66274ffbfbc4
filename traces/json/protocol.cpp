#include "traces/json/protocol.h"

#include <stdexcept>
#include <utility>

#include "traces/json/decode.h"
#include "traces/json/step_trace.h"

namespace paceline {
namespace topology {

constexpr auto fields_of(const PcieGroup*) {
  return Fields(field("gpus", &PcieGroup::gpus), field("path", &PcieGroup::path),
                optional_field("bandwidth_bytes_per_s", &PcieGroup::bandwidth),
                optional_field("nics", &PcieGroup::nics));
}

constexpr auto fields_of(const PcieTree*) {
  return Fields(field("groups", &PcieTree::groups), field("peer_to_peer", &PcieTree::peer_to_peer),
                optional_field("staging_bandwidth_bytes_per_s", &PcieTree::staging_bandwidth));
}

constexpr auto fields_of(const FatTree*) {
  return Fields(field("nodes_per_leaf", &FatTree::nodes_per_leaf),
                field("oversubscription", &FatTree::oversubscription),
                field("core_latency_s", &FatTree::core_latency), field("rails", &FatTree::rails),
                field("placement", &FatTree::placement));
}

constexpr auto fields_of(const IntraNode*) {
  return Fields(field("kind", &IntraNode::kind),
                field("bandwidth_bytes_per_s", &IntraNode::bandwidth),
                field("latency_s", &IntraNode::latency), field("lanes", &IntraNode::lanes),
                optional_field("host_bandwidth_bytes_per_s", &IntraNode::host_bandwidth),
                optional_field("pcie_tree", &IntraNode::pcie_tree),
                optional_field("over_neighbours", &IntraNode::over_neighbours),
                field("slot_generation", &IntraNode::slot_generation),
                optional_field("slot_lanes", &IntraNode::slot_lanes),
                optional_field("box_spread", &IntraNode::box_spread));
}

constexpr auto fields_of(const Network*) {
  return Fields(
      field("bandwidth_bytes_per_s", &Network::bandwidth), field("latency_s", &Network::latency),
      field("nics_per_node", &Network::nics_per_node), field("efficiency", &Network::efficiency),
      field("transport", &Network::transport), field("framing", &Network::framing),
      field("mtu_bytes", &Network::mtu),
      optional_field("rendezvous_above_bytes", &Network::rendezvous_above),
      field("receives", &Network::receives), optional_field("fat_tree", &Network::fat_tree),
      optional_field("sharp", &Network::sharp));
}

constexpr auto fields_of(const Cluster*) {
  return Fields(field("name", &Cluster::name), field("nodes", &Cluster::nodes),
                field("gpus_per_node", &Cluster::gpus_per_node),
                field("servers", &Cluster::servers), field("intra_node", &Cluster::intra_node),
                field("network", &Cluster::network),
                optional_field("reduction_bandwidth_bytes_per_s", &Cluster::reduction_bandwidth));
}

}  // namespace topology

constexpr auto fields_of(const RepeatedCalls*) {
  return Fields(field("type", &RepeatedCalls::type),
                field("iterations", &RepeatedCalls::iterations));
}

constexpr auto fields_of(const MeasureSettings*) {
  return Fields(field("mode", &MeasureSettings::mode), field("warmup", &MeasureSettings::warmup),
                field("steps", &MeasureSettings::steps),
                optional_field("calls", &MeasureSettings::calls));
}

constexpr auto fields_of(const RepeatedTime*) {
  return Fields(field("time_s", &RepeatedTime::time),
                optional_field("device_s", &RepeatedTime::device),
                field("alone_s", &RepeatedTime::alone), field("wrong", &RepeatedTime::wrong));
}

constexpr auto fields_of(const RepeatedTimes*) {
  return Fields(optional_field("out_of_place", &RepeatedTimes::out_of_place),
                optional_field("in_place", &RepeatedTimes::in_place));
}

constexpr auto fields_of(const Measurement*) {
  return Fields(field("backend", &Measurement::backend), field("mode", &Measurement::mode),
                field("steps_s", &Measurement::steps), field("median_s", &Measurement::median),
                field("mad_s", &Measurement::mad), field("cpu_busy", &Measurement::cpu_busy),
                field("clock_error_s", &Measurement::clock_error),
                optional_field("calls", &Measurement::calls));
}

constexpr auto fields_of(const StepTotals*) {
  return Fields(field("step_s", &StepTotals::step), field("compute_s", &StepTotals::compute),
                field("communication_s", &StepTotals::communication),
                field("exposed_communication_s", &StepTotals::exposed_communication));
}

constexpr auto fields_of(const Job*) {
  return Fields(field("nodes", &Job::nodes), field("start_s", &Job::start));
}

constexpr auto fields_of(const ResolvedPoint*) {
  return Fields(field("id", &ResolvedPoint::id), field("cluster", &ResolvedPoint::cluster),
                field("slowdown", &ResolvedPoint::slowdown), field("jobs", &ResolvedPoint::jobs),
                field("fidelity", &ResolvedPoint::fidelity), field("force", &ResolvedPoint::force),
                optional_field("measure", &ResolvedPoint::measure));
}

constexpr auto fields_of(const Result*) {
  return Fields(field("id", &Result::id), field("fidelity", &Result::fidelity),
                field("totals", &Result::totals), field("transfers", &Result::transfers),
                field("notes", &Result::notes),
                optional_field("measurement", &Result::measurement));
}

namespace traces {

constexpr auto fields_of(const Failure*) {
  return Fields(field("id", &Failure::id), field("failure", &Failure::what),
                field("refused", &Failure::refused));
}

constexpr auto fields_of(const Progress*) {
  return Fields(field("id", &Progress::id), field("step", &Progress::step),
                field("duration_s", &Progress::duration));
}

namespace {

constexpr std::string_view point_schema = "paceline.point/1";

// Classes have the program's intervals, none where calls are repeated; each rank is in one.
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

Result result_in(const JsonValue& in, const training::StepProgram& program) {
  auto result = decode<Result>(in);
  result.trace = {program, member(in, "classes", decode_classes)};
  expect_classes_of(program, result.trace.classes);
  return result;
}

JsonValue parsed_line(std::string_view line) { return parse_json(line, ""); }

template <class Write>
std::string written(const Write& write) {
  std::string text;
  JsonWriter out(text);
  write(out);
  return text;
}

}  // namespace

std::string to_line(const ResolvedPoint& point) {
  return written([&](JsonWriter& out) {
    out.object([&] {
      out.put("schema", point_schema);
      out.put_fields(point);
      out.key("program");
      write_program(out, point.program);
    });
  });
}

ResolvedPoint point_from_line(std::string_view line) {
  const JsonValue in = parsed_line(line);
  if (in["schema"].text_or_empty() != point_schema) {
    throw std::runtime_error("not a " + std::string(point_schema));
  }
  auto point = decode<ResolvedPoint>(in);
  point.program = member(in, "program", decode_program);
  return point;
}

std::string to_line(const Reply& reply) {
  const auto* result = std::get_if<Result>(&reply);
  if (result == nullptr) {
    return written([&](JsonWriter& out) { out.value(std::get<Failure>(reply)); });
  }
  return written([&](JsonWriter& out) {
    out.object([&] {
      out.put_fields(*result);
      out.key("classes");
      write_classes(out, result->trace.classes);
    });
  });
}

Reply reply_from_line(std::string_view line, const training::StepProgram& program) {
  const JsonValue in = parsed_line(line);
  if (in.find("failure") != nullptr) return decode<Failure>(in);
  return result_in(in, program);
}

std::string to_line(const Progress& progress) {
  return written([&](JsonWriter& out) { out.value(progress); });
}

std::optional<Progress> progress_from_line(std::string_view line) {
  const JsonValue in = parsed_line(line);
  if (in.find("duration_s") == nullptr) return std::nullopt;
  return decode<Progress>(in);
}

std::string to_text(const RepeatedTime& call) {
  return written([&](JsonWriter& out) { out.value(call); });
}

RepeatedTime call_time_from_text(std::string_view text) {
  return decode<RepeatedTime>(parsed_line(text));
}

std::string to_text(const std::vector<training::Interval>& intervals) {
  return written([&](JsonWriter& out) { write_intervals(out, intervals); });
}

std::vector<training::Interval> intervals_from_text(std::string_view text) {
  return decode_intervals(parsed_line(text));
}

}  // namespace traces
}  // namespace paceline
