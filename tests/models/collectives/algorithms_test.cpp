// Holds every algorithm to the table in models/collectives/ALGORITHMS.md, whose numbers were
// computed by algorithms_table.py from the definitions, not by this code.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/collectives/registry.h"
#include "tests/models/collectives/plan_check.h"

namespace paceline::collectives {
namespace {

constexpr std::string_view header =
    "| collective | algorithm | ranks | orders | options | count | steps | elements sent by 0, 1, "
    "... |";
constexpr std::size_t rows_per_algorithm_min = 3;

struct Row {
  std::size_t line;
  std::string collective, algorithm;
  PlanRequest request;
  std::uint64_t steps;
  std::vector<ElementCount> sent;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) {
    const auto first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

template <class T>
std::vector<T> numbers_of(const std::string& text) {
  std::vector<T> numbers;
  std::istringstream words(text);
  for (std::string word; words >> word;) numbers.push_back(T(std::stoull(word)));
  return numbers;
}

// "-" for rank order, else orders with " / " between them.
std::vector<RingOrder> orders_of(const std::string& text) {
  std::vector<RingOrder> orders;
  if (text == "-") return orders;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '/');) orders.push_back(numbers_of<Rank>(part));
  return orders;
}

// "-" for none, else words: `node 4` ranks a node, `chunk 64` bytes, `inner direct`, `outer ring`,
// `servers 2`, `separate`.
void read_options(const std::string& text, PlanRequest& request) {
  if (text == "-") return;
  std::istringstream words(text);
  for (std::string key, value; words >> key;) {
    if (key == "separate") {
      request.options.separate_servers = true;
      continue;
    }
    words >> value;
    if (key == "node") {
      request.ranks_per_node = static_cast<std::uint32_t>(std::stoul(value));
    } else if (key == "chunk") {
      request.options.chunk_size = Bytes(std::stoull(value));
    } else if (key == "inner") {
      request.options.inner = value;
    } else if (key == "outer") {
      request.options.outer = value;
    } else if (key == "servers") {
      request.options.servers = static_cast<std::uint32_t>(std::stoul(value));
    } else {
      throw std::runtime_error("no option: " + key);
    }
  }
}

// The line numbers of `name` rows are kept for messages. The table ends at the first other line.
std::vector<Row> table() {
  std::ifstream file(std::string(PACELINE_SOURCE_DIR) + "/models/collectives/ALGORITHMS.md");
  std::vector<Row> rows;
  std::string line;
  std::size_t number = 0;
  while (std::getline(file, line) && ++number > 0 && line != header) {
  }
  std::getline(file, line);  // the rule under the header
  ++number;
  while (std::getline(file, line) && line.starts_with('|')) {
    ++number;
    const auto cells = cells_of(line);
    if (cells.size() != 8) throw std::runtime_error("not eight cells: " + line);
    Row row{number,
            cells[0],
            cells[1],
            {RankCount(std::stoull(cells[2])), ElementCount(std::stoull(cells[5])), ElementSize(4),
             Rank(0), orders_of(cells[3])},
            std::stoull(cells[6]),
            numbers_of<ElementCount>(cells[7])};
    read_options(cells[4], row.request);
    rows.push_back(std::move(row));
  }
  return rows;
}

const Algorithm* find(const Row& row) {
  for (const Algorithm& algorithm : algorithms()) {
    if (to_text(algorithm.collective) == row.collective && algorithm.name == row.algorithm) {
      return &algorithm;
    }
  }
  return nullptr;
}

TEST(Algorithms, TakeTheStepsAndSendTheElementsOfTheirTable) {
  const auto rows = table();
  EXPECT_FALSE(rows.empty());
  for (const Row& row : rows) {
    const std::string where = "ALGORITHMS.md:" + std::to_string(row.line);
    const Algorithm* algorithm = find(row);
    ASSERT_NE(algorithm, nullptr) << where << ": no " << row.collective << " " << row.algorithm;
    const Plan plan = algorithm->build(row.request);
    EXPECT_EQ(round_count(plan), row.steps) << where;
    const auto sent = elements_sent(plan);
    ASSERT_EQ(sent.size(), row.sent.size()) << where;
    for (std::size_t r = 0; r < sent.size(); ++r) {
      EXPECT_EQ(sent[r].value(), row.sent[r].value()) << where << ", rank " << r;
    }
  }
}

TEST(Algorithms, HaveRowsEachInTheTable) {
  std::map<const Algorithm*, std::size_t> rows_of;
  for (const Row& row : table()) ++rows_of[find(row)];
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_GE(rows_of[&algorithm], rows_per_algorithm_min)
        << to_text(algorithm.collective) << " " << algorithm.name
        << " needs rows in models/collectives/ALGORITHMS.md";
  }
}

}  // namespace
}  // namespace paceline::collectives
