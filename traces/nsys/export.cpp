#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "traces/device_trace/device_trace.h"
#include "traces/kineto/event.h"
#include "traces/nsys/database.h"
#include "traces/nsys/events.h"
#include "traces/pytorch/scalars.h"

namespace paceline::traces::nsys {
namespace {

// No kernel and no range of a step lasts longer.
constexpr TraceTime longest_ns = 86'400'000'000'000;

constexpr const char* table_of_kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* table_of_copies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* table_of_sets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* table_of_graphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* table_of_calls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* table_of_ranges = "NVTX_EVENTS";

// Ranges of NVTX, on one thread or from one to another, by its own interface and by files of text.
constexpr bool is_range(std::int64_t kind) {
  return kind == 59 || kind == 60 || kind == 70 || kind == 71;
}

// "Serialized GlobalId": the process above 24 bits of the thread.
std::uint64_t process_of(std::int64_t id) {
  return (static_cast<std::uint64_t>(id) >> 24U) & 0xffffffU;
}

using Value = std::optional<std::uint64_t> Events::Payload::*;

constexpr std::array<std::pair<std::string_view, Value>, 4> field_names{
    {{"NCCL communicator ID", &Events::Payload::communicator},
     {"Message size [bytes]", &Events::Payload::size},
     {"No. of ranks", &Events::Payload::ranks},
     {"Rank", &Events::Payload::rank}}};

// As nvToolsExtPayload.h of NVTX 3 numbers kinds of entries: int, unsigned; fixed sizes; size_t.
unsigned size_of_kind(std::int64_t kind) {
  switch (kind) {
    case 4:   // int
    case 5:   // unsigned int
    case 16:  // 32 bits
      return 4;
    case 6:   // long
    case 7:   // unsigned long
    case 8:   // long long
    case 9:   // unsigned long long
    case 17:  // 64 bits, with a sign
    case 18:  // 64 bits
    case 22:  // size_t
      return 8;
    default: return 0;
  }
}

// Before the payload: domain, 0, layout, 0, then its size and that with this, all little-endian.
constexpr std::size_t payload_header = 32;

std::optional<std::uint64_t> number_at(std::string_view bytes, std::uint64_t at, unsigned size) {
  if (at > bytes.size() || bytes.size() - at < size) return std::nullopt;
  std::uint64_t value = 0;
  for (unsigned i = size; i > 0; --i) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

// Layouts of payloads of NVTX ranges, as far as NCCL 2.14 and later have them.
class Payloads {
 public:
  explicit Payloads(const Database& database) {
    database.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", {"domainId", "schemaId", "type", "name", "offset"},
                  [&](const Row& row) {
                    const auto domain = row.integer(0), layout = row.integer(1);
                    const auto name = row.text(3);
                    const unsigned size = size_of_kind(row.integer(2).value_or(0));
                    const std::int64_t offset =
                        row.integer(4).value_or(0);  // of the first: nothing
                    if (!layout || !name || size == 0 || offset < 0) return;
                    for (const auto& [known, into] : field_names) {
                      if (*name != known) continue;
                      const std::pair key(static_cast<std::uint64_t>(domain.value_or(0)),
                                          static_cast<std::uint64_t>(*layout));
                      fields_[key].push_back({static_cast<std::uint64_t>(offset), size, into});
                    }
                  });
  }

  // nullopt where it has no such field, or is not of a known layout.
  [[nodiscard]] std::optional<Events::Payload> read(std::string_view bytes) const {
    const auto domain = number_at(bytes, 0, 4), layout = number_at(bytes, 8, 4);
    if (!domain || !layout || bytes.size() < payload_header) return std::nullopt;
    auto found = fields_.find({*domain, *layout});
    if (found == fields_.end()) found = fields_.find({0, *layout});
    if (found == fields_.end()) return std::nullopt;
    Events::Payload payload;
    bool has_any = false;
    for (const Field& field : found->second) {
      const auto value = number_at(bytes.substr(payload_header), field.offset, field.size);
      payload.*field.into = value;
      has_any = has_any || value;
    }
    return has_any ? std::optional(payload) : std::nullopt;
  }

 private:
  struct Field {
    std::uint64_t offset;
    unsigned size;  // bytes
    std::optional<std::uint64_t> Events::Payload::*into;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Field>> fields_;  // domain, layout
};

class ExportReading {
 public:
  explicit ExportReading(std::string_view bytes) : database_(bytes), payloads_(database_) {}

  Events events() && {
    for (const auto& [table, kind] : {std::pair{table_of_kernels, DeviceTrace::Work::kernel},
                                      std::pair{table_of_copies, DeviceTrace::Work::copy},
                                      std::pair{table_of_sets, DeviceTrace::Work::set}}) {
      read_work(table, kind);
    }
    read_graphs();
    for (const Events::Work& work : events_.work) {
      if (work.correlation != 0) events_.launches.try_emplace({work.process, work.correlation});
    }
    read_ranges();
    read_names_of_calls();
    read_strings();
    read_calls();
    read_machine();
    return std::move(events_);
  }

  [[nodiscard]] const Database& database() const { return database_; }

 private:
  void count() {
    if (++events_.events <= events_most) return;
    throw FormatError(0, "has more than " + std::to_string(events_most) + " events",
                      "profile fewer steps: nsys profile --delay and --duration");
  }

  // Names are numbers of strings, which are read when all that are used are known.
  std::uint32_t name_of_string(std::int64_t id) {
    const auto [found, is_new] =
        names_.try_emplace(id, static_cast<std::uint32_t>(events_.names.size()));
    if (is_new) events_.names.emplace_back();
    return found->second;
  }

  bool has_time(std::optional<std::int64_t> start, std::optional<std::int64_t> end) {
    if (!start || !end || *start < 0 || *start > pytorch::furthest_time) {
      events_.skip("no time that can be read");
    } else if (*end < *start) {
      events_.skip("an end before the start");
    } else if (*end - *start > longest_ns) {
      events_.skip("a duration of more than a day");
    } else {
      return true;
    }
    return false;
  }

  void read_work(const char* table, DeviceTrace::Work kind) {
    const std::uint32_t own_name = kind == DeviceTrace::Work::kernel ? 0
                                   : kind == DeviceTrace::Work::copy ? events_.number_of("copy")
                                                                     : events_.number_of("set");
    database_.rows(table,
                   {"start", "end", "deviceId", "streamId", "correlationId", "globalPid",
                    "demangledName", "shortName"},
                   [&](const Row& row) {
                     count();
                     if (!has_time(row.integer(0), row.integer(1))) return;
                     Events::Work work = work_of(row, kind);
                     const auto name = row.integer(6) ? row.integer(6) : row.integer(7);
                     work.name = kind != DeviceTrace::Work::kernel ? own_name
                                 : name                            ? name_of_string(*name)
                                                                   : events_.number_of("a kernel");
                     events_.work.push_back(work);
                   });
  }

  static Events::Work work_of(const Row& row, DeviceTrace::Work kind) {
    const auto number = [&](std::size_t column) {
      return static_cast<std::uint32_t>(
          static_cast<std::uint64_t>(row.integer(column).value_or(0)) & 0xffffffffU);
    };
    return {*row.integer(0),
            *row.integer(1),
            process_of(row.integer(5).value_or(0)),
            static_cast<std::uint64_t>(row.integer(4).value_or(0)),
            number(2),
            number(3),
            0,
            kind};
  }

  // One row for all that a graph launched does not tell collectives. A few, as of optimizers, are
  // left out.
  void read_graphs() {
    double graphs_ns = 0, others_ns = 0;
    database_.rows(table_of_graphs, {"start", "end"}, [&](const Row& row) {
      count();
      if (!has_time(row.integer(0), row.integer(1))) return;
      graphs_ns += static_cast<double>(*row.integer(1) - *row.integer(0));
      events_.skip("kernels of a CUDA graph in one piece");
    });
    for (const Events::Work& work : events_.work) {
      others_ns += static_cast<double>(work.end - work.start);
    }
    constexpr double few = 0.1;
    if (graphs_ns <= few * others_ns) return;
    throw FormatError(
        0, "has CUDA graphs in one piece, so that compute and collectives in them cannot be told",
        "profile with nsys profile --cuda-graph-trace=node");
  }

  void read_ranges() {
    database_.rows(table_of_ranges,
                   {"start", "end", "eventType", "globalTid", "text", "textId", "binaryData"},
                   [&](const Row& row) {
                     const auto kind = row.integer(2);
                     if (kind && !is_range(*kind)) return;
                     count();
                     if (!row.integer(1)) return events_.skip("a range that does not end");
                     if (!has_time(row.integer(0), row.integer(1))) return;
                     const std::int64_t thread = row.integer(3).value_or(0);
                     const auto text = row.text(4);
                     const auto id = row.integer(5);
                     if (!text && !id) return events_.skip("a range without a name");
                     Events::Range range{
                         *row.integer(0),
                         *row.integer(1),
                         process_of(thread),
                         static_cast<std::uint64_t>(thread),
                         text ? events_.number_of(text->substr(0, name_most)) : name_of_string(*id),
                         std::nullopt};
                     if (const auto payload = payloads_.read(row.bytes(6).value_or(""))) {
                       range.payload = static_cast<std::uint32_t>(events_.payloads.size());
                       events_.payloads.push_back(*payload);
                     }
                     events_.ranges.push_back(range);
                   });
  }

  void read_names_of_calls() {
    database_.rows(table_of_calls, {"nameId"}, [&](const Row& row) {
      if (const auto id = row.integer(0)) call_names_.try_emplace(*id);
    });
  }

  void read_strings() {
    database_.rows("StringIds", {"id", "value"}, [&](const Row& row) {
      const auto id = row.integer(0);
      if (!id) return;
      const auto name = names_.find(*id);
      const auto call = call_names_.find(*id);
      if (name == names_.end() && call == call_names_.end()) return;
      const std::string_view text = row.text(1).value_or("").substr(0, name_most);
      if (name != names_.end()) events_.names[name->second] = text;
      if (call == call_names_.end()) return;
      call->second = {kineto::is_graph_launch(text), kineto::lets_a_stream_wait(text),
                      kineto::may_wait_for_streams(text)};
    });
  }

  void read_calls() {
    const bool has_processes = std::ranges::any_of(
        events_.work, [](const Events::Work& work) { return work.process != 0; });
    database_.rows(
        table_of_calls, {"start", "end", "globalTid", "correlationId", "nameId"},
        [&](const Row& row) {
          const auto named = call_names_.find(row.integer(4).value_or(-1));
          const CallName name = named == call_names_.end() ? CallName() : named->second;
          const std::int64_t thread = row.integer(2).value_or(0);
          const std::uint64_t process = has_processes ? process_of(thread) : 0;
          const auto correlation = static_cast<std::uint64_t>(row.integer(3).value_or(0));
          const auto launch = events_.launches.find({process, correlation});
          const bool launched = launch != events_.launches.end() && !launch->second.is_known;
          if (!launched && !name.waits) return;
          count();
          if (!has_time(row.integer(0), row.integer(1))) return;
          if (launched) {
            launch->second = {*row.integer(0), *row.integer(1), static_cast<std::uint64_t>(thread),
                              name.is_graph, true};
          }
          if (name.waits) events_.waits.push_back({*row.integer(0), process});
          events_.has_waits_of_streams = events_.has_waits_of_streams || name.waits_of_stream;
        });
  }

  void read_machine() {
    database_.rows("TARGET_INFO_GPU", {"id", "name"}, [&](const Row& row) {
      const auto number = row.integer(0);
      if (!number || *number < 0 || *number > 0xffff) return;
      events_.devices.try_emplace(static_cast<std::uint32_t>(*number),
                                  row.text(1).value_or("").substr(0, name_most));
    });
    database_.rows("MPI_RANKS", {"globalTid", "rank"}, [&](const Row& row) {
      const auto thread = row.integer(0), rank = row.integer(1);
      if (!thread || !rank || *rank < 0 || *rank >= traced_ranks_most) return;
      events_.ranks.try_emplace(process_of(*thread), static_cast<std::uint32_t>(*rank));
    });
  }

  struct CallName {
    bool is_graph = false, waits_of_stream = false, waits = false;
  };

  Database database_;
  Payloads payloads_;
  Events events_;
  std::unordered_map<std::int64_t, std::uint32_t> names_;  // by string
  std::unordered_map<std::int64_t, CallName> call_names_;
};

}  // namespace

std::uint32_t Events::number_of(std::string_view name) {
  const auto [found, is_new] =
      name_numbers.try_emplace(std::string(name), static_cast<std::uint32_t>(names.size()));
  if (is_new) names.emplace_back(name);
  return found->second;
}

Events events_of_export(std::string_view bytes) {
  ExportReading reading(bytes);
  const Database& database = reading.database();
  const bool is_report = database.has("StringIds") || database.has(table_of_kernels) ||
                         database.has(table_of_ranges) || database.has("TARGET_INFO_GPU");
  if (!is_report) {
    throw FormatError(0, "is an SQLite file, but no report of Nsight Systems",
                      "give what nsys export --type sqlite REPORT.nsys-rep writes");
  }
  return std::move(reading).events();
}

}  // namespace paceline::traces::nsys
