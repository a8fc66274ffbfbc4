#include "traces/json/step_trace.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/collectives/registry.h"
#include "traces/json/fields.h"

namespace paceline::traces {

using collectives::AlgorithmOptions;
using nlohmann::json;
using topology::Wire;
using training::AutomaticCall;
using training::CollectiveCall;
using training::EngineLane;
using training::EngineRule;
using training::EngineTensor;
using training::Interval;
using training::KnownCall;
using training::Lane;
using training::Operation;
using training::SimulatedCall;
using training::StepProgram;

template <>
constexpr auto fields<AlgorithmOptions> =
    std::tuple{field("channels", &AlgorithmOptions::channels),
               field("chunk_size_bytes", &AlgorithmOptions::chunk_size),
               field("inner", &AlgorithmOptions::inner),
               field("outer", &AlgorithmOptions::outer),
               field("servers", &AlgorithmOptions::servers),
               field("separate_servers", &AlgorithmOptions::separate_servers)};

template <>
constexpr auto fields<Wire> =
    std::tuple{field("bytes", &Wire::bytes),
               field("start_s", &Wire::start),
               field("local_hop_s", &Wire::local_hop),
               field("remote_hop_s", &Wire::remote_hop),
               field<Key::unless_default>("leaves_first", &Wire::leaves_first),
               field<Key::unless_default>("has_no_hops", &Wire::has_no_hops)};

namespace {

// How a call is carried out, beside what it does. Nothing for one that is unplanned.
void add_how(const CollectiveCall& call, json& out) {
  if (const auto* options = call.options()) {
    out["algorithm"] = algorithm_of(call);
    out["options"] = encode(*options);
  }
  if (const SimulatedCall* simulated = call.simulated()) {
    if (simulated->wire != Wire{}) out["wire"] = encode(simulated->wire);
  }
  if (const KnownCall* known = call.known()) {
    out["known_time_s"] = known->time;
    out["known_from"] = known->from;
  }
}

decltype(CollectiveCall::how) how_of(const json& in) {
  if (in.contains("known_time_s")) {
    return KnownCall{member<Seconds>(in, "known_time_s"), member<std::string>(in, "known_from")};
  }
  if (!in.contains("algorithm")) return training::Unplanned{};
  auto algorithm = member<std::string>(in, "algorithm");
  auto options = member(in, "options", decode<AlgorithmOptions>);
  if (algorithm == collectives::automatic) return AutomaticCall{std::move(options)};
  const auto wire = in.contains("wire") ? member(in, "wire", decode<Wire>) : Wire{};
  return SimulatedCall{std::move(algorithm), std::move(options), wire};
}

}  // namespace

template <>
constexpr auto fields<CollectiveCall> =
    std::tuple{field("collective", &CollectiveCall::collective),
               field("count", &CollectiveCall::count),
               field("element_size_bytes", &CollectiveCall::element_size),
               field("root", &CollectiveCall::root),
               field<Key::unless_default>("untold", &CollectiveCall::is_untold),
               field<Key::unless_default>("group", &CollectiveCall::group),
               field<Key::unless_default>("held_s", &CollectiveCall::held)};

template <>
json encode(const CollectiveCall& call) {
  json out = json::object();
  add_fields(call, out);
  add_how(call, out);
  return out;
}

template <>
CollectiveCall decode(const json& in) {
  auto call = decode_fields<CollectiveCall>(in);
  call.how = how_of(in);
  return call;
}

template <>
constexpr auto fields<Operation> =
    std::tuple{field("name", &Operation::name),
               field("kind", &Operation::kind),
               field("lane", &Operation::lane),
               field("after", &Operation::after),
               field<Key::unless_default>("rank_parts", &Operation::rank_parts),
               field<Key::unless_default>("gradients", &Operation::gradients)};

template <>
json encode(const Operation& operation) {
  json out = json::object();
  add_fields(operation, out);
  if (const CollectiveCall* call = call_of(operation)) {
    out["call"] = encode(*call);
  } else {
    out["time_s"] = std::get<Seconds>(operation.work);
  }
  return out;
}

template <>
Operation decode(const json& in) {
  auto operation = decode_fields<Operation>(in);
  if (in.contains("time_s")) {
    operation.work = member<Seconds>(in, "time_s");
  } else {
    operation.work = member(in, "call", decode<CollectiveCall>);
  }
  return operation;
}

template <>
constexpr auto fields<Lane> = std::tuple{field("name", &Lane::name), field("kind", &Lane::kind),
                                         field("in_flight", &Lane::in_flight)};

template <>
constexpr auto fields<EngineTensor> = std::tuple{
    field("count", &EngineTensor::count), field("element_size_bytes", &EngineTensor::element_size),
    field("copy_in_s", &EngineTensor::copy_in), field("copy_out_s", &EngineTensor::copy_out),
    field("divide_s", &EngineTensor::divide)};

template <>
constexpr auto fields<EngineRule> =
    std::tuple{field("cycle_s", &EngineRule::cycle),
               field("fusion_threshold_bytes", &EngineRule::fusion_threshold),
               field("negotiation_s", &EngineRule::negotiation),
               field("waits_for_calls", &EngineRule::waits_for_calls),
               field<Key::may_lack>("launch_s", &EngineRule::launch),
               field<Key::may_lack>("hierarchical", &EngineRule::is_hierarchical)};

template <>
constexpr auto fields<EngineLane> =
    std::tuple{field("lane", &EngineLane::lane), field("tensors", &EngineLane::tensors)};

// The keys of its rule are the lane's.
template <>
json encode(const EngineLane& engine) {
  json out = json::object();
  add_fields(engine, out);
  add_fields(engine.rule, out);
  return out;
}

template <>
EngineLane decode(const json& in) {
  auto engine = decode_fields<EngineLane>(in);
  engine.rule = decode<EngineRule>(in);
  return engine;
}

template <>
constexpr auto fields<StepProgram> =
    std::tuple{field("lanes", &StepProgram::lanes), field("operations", &StepProgram::operations),
               field("engine", &StepProgram::engine)};

template <>
json encode(const Interval& ran) {
  json released_by = nullptr;
  if (ran.released_by) released_by = *ran.released_by;
  return json::array({ran.start, ran.end, std::move(released_by)});
}

template <>
Interval decode(const json& in) {
  if (!in.is_array() || in.size() != 3) throw std::runtime_error("is no [start, end, released by]");
  Interval interval{in[0].get<Seconds>(), in[1].get<Seconds>()};
  if (!in[2].is_null()) interval.released_by = whole<training::OperationId>(in[2]);
  return interval;
}

template <>
constexpr auto fields<RankClass> =
    std::tuple{field("ranks", &RankClass::ranks), field("intervals", &RankClass::intervals)};

std::vector<Lane> decode_lanes(const json& in) { return decode<std::vector<Lane>>(in); }

json encode_program(const StepProgram& program) { return encode(program); }
StepProgram decode_program(const json& in) { return decode<StepProgram>(in); }

json encode_intervals(const std::vector<Interval>& intervals) { return encode(intervals); }
std::vector<Interval> decode_intervals(const json& in) { return decode<std::vector<Interval>>(in); }

json encode_classes(const std::vector<RankClass>& classes) { return encode(classes); }
std::vector<RankClass> decode_classes(const json& in) { return decode<std::vector<RankClass>>(in); }

}  // namespace paceline::traces
