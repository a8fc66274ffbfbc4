#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/sweep/database.h"
#include "scenarios/sweep/key.h"
#include "scenarios/sweep/row.h"

namespace paceline::sweep {

// What `PRAGMA application_id` and `PRAGMA user_version` of a store say: "PcLn", and the schema.
inline constexpr std::int64_t application_id = 0x50634c6e, schema_version = 3;

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
  [[nodiscard]] std::uint64_t points() const;

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

  // Of an axis, as AxisValue has it; empty where it has none.
  [[nodiscard]] std::string unit_of(const std::string& axis) const;

  // Takes the rows of another store likewise; returns how many are new. Throws InputError as the
  // constructor does, and where there is no such file.
  std::uint64_t merge(const std::string& other);

 private:
  struct Statements;
  void make();

  std::string path_;
  std::string place_;  // among outputs (files_in_use.h)
  std::optional<Database> database_;
  std::unique_ptr<Statements> statements_;
};

// The points of a store, whatever version of Paceline predicted them. Only read: others may write
// it.
class StoredPoints {
 public:
  // Throws InputError for what is no store, or one of another schema.
  explicit StoredPoints(const std::string& path);

  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::string unit_of(const std::string& axis) const;
  // In the order of the files' names and their grids.
  void for_each(const std::function<void(const std::string& scenario, const Row&)>& take) const;

 private:
  Database database_;
};

}  // namespace paceline::sweep
