#include "traces/chakra/node.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "chakra.pb.h"
#include "traces/chakra/schema.h"
#include "traces/pytorch/nccl_names.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces::chakra {
namespace {

using pytorch::furthest_time;
using WireAttribute = paceline::chakra_wire::Attribute;
using WireMetadata = paceline::chakra_wire::Metadata;
using WireNode = paceline::chakra_wire::Node;

constexpr const char* what_can_be_decoded =
    "give a Chakra execution trace (.et), whole and unpacked";

FormatError at_byte(std::size_t byte, const std::string& what) {
  return {0, what + ", at byte " + std::to_string(byte), what_can_be_decoded};
}

FormatError at_node(std::uint64_t id, const std::string& what) {
  return {0, "node " + std::to_string(id) + " " + what, what_can_be_decoded};
}

class Messages {
 public:
  explicit Messages(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }

  // Precondition: not at its end.
  void skip_byte() { ++at_; }

  // Behind its length. Throws FormatError.
  std::string_view next() {
    const std::size_t begin = at_;
    const std::uint64_t length = varint();
    if (length > message_bytes_most) throw at_byte(begin, "has a message of more than 64 MiB");
    if (length > bytes_.size() - at_) throw at_byte(begin, "is cut off in a message");
    const std::string_view message = bytes_.substr(at_, length);
    at_ += length;
    return message;
  }

 private:
  std::uint64_t varint() {
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) throw at_byte(begin, "is cut off in the length of a message");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    throw at_byte(begin, "has a length of more than 64 bits");
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

template <class Message>
bool parse(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Of any integer type; nullopt below 0.
std::optional<std::uint64_t> whole_number(const WireAttribute& attribute) {
  const auto positive = [](std::int64_t value) {
    return value < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(value));
  };
  switch (attribute.value_case()) {
    case WireAttribute::kInt32Value: return positive(attribute.int32_value());
    case WireAttribute::kInt64Value: return positive(attribute.int64_value());
    case WireAttribute::kUint32Value: return attribute.uint32_value();
    case WireAttribute::kUint64Value: return attribute.uint64_value();
    case WireAttribute::kSint32Value: return positive(attribute.sint32_value());
    case WireAttribute::kSint64Value: return positive(attribute.sint64_value());
    case WireAttribute::kFixed32Value: return attribute.fixed32_value();
    case WireAttribute::kFixed64Value: return attribute.fixed64_value();
    case WireAttribute::kSfixed32Value: return positive(attribute.sfixed32_value());
    case WireAttribute::kSfixed64Value: return positive(attribute.sfixed64_value());
    case WireAttribute::kBoolValue: return attribute.bool_value() ? 1U : 0U;
    default: return std::nullopt;
  }
}

std::optional<TraceTime> time_of(const WireAttribute& attribute) {
  const auto value = whole_number(attribute);
  if (!value || *value > static_cast<std::uint64_t>(furthest_time)) return std::nullopt;
  return static_cast<TraceTime>(*value);
}

std::optional<std::uint32_t> small_number(const WireAttribute& attribute) {
  const auto value = whole_number(attribute);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::string text_of(const WireAttribute& attribute) {
  constexpr std::size_t text_most = 64;
  return attribute.string_value().substr(0, text_most);
}

// All may be missing.
struct Attributes {
  std::optional<std::uint64_t> is_cpu_op, type, size, buffer_size, element_size;
  std::optional<std::uint32_t> stream, thread;
  std::optional<TraceTime> start, duration;
  std::string group, algorithm;
};

Attributes attributes_of(const WireNode& node) {
  Attributes attributes;
  for (const WireAttribute& attribute : node.attributes()) {
    const std::string_view name = attribute.name();
    if (name == attribute::is_cpu_op) attributes.is_cpu_op = whole_number(attribute);
    if (name == attribute::stream) attributes.stream = small_number(attribute);
    if (name == attribute::thread) attributes.thread = small_number(attribute);
    if (name == attribute::type) attributes.type = whole_number(attribute);
    if (name == attribute::size) attributes.size = whole_number(attribute);
    if (name == attribute::group) attributes.group = text_of(attribute);
    if (name == attribute::start_ns) attributes.start = time_of(attribute);
    if (name == attribute::duration_ns) attributes.duration = time_of(attribute);
    if (name == attribute::buffer_size) attributes.buffer_size = whole_number(attribute);
    if (name == attribute::element_size) attributes.element_size = whole_number(attribute);
    if (name == attribute::algorithm) attributes.algorithm = text_of(attribute);
  }
  return attributes;
}

Role role_of(const WireNode& node, const Attributes& attributes) {
  // Files without the attribute are of simulators, which know no host.
  if (attributes.is_cpu_op.value_or(0) != 0) return Role::host;
  switch (static_cast<NodeType>(node.type())) {
    case NodeType::send:
    case NodeType::receive:
    case NodeType::collective: return Role::collective;
    case NodeType::load:
    case NodeType::store: return Role::copy;
    case NodeType::compute:
      if (node.name().starts_with("Memcpy")) return Role::copy;
      return node.name().starts_with("Memset") ? Role::set : Role::kernel;
    default: return Role::host;
  }
}

// `size` is what a rank gives: of an all-gather or a gather the smaller buffer. Converters record
// bytes without a type: elements of one byte.
void take_size(TracedCollective& call, const Attributes& attributes) {
  const std::uint64_t element = attributes.element_size.value_or(1);
  const bool is_part = call.collective == collectives::Collective::all_gather ||
                       call.collective == collectives::Collective::gather;
  std::optional<std::uint64_t> bytes = attributes.buffer_size;
  if (!bytes && !is_part) bytes = attributes.size;
  if (element == 0 || element > 16) return;
  call.element_size = ElementSize(element);
  if (bytes && *bytes / element <= pytorch::elements_most) {
    call.count = ElementCount(*bytes / element);
  }
}

TracedCollective call_of(const WireNode& node, const Attributes& attributes) {
  TracedCollective call;
  const auto type = static_cast<NodeType>(node.type());
  if (type == NodeType::send) {
    call.kind = "send";
  } else if (type == NodeType::receive) {
    call.kind = "recv";
  } else if (attributes.type && *attributes.type < std::size(communication_types)) {
    const CommunicationType& known = communication_types[*attributes.type];
    call.kind = known.name;
    call.collective = known.collective;
  } else {
    call.kind = std::string(pytorch::kernel_kind(node.name()).substr(0, 64));
    call.collective = pytorch::collective_of(call.kind);
    if (call.kind.empty()) call.kind = "unknown";
  }
  take_size(call, attributes);
  call.group = attributes.group;
  call.algorithm =
      attributes.algorithm.empty() ? pytorch::algorithm_of(node.name()) : attributes.algorithm;
  call.name = node.name();
  return call;
}

TraceTime from_microseconds(std::uint64_t id, std::uint64_t time, const char* what) {
  if (time > static_cast<std::uint64_t>(furthest_time) / 1000) {
    throw at_node(id, std::string(what) + " later than a trace can be");
  }
  return static_cast<TraceTime>(time * 1000);
}

// Whether its fields are 1 and 2 alone, each behind a length.
bool has_only_metadata(std::string_view message) {
  Messages fields(message);
  while (!fields.at_end()) {
    const char tag = message[fields.at()];
    if (tag != (1 << 3 | 2) && tag != (2 << 3 | 2)) return false;
    fields.skip_byte();
    (void)fields.next();
  }
  return true;
}

class Parsing {
 public:
  void take(const WireMetadata& metadata) {
    for (const WireAttribute& attribute : metadata.attributes()) {
      const std::string_view name = attribute.name();
      if (name == attribute::rank) {
        if (const auto rank = small_number(attribute)) file_.rank = Rank(*rank);
      }
      if (name == attribute::world_size) file_.world_size = small_number(attribute).value_or(0);
      if (name == attribute::origin_ns) file_.origin = time_of(attribute);
    }
  }

  void take(const WireNode& wire, std::size_t byte) {
    if (wire.id() == 0 && wire.name().empty())
      throw at_byte(byte, "has a node without id and name");
    if (!ids_.insert(wire.id()).second) throw at_node(wire.id(), "is there twice");
    if (file_.nodes.size() == nodes_most) throw at_byte(byte, "has more than 2^26 nodes");
    const Attributes attributes = attributes_of(wire);
    Node node{wire.id(),
              name_number(wire.name()),
              role_of(wire, attributes),
              attributes.stream ? *attributes.stream : attributes.thread.value_or(0),
              0,
              0,
              0,
              {},
              {}};
    node.start = attributes.start
                     ? *attributes.start
                     : from_microseconds(wire.id(), wire.start_time_micros(), "starts");
    node.duration = attributes.duration
                        ? *attributes.duration
                        : from_microseconds(wire.id(), wire.duration_micros(), "ends");
    if (node.duration > furthest_time - node.start) {
      throw at_node(wire.id(), "ends later than a trace can be");
    }
    file_.has_starts |= attributes.start.has_value() || node.start != 0;
    node.data_deps.assign(wire.data_deps().begin(), wire.data_deps().end());
    node.ctrl_deps.assign(wire.ctrl_deps().begin(), wire.ctrl_deps().end());
    if (node.role == Role::collective) {
      node.call = static_cast<std::uint32_t>(file_.calls.size());
      file_.calls.push_back(call_of(wire, attributes));
    }
    file_.nodes.push_back(std::move(node));
  }

  File file() { return std::move(file_); }

 private:
  std::uint32_t name_number(const std::string& name) {
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(file_.names.size()));
    if (is_new) file_.names.push_back(name);
    return found->second;
  }

  File file_;
  std::unordered_set<std::uint64_t> ids_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

bool begins_as_file(std::string_view bytes) {
  if (bytes.empty()) return false;
  try {
    Messages messages(bytes);
    WireMetadata metadata;
    const std::string_view first = messages.next();
    if (!has_only_metadata(first) || !parse(first, metadata)) return false;
    if (messages.at_end()) return !metadata.version().empty() || metadata.attributes_size() > 0;
    WireNode node;
    return parse(messages.next(), node) && (node.id() != 0 || !node.name().empty());
  } catch (const FormatError&) {
    return false;
  }
}

File parse_file(std::string_view bytes) {
  Messages messages(bytes);
  Parsing parsing;
  WireMetadata metadata;
  if (messages.at_end() || !parse(messages.next(), metadata)) {
    throw at_byte(0, "has no metadata of Chakra");
  }
  parsing.take(metadata);
  WireNode node;
  while (!messages.at_end()) {
    const std::size_t byte = messages.at();
    if (!parse(messages.next(), node)) throw at_byte(byte, "has a message that is no node");
    parsing.take(node, byte);
  }
  return parsing.file();
}

}  // namespace paceline::traces::chakra
