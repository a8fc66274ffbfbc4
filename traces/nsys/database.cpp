#include "traces/nsys/database.h"

#include <algorithm>
#include <memory>

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

}  // namespace

std::optional<std::int64_t> Row::integer(std::size_t column) const {
  const int place = places_[column];
  if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, place);
}

std::optional<std::string_view> Row::text(std::size_t column) const {
  const int place = places_[column];
  if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_TEXT) return std::nullopt;
  const unsigned char* text = sqlite3_column_text(statement_, place);
  if (text == nullptr) return std::nullopt;
  return view_of(text, sqlite3_column_bytes(statement_, place));
}

std::optional<std::string_view> Row::bytes(std::size_t column) const {
  const int place = places_[column];
  if (place < 0 || sqlite3_column_type(statement_, place) != SQLITE_BLOB) return std::nullopt;
  const void* bytes = sqlite3_column_blob(statement_, place);
  if (bytes == nullptr) return std::nullopt;
  return view_of(bytes, sqlite3_column_bytes(statement_, place));
}

Database::Database(std::string_view bytes) {
  work_.most = steps_free + steps_a_byte * bytes.size();
  try {
    open(bytes);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::open(std::string_view bytes) {
  // Bytes 18 and 19 are 2 where changes lie in a file beside (SQLite, "Database File Format", 1.3).
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
void Database::defend() const {
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

bool Database::has(std::string_view table) const {
  return std::ranges::find(tables_, table) != tables_.end();
}

// Without computed ones, which run functions: the authorizer is not asked for what a schema
// contains.
std::vector<std::string> Database::columns_of(std::string_view table) const {
  sqlite3_stmt* made = nullptr;
  const std::string sql = "PRAGMA " + std::string(columns_pragma) + "(" + quoted(table) + ")";
  const int prepared = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &made, nullptr);
  const Statement statement(made);
  if (prepared != SQLITE_OK) fail(prepared);
  std::vector<std::string> columns;
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    constexpr int name_column = 1, hidden_column = 6;
    const unsigned char* name = sqlite3_column_text(statement.get(), name_column);
    if (name == nullptr || sqlite3_column_int(statement.get(), hidden_column) != 0) continue;
    columns.emplace_back(view_of(name, sqlite3_column_bytes(statement.get(), name_column)));
  }
  if (code != SQLITE_DONE) fail(code);
  return columns;
}

void Database::rows(std::string_view table, std::initializer_list<std::string_view> columns,
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
  const std::string sql = "SELECT " + list + " FROM " + quoted(table);
  sqlite3_stmt* made = nullptr;
  const int prepared = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &made, nullptr);
  const Statement statement(made);
  if (prepared != SQLITE_OK) fail(prepared);
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) take(Row(statement.get(), places));
  if (code != SQLITE_DONE) fail(code);
}

void Database::fail(int code) const {
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_INTERRUPT) {
    throw FormatError(0, "is a damaged SQLite file: reading it does not end", how_to_export);
  }
  throw FormatError(0,
                    std::string("is an SQLite file that is damaged or cut off: ") +
                        (handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_)),
                    how_to_export);
}

}  // namespace paceline::traces::nsys
