#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/report/fields.h"

namespace paceline::sweep {

// An SQLite file. Members throw InputError where another path would do, or the file is no database
// or a damaged one; else BackendError: a full disk, a writer that does not let others write.
class Database {
 public:
  // Opens it, and makes it where there is none unless it is only read.
  enum class Access { read, write };
  Database(const std::string& path, Access access);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  [[nodiscard]] const std::string& path() const { return path_; }
  void execute(const std::string& sql) const;
  // The first value of the first row; of no row, nothing.
  [[nodiscard]] Cell value_of(const std::string& sql) const;
  [[nodiscard]] std::int64_t changes() const;  // of the last statement
  // What is read is of one moment; all or nothing of it is written. Writers wait for each other.
  void in_transaction(Access access, const std::function<void()>& work) const;
  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  std::string path_;
  sqlite3* handle_ = nullptr;
};

// A statement that is run many times.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  // Binds the next parameter, from the first one on after each reset.
  Statement& bind(const Cell& value);
  Statement& bind_bytes(std::string_view bytes);  // stay where they are until the reset
  // The next row; false: there is none any more, and it is reset.
  [[nodiscard]] bool next();
  // To the end.
  void run();
  void reset();

  [[nodiscard]] Cell cell(int column) const;

 private:
  const Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

}  // namespace paceline::sweep
