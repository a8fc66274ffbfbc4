#include "scenarios/sweep/database.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/files/system_error.h"

namespace paceline::sweep {
namespace {

// A writer that has not ended a batch by then hangs.
constexpr int others_have_ms = 60'000;

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
  const Location where{path_, 0, 0};
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

}  // namespace paceline::sweep
