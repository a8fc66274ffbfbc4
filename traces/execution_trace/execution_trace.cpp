#include "traces/execution_trace/execution_trace.h"

#include <simdjson.h>

#include <string>

#include "traces/execution_trace/gathering.h"
#include "traces/execution_trace/node.h"
#include "traces/json/on_demand.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using execution_trace::Attributes;
using execution_trace::Gathering;
using execution_trace::Group;
using execution_trace::Node;
using execution_trace::Operands;

constexpr const char* what_to_give =
    "give the JSON that ExecutionTraceObserver writes, whole and unpacked";
constexpr const char* no_nodes = "has no nodes";

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
    std::string_view name, is;
    for (ondemand::field field : attribute.get_object()) {
      const std::string_view key = key_of(field);
      if (key == "name") name = spelled(field.value());
      if (key == "value") is = spelled(field.value());
    }
    for (const auto& [known, member] : execution_trace::attribute_names) {
      if (name == known) attributes.*member = is;
    }
  }
  return attributes;
}

void take_operands(std::string_view key, ondemand::value value, Node& node) {
  if (key == "inputs") {
    take_operands(value, node.inputs);
  } else if (key == "outputs") {
    take_operands(value, node.outputs);
  } else if (key == "input_shapes") {
    node.inputs.shapes = list_of(value);
  } else if (key == "input_types") {
    node.inputs.types = list_of(value);
  } else if (key == "output_shapes") {
    node.outputs.shapes = list_of(value);
  } else if (key == "output_types") {
    node.outputs.types = list_of(value);
  } else if (key == "attrs") {
    node.attributes = attributes_of(value);
  }
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
    } else if (node.name.empty() || execution_trace::needs_operands(node.name)) {
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

// Whether the text has nodes.
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
      if (node.name == execution_trace::groups_node && !node.inputs.values.empty()) {
        take_groups(node.inputs.values.front(), gathering);
      }
    }
  }
  return has_nodes;
}

}  // namespace

bool is_execution_trace(std::string_view json) {
  const std::string_view beginning = beginning_of_object(json);
  const auto has = [&](std::string_view key) {
    return beginning.find(key) != std::string_view::npos;
  };
  // Results of paceline have a schema and nodes, too.
  return !has("\"paceline.") && has("\"nodes\"") &&
         (has("\"schema\"") || has("\"pid\"") || has("\"id\""));
}

DeviceTrace read_execution_trace(std::string_view json) {
  DeviceTrace trace;
  read_object(json, "is no object with nodes", what_to_give, [&](ondemand::document& document) {
    Gathering gathering;
    if (!take_all(document, gathering)) {
      throw FormatError(0, no_nodes, what_to_give);
    }
    trace = gathering.trace();  // what it gathers are views of the text
  });
  return trace;
}

}  // namespace paceline::traces
