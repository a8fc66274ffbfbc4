#include "traces/chakra/write_chakra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "chakra.pb.h"
#include "traces/chakra/schema.h"
#include "traces/device_trace/device_trace.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
namespace attribute = chakra::attribute;
using WireNode = chakra_wire::Node;
using WireMetadata = chakra_wire::Metadata;

TraceTime nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

struct TimedSpan {
  training::OperationId operation;
  const Span* span;
  TraceTime start, end;
};

// By start, then end, then program order: what an operation waits for is before it.
std::vector<TimedSpan> in_order(const std::vector<Span>& spans) {
  std::vector<TimedSpan> timed;
  for (const Span& span : spans) {
    timed.push_back({static_cast<training::OperationId>(timed.size()), &span,
                     nanoseconds(span.start()), nanoseconds(span.end())});
  }
  std::ranges::stable_sort(timed, {},
                           [](const TimedSpan& one) { return std::pair(one.start, one.end); });
  return timed;
}

// By operation: what it comes after, what released it, and on a lane of one slot the one before it.
std::vector<std::vector<training::OperationId>> waits_of(const training::StepProgram& program,
                                                         const std::vector<Span>& spans) {
  std::vector<std::vector<training::OperationId>> all;
  std::vector<std::optional<training::OperationId>> before(program.lanes.size());
  for (const Span& span : spans) {
    auto& waits = all.emplace_back(span.operation.after);
    const training::LaneId lane = span.operation.lane;
    if (span.ran.released_by) waits.push_back(*span.ran.released_by);
    if (before[lane] && program.lanes[lane].in_flight == 1) waits.push_back(*before[lane]);
    before[lane] = static_cast<training::OperationId>(all.size() - 1);
    std::ranges::sort(waits);
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  }
  return all;
}

template <class Message>
chakra_wire::Attribute& add(Message& message, std::string_view name) {
  chakra_wire::Attribute& added = *message.add_attributes();
  added.set_name(std::string(name));
  return added;
}

template <class Message>
void add_number(Message& message, std::string_view name, std::uint64_t value) {
  add(message, name).set_int64_value(static_cast<std::int64_t>(value));
}

void add_text(WireNode& node, std::string_view name, std::string_view value) {
  if (!value.empty()) add(node, name).set_string_value(std::string(value));
}

std::optional<std::size_t> type_of(Collective collective) {
  const auto found = std::ranges::find(chakra::communication_types, std::optional(collective),
                                       &chakra::CommunicationType::collective);
  if (found == std::end(chakra::communication_types)) return std::nullopt;
  return static_cast<std::size_t>(found - std::begin(chakra::communication_types));
}

void describe(WireNode& node, const training::CollectiveCall& call, std::size_t ranks) {
  if (!call.is_untold) {
    if (const auto type = type_of(call.collective)) add_number(node, attribute::type, *type);
  }
  const std::uint64_t size = call.size().value();
  const bool is_part =
      call.collective == Collective::all_gather || call.collective == Collective::gather;
  const std::uint64_t parts = is_part ? ranks : 1;
  add_number(node, attribute::size, size / parts + (size % parts > 0 ? 1 : 0));
  add_number(node, attribute::buffer_size, size);
  if (!call.is_untold) add_number(node, attribute::element_size, call.element_size.value());
  add_text(node, attribute::algorithm, algorithm_of(call));
}

WireNode node_of(const TimedSpan& timed, std::size_t at, std::size_t ranks) {
  const training::Operation& operation = timed.span->operation;
  const training::CollectiveCall* call = call_of(operation);
  WireNode node;
  node.set_id(at + 1);  // some readers take 0 for none
  node.set_name(operation.name);
  node.set_type(static_cast<std::int32_t>(call != nullptr ? chakra::NodeType::collective
                                                          : chakra::NodeType::compute));
  const auto start = static_cast<std::uint64_t>(timed.start),
             length = static_cast<std::uint64_t>(timed.end - timed.start);
  node.set_start_time_micros((start + 500) / 1000);
  node.set_duration_micros((length + 500) / 1000);
  add(node, attribute::is_cpu_op).set_bool_value(false);
  add_number(node, attribute::stream, operation.lane);
  add_number(node, attribute::start_ns, start);
  add_number(node, attribute::duration_ns, length);
  add_text(node, attribute::kind, training::to_text(operation.kind));
  if (call != nullptr) describe(node, *call, ranks);
  return node;
}

template <class Message>
void write(std::ostream& out, const Message& message) {
  const std::string bytes = message.SerializeAsString();
  std::size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7U) out.put(static_cast<char>((length & 0x7fU) | 0x80U));
  out.put(static_cast<char>(length));
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

const RankClass& class_of(const StepTrace& trace, Rank rank) {
  for (const RankClass& members : trace.classes) {
    if (std::ranges::binary_search(members.ranks, rank)) return members;
  }
  throw std::invalid_argument("the trace has no rank " + std::to_string(rank.value()));
}

}  // namespace

void write_chakra(std::ostream& out, const StepTrace& trace, Rank rank) {
  const std::vector<Span> of_rank = spans_of(trace, class_of(trace, rank));
  const std::vector<TimedSpan> spans = in_order(of_rank);
  const std::size_t ranks = rank_count(trace);
  WireMetadata metadata;
  metadata.set_version("0.0.4");
  add_number(metadata, attribute::rank, rank.value());
  add_number(metadata, attribute::world_size, ranks);
  add_number(metadata, attribute::origin_ns, 0);
  write(out, metadata);
  std::vector<std::size_t> places(spans.size());  // by operation
  for (std::size_t at = 0; at < spans.size(); ++at) places[spans[at].operation] = at;
  const auto waits = waits_of(trace.program, of_rank);
  for (std::size_t at = 0; at < spans.size(); ++at) {
    WireNode node = node_of(spans[at], at, ranks);
    for (const training::OperationId one : waits[spans[at].operation]) {
      node.add_data_deps(places[one] + 1);
    }
    write(out, node);
  }
}

}  // namespace paceline::traces
