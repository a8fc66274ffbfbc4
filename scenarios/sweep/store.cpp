#include "scenarios/sweep/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <new>

#include "scenarios/build_label.h"
#include "scenarios/document/document.h"
#include "scenarios/errors.h"
#include "scenarios/files/files_in_use.h"
#include "scenarios/files/input_file.h"
#include "scenarios/files/output_file.h"

namespace paceline::sweep {
namespace {

// A writer that has not ended a batch by then hangs.
constexpr int others_have_ms = 60'000;

// What SQLite adds to a database's name; the first is the database.
constexpr std::array own_files{"", "-journal", "-wal", "-shm"};

namespace fs = std::filesystem;

// Of a cell, and of no other; whole numbers are the same in columns of either kind of number.
std::string spelled(const Cell& cell) {
  const auto spell = [](const auto& one) -> std::string {
    using Value = std::decay_t<decltype(one)>;
    if constexpr (std::is_same_v<Value, std::monostate>) {
      return "n";
    } else if constexpr (std::is_same_v<Value, std::string>) {
      return fmt::format("t{}:{}", one.size(), one);
    } else {
      const auto real = static_cast<double>(one);
      constexpr double exact = 9007199254740992;  // 2^53
      return std::abs(real) < exact ? fmt::format("d{};", real) : fmt::format("l{};", one);
    }
  };
  return std::visit(spell, cell);
}

// What every store gives the same cells: 63 bits of their SHA-256.
std::int64_t checksum_of(std::span<const Cell> cells) {
  std::string content;
  for (const Cell& cell : cells) content += spelled(cell);
  const loader::Sha256 digest = loader::digest_of(content);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < sizeof id; ++i) id = id << 8U | digest[i];
  return static_cast<std::int64_t>(id >> 1U);
}

std::int64_t id_of(const std::string& text) { return checksum_of(std::array{Cell(text)}); }

// The columns of a point that is read, each with a comma behind it.
std::string column_names() {
  std::string names;
  for (const PointColumn& column : point_columns()) names += fmt::format("{}, ", column.name);
  return names;
}

// As sqlite_schema has them, in the order of their names.
std::vector<std::string> tables() {
  std::string columns;
  for (const PointColumn& column : point_columns()) {
    columns += fmt::format("{} {}, ", column.name, type_of(column));
  }
  return {
      "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT, checksum INTEGER) WITHOUT ROWID",
      "CREATE TABLE points (key BLOB PRIMARY KEY, scenario INTEGER, number INTEGER, axes TEXT, " +
          columns + "cause TEXT, assumed INTEGER, checksum INTEGER)",
      "CREATE TABLE scenarios (id INTEGER PRIMARY KEY, name TEXT, path TEXT, sha256 TEXT,"
      " settings TEXT, text TEXT, checksum INTEGER)",
      "CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)"};
}

// Whether a row of a table is as it was written: conditions of SQL.
constexpr const char* sound_meta = "checksum IS checksum(name, value)";
constexpr const char* sound_scenario =
    "checksum IS checksum(id, name, path, sha256, settings, text)";
constexpr const char* sound_text = "id IS checksum(text)";
// `key`: of the point that is asked for, as an index that is damaged leads to another's row.
std::string sound_point(const char* key) {
  return fmt::format("points.checksum IS checksum({}, scenario, number, axes, {}cause, assumed)",
                     key, column_names());
}

[[noreturn]] void throw_damaged(const Database& database, const std::string& what) {
  throw InputError({database.path()}, "is damaged: " + what, "name another store");
}

void expect_sound(const Database& database, const char* table, const std::string& condition) {
  const auto wrong = fmt::format("SELECT 1 FROM {} WHERE NOT ({}) LIMIT 1", table, condition);
  if (database.value_of(wrong) == Cell()) return;
  throw_damaged(database, fmt::format("a row of {} is not as it was written", table));
}

// Of what nobody looks at row by row.
void expect_sound_points(const Database& database) {
  expect_sound(database, "points", sound_point("key") + " AND assumed IN (SELECT id FROM texts)");
  expect_sound(database, "texts", sound_text);
}

// Throws InputError unless the database is a store whose rows are as this program writes them.
void expect_store(const Database& database) {
  const Location where{database.path()};
  if (database.value_of("PRAGMA application_id") != Cell(application_id)) {
    throw InputError(where, "is a database of something else", "name another store");
  }
  const Cell schema = database.value_of("PRAGMA user_version");
  if (schema != Cell(schema_version)) {
    throw InputError(where,
                     fmt::format("is a store of schema {}; this is schema {}",
                                 std::get<std::int64_t>(schema), schema_version),
                     "name another store");
  }
  // A view, a virtual table or a trigger may do anything, without an end too.
  const Cell made = database.value_of(
      "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)");
  if (made != Cell(fmt::format("{}", fmt::join(tables(), ";")))) {
    throw InputError(where, "has other tables, indexes, views or triggers than a sweep makes",
                     "name another store, or keep your own in a database beside it");
  }
  if (const Cell found = database.value_of("PRAGMA quick_check(1)"); found != Cell("ok")) {
    throw_damaged(database, text_in(found));
  }
  expect_sound(database, "meta", sound_meta);
  expect_sound(database, "scenarios", sound_scenario);
}

// The same, of points that this program's belong among.
void expect_ours(const Database& database) {
  expect_store(database);
  const Location where{database.path()};
  const std::string model = text_in(database.value_of("SELECT value FROM meta WHERE name='model'"));
  if (model != model_version()) {
    throw InputError(
        where, fmt::format("has points of paceline {:.100}; this is {}", model, model_version()),
        "name another store");
  }
}

// So that readers do not hold up writers, where the file system can.
void keep_a_log(const Database& database) {
  try {
    (void)database.value_of("PRAGMA journal_mode = WAL");
  } catch (const BackendError&) {
  }
  database.execute("PRAGMA synchronous = FULL");
}

// A row that find and StoredPoints select: from `first` on its axes, columns, cause and
// assumptions.
std::string row_columns() { return "axes, " + column_names() + "cause, texts.text"; }

Row row_from(const Statement& statement, int first) {
  const int columns = static_cast<int>(point_columns().size());
  Row row{text_in(statement.cell(first)),
          {},
          text_in(statement.cell(first + columns + 1)),
          text_in(statement.cell(first + columns + 2))};
  for (int i = 1; i <= columns; ++i) row.cells.push_back(statement.cell(first + i));
  return row;
}

std::string unit_name(const std::string& axis) { return "unit of " + axis; }

// SQLite takes what begins with a colon or "file:" for more than a name.
std::string plain_name(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

// SQLite's own reason is that of its last try, which may be another. 0: none is seen here.
int why_not_opened(const std::string& path, int mode) {
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  if ((is_there || (mode & W_OK) == 0) && ::access(path.c_str(), mode) != 0) return errno;
  return ::access(fs::path(plain_name(path)).parent_path().c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

Cell cell_of(sqlite3_value* value) {
  switch (::sqlite3_value_type(value)) {
    case SQLITE_INTEGER: return std::int64_t{::sqlite3_value_int64(value)};
    case SQLITE_FLOAT: return ::sqlite3_value_double(value);
    case SQLITE_NULL: return {};
    default: break;
  }
  const auto* const bytes = static_cast<const char*>(::sqlite3_value_blob(value));
  const int size = ::sqlite3_value_bytes(value);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

// checksum(...) of SQL.
void return_checksum(sqlite3_context* context, int count, sqlite3_value** values) {
  try {
    std::vector<Cell> cells;
    for (int i = 0; i < count; ++i) cells.push_back(cell_of(values[i]));
    ::sqlite3_result_int64(context, checksum_of(cells));
  } catch (const std::bad_alloc&) {
    ::sqlite3_result_error_nomem(context);
  }
}

bool is_new(const Database& database) {
  return database.value_of("SELECT count(*) FROM sqlite_master") == Cell(std::int64_t{0}) &&
         database.value_of("PRAGMA application_id") == Cell(std::int64_t{0});
}

}  // namespace

Database::Database(const std::string& path, Access access)
    : path_(path), mode_(access == Access::read ? R_OK : R_OK | W_OK) {
  if (path.starts_with("file:")) {
    throw InputError({path}, "is a URI, and a store is a file", "write ./ before it for a file");
  }
  std::error_code error;
  if (fs::is_directory(path, error)) files::throw_system_error(path, "is no database", EISDIR);
  // A pipe is waited for until somebody writes to it.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    throw InputError({path}, "is not a regular file", "name another store");
  }
  const std::string name = plain_name(path);
  const int flags =
      access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = ::sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr);
  try {
    if (code != SQLITE_OK) fail(code);
    ::sqlite3_busy_timeout(handle_, others_have_ms);
    constexpr int any_number = -1;
    ::sqlite3_create_function(handle_, "checksum", any_number, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                              nullptr, return_checksum, nullptr, nullptr);
    (void)value_of("PRAGMA application_id");  // whether it is one at all
  } catch (...) {
    ::sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { ::sqlite3_close(handle_); }

void Database::fail(int code) const {
  const int kind = code & 0xff;
  std::string what = handle_ == nullptr ? ::sqlite3_errstr(code) : ::sqlite3_errmsg(handle_);
  int system = handle_ == nullptr ? 0 : ::sqlite3_system_errno(handle_);
  const Location where{path_};
  switch (kind) {
    case SQLITE_NOMEM: throw std::bad_alloc();
    case SQLITE_NOTADB: throw InputError(where, "is not an SQLite database", "name another store");
    case SQLITE_CORRUPT: throw InputError(where, "is damaged: " + what, "name another store");
    case SQLITE_READONLY: throw InputError(where, "cannot be written", "");
    case SQLITE_BUSY:
      throw BackendError(
          path_, fmt::format("another program has held it for {} s", others_have_ms / 1000));
    case SQLITE_CANTOPEN:
      if (const int seen = why_not_opened(path_, mode_)) system = seen;
      files::throw_system_error(path_, "cannot be opened", system == 0 ? ENOENT : system);
    case SQLITE_FULL: throw BackendError(path_, "cannot be written: the disk is full");
    default: break;
  }
  if (system != 0) files::throw_system_error(path_, "cannot be read or written", system);
  throw BackendError(path_, "cannot be read or written: " + what);
}

void Database::execute(const std::string& sql) const {
  const int code = ::sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Cell Database::value_of(const std::string& sql) const {
  Statement statement(*this, sql);
  return statement.next() ? statement.cell(0) : Cell();
}

std::int64_t Database::changes() const { return ::sqlite3_changes64(handle_); }

std::uint64_t Database::points() const {
  const Cell count = value_of("SELECT count(*) FROM points");
  return static_cast<std::uint64_t>(std::get<std::int64_t>(count));
}

std::string Database::unit_of(const std::string& axis) const {
  Statement find(*this, "SELECT value FROM meta WHERE name = ?");
  return find.bind(unit_name(axis)).next() ? text_in(find.cell(0)) : "";
}

void Database::in_transaction(Access access, const std::function<void()>& work) const {
  execute(access == Access::read ? "BEGIN" : "BEGIN IMMEDIATE");
  try {
    work();
    execute("COMMIT");
  } catch (...) {
    ::sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  const int code = ::sqlite3_prepare_v2(database.handle_, sql.c_str(), -1, &handle_, nullptr);
  if (code != SQLITE_OK) database.fail(code);
}

Statement::~Statement() { ::sqlite3_finalize(handle_); }

Statement& Statement::bind(const Cell& value) {
  const auto bind_one = [&](const auto& one) {
    using Value = std::decay_t<decltype(one)>;
    if constexpr (std::is_same_v<Value, std::monostate>) {
      return ::sqlite3_bind_null(handle_, ++bound_);
    } else if constexpr (std::is_same_v<Value, std::int64_t>) {
      return ::sqlite3_bind_int64(handle_, ++bound_, one);
    } else if constexpr (std::is_same_v<Value, double>) {
      return ::sqlite3_bind_double(handle_, ++bound_, one);
    } else {
      return ::sqlite3_bind_text64(handle_, ++bound_, one.data(), one.size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    }
  };
  if (const int code = std::visit(bind_one, value); code != SQLITE_OK) database_.fail(code);
  return *this;
}

Statement& Statement::bind_bytes(std::string_view bytes) {
  const int code =
      ::sqlite3_bind_blob64(handle_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) database_.fail(code);
  return *this;
}

bool Statement::next() {
  const int code = ::sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  reset();
  if (code != SQLITE_DONE) database_.fail(code);
  return false;
}

void Statement::run() {
  while (next()) {
  }
}

void Statement::reset() {
  ::sqlite3_reset(handle_);
  bound_ = 0;
}

Cell Statement::cell(int column) const { return cell_of(::sqlite3_column_value(handle_, column)); }

const std::string& model_version() {
  static const std::string version =
      fmt::format("{} {} simgrid {}", build_label.version, build_label.commit, build_label.simgrid);
  return version;
}

namespace {

// "?1, ?2, ?3"
std::string parameters(std::size_t count) {
  std::string all;
  for (std::size_t i = 1; i <= count; ++i) all += fmt::format("{}?{}", i > 1 ? ", " : "", i);
  return all;
}

// A row of so many cells, and their checksum.
std::string insert_checked(const char* table, std::size_t cells) {
  return fmt::format("INSERT OR IGNORE INTO {} VALUES ({}, checksum({}))", table, parameters(cells),
                     parameters(cells));
}

}  // namespace

struct Store::Statements {
  explicit Statements(const Database& database)
      : find(database, fmt::format("SELECT {}, {} AND texts.{} FROM points LEFT JOIN texts"
                                   " ON texts.id = assumed WHERE key = ?1",
                                   row_columns(), sound_point("?1"), sound_text)),
        forget_failed(database, "DELETE FROM points WHERE key = ? AND cause <> ''"),
        add_text(database, "INSERT OR IGNORE INTO texts VALUES (?, ?)"),
        add_point(database, insert_checked("points", point_columns().size() + 6)) {}

  Statement find, forget_failed, add_text, add_point;
};

Store::Store(const std::string& path) : path_(path) {
  if (path == "-") throw InputError({path}, "standard output cannot be a store", "name a file");
  std::error_code error;
  const std::string place = fs::weakly_canonical(fs::absolute(path), error).string();
  try {
    for (const char* const end : own_files) {
      files::FilesInUse::of_process().add_output(path + end, place + end);
      places_.push_back(place + end);
    }
    database_.emplace(path, Database::Access::write);
    if (is_new(*database_)) make();
    expect_ours(*database_);
    keep_a_log(*database_);
    statements_ = std::make_unique<Statements>(*database_);
  } catch (...) {
    forget_places();
    throw;
  }
}

void Store::forget_places() {
  for (const std::string& place : places_) files::FilesInUse::of_process().remove_output(place);
}

// Unless another program has by then.
void Store::make() {
  database_->in_transaction(Database::Access::write, [&] {
    if (!is_new(*database_)) return;
    for (const std::string& table : tables()) database_->execute(table);
    database_->execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                   application_id, schema_version));
    Statement(*database_, insert_checked("meta", 2)).bind("model").bind(model_version()).run();
  });
}

// The last one leaves one file.
Store::~Store() {
  statements_.reset();
  try {
    database_->execute("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE");
  } catch (const std::exception&) {  // others have it open, or the disk is full: a journal stays
  }
  database_.reset();
  forget_places();
}

std::int64_t Store::add(const ScenarioFile& file) {
  std::string words;
  JsonWriter(words).value(spelled(file.settings()));
  const std::int64_t id =
      checksum_of(std::array{Cell(file.path()), Cell(words), Cell(file.text())});
  Statement add(*database_, insert_checked("scenarios", 6));
  add.bind(id).bind(file.name()).bind(file.path()).bind(file.sha256()).bind(words);
  add.bind(file.text()).run();
  Statement unit(*database_, insert_checked("meta", 2));
  for (const ScenarioFile::Axis& axis : file.axes()) {
    const std::string& of_first = axis.values.front().unit;
    if (!of_first.empty()) unit.bind(unit_name(axis.path)).bind(of_first).run();
  }
  return id;
}

bool Store::has_another(const ScenarioFile& file) const {
  Statement others(*database_, "SELECT 1 FROM scenarios WHERE path = ? AND sha256 <> ?");
  return others.bind(file.path()).bind(file.sha256()).next();
}

std::optional<Row> Store::find(const PointKey& key) {
  Statement& find = statements_->find;
  std::optional<Row> found;
  if (find.bind_bytes(key.view()).next()) {
    constexpr int of_text = 3;  // columns of row_columns() beside those of a point
    const int sound = of_text + static_cast<int>(point_columns().size());
    if (find.cell(sound) != Cell(std::int64_t{1})) {
      find.reset();
      throw_damaged(*database_, "a row of points is not that of the point asked for");
    }
    found = row_from(find, 0);
  }
  find.reset();
  return found;
}

std::vector<std::optional<Row>> Store::find_done(std::span<const PointKey> keys) {
  std::vector<std::optional<Row>> found;
  database_->in_transaction(Database::Access::read, [&] {
    for (const PointKey& key : keys) {
      found.push_back(find(key));
      if (found.back() && !found.back()->is_done()) found.back().reset();
    }
  });
  return found;
}

std::vector<bool> Store::write(std::span<const PlacedRow> rows) {
  std::vector<bool> are_new;
  auto& [find, forget_failed, add_text, add_point] = *statements_;
  database_->in_transaction(Database::Access::write, [&] {
    for (const auto& [key, scenario, point, row] : rows) {
      forget_failed.bind_bytes(key.view()).run();
      const std::int64_t assumed = id_of(row.assumed);
      add_text.bind(assumed).bind(row.assumed).run();
      add_point.bind_bytes(key.view()).bind(scenario).bind(static_cast<std::int64_t>(point));
      add_point.bind(row.axes);
      for (const Cell& cell : row.cells) add_point.bind(cell);
      add_point.bind(row.cause).bind(assumed).run();
      are_new.push_back(database_->changes() > 0);
    }
  });
  return are_new;
}

std::uint64_t Store::merge(const std::string& other) {
  files::note_input(other);
  {
    const Database there(other, Database::Access::read);
    expect_ours(there);
    expect_sound_points(there);
  }
  Statement attach(*database_, "ATTACH ? AS other");
  attach.bind(plain_name(other)).run();
  const std::uint64_t before = points();
  database_->in_transaction(Database::Access::write, [&] {
    database_->execute(
        "INSERT OR IGNORE INTO scenarios SELECT * FROM other.scenarios;"
        "INSERT OR IGNORE INTO texts SELECT * FROM other.texts;"
        "INSERT OR IGNORE INTO meta SELECT * FROM other.meta;"
        "DELETE FROM points WHERE cause <> ''"
        " AND key IN (SELECT key FROM other.points WHERE cause = '');"
        "INSERT OR IGNORE INTO points SELECT * FROM other.points");
  });
  const std::uint64_t after = points();
  database_->execute("DETACH other");
  return after - before;
}

StoredPoints::StoredPoints(const std::string& path) : Database(path, Access::read) {
  expect_store(*this);
  expect_sound_points(*this);
}

void StoredPoints::for_each(
    const std::function<void(const std::string& scenario, const Row&)>& take) const {
  Statement select(*this, "SELECT scenarios.name, " + row_columns() +
                              " FROM points LEFT JOIN texts ON texts.id = assumed"
                              " LEFT JOIN scenarios ON scenarios.id = points.scenario"
                              " ORDER BY scenarios.name, points.scenario, number, fidelity");
  while (select.next()) take(text_in(select.cell(0)), row_from(select, 1));
}

}  // namespace paceline::sweep
