#include "traces/chakra/write_chakra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
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
using training::OperationKind;
namespace attribute = chakra::attribute;
using WireNode = chakra_wire::Node;
using WireMetadata = chakra_wire::Metadata;

TraceTime nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

struct TimedSpan {
  const Span* span;
  TraceTime start, end;

  [[nodiscard]] bool is_collective() const { return span->kind == OperationKind::collective; }
};

// By start, then end; of those that are the same, in program order.
std::vector<TimedSpan> in_order(const std::vector<Span>& spans) {
  std::vector<TimedSpan> timed;
  for (const Span& span : spans) {
    timed.push_back({&span, nanoseconds(span.start), nanoseconds(span.end)});
  }
  std::ranges::stable_sort(timed, {},
                           [](const TimedSpan& one) { return std::pair(one.start, one.end); });
  return timed;
}

// What each span waits for, by places in the order; asked for one after another.
class Dependencies {
 public:
  explicit Dependencies(const std::vector<TimedSpan>& spans)
      : spans_(spans), by_end_(spans.size()) {
    std::iota(by_end_.begin(), by_end_.end(), std::size_t{0});
    std::ranges::stable_sort(by_end_, {}, [&](std::size_t i) { return spans_[i].end; });
  }

  std::vector<std::size_t> of(std::size_t at) {
    take_ended(at);
    const TimedSpan& span = spans_[at];
    std::vector<std::size_t> deps;
    const auto wait_for = [&](const std::optional<std::size_t>& other) {
      if (other && std::ranges::find(deps, *other) == deps.end()) deps.push_back(*other);
    };
    const auto before = lanes_.find(span.span->lane);
    if (before != lanes_.end()) wait_for(before->second);
    if (span.is_collective()) {
      wait_for(compute_);
    } else if (collective_ && (!compute_ || spans_[*collective_].end > spans_[*compute_].end)) {
      wait_for(collective_);
    }
    if (span.span->kind == OperationKind::optimizer) {
      for (const std::size_t one : reduced_) wait_for(one);
      reduced_.clear();
    }
    std::ranges::sort(deps);
    return deps;
  }

 private:
  // Those that ended when the span begins. What takes no time ends as it begins: of those only the
  // ones before it in the order.
  void take_ended(std::size_t at) {
    for (; next_ < by_end_.size(); ++next_) {
      const std::size_t one = by_end_[next_];
      if (spans_[one].end > spans_[at].start || one >= at) return;
      lanes_[spans_[one].span->lane] = one;
      (spans_[one].is_collective() ? collective_ : compute_) = one;
      if (spans_[one].is_collective()) reduced_.push_back(one);
    }
  }

  const std::vector<TimedSpan>& spans_;
  std::vector<std::size_t> by_end_;
  std::size_t next_ = 0;                             // of by_end_
  std::map<training::LaneId, std::size_t> lanes_;    // the one that ended last on each
  std::optional<std::size_t> compute_, collective_;  // and of each sort
  std::vector<std::size_t> reduced_;                 // collectives since the optimizer
};

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
  if (found == chakra::communication_types.end()) return std::nullopt;
  return static_cast<std::size_t>(found - chakra::communication_types.begin());
}

void describe(WireNode& node, const Span& span, std::size_t ranks) {
  if (span.collective) {
    if (const auto type = type_of(*span.collective)) add_number(node, attribute::type, *type);
  }
  const std::uint64_t size = span.size.value();
  const std::uint64_t parts = span.collective == Collective::all_gather ? ranks : 1;
  add_number(node, attribute::size, size / parts + (size % parts > 0 ? 1 : 0));
  add_number(node, attribute::buffer_size, size);
  if (span.element_size.value() > 0) {
    add_number(node, attribute::element_size, span.element_size.value());
  }
  add_text(node, attribute::algorithm, span.algorithm);
}

WireNode node_of(const TimedSpan& timed, std::size_t at, std::size_t ranks) {
  const Span& span = *timed.span;
  WireNode node;
  node.set_id(at + 1);  // some readers take 0 for none
  node.set_name(span.name);
  node.set_type(static_cast<std::int32_t>(timed.is_collective() ? chakra::NodeType::collective
                                                                : chakra::NodeType::compute));
  const auto start = static_cast<std::uint64_t>(timed.start),
             length = static_cast<std::uint64_t>(timed.end - timed.start);
  node.set_start_time_micros((start + 500) / 1000);
  node.set_duration_micros((length + 500) / 1000);
  add(node, attribute::is_cpu_op).set_bool_value(false);
  add_number(node, attribute::stream, span.lane);
  add_number(node, attribute::start_ns, start);
  add_number(node, attribute::duration_ns, length);
  add_text(node, attribute::kind, training::to_text(span.kind));
  if (timed.is_collective()) describe(node, span, ranks);
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
  const std::vector<TimedSpan> spans = in_order(class_of(trace, rank).spans);
  std::size_t ranks = 0;
  for (const RankClass& members : trace.classes) ranks += members.ranks.size();
  WireMetadata metadata;
  metadata.set_version("0.0.4");
  add_number(metadata, attribute::rank, rank.value());
  add_number(metadata, attribute::world_size, ranks);
  add_number(metadata, attribute::origin_ns, 0);
  write(out, metadata);
  Dependencies dependencies(spans);
  for (std::size_t at = 0; at < spans.size(); ++at) {
    WireNode node = node_of(spans[at], at, ranks);
    for (const std::size_t one : dependencies.of(at)) node.add_data_deps(one + 1);
    write(out, node);
  }
}

}  // namespace paceline::traces
