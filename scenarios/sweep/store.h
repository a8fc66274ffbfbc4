#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/report/fields.h"
#include "scenarios/sweep/crew.h"

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
  // Of a store: how many points it has, and an axis's unit, as AxisValue has it.
  [[nodiscard]] std::uint64_t points() const;
  [[nodiscard]] std::string unit_of(const std::string& axis) const;
  // What is read is of one moment; all or nothing of it is written. Writers wait for each other.
  void in_transaction(Access access, const std::function<void()>& work) const;
  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  std::string path_;
  int mode_;  // as access(2) has it
  sqlite3* handle_ = nullptr;
};

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
  void run();
  void reset();

  [[nodiscard]] Cell cell(int column) const;

 private:
  const Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

// The model that predicts: versions of Paceline, its commit and SimGrid.
[[nodiscard]] const std::string& model_version();

// Equal for points of equal outcome. 128 bits: 10^9 points collide with a probability of 10^-21.
struct PointKey {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  friend auto operator<=>(const PointKey&, const PointKey&) = default;
};

// The keys of a file's points: SHA-256 of each value that a point depends on, with its path, and of
// the contents of a file it names; of what was measured of the point; of the measured points that
// are known, on which all rest; and of the model's version. Combined by exclusive or (Zobrist, A
// New Hashing Method, 1970): order and origin of values do not count, and a point costs an
// operation an axis. A value counts as it is spelled: 100us and 0.1ms are two.
class PointKeys {
 public:
  // Throws InputError where a file that is named cannot be read.
  explicit PointKeys(const ScenarioFile& file);

  [[nodiscard]] PointKey of(std::size_t point) const;

 private:
  // Without what was measured of it.
  [[nodiscard]] PointKey described(std::size_t point) const;

  const ScenarioFile& file_;
  PointKey common_;
  std::vector<std::vector<PointKey>> axes_;  // by axis and value
};

// What `PRAGMA application_id` and `PRAGMA user_version` of a store say: "PcLn", and the schema.
inline constexpr std::int64_t application_id = 0x50634c6e, schema_version = 5;

// A row and where it belongs.
struct PlacedRow {
  PointKey key;
  std::int64_t scenario;  // Store::add
  std::uint64_t point;    // its number in the grid
  Row row;
};

// Predicted points in an SQLite file (STORE.md). Several programs may write one at once. What a
// call has written is there whatever ends the program afterwards; members throw as Database's do.
class Store {
 public:
  // Makes it where there is none. Throws InputError for a file that is another one's, of another
  // schema or of another model's points.
  explicit Store(const std::string& path);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t points() const { return database_->points(); }

  // The file's number among the store's scenarios.
  std::int64_t add(const ScenarioFile& file);
  // Whether it has a file of that path with another text.
  [[nodiscard]] bool has_another(const ScenarioFile& file) const;

  [[nodiscard]] std::optional<Row> find(const PointKey& key);
  // The rows of those that have a prediction.
  [[nodiscard]] std::vector<std::optional<Row>> find_done(std::span<const PointKey> keys);

  // Writes all of them or none. A prediction takes a failure's place, and nothing else that of a
  // row of the same key. Returns for each whether it is there now.
  std::vector<bool> write(std::span<const PlacedRow> rows);

  // Empty where the axis has none.
  [[nodiscard]] std::string unit_of(const std::string& axis) const {
    return database_->unit_of(axis);
  }

  // Takes the rows of another store likewise; returns how many are new. Throws InputError as the
  // constructor does, and where there is no such file.
  std::uint64_t merge(const std::string& other);

 private:
  struct Statements;
  void make();
  void forget_places();

  std::string path_;
  std::vector<std::string> places_;  // among outputs (files_in_use.h)
  std::optional<Database> database_;
  std::unique_ptr<Statements> statements_;
};

// The points of a store, of any version of Paceline. Only read: others may write it.
class StoredPoints : public Database {
 public:
  // Throws InputError for what is no store, or one of another schema.
  explicit StoredPoints(const std::string& path);

  // In the order of the files' names and their grids.
  void for_each(const std::function<void(const std::string& scenario, const Row&)>& take) const;
};

}  // namespace paceline::sweep
