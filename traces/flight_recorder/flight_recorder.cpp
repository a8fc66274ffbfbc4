#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "traces/device_trace/device_trace.h"
#include "traces/device_trace/readers.h"
#include "traces/json/on_demand.h"
#include "traces/pytorch/nccl_names.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr const char* what_to_give = "give a dump of PyTorch's flight recorder as JSON, whole";

// A pickle of protocol 2, which torch writes, to 5.
bool is_pickle(std::string_view text) {
  return text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5;
}

struct Group {
  std::string label;  // its name and what it is for: "0 default_pg"
  std::vector<Rank> ranks;
};

// Views of the text.
struct Entry {
  std::string_view name, state, input_sizes, output_sizes, input_types, output_types;
  std::string_view created, completed, duration_ms, collective_number, message_number, number;
  std::string_view is_message, group_id;
  std::string group, group_use;  // its name, and what it is for
};

constexpr std::pair<std::string_view, std::string_view Entry::*> members[] = {
    {"profiling_name", &Entry::name},       {"state", &Entry::state},
    {"input_sizes", &Entry::input_sizes},   {"output_sizes", &Entry::output_sizes},
    {"input_dtypes", &Entry::input_types},  {"output_dtypes", &Entry::output_types},
    {"time_created_ns", &Entry::created},   {"time_discovered_completed_ns", &Entry::completed},
    {"duration_ms", &Entry::duration_ms},   {"collective_seq_id", &Entry::collective_number},
    {"p2p_seq_id", &Entry::message_number}, {"seq_id", &Entry::number},
    {"is_p2p", &Entry::is_message},         {"pg_id", &Entry::group_id}};

// ("0", "default_pg"), of which JSON makes a list.
void take_group(ondemand::array names, Entry& entry) {
  for (ondemand::value name : names) {
    std::string& to = entry.group.empty() ? entry.group : entry.group_use;
    if (to.empty()) to = shown(unescaped(name));
  }
}

Entry entry_of(ondemand::object object) {
  Entry entry;
  for (ondemand::field field : object) {
    const std::string_view key = key_of(field);
    if (const auto member = value_of(key, members)) {
      entry.** member = spelled(field.value());
    } else if (key == "process_group" && is_array(field.value())) {
      take_group(field.value().get_array(), entry);
    }
  }
  return entry;
}

// 1970 plus 126 years at most; none of 0, which JSON has for what was not.
std::optional<TraceTime> time_of(std::string_view nanoseconds) {
  const auto time = number_of<TraceTime>(nanoseconds);
  const bool can_be = time && *time > 0 && *time <= pytorch::furthest_time;
  return can_be ? time : std::nullopt;
}

std::optional<TraceTime> length_of(std::string_view milliseconds) {
  constexpr double longest_ms = 1e9;  // eleven days
  const auto length = number_of<double>(milliseconds);
  if (!length || !(*length >= 0 && *length <= longest_ms)) return std::nullopt;
  return std::llround(*length * 1e6);
}

std::optional<TracedCollective::State> state_of(const Entry& entry) {
  using State = TracedCollective::State;
  constexpr std::pair<std::string_view, State> states[] = {{"scheduled", State::scheduled},
                                                           {"started", State::started},
                                                           {"completed", State::completed}};
  return value_of(entry.state, states);
}

// Of lists of sizes, which may be printed over several lines.
std::uint64_t elements_or_0(std::string_view sizes) {
  if (sizes.find_first_of("0123456789[", 1) == std::string_view::npos) return 0;  // of no tensor
  if (!contains(sizes, '\n')) return pytorch::elements_of(sizes).value_or(0);
  std::string line(sizes);
  std::erase_if(line, [](char c) { return c == '\n' || c == '\r'; });
  return pytorch::elements_of(line).value_or(0);
}

void describe(const Entry& entry, TracedCollective& call) {
  // "nccl:all_reduce" of NCCL, "gloo:..." and others of others; "nccl:send 0->1".
  const std::string_view name = entry.name.substr(0, entry.name.find('\\'));
  call.kind = shown(name.substr(name.find(':') + 1));
  const bool is_message =
      entry.is_message == "true" || call.kind.starts_with("send") || call.kind.starts_with("recv");
  if (!is_message) call.collective = pytorch::collective_of(call.kind);
  const auto number = is_message ? entry.message_number : entry.collective_number;
  call.sequence = number_of<std::uint64_t>(number.empty() ? entry.number : number);
  const std::uint64_t in = elements_or_0(entry.input_sizes),
                      out = elements_or_0(entry.output_sizes);
  if (std::max(in, out) > 0) call.count = ElementCount(std::max(in, out));
  const std::string_view types =
      entry.input_types.size() > 2 ? entry.input_types : entry.output_types;
  const auto first = behind(types, "\"");
  if (first) call.element_size = pytorch::element_size_of(first->substr(0, first->find('"')));
}

class Dump {
 public:
  void take(const Entry& entry) {
    ++trace_.events;
    const auto created = time_of(entry.created);
    TracedCollective call;
    describe(entry, call);
    if (!created) return trace_.skip("no time");
    if (call.kind.empty()) return trace_.skip("no name");
    call.called = call.returned = *created;
    call.state = state_of(entry);
    const auto completed = time_of(entry.completed);
    if (completed && !call.state) call.state = TracedCollective::State::completed;
    const auto length = length_of(entry.duration_ms);
    if (completed && length) {
      const TraceTime start = std::max(*completed - *length, *created);
      call.device = TracedCollective::OnDevice{start, start + *length};
    }
    call.group = entry.group.empty() ? std::string(entry.group_id.substr(0, 32)) : entry.group;
    if (!entry.group_use.empty()) uses_.try_emplace(call.group, entry.group_use);
    trace_.collectives.push_back(std::move(call));
  }
  void take_broken() {
    ++trace_.events;
    trace_.skip("no object");
  }
  void take_group(std::string_view name, std::string_view use, std::string_view ranks) {
    Group& group = groups_[shown(name)];
    group.label = shown(use);
    group.ranks = pytorch::ranks_of(ranks);
    if (group.ranks.size() <= traced_ranks_most) return;
    throw FormatError(0, "a group's ranks are " + more_than_a_run_has(group.ranks.size()),
                      what_to_give);
  }

  [[nodiscard]] DeviceTrace trace() && {
    auto& calls = trace_.collectives;
    const auto first = std::ranges::min_element(calls, {}, &TracedCollective::called);
    if (first != calls.end()) trace_.since_epoch = first->called;
    count_from(trace_, trace_.since_epoch.value_or(0));
    for (TracedCollective& call : calls) name_group(call);
    for (const auto& [name, group] : groups_) {
      const bool has_all = group.label == "default_pg" || name == "0";
      if (has_all) trace_.world_size = static_cast<std::uint32_t>(group.ranks.size());
      trace_.groups.push_back({label_of(name), group.ranks});
    }
    trace_.has_late_ends = true;
    return std::move(trace_);
  }

 private:
  // Groups of one name are several where each rank makes its own: the ranks tell them apart.
  [[nodiscard]] std::string label_of(const std::string& name) const {
    const auto use = uses_.find(name);
    std::string label = use == uses_.end() ? name : name + " " + use->second;
    const auto group = groups_.find(name);
    if (group == groups_.end()) return label;
    if (use == uses_.end() && !group->second.label.empty()) label += " " + group->second.label;
    const auto& ranks = group->second.ranks;
    constexpr std::size_t listed_most = 4;
    for (std::size_t i = 0; i < std::min(ranks.size(), listed_most); ++i) {
      label += (i == 0 ? " (ranks " : ", ") + std::to_string(index(ranks[i]));
    }
    if (ranks.size() > listed_most) label += " to " + std::to_string(index(ranks.back()));
    return ranks.empty() ? label : label + ")";
  }

  void name_group(TracedCollective& call) {
    const auto group = groups_.find(call.group);
    if (group != groups_.end()) {
      call.group_size = static_cast<std::uint32_t>(group->second.ranks.size());
    }
    const auto [label, is_new] = labels_.try_emplace(call.group);
    if (is_new) label->second = label_of(call.group);
    call.group = label->second;
  }

  DeviceTrace trace_;
  std::map<std::string, Group> groups_;               // by name
  std::map<std::string, std::string> uses_, labels_;  // by name
};

void take_groups(ondemand::object groups, Dump& dump) {
  for (ondemand::field field : groups) {
    const std::string_view name = key_of(field);
    if (!is_object(field.value())) continue;
    const auto [use, ranks] = spelled_members(field.value(), {"desc", "ranks"});
    dump.take_group(name, use, ranks);
  }
}

void take_entries(ondemand::array entries, Dump& dump) {
  for (ondemand::value entry : entries) {
    is_object(entry) ? dump.take(entry_of(entry.get_object())) : dump.take_broken();
  }
}

void refuse_pickle(std::string_view text) {
  if (!is_pickle(text)) return;
  throw FormatError(
      0, "is a pickle of PyTorch's flight recorder, which is read as JSON",
      R"(write it so, a dump of your own as pickles may run code: python3 -c 'import json, pickle, )"
      R"(sys; json.dump(pickle.load(open(sys.argv[1], "rb")), open(sys.argv[1] + ".json", "w"))' )"
      R"(nccl_trace_rank_0)");
}

}  // namespace

bool is_flight_recorder(std::string_view text) {
  const std::string_view beginning =
      is_pickle(text) ? text.substr(0, 65536) : beginning_of_object(text);
  if (is_pickle(text)) return contains_any(beginning, {"pg_config", "profiling_name"});
  const auto has = [&](std::string_view key) { return contains(beginning, key); };
  return (has("\"profiling_name\"") && has("\"time_created_ns\"")) ||
         (has("\"pg_config\"") && has("\"pg_status\""));
}

DeviceTrace read_flight_recorder(std::string_view text) {
  refuse_pickle(text);
  Dump dump;
  DeviceTrace trace;
  read_object(text, "is no object with entries", what_to_give, [&](ondemand::document& document) {
    for (ondemand::field field : document.get_object()) {
      const std::string_view key = key_of(field);
      ondemand::value& value = field.value();
      if (key == "entries" && is_array(value)) {
        take_entries(value.get_array(), dump);
      } else if (key == "pg_config" && is_object(value)) {
        take_groups(value.get_object(), dump);
      }
    }
    trace = std::move(dump).trace();
  });
  return trace;
}

}  // namespace paceline::traces
