#include "traces/execution_trace/recorded_calls.h"

#include <algorithm>

#include "traces/pytorch/scalars.h"
#include "traces/text/lines.h"

namespace paceline::traces::execution_trace {
namespace {

using collectives::Collective;
using pytorch::annotated_call;
using pytorch::collective_of;
using pytorch::recorded_call;

constexpr std::size_t kind_most = 64;  // characters

// The elements of the largest operand that is a tensor or a list of them, and their type: of an
// all-gather's input and list of outputs it is the list. Types are "Tensor(float)",
// "GenericList[Tensor(long int)]", "GenericList[GenericList[Tensor(float),Tensor(float)]]".
struct Largest {
  std::optional<std::uint64_t> elements;
  std::optional<ElementSize> element_size;
};

std::string_view tensor_type(std::string_view type) {
  constexpr std::string_view opening = "Tensor(";
  const std::size_t at = type.find(opening);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = type.substr(at + opening.size());
  return rest.substr(0, rest.find(')'));
}

void take_largest(const Operands& operands, Largest& largest) {
  const std::size_t count = std::min(operands.shapes.size(), operands.types.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = pytorch::element_size_of(tensor_type(operands.types[i]));
    const auto elements = size ? pytorch::elements_of(operands.shapes[i]) : std::nullopt;
    if (!elements || (largest.elements && *largest.elements >= *elements)) continue;
    largest = {elements, size};
  }
}

Largest largest_of(const Node& node) {
  Largest largest;
  take_largest(node.inputs, largest);
  take_largest(node.outputs, largest);
  return largest;
}

bool is_type(const Operands& operands, std::size_t i, std::string_view type) {
  return i < operands.types.size() && i < operands.values.size() &&
         operands.types[i].starts_with(type);
}

// The values of record_param_comms (torch/csrc/distributed/c10d/ParamCommsUtils.hpp):
//   [tensors, sequence, group, root, name, in splits, out splits, group size]            until 2.3
//   [tensors, sequence, group, root, name, in splits, out splits, start, stride, size]   since
// The group is a number, or since 2.3 its name and description; the sequence may be a tuple with
// whether it is of a message; torch 2.1 has no size. Those that wait begin with the sequence.
struct Recorded {
  std::string_view name;
  std::optional<std::uint64_t> sequence, size;
  std::string_view group_number;
  std::string_view in_splits;
};

std::string_view first_of_tuple(std::string_view list) {
  if (list.starts_with('[')) list.remove_prefix(1);
  return list.substr(0, list.find_first_of(",]"));
}

Recorded recorded(const Operands& inputs) {
  Recorded recorded_inputs;
  const auto name = std::find(inputs.types.begin(), inputs.types.end(), "String");
  const auto at = static_cast<std::size_t>(name - inputs.types.begin());
  if (name == inputs.types.end() || at >= inputs.values.size() || at < 3) return recorded_inputs;
  recorded_inputs.name = inputs.values[at];
  recorded_inputs.sequence = number_of<std::uint64_t>(first_of_tuple(inputs.values[at - 3]));
  if (is_type(inputs, at - 2, "Int")) recorded_inputs.group_number = inputs.values[at - 2];
  if (is_type(inputs, at + 1, "GenericList[Int")) recorded_inputs.in_splits = inputs.values[at + 1];
  const std::size_t last = inputs.values.size() - 1;
  if (last > at + 2 && is_type(inputs, last, "Int")) {
    recorded_inputs.size = number_of<std::uint64_t>(inputs.values[last]);
  }
  return recorded_inputs;
}

void take_group(TracedCollective& call, const Group& group) {
  call.group = group.name;
  if (call.group_size == 0) call.group_size = group.size;
  // A group in which all ranks are lists none.
  if (call.ranks.empty()) call.ranks = group.ranks;
}

// Ranks at a stride, of groups no larger than traces list.
std::vector<Rank> ranks_at(const Attributes& attributes) {
  constexpr std::uint32_t group_most = 4096;
  const auto first = number_of<std::uint32_t>(attributes.first_rank);
  const auto stride = number_of<std::uint32_t>(attributes.rank_stride);
  const auto size = number_of<std::uint32_t>(attributes.group_size);
  constexpr std::uint32_t rank_most = 1U << 24U;
  if (!first || !stride || !size || *size > group_most || *stride > rank_most / group_most ||
      *first > rank_most) {
    return {};
  }
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < *size; ++i) ranks.emplace_back(*first + i * *stride);
  return ranks;
}

const Group* named(const std::vector<Group>& groups, std::string_view name) {
  const auto found = std::ranges::find(groups, name, &Group::name);
  return found == groups.end() ? nullptr : &*found;
}

const Group* numbered(const std::vector<Group>& groups, std::string_view number) {
  if (number.empty()) return nullptr;
  const auto found = std::ranges::find(groups, number, &Group::number);
  return found == groups.end() ? nullptr : &*found;
}

std::optional<TracedCollective> recorded_by(const Node& node, const std::vector<Group>& groups) {
  const Recorded recorded_inputs = recorded(node.inputs);
  const Attributes& attributes = node.attributes;
  TracedCollective call;
  call.kind = (attributes.collective.empty() ? recorded_inputs.name : attributes.collective)
                  .substr(0, kind_most);
  if (call.kind.empty() || call.kind == "wait") return std::nullopt;
  call.collective = collective_of(call.kind);
  call.sequence = recorded_inputs.sequence;
  call.element_size = pytorch::element_size_of(attributes.dtype);
  call.count = pytorch::larger_count(attributes.in_count, attributes.out_count);
  if (!call.element_size || !call.count) {
    const Largest largest = largest_of(node);
    call.element_size = largest.element_size;
    if (largest.elements) call.count = ElementCount(*largest.elements);
  }
  const auto size = attributes.group_size.empty() ? recorded_inputs.size
                                                  : number_of<std::uint64_t>(attributes.group_size);
  if (size && *size <= 0xffffffffU) call.group_size = static_cast<std::uint32_t>(*size);
  call.ranks = ranks_at(attributes);
  const Group* group = attributes.group.empty() ? numbered(groups, recorded_inputs.group_number)
                                                : named(groups, attributes.group);
  if (group != nullptr) take_group(call, *group);
  if (call.group.empty()) call.group = attributes.group.substr(0, kind_most);
  // Uneven parts for and from each rank are the only ones that say how many there are.
  if (call.group_size == 0 && call.collective == Collective::all_to_all &&
      !recorded_inputs.in_splits.empty()) {
    call.group_size =
        static_cast<std::uint32_t>(std::ranges::count(recorded_inputs.in_splits, ',')) + 1;
  }
  return call;
}

// By its operands alone.
TracedCollective sized(const Node& node, std::string_view kind) {
  TracedCollective call;
  call.kind = kind.substr(0, kind_most);
  call.collective = collective_of(call.kind);
  const Largest largest = largest_of(node);
  call.element_size = largest.element_size;
  if (largest.elements) call.count = ElementCount(*largest.elements);
  return call;
}

}  // namespace

std::optional<TracedCollective> call_of(const Node& node, const std::vector<Group>& groups) {
  if (node.name == recorded_call) return recorded_by(node, groups);
  std::string_view kind = node.name;
  if (kind.starts_with(annotated_call)) {
    kind.remove_prefix(annotated_call.size());
    if (kind.empty()) return std::nullopt;
    TracedCollective call = sized(node, kind);
    // It has the input only.
    if (call.collective && pytorch::takes_parts(*call.collective)) call.count.reset();
    return call;
  }
  if (!kind.starts_with(operation_call)) return std::nullopt;
  kind.remove_prefix(operation_call.size());
  while (kind.ends_with('_')) kind.remove_suffix(1);
  if (kind.empty()) return std::nullopt;
  return sized(node, kind);
}

int preference_of(const Node& node) {
  if (node.name == recorded_call) return 0;
  return node.name.starts_with(annotated_call) ? 1 : 2;
}

}  // namespace paceline::traces::execution_trace
