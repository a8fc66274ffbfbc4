#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/units/units.h"

namespace paceline::traces {

// A run's figures by name, neither a step's trace nor a table of collectives: of Horovod's engine,
// DistributedDataParallel's logging, sums over kernels.
struct RunRecord {
  // Text, a count, a ratio, or a figure with its unit.
  using Cell = std::variant<std::string, std::uint64_t, double, Seconds, Bytes, BytesPerSecond>;
  struct Fact {
    std::string name;
    Cell value;
  };
  struct Table {
    std::string title;  // a sentence's beginning, in lower case
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows = {};  // as many cells as columns; at most rows_most
  };
  static constexpr std::size_t rows_most = 1000;

  // "-" for what is not told.
  template <class T>
  [[nodiscard]] static Cell cell_of(const std::optional<T>& value) {
    return value ? Cell(*value) : Cell(std::string("-"));
  }
  void add(Table table) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }

  std::string title;  // "Horovod's timeline of 8 ranks"
  std::vector<Fact> facts;
  std::vector<Table> tables;
  std::vector<std::string> notes;  // sentences: what is left out, or not told
  // Keys of a scenario that the file tells, as --set takes them: {"training.cycle_time", "5ms"}.
  std::vector<std::pair<std::string, std::string>> settings;
};

}  // namespace paceline::traces
