#include "scenarios/sweep/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
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

namespace fs = std::filesystem;

PointKey key_of(std::string_view text) {
  const loader::Sha256 digest = loader::digest_of(text);
  PointKey key;
  std::copy_n(digest.begin(), key.bytes.size(), key.bytes.begin());
  return key;
}

void combine(const PointKey& other, PointKey& key) {
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    key.bytes[i] = static_cast<std::uint8_t>(key.bytes[i] ^ other.bytes[i]);
  }
}

std::string contents_of(const std::string& path) {
  files::note_input(path);
  const loader::Sha256 digest = loader::sha256_of_file(path);
  return std::string(digest.begin(), digest.end());
}

// What the files of a folder hold, in the order of their names.
std::string contents_of_folder(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  std::string all;
  for (const std::string& file : files) {
    all += file.substr(folder.string().size()) + '\0' + contents_of(file);
  }
  return all;
}

// A value that is the path of a file stands for what that holds; of folders only traces are read.
PointKey key_of(const std::string& path, const ScenarioFile::Value& value) {
  std::string all = path + '\0' + value.text + '\0';
  std::error_code unknown;
  const fs::path named = fs::path(value.folder) / value.text;
  if (value.text.find('\1') == std::string::npos && !value.text.empty()) {
    if (fs::is_regular_file(named, unknown)) {
      all += contents_of(named.string());
    } else if (path.starts_with("workload.trace") && fs::is_directory(named, unknown)) {
      all += contents_of_folder(named);
    }
  }
  return key_of(all);
}

// An identity that every store gives the same content: 63 bits of its SHA-256.
std::int64_t id_of(const std::string& content) {
  const loader::Sha256 digest = loader::digest_of(content);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < sizeof id; ++i) id = id << 8U | digest[i];
  return static_cast<std::int64_t>(id >> 1U);
}

std::string schema() {
  std::string columns;
  for (const PointColumn& column : point_columns()) {
    columns += fmt::format("{} {}, ", column.name, type_of(column));
  }
  return fmt::format(
      "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
      "CREATE TABLE scenarios (id INTEGER PRIMARY KEY, name TEXT, path TEXT, sha256 TEXT,"
      " settings TEXT, text TEXT);"
      "CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT);"
      "CREATE TABLE points (key BLOB PRIMARY KEY, scenario INTEGER, number INTEGER, axes TEXT, {}"
      "cause TEXT, assumed INTEGER);"
      "PRAGMA application_id = {}; PRAGMA user_version = {};",
      columns, application_id, schema_version);
}

std::string column_names() {
  std::string names;
  for (const PointColumn& column : point_columns()) names += fmt::format("{}, ", column.name);
  return names;
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

bool is_new(const Database& database) {
  return database.value_of("SELECT count(*) FROM sqlite_master") == Cell(std::int64_t{0}) &&
         database.value_of("PRAGMA application_id") == Cell(std::int64_t{0});
}

}  // namespace

Database::Database(const std::string& path, Access access) : path_(path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    files::throw_system_error(path, "is no database", EISDIR);
  }
  // What begins with a colon is a name of SQLite's own.
  const std::string name = path.starts_with(':') ? "./" + path : path;
  const int flags =
      access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = ::sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr);
  try {
    if (code != SQLITE_OK) fail(code);
    ::sqlite3_busy_timeout(handle_, others_have_ms);
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
  const int system = handle_ == nullptr ? 0 : ::sqlite3_system_errno(handle_);
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

Cell Statement::cell(int column) const {
  switch (::sqlite3_column_type(handle_, column)) {
    case SQLITE_INTEGER: return std::int64_t{::sqlite3_column_int64(handle_, column)};
    case SQLITE_FLOAT: return ::sqlite3_column_double(handle_, column);
    case SQLITE_NULL: return {};
    default: break;
  }
  const auto* const bytes = static_cast<const char*>(::sqlite3_column_blob(handle_, column));
  const int size = ::sqlite3_column_bytes(handle_, column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

const std::string& model_version() {
  static const std::string version =
      fmt::format("{} {} simgrid {}", build_label.version, build_label.commit, build_label.simgrid);
  return version;
}

PointKeys::PointKeys(const ScenarioFile& file) : file_(file), common_(key_of(model_version())) {
  for (const auto& [path, value] : file.values()) combine(key_of(path, value), common_);
  for (const ScenarioFile::Axis& axis : file.axes()) {
    axes_.emplace_back();
    for (const AxisValue& value : axis.values) {
      axes_.back().push_back(key_of(axis.path, {value.text, axis.folder}));
    }
  }
  // Evidence conditions all points.
  PointKey evidence;
  for (const std::size_t point : file.known_points()) {
    const double measured = file.measured(point)->throughput.value();
    combine(key_of(fmt::format("known {} {}", measured, described(point).view())), evidence);
  }
  combine(evidence, common_);
}

PointKey PointKeys::of(std::size_t point) const {
  PointKey key = described(point);
  if (const auto measured = file_.measured(point)) {
    combine(key_of(fmt::format("measured {} {}", measured->throughput.value(), measured->known)),
            key);
  }
  return key;
}

PointKey PointKeys::described(std::size_t point) const {
  PointKey key = common_;
  for (std::size_t i = axes_.size(); i-- > 0;) {
    combine(axes_[i][point % axes_[i].size()], key);
    point /= axes_[i].size();
  }
  return key;
}

struct Store::Statements {
  explicit Statements(const Database& database)
      : find(database, "SELECT " + row_columns() +
                           " FROM points LEFT JOIN texts ON texts.id = assumed WHERE key = ?"),
        forget_failed(database, "DELETE FROM points WHERE key = ? AND cause <> ''"),
        add_text(database, "INSERT OR IGNORE INTO texts VALUES (?, ?)"),
        add_point(
            database, "INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?, " + [] {
              std::string marks;
              for (std::size_t i = 0; i < point_columns().size(); ++i) {
                marks += "?, ";
              }
              return marks;
            }() + "?, ?)") {}

  Statement find, forget_failed, add_text, add_point;
};

Store::Store(const std::string& path) : path_(path) {
  if (path == "-") throw InputError({path}, "standard output cannot be a store", "name a file");
  std::error_code error;
  if (std::filesystem::exists(path, error) && std::filesystem::is_other(path, error)) {
    throw InputError({path}, "is not a regular file", "name another store");
  }
  const auto place = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  files::FilesInUse::of_process().add_output(path, place.string());
  place_ = place.string();
  try {
    database_.emplace(path, Database::Access::write);
    if (is_new(*database_)) make();
    expect_ours(*database_);
    keep_a_log(*database_);
    statements_ = std::make_unique<Statements>(*database_);
  } catch (...) {
    files::FilesInUse::of_process().remove_output(place_);
    throw;
  }
}

// Unless another program has by then.
void Store::make() {
  database_->in_transaction(Database::Access::write, [&] {
    if (!is_new(*database_)) return;
    database_->execute(schema());
    Statement meta(*database_, "INSERT INTO meta VALUES ('model', ?)");
    meta.bind(model_version()).run();
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
  files::FilesInUse::of_process().remove_output(place_);
}

std::int64_t Store::add(const ScenarioFile& file) {
  std::string words;
  JsonWriter(words).value(spelled(file.settings()));
  const std::int64_t id = id_of(file.path() + '\0' + words + '\0' + file.text());
  Statement add(*database_, "INSERT OR IGNORE INTO scenarios VALUES (?, ?, ?, ?, ?, ?)");
  add.bind(id).bind(file.name()).bind(file.path()).bind(file.sha256()).bind(words);
  add.bind(file.text()).run();
  Statement unit(*database_, "INSERT OR IGNORE INTO meta VALUES (?, ?)");
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
  if (find.bind_bytes(key.view()).next()) found = row_from(find, 0);
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
  }
  Statement attach(*database_, "ATTACH ? AS other");
  attach.bind(other.starts_with(':') ? "./" + other : other).run();
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
