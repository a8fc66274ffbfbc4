#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/text/format_error.h"

namespace paceline::traces::nsys {

// A row of a table: columns in the order asked for. Lives until the next.
class Row {
 public:
  Row(sqlite3_stmt* statement, const std::vector<int>& places)
      : statement_(statement), places_(places) {}

  // nullopt for what is no integer, and for columns that the table does not have.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t column) const;
  [[nodiscard]] std::optional<std::string_view> text(std::size_t column) const;
  [[nodiscard]] std::optional<std::string_view> bytes(std::size_t column) const;

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
  explicit Database(std::string_view bytes);  // which has to outlive it
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  [[nodiscard]] bool has(std::string_view table) const;

  // Calls `take` for each row of a table, if there is one of that name. Columns that it lacks are
  // read as nothing.
  void rows(std::string_view table, std::initializer_list<std::string_view> columns,
            const std::function<void(const Row&)>& take) const;

 private:
  void open(std::string_view bytes);
  void defend() const;
  [[nodiscard]] std::vector<std::string> columns_of(std::string_view table) const;
  [[noreturn]] void fail(int code) const;

  struct Work {
    std::uint64_t steps = 0, most = 0;
  };

  sqlite3* handle_ = nullptr;
  Work work_;
  std::vector<std::string> tables_;
};

}  // namespace paceline::traces::nsys
