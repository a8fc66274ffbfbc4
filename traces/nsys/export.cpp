#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "traces/device_trace/device_trace.h"
#include "traces/kineto/event.h"
#include "traces/nsys/events.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/format_error.h"

namespace paceline::traces::nsys {
namespace {

constexpr const char* how_to_export = "export it again: nsys export --type sqlite REPORT.nsys-rep";

// Instructions of SQLite's machine between two looks at how many there have been.
constexpr int look_every = 10'000;
// A row takes some twenty for its columns and has as many bytes at least; damaged trees of pages
// may lead to the same page again and again.
constexpr std::uint64_t steps_a_byte = 16, steps_free = 1'000'000;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

constexpr std::string_view columns_pragma = "table_xinfo";

// Reading is all that a statement here may do; a file may ask for more in its schema.
int only_reading(void* /*unused*/, int action, const char* name, const char* /*unused*/,
                 const char* /*unused*/, const char* /*unused*/) {
  const bool asks_for_columns =
      action == SQLITE_PRAGMA && name != nullptr && name == columns_pragma;
  const bool reads = action == SQLITE_SELECT || action == SQLITE_READ || asks_for_columns;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string_view view_of(const void* data, int size) {
  return {static_cast<const char*>(data), static_cast<std::size_t>(std::max(size, 0))};
}

// A row of a table: columns in the order asked for. Lives until the next.
class Row {
 public:
  Row(sqlite3_stmt* statement, const std::vector<int>& places)
      : statement_(statement), places_(places) {}

  // nullopt for what is no integer, and for columns that the table does not have.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t column) const {
    const int place = places_[column];
    if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_INTEGER) return std::nullopt;
    return sqlite3_column_int64(statement_, place);
  }

  [[nodiscard]] std::optional<std::string_view> text(std::size_t column) const {
    const int place = places_[column];
    if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_TEXT) return std::nullopt;
    const unsigned char* text = sqlite3_column_text(statement_, place);
    if (text == nullptr) return std::nullopt;
    return view_of(text, sqlite3_column_bytes(statement_, place));
  }

  [[nodiscard]] std::optional<std::string_view> bytes(std::size_t column) const {
    const int place = places_[column];
    if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_BLOB) return std::nullopt;
    const void* bytes = sqlite3_column_blob(statement_, place);
    if (bytes == nullptr) return std::nullopt;
    return view_of(bytes, sqlite3_column_bytes(statement_, place));
  }

 private:
  sqlite3_stmt* statement_;
  const std::vector<int>& places_;  // in the statement; -1: the table has no such column
};

// An SQLite file in memory, which may come from anyone: whole tables are read, and nothing that it
// defines is run: no view, trigger, virtual table or computed column. Steps of SQLite's are bounded
// by the size of the file. Members throw FormatError for what is damaged or cut off, is no
// database, or has a write-ahead log.
class Database {
 public:
  // `bytes` have to outlive it.
  explicit Database(std::string_view bytes) {
    work_.most = steps_free + steps_a_byte * bytes.size();
    try {
      open(bytes);
    } catch (...) {
      sqlite3_close(handle_);
      throw;
    }
  }

  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(handle_); }

  [[nodiscard]] bool has(std::string_view table) const {
    return std::ranges::find(tables_, table) != tables_.end();
  }

  // Calls `take` for each row of a table of that name. Columns that it lacks read as nothing.
  void rows(std::string_view table, std::initializer_list<std::string_view> columns,
            const std::function<void(const Row&)>& take) const {
    if (table != "sqlite_master" && !has(table)) return;
    const auto known = columns_of(table);
    std::vector<int> places;
    std::string list;
    int place = 0;
    for (const std::string_view column : columns) {
      const bool is_known = std::ranges::find(known, column) != known.end();
      places.push_back(is_known ? place++ : -1);
      if (is_known) list += (list.empty() ? "" : ", ") + quoted(column);
    }
    if (list.empty()) return;
    each_row("SELECT " + list + " FROM " + quoted(table),
             [&](sqlite3_stmt* statement) { take(Row(statement, places)); });
  }

 private:
  void open(std::string_view bytes) {
    // Byte 18 is 2 where changes lie in a file beside ("Database File Format", 1.3).
    if (bytes.size() > 19 && bytes[18] == 2) {
      throw FormatError(0, "is an SQLite file with a write-ahead log, which may lack what is there",
                        "close what writes it, then: sqlite3 FILE 'PRAGMA journal_mode=DELETE'");
    }
    const int opened =
        sqlite3_open_v2(":memory:", &handle_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
    if (handle_ == nullptr) throw std::bad_alloc();
    if (opened != SQLITE_OK) fail(opened);
    // It is not written to: READONLY.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    const int read =
        sqlite3_deserialize(handle_, "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
    if (read != SQLITE_OK) fail(read);
    defend();
    tables_.clear();
    rows("sqlite_master", {"type", "name", "rootpage"}, [&](const Row& row) {
      const auto type = row.text(0), name = row.text(1);
      // Virtual tables have no page.
      if (type == "table" && name && row.integer(2).value_or(0) > 0) tables_.emplace_back(*name);
    });
  }

  // As SQLite's page "Defense Against The Dark Arts" has it.
  void defend() const {
    for (const auto& [what, value] :
         {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
          std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
          std::pair{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}}) {
      sqlite3_db_config(handle_, what, value, nullptr);
    }
    // Strings of a report hold what programs printed: some are megabytes.
    for (const auto& [what, most] :
         {std::pair{SQLITE_LIMIT_LENGTH, 256 << 20}, std::pair{SQLITE_LIMIT_SQL_LENGTH, 100'000},
          std::pair{SQLITE_LIMIT_COLUMN, 200}, std::pair{SQLITE_LIMIT_EXPR_DEPTH, 10},
          std::pair{SQLITE_LIMIT_COMPOUND_SELECT, 3}, std::pair{SQLITE_LIMIT_VDBE_OP, 25'000},
          std::pair{SQLITE_LIMIT_FUNCTION_ARG, 8}, std::pair{SQLITE_LIMIT_ATTACHED, 0},
          std::pair{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
          std::pair{SQLITE_LIMIT_VARIABLE_NUMBER, 10}, std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
          std::pair{SQLITE_LIMIT_WORKER_THREADS, 0}}) {
      sqlite3_limit(handle_, what, most);
    }
    const auto execute = [&](const char* sql) {
      const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
      if (code != SQLITE_OK) fail(code);
    };
    execute("PRAGMA query_only=ON");
    execute("PRAGMA cell_size_check=ON");
    execute("PRAGMA mmap_size=0");
    sqlite3_set_authorizer(handle_, &only_reading, nullptr);
    sqlite3_progress_handler(
        handle_, look_every,
        [](void* work) {
          auto* counted = static_cast<Work*>(work);
          counted->steps += look_every;
          return counted->steps > counted->most ? 1 : 0;
        },
        const_cast<Work*>(&work_));
  }
  template <class Take>
  void each_row(const std::string& sql, const Take& take) const {
    sqlite3_stmt* made = nullptr;
    const int prepared = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &made, nullptr);
    const Statement statement(made);
    if (prepared != SQLITE_OK) fail(prepared);
    int code = SQLITE_OK;
    while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) take(statement.get());
    if (code != SQLITE_DONE) fail(code);
  }

  // Without computed ones, which run functions: the authorizer is not asked for those.
  [[nodiscard]] std::vector<std::string> columns_of(std::string_view table) const {
    std::vector<std::string> columns;
    const std::string sql = "PRAGMA " + std::string(columns_pragma) + "(" + quoted(table) + ")";
    each_row(sql, [&](sqlite3_stmt* statement) {
      constexpr int name_column = 1, hidden_column = 6;
      const unsigned char* name = sqlite3_column_text(statement, name_column);
      if (name == nullptr || sqlite3_column_int(statement, hidden_column) != 0) return;
      columns.emplace_back(view_of(name, sqlite3_column_bytes(statement, name_column)));
    });
    return columns;
  }

  [[noreturn]] void fail(int code) const {
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    if (code == SQLITE_INTERRUPT) {
      throw FormatError(0, "is a damaged SQLite file: reading it does not end", how_to_export);
    }
    throw FormatError(0,
                      std::string("is an SQLite file that is damaged or cut off: ") +
                          (handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_)),
                      how_to_export);
  }

  struct Work {
    std::uint64_t steps = 0, most = 0;
  };

  sqlite3* handle_ = nullptr;
  Work work_;
  std::vector<std::string> tables_;
};

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
  std::uint32_t name_of_string(std::int64_t id) { return number_in(events_.names, names_, id, ""); }

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

  // One row for a graph's launches tells no collectives. A few, as of optimizers, are left out.
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
