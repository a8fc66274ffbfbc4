#include "traces/json/step_trace.h"

#include <string>
#include <utility>

#include "models/collectives/registry.h"
#include "traces/json/decode.h"

namespace paceline {
namespace collectives {

constexpr auto fields_of(const AlgorithmOptions*) {
  return Fields(field("channels", &AlgorithmOptions::channels),
                field("chunk_size_bytes", &AlgorithmOptions::chunk_size),
                field("inner", &AlgorithmOptions::inner), field("outer", &AlgorithmOptions::outer),
                field("servers", &AlgorithmOptions::servers),
                field("separate_servers", &AlgorithmOptions::separate_servers));
}

}  // namespace collectives

namespace topology {

constexpr auto fields_of(const Wire*) {
  return Fields(field("bytes", &Wire::bytes), field("start_s", &Wire::start),
                field("local_hop_s", &Wire::local_hop), field("remote_hop_s", &Wire::remote_hop),
                optional_field("leaves_first", &Wire::leaves_first),
                optional_field("has_no_hops", &Wire::has_no_hops));
}

}  // namespace topology

namespace training {

// How it is carried out follows them.
constexpr auto fields_of(const CollectiveCall*) {
  return Fields(
      field("collective", &CollectiveCall::collective), field("count", &CollectiveCall::count),
      field("element_size_bytes", &CollectiveCall::element_size),
      field("root", &CollectiveCall::root), optional_field("untold", &CollectiveCall::is_untold),
      optional_field("group", &CollectiveCall::group),
      optional_field("held_s", &CollectiveCall::held),
      optional_field("by_hosts", &CollectiveCall::by_hosts));
}

// Its work follows them.
constexpr auto fields_of(const Operation*) {
  return Fields(field("name", &Operation::name), field("kind", &Operation::kind),
                field("lane", &Operation::lane), field("after", &Operation::after),
                optional_field("rank_parts", &Operation::rank_parts),
                optional_field("gradients", &Operation::gradients));
}

constexpr auto fields_of(const Lane*) {
  return Fields(field("name", &Lane::name), field("kind", &Lane::kind),
                field("in_flight", &Lane::in_flight));
}

constexpr auto fields_of(const EngineTensor*) {
  return Fields(field("count", &EngineTensor::count),
                field("element_size_bytes", &EngineTensor::element_size),
                field("copy_in_s", &EngineTensor::copy_in),
                field("copy_out_s", &EngineTensor::copy_out),
                field("divide_s", &EngineTensor::divide));
}

constexpr auto fields_of(const EngineRule*) {
  return Fields(field("cycle_s", &EngineRule::cycle),
                field("fusion_threshold_bytes", &EngineRule::fusion_threshold),
                field("negotiation_s", &EngineRule::negotiation),
                field("waits_for_calls", &EngineRule::waits_for_calls),
                field("launch_s", &EngineRule::launch),
                field("hierarchical", &EngineRule::is_hierarchical));
}

// Those of its rule follow them.
constexpr auto fields_of(const EngineLane*) {
  return Fields(field("lane", &EngineLane::lane), field("tensors", &EngineLane::tensors));
}

}  // namespace training

namespace traces {

using training::CollectiveCall;
using training::Interval;
using training::Operation;
using training::StepProgram;

namespace {

void write_call(JsonWriter& out, const CollectiveCall& call) {
  out.put_fields(call);
  if (const auto* options = call.options()) {
    out.put("algorithm", algorithm_of(call));
    out.put("options", *options);
  }
  if (const auto* simulated = call.simulated()) {
    if (simulated->wire != topology::Wire{}) out.put("wire", simulated->wire);
  }
  if (const auto* known = call.known()) {
    out.put("known_time_s", known->time);
    out.put("known_from", known->from);
  }
}

decltype(CollectiveCall::how) how_in(const JsonValue& in) {
  if (in.find("known_time_s") != nullptr) {
    return training::KnownCall{member<Seconds>(in, "known_time_s"),
                               member<std::string>(in, "known_from")};
  }
  if (in.find("algorithm") == nullptr) return training::Unplanned{};
  auto algorithm = member<std::string>(in, "algorithm");
  auto options = member(in, "options", decode<collectives::AlgorithmOptions>);
  if (algorithm == collectives::automatic) return training::AutomaticCall{std::move(options)};
  const bool has_wire = in.find("wire") != nullptr;
  return training::SimulatedCall{
      std::move(algorithm), std::move(options),
      has_wire ? member(in, "wire", decode<topology::Wire>) : topology::Wire{}};
}

CollectiveCall call_in(const JsonValue& in) {
  auto call = decode<CollectiveCall>(in);
  call.how = how_in(in);
  return call;
}

void write_operation(JsonWriter& out, const Operation& operation) {
  out.put_fields(operation);
  if (const CollectiveCall* call = call_of(operation)) {
    out.put_object("call", [&] { write_call(out, *call); });
  } else {
    out.put("time_s", std::get<Seconds>(operation.work));
  }
}

Operation operation_in(const JsonValue& in) {
  auto operation = decode<Operation>(in);
  if (in.find("time_s") != nullptr) {
    operation.work = member<Seconds>(in, "time_s");
  } else {
    operation.work = member(in, "call", call_in);
  }
  return operation;
}

Interval interval_in(const JsonValue& in) {
  if (!in.is_list() || in.list().size() != 3) {
    throw std::runtime_error("is no [start, end, released by]");
  }
  return {in.list()[0].get<Seconds>(), in.list()[1].get<Seconds>(),
          decode<std::optional<training::OperationId>>(in.list()[2])};
}

}  // namespace

void write_program(JsonWriter& out, const StepProgram& program) {
  out.object([&] {
    out.put("lanes", program.lanes);
    out.put_list("operations", program.operations, [&](const Operation& operation) {
      out.object([&] { write_operation(out, operation); });
    });
    if (!program.engine) return;
    out.put_object("engine", [&] {
      out.put_fields(*program.engine);
      out.put_fields(program.engine->rule);
    });
  });
}

StepProgram decode_program(const JsonValue& in) {
  StepProgram program;
  program.lanes = member(in, "lanes", decode<std::vector<training::Lane>>);
  program.operations = member(in, "operations", [](const JsonValue& operations) {
    return decoded_list(operations, operation_in);
  });
  if (in.find("engine") != nullptr) {
    program.engine = member(in, "engine", [](const JsonValue& engine) {
      auto lane = decode<training::EngineLane>(engine);
      decode_fields(engine, lane.rule);
      return lane;
    });
  }
  return program;
}

void write_intervals(JsonWriter& out, const std::vector<Interval>& intervals) {
  out.list(intervals, [&](const Interval& ran) {
    out.begin_list();
    out.value(ran.start);
    out.value(ran.end);
    out.value(ran.released_by);
    out.end_list();
  });
}

std::vector<Interval> decode_intervals(const JsonValue& in) {
  return decoded_list(in, interval_in);
}

void write_classes(JsonWriter& out, const std::vector<RankClass>& classes) {
  out.list(classes, [&](const RankClass& members) {
    out.object([&] {
      out.put("ranks", members.ranks);
      out.key("intervals");
      write_intervals(out, members.intervals);
    });
  });
}

std::vector<RankClass> decode_classes(const JsonValue& in) {
  return decoded_list(in, [](const JsonValue& one) {
    return RankClass{member(one, "ranks", decode<std::vector<Rank>>),
                     member(one, "intervals", decode_intervals)};
  });
}

}  // namespace traces
}  // namespace paceline
