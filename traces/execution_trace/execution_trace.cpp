#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/device_trace/readers.h"
#include "traces/json/on_demand.h"
#include "traces/pytorch/nccl_names.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using pytorch::annotated_call;
using pytorch::collective_of;
using pytorch::recorded_call;

constexpr const char* what_to_give =
    "give the JSON that ExecutionTraceObserver writes, whole and unpacked";

// What an operation took or gave, as the file spells it: strings without quotes, lists from bracket
// to bracket.
struct Operands {
  std::vector<std::string_view> values, shapes, types;
};

// What record_param_comms has in `attrs` since 1.1.0-chakra.0.0.4. Empty where there is none.
struct Attributes {
  std::string_view collective, dtype, in_count, out_count, group, group_size, first_rank,
      rank_stride;
};

constexpr std::pair<std::string_view, std::string_view Attributes::*> attribute_names[] = {
    {"collective_name", &Attributes::collective},
    {"dtype", &Attributes::dtype},
    {"in_msg_nelems", &Attributes::in_count},
    {"out_msg_nelems", &Attributes::out_count},
    {"pg_name", &Attributes::group},
    {"pg_size", &Attributes::group_size},
    {"global_rank_start", &Attributes::first_rank},
    {"global_rank_stride", &Attributes::rank_stride}};

struct Node {
  std::optional<std::uint64_t> id, parent;
  std::string_view name;
  Operands inputs, outputs;
  Attributes attributes;
};

// Process groups are recorded in the only value of a node of this name.
constexpr std::string_view groups_node = "## process_group:init ##";
constexpr std::string_view operation_call = "c10d::";

bool needs_operands(std::string_view name) {
  return name == recorded_call || name.starts_with(annotated_call) ||
         name.starts_with(operation_call) || name == groups_node;
}

struct Group {
  std::string name;
  std::string number;  // of its backend, by which files of before 1.1.0 name it; may be empty
  bool is_whole_world = false;
  std::uint32_t size = 0;   // 0: not recorded
  std::vector<Rank> ranks;  // as far as they are listed
};

constexpr std::size_t kind_most = 64;  // characters

// Of the largest operand that is a tensor or a list of them, as an all-gather's outputs:
// "Tensor(float)", "GenericList[Tensor(long int)]",
// "GenericList[GenericList[Tensor(float),Tensor(float)]]".
struct Largest {
  std::optional<std::uint64_t> elements;
  std::optional<ElementSize> element_size;
};

std::string_view tensor_type(std::string_view type) {
  const auto rest = behind(type, "Tensor(");
  return rest ? rest->substr(0, rest->find(')')) : std::string_view();
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

void take_size(const Node& node, TracedCollective& call) {
  Largest largest;
  take_largest(node.inputs, largest);
  take_largest(node.outputs, largest);
  call.element_size = largest.element_size;
  if (largest.elements) call.count = ElementCount(*largest.elements);
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
  const auto name = std::ranges::find(inputs.types, "String");
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

// Of a call that names it, or else has its number.
const Group* known_group(const std::vector<Group>& groups, std::string_view name,
                         std::string_view number) {
  const auto found = name.empty() ? std::ranges::find(groups, number, &Group::number)
                                  : std::ranges::find(groups, name, &Group::name);
  return found == groups.end() || (name.empty() && number.empty()) ? nullptr : &*found;
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
  if (!call.element_size || !call.count) take_size(node, call);
  const auto size = attributes.group_size.empty() ? recorded_inputs.size
                                                  : number_of<std::uint64_t>(attributes.group_size);
  if (size && *size <= 0xffffffffU) call.group_size = static_cast<std::uint32_t>(*size);
  call.ranks = ranks_at(attributes);
  const Group* group = known_group(groups, attributes.group, recorded_inputs.group_number);
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

TracedCollective sized(const Node& node, std::string_view kind) {
  TracedCollective call;
  call.kind = kind.substr(0, kind_most);
  call.collective = collective_of(call.kind);
  take_size(node, call);
  return call;
}

// A node's collective, times left at 0; nullopt for a node that waits for one, and of any name but
// record_param_comms, nccl:... and c10d::...
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

// Builds a trace from nodes in any order. Nodes are views of the text, which has to outlive it.
class Gathering {
 public:
  void take(const Node& node) {
    ++trace_.events;
    if (!node.id || node.name.empty()) {
      ++trace_.skipped;
      return;
    }
    const bool may_be_call = node.name != groups_node && needs_operands(node.name);
    places_.push_back({*node.id, node.parent.value_or(0), may_be_call ? nodes_.size() : none});
    if (may_be_call) nodes_.push_back(node);
  }

  void take_broken() { ++trace_.events, ++trace_.skipped; }  // an element that is no node
  void take_group(Group group) {
    if (group.is_whole_world) trace_.world_size = group.size;
    groups_.push_back(std::move(group));
  }

  [[nodiscard]] DeviceTrace trace() {
    trace_.has_times = false;
    describe(find_calls());
    return std::move(trace_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Place {
    std::uint64_t id, parent;  // a parent of 0 is none
    std::size_t node;          // in nodes_, of those that record a collective
    std::size_t call = none;   // the one that it is, or is inside of
  };
  // By call of trace_, the nodes that record it.
  using CallNodes = std::vector<std::vector<std::size_t>>;

  // Nodes are numbered as they begin, a parent before its children: one pass in that order finds
  // the outermost call around each.
  [[nodiscard]] CallNodes find_calls() {
    std::ranges::stable_sort(places_, {}, &Place::id);
    CallNodes call_nodes;
    for (std::size_t at = 0; at < places_.size(); ++at) {
      Place& place = places_[at];
      if (at > 0 && places_[at - 1].id == place.id) {
        ++trace_.skipped;  // an id that another node has
        continue;
      }
      const auto parent = std::ranges::lower_bound(
          places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(at), place.parent, {},
          &Place::id);
      if (place.parent < place.id && parent->id == place.parent) place.call = parent->call;
      if (place.node == none || !call_of(nodes_[place.node], {})) continue;
      if (place.call == none) {
        place.call = call_nodes.size();
        call_nodes.emplace_back();
        TracedCollective call;
        call.called = call.returned = static_cast<TraceTime>(at);
        trace_.collectives.push_back(std::move(call));
      }
      trace_.collectives[place.call].returned = static_cast<TraceTime>(at);
      call_nodes[place.call].push_back(place.node);
    }
    return call_nodes;
  }

  void describe(const CallNodes& call_nodes) {
    // A file of a few bytes a call may list thousands of ranks for each.
    std::size_t ranks_left = std::size_t{1} << 24U;
    for (std::size_t i = 0; i < call_nodes.size(); ++i) {
      std::vector<std::size_t> by_preference = call_nodes[i];
      std::ranges::stable_sort(by_preference, {},
                               [&](std::size_t node) { return preference_of(nodes_[node]); });
      TracedCollective call;
      for (const std::size_t node : by_preference) {
        if (auto more = call_of(nodes_[node], groups_)) pytorch::complete(call, *std::move(more));
      }
      if (call.ranks.size() > ranks_left) call.ranks.clear();
      ranks_left -= call.ranks.size();
      call.called = trace_.collectives[i].called;
      call.returned = trace_.collectives[i].returned;
      trace_.collectives[i] = std::move(call);
    }
  }

  DeviceTrace trace_;
  std::vector<Place> places_;
  std::vector<Node> nodes_;
  std::vector<Group> groups_;
};

std::vector<std::string_view> list_of(ondemand::value value) {
  std::vector<std::string_view> list;
  if (!is_array(value)) return list;
  for (ondemand::value one : value.get_array()) list.push_back(spelled(one));
  return list;
}

// {"values": [...], "shapes": [...], "types": [...]}; of schema 1.0.1 and before, the values alone.
void take_operands(ondemand::value value, Operands& operands) {
  if (is_array(value)) {
    operands.values = list_of(value);
    return;
  }
  if (!is_object(value)) return;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (key == "values") operands.values = list_of(field.value());
    if (key == "shapes") operands.shapes = list_of(field.value());
    if (key == "types") operands.types = list_of(field.value());
  }
}

Attributes attributes_of(ondemand::value value) {
  Attributes attributes;
  if (!is_array(value)) return attributes;
  for (ondemand::value attribute : value.get_array()) {
    if (!is_object(attribute)) continue;
    const auto [name, is] = spelled_members(attribute, {"name", "value"});
    if (const auto member = value_of(name, attribute_names)) attributes.** member = is;
  }
  return attributes;
}

void take_operands(std::string_view key, ondemand::value value, Node& node) {
  if (key == "inputs") take_operands(value, node.inputs);
  if (key == "outputs") take_operands(value, node.outputs);
  if (key == "input_shapes") node.inputs.shapes = list_of(value);
  if (key == "input_types") node.inputs.types = list_of(value);
  if (key == "output_shapes") node.outputs.shapes = list_of(value);
  if (key == "output_types") node.outputs.types = list_of(value);
  if (key == "attrs") node.attributes = attributes_of(value);
}

// Their order is free, but in what PyTorch writes the name is before what it tells to pass over.
Node node_of(ondemand::value value) {
  Node node;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (key == "id") {
      node.id = number_of<std::uint64_t>(spelled(field.value()));
    } else if (key == "name") {
      node.name = spelled(field.value());
    } else if (key == "ctrl_deps" || key == "parent") {
      node.parent = number_of<std::uint64_t>(spelled(field.value()));
    } else if (node.name.empty() || needs_operands(node.name)) {
      take_operands(key, field.value(), node);
    }
  }
  return node;
}

Group group_of(ondemand::value value) {
  Group group;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (key == "pg_name") group.name = spelled(field.value());
    if (key == "pg_desc") group.is_whole_world |= spelled(field.value()) == "default_pg";
    if (key == "backend_id") group.number = spelled(field.value());
    if (key == "ranks") group.ranks = pytorch::ranks_of(spelled(field.value()));
    if (key == "group_size") {
      group.size = number_of<std::uint32_t>(spelled(field.value())).value_or(0);
    }
  }
  if (group.name == "0") group.is_whole_world = true;  // as PyTorch numbers them
  return group;
}

// A list of objects, as JSON in a string: the spelling of its characters is undone.
void take_groups(std::string_view spelling, Gathering& gathering) {
  std::string list;
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    if (spelling[i] == '\\' && i + 1 < spelling.size()) ++i;
    list += spelling[i];
  }
  const simdjson::padded_string text(list);
  ondemand::parser parser;
  ondemand::document document;
  try {
    document = parser.iterate(text);
    for (ondemand::value one : document.get_array()) {
      if (is_object(one)) gathering.take_group(group_of(one));
    }
  } catch (const simdjson::simdjson_error&) {
    gathering.take_broken();  // collectives tell of their groups themselves, but for names
  }
}

bool take_all(ondemand::document& document, Gathering& gathering) {
  bool has_nodes = false;
  for (ondemand::field field : document.get_object()) {
    if (key_of(field) != "nodes" || !is_array(field.value())) continue;
    has_nodes = true;
    for (ondemand::value value : field.value().get_array()) {
      if (!is_object(value)) {
        gathering.take_broken();
        continue;
      }
      const Node node = node_of(value);
      gathering.take(node);
      if (node.name == groups_node && !node.inputs.values.empty()) {
        take_groups(node.inputs.values.front(), gathering);
      }
    }
  }
  return has_nodes;
}

}  // namespace

bool is_execution_trace(std::string_view json) {
  const std::string_view beginning = beginning_of_object(json);
  // Results of paceline have a schema and nodes, too.
  return !contains(beginning, "\"paceline.") && contains(beginning, "\"nodes\"") &&
         contains_any(beginning, {"\"schema\"", "\"pid\"", "\"id\""});
}

DeviceTrace read_execution_trace(std::string_view json) {
  DeviceTrace trace;
  read_object(json, "is no object with nodes", what_to_give, [&](ondemand::document& document) {
    Gathering gathering;
    if (!take_all(document, gathering)) {
      throw FormatError(0, "has no nodes", what_to_give);
    }
    trace = gathering.trace();  // what it gathers are views of the text
  });
  return trace;
}

}  // namespace paceline::traces
