#include "traces/chakra/node.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
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
    Node node{wire.id(), name_number(wire.name()), role_of(wire, attributes)};
    node.stream = attributes.stream ? *attributes.stream : attributes.thread.value_or(0);
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
    return number_in(file_.names, numbers_, name, name);
  }

  File file_;
  std::unordered_set<std::uint64_t> ids_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

constexpr const char* what_can_be_scheduled = "give a trace whose nodes wait for earlier ones only";

class Walk {
 public:
  explicit Walk(File& file)
      : file_(file), waits_(file.nodes.size()), earliest_(file.nodes.size(), 0) {
    number_nodes();
    link();
  }

  void go() {
    for (std::size_t i = 0; i < waits_.size(); ++i) offer(i);
    std::size_t done = 0;
    while (!ready_.empty() || !without_callers_.empty()) {
      Queue& queue = ready_.empty() ? without_callers_ : ready_;
      const std::size_t node = queue.top().second;
      queue.pop();
      if (std::exchange(waits_[node].is_done, true)) continue;
      place(node);
      ++done;
    }
    if (done < waits_.size()) throw cycle();
  }

 private:
  struct Waits {
    std::size_t data = 0, ctrl = 0;
    bool is_done = false;
    std::vector<std::size_t> data_of, ctrl_of;  // the nodes that wait for it
  };
  using Entry = std::pair<std::uint64_t, std::size_t>;  // its id, and where it is
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  [[nodiscard]] std::string name_of(const Node& node) const {
    return std::to_string(node.id) + " (" + shown(file_.names[node.name]) + ")";
  }

  void number_nodes() {
    for (std::size_t i = 0; i < file_.nodes.size(); ++i) numbers_[file_.nodes[i].id] = i;
  }

  void link() {
    for (std::size_t i = 0; i < file_.nodes.size(); ++i) {
      const Node& node = file_.nodes[i];
      for (const std::uint64_t id : node.data_deps) {
        const auto found = numbers_.find(id);
        if (found == numbers_.end()) {
          throw FormatError(0,
                            "node " + name_of(node) + " waits for the data of node " +
                                std::to_string(id) + ", which is not there",
                            what_can_be_scheduled);
        }
        waits_[found->second].data_of.push_back(i);
        ++waits_[i].data;
      }
      for (const std::uint64_t id : node.ctrl_deps) {
        const auto found = numbers_.find(id);
        if (found == numbers_.end() || found->second == i) continue;
        waits_[found->second].ctrl_of.push_back(i);
        ++waits_[i].ctrl;
      }
    }
  }

  void offer(std::size_t node) {
    const Waits& waits = waits_[node];
    if (waits.data > 0 || waits.is_done) return;
    (waits.ctrl == 0 ? ready_ : without_callers_).emplace(file_.nodes[node].id, node);
  }

  void place(std::size_t number) {
    Node& node = file_.nodes[number];
    TraceTime& before = queue_ends_[{node.role == Role::host, node.stream}];
    node.start = std::max(earliest_[number], before);
    if (node.duration > furthest_time - node.start) {
      throw FormatError(0, "node " + name_of(node) + " ends later than a trace can",
                        what_can_be_scheduled);
    }
    const TraceTime end = node.start + node.duration;
    before = end;
    for (const std::size_t next : waits_[number].data_of) {
      earliest_[next] = std::max(earliest_[next], end);
      if (--waits_[next].data == 0) offer(next);
    }
    for (const std::size_t next : waits_[number].ctrl_of) {
      // One that went on without it is done.
      if (!waits_[next].is_done) earliest_[next] = std::max(earliest_[next], end);
      if (--waits_[next].ctrl == 0) offer(next);
    }
  }

  // From the lowest id left along the data that each waits for, until one comes again.
  [[nodiscard]] FormatError cycle() const {
    constexpr std::size_t named_most = 8;
    std::size_t at = waits_.size();
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i].is_done) continue;
      if (at == waits_.size() || file_.nodes[i].id < file_.nodes[at].id) at = i;
    }
    std::vector<std::size_t> path;
    std::vector<bool> seen(waits_.size());
    while (!seen[at]) {
      seen[at] = true;
      path.push_back(at);
      const auto& deps = file_.nodes[at].data_deps;
      at = numbers_.at(*std::ranges::find_if(
          deps, [&](std::uint64_t id) { return !waits_[numbers_.at(id)].is_done; }));
    }
    path.erase(path.begin(), std::ranges::find(path, at));
    std::string nodes;
    for (std::size_t i = 0; i < std::min(path.size(), named_most); ++i) {
      nodes += (i == 0 ? "" : ", ") + name_of(file_.nodes[path[i]]);
    }
    if (path.size() > named_most) nodes += ", " + std::to_string(path.size()) + " in all";
    return {0, "has nodes that wait for each other: " + nodes, what_can_be_scheduled};
  }

  File& file_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<Waits> waits_;
  std::vector<TraceTime> earliest_;  // by what is done
  std::map<std::pair<bool, std::uint32_t>, TraceTime> queue_ends_;
  Queue ready_, without_callers_;
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

void schedule(File& file) { Walk(file).go(); }

}  // namespace paceline::traces::chakra
