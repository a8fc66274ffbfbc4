#include "traces/json/step_trace.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/collectives/registry.h"
#include "traces/json/values.h"

namespace paceline::traces {
namespace {

using nlohmann::json;
using training::AutomaticCall;
using training::CollectiveCall;
using training::Interval;
using training::KnownCall;
using training::Lane;
using training::Operation;
using training::SimulatedCall;

json encode(const collectives::AlgorithmOptions& options) {
  return {{"channels", options.channels}, {"chunk_size_bytes", options.chunk_size},
          {"inner", options.inner},       {"outer", options.outer},
          {"servers", options.servers},   {"separate_servers", options.separate_servers}};
}

collectives::AlgorithmOptions decode_options(const json& in) {
  return {member(in, "channels", whole<std::uint32_t>),
          member<Bytes>(in, "chunk_size_bytes"),
          member<std::string>(in, "inner"),
          member<std::string>(in, "outer"),
          member(in, "servers", whole<std::uint32_t>),
          member<bool>(in, "separate_servers")};
}

json encode(const topology::Wire& wire) {
  json out{{"bytes", wire.bytes},
           {"start_s", wire.start},
           {"local_hop_s", wire.local_hop},
           {"remote_hop_s", wire.remote_hop}};
  if (wire.leaves_first) out["leaves_first"] = true;
  if (wire.has_no_hops) out["has_no_hops"] = true;
  return out;
}

topology::Wire decode_wire(const json& in) {
  return {member<double>(in, "bytes"),
          member<Seconds>(in, "start_s"),
          member<Seconds>(in, "local_hop_s"),
          member<Seconds>(in, "remote_hop_s"),
          in.contains("leaves_first") && member<bool>(in, "leaves_first"),
          in.contains("has_no_hops") && member<bool>(in, "has_no_hops")};
}

// How a call is carried out, beside what it does. Nothing for one that is unplanned.
void add_how(const CollectiveCall& call, json& out) {
  if (const auto* options = call.options()) {
    out["algorithm"] = algorithm_of(call);
    out["options"] = encode(*options);
  }
  if (const SimulatedCall* simulated = call.simulated()) {
    if (simulated->wire != topology::Wire{}) out["wire"] = encode(simulated->wire);
  }
  if (const KnownCall* known = call.known()) {
    out["known_time_s"] = known->time;
    out["known_from"] = known->from;
  }
}

void decode_how(const json& in, CollectiveCall& call) {
  if (in.contains("known_time_s")) {
    call.how =
        KnownCall{member<Seconds>(in, "known_time_s"), member<std::string>(in, "known_from")};
  } else if (in.contains("algorithm")) {
    auto algorithm = member<std::string>(in, "algorithm");
    auto options = member(in, "options", decode_options);
    if (algorithm == collectives::automatic) {
      call.how = AutomaticCall{std::move(options)};
    } else {
      const auto wire = in.contains("wire") ? member(in, "wire", decode_wire) : topology::Wire{};
      call.how = SimulatedCall{std::move(algorithm), std::move(options), wire};
    }
  }
}

json encode(const CollectiveCall& call) {
  json out{{"collective", to_text(call.collective)},
           {"count", call.count},
           {"element_size_bytes", call.element_size},
           {"root", call.root}};
  if (call.is_untold) out["untold"] = true;
  if (call.group != training::Group::all) out["group"] = to_text(call.group);
  if (call.held > Seconds(0)) out["held_s"] = call.held;
  add_how(call, out);
  return out;
}

CollectiveCall decode_call(const json& in) {
  CollectiveCall call{member(in, "collective", parse_word<collectives::Collective>),
                      member<ElementCount>(in, "count"),
                      member<ElementSize>(in, "element_size_bytes"), member<Rank>(in, "root")};
  if (in.contains("untold")) call.is_untold = member<bool>(in, "untold");
  if (in.contains("group")) call.group = member(in, "group", parse_word<training::Group>);
  if (in.contains("held_s")) call.held = member<Seconds>(in, "held_s");
  decode_how(in, call);
  return call;
}

json encode(const Operation& operation) {
  json out{{"name", operation.name},
           {"kind", to_text(operation.kind)},
           {"lane", operation.lane},
           {"after", operation.after}};
  if (!operation.rank_parts.empty()) out["rank_parts"] = operation.rank_parts;
  if (!operation.gradients.empty()) out["gradients"] = operation.gradients;
  if (const CollectiveCall* call = call_of(operation)) {
    out["call"] = encode(*call);
  } else {
    out["time_s"] = std::get<Seconds>(operation.work);
  }
  return out;
}

Operation decode_operation(const json& in) {
  Operation operation{
      member<std::string>(in, "name"), member(in, "kind", parse_word<training::OperationKind>),
      member(in, "lane", whole<training::LaneId>),
      member(in, "after",
             [](const json& ids) { return decoded_list(ids, whole<training::OperationId>); }),
      Seconds(0)};
  if (in.contains("rank_parts")) {
    operation.rank_parts = member<std::vector<double>>(in, "rank_parts");
  }
  if (in.contains("gradients")) {
    operation.gradients = member<std::vector<ElementCount>>(in, "gradients");
  }
  if (in.contains("time_s")) {
    operation.work = member<Seconds>(in, "time_s");
  } else {
    operation.work = member(in, "call", decode_call);
  }
  return operation;
}

Lane decode_lane(const json& in) {
  return {member<std::string>(in, "name"), member(in, "kind", parse_word<training::LaneKind>),
          member(in, "in_flight", whole<std::uint32_t>)};
}

json encode(const training::EngineLane& engine) {
  json tensors = json::array();
  for (const training::EngineTensor& tensor : engine.tensors) {
    tensors.push_back({{"count", tensor.count},
                       {"element_size_bytes", tensor.element_size},
                       {"copy_in_s", tensor.copy_in},
                       {"copy_out_s", tensor.copy_out},
                       {"divide_s", tensor.divide}});
  }
  return {{"lane", engine.lane},
          {"cycle_s", engine.rule.cycle},
          {"fusion_threshold_bytes", engine.rule.fusion_threshold},
          {"negotiation_s", engine.rule.negotiation},
          {"waits_for_calls", engine.rule.waits_for_calls},
          {"launch_s", engine.rule.launch},
          {"hierarchical", engine.rule.is_hierarchical},
          {"tensors", std::move(tensors)}};
}

training::EngineTensor decode_engine_tensor(const json& in) {
  return {member<ElementCount>(in, "count"), member<ElementSize>(in, "element_size_bytes"),
          member<Seconds>(in, "copy_in_s"), member<Seconds>(in, "copy_out_s"),
          member<Seconds>(in, "divide_s")};
}

training::EngineLane decode_engine(const json& in) {
  return {member(in, "lane", whole<training::LaneId>),
          {member<Seconds>(in, "cycle_s"), member<Bytes>(in, "fusion_threshold_bytes"),
           member<Seconds>(in, "negotiation_s"), member<bool>(in, "waits_for_calls"),
           in.contains("launch_s") ? member<Seconds>(in, "launch_s") : Seconds(0),
           in.contains("hierarchical") && member<bool>(in, "hierarchical")},
          member(in, "tensors",
                 [](const json& tensors) { return decoded_list(tensors, decode_engine_tensor); })};
}

Interval decode_interval(const json& in) {
  if (!in.is_array() || in.size() != 3) throw std::runtime_error("is no [start, end, released by]");
  Interval interval{in[0].get<Seconds>(), in[1].get<Seconds>()};
  if (!in[2].is_null()) interval.released_by = whole<training::OperationId>(in[2]);
  return interval;
}

}  // namespace

json encode_lanes(const std::vector<Lane>& lanes) {
  json out = json::array();
  for (const Lane& lane : lanes) {
    out.push_back(
        {{"name", lane.name}, {"kind", to_text(lane.kind)}, {"in_flight", lane.in_flight}});
  }
  return out;
}

std::vector<Lane> decode_lanes(const json& in) { return decoded_list(in, decode_lane); }

json encode_program(const training::StepProgram& program) {
  json operations = json::array();
  for (const Operation& operation : program.operations) operations.push_back(encode(operation));
  json out{{"lanes", encode_lanes(program.lanes)}, {"operations", std::move(operations)}};
  if (program.engine) out["engine"] = encode(*program.engine);
  return out;
}

training::StepProgram decode_program(const json& in) {
  training::StepProgram program{member(in, "lanes", decode_lanes),
                                member(in, "operations", [](const json& operations) {
                                  return decoded_list(operations, decode_operation);
                                })};
  if (in.contains("engine")) program.engine = member(in, "engine", decode_engine);
  return program;
}

json encode_intervals(const std::vector<Interval>& intervals) {
  json out = json::array();
  for (const Interval& ran : intervals) {
    json released_by = nullptr;
    if (ran.released_by) released_by = *ran.released_by;
    out.push_back(json::array({ran.start, ran.end, std::move(released_by)}));
  }
  return out;
}

std::vector<Interval> decode_intervals(const json& in) { return decoded_list(in, decode_interval); }

json encode_classes(const std::vector<RankClass>& classes) {
  json out = json::array();
  for (const RankClass& members : classes) {
    out.push_back({{"ranks", members.ranks}, {"intervals", encode_intervals(members.intervals)}});
  }
  return out;
}

std::vector<RankClass> decode_classes(const json& in) {
  return decoded_list(in, [](const json& members) -> RankClass {
    return {member<std::vector<Rank>>(members, "ranks"),
            member(members, "intervals", decode_intervals)};
  });
}

}  // namespace paceline::traces
