// Logs of collectives and ping-pongs as they come out of terminals, launchers and hands: whatever
// befell a text, each number that is read of it is one that its program wrote. PACELINE_MUTATIONS
// says how many cases, PACELINE_MUTATION=N runs the N-th alone and prints its text.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/mutated_text.h"
#include "traces/formats/formats.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/ping_pong/ping_pong.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using paceline::test::MutatedText;
using paceline::test::TextMutator;

const std::string all_fixtures = PACELINE_SOURCE_DIR "/tests/fixtures/";

struct LogRow {
  std::uint64_t size;
  std::multiset<double> times_s;
};

// Tables of one kind or the other, with what has to be kept of them.
struct ReadTable {
  std::optional<collectives::Collective> collective;
  std::vector<collectives::Collective> may_be;
  bool is_other = false;
  std::uint32_t ranks = 0, nodes = 0;
  std::optional<cost::LinkPlace> between;
  std::vector<LogRow> rows;
};
using ReadTables = std::vector<ReadTable>;

ReadTables logs_of(const std::string& text) {
  ReadTables tables;
  for (const CollectiveLog& log : read_collective_logs(text)) {
    ReadTable table{log.collective, log.may_be, !log.other.empty(), log.ranks, log.nodes, {}, {}};
    for (const CollectiveLog::Row& row : log.rows) {
      table.rows.push_back({row.size.value(), {}});
      for (const Seconds time : row.times) table.rows.back().times_s.insert(time.value());
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

ReadTables ping_pongs_of(const std::string& text) {
  ReadTables tables;
  for (const PingPong& one : read_ping_pongs(text)) {
    ReadTable table;
    table.between = one.between;
    for (const PingPong::Row& row : one.rows) {
      table.rows.push_back({row.size.value(), {row.time.value()}});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

using ReadText = ReadTables (*)(const std::string&);

// nullopt where it is refused.
std::optional<ReadTables> tables_or_none(ReadText read, const std::string& text) {
  try {
    return read(text);
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

bool contains(const std::vector<collectives::Collective>& list, collectives::Collective one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// Whether what is read says nothing of the table that it did not say itself.
bool agrees(const ReadTable& read, const ReadTable& original) {
  if (read.ranks != 0 && read.ranks != original.ranks) return false;
  if (read.nodes != 0 && read.nodes != original.nodes) return false;
  if (read.between && read.between != original.between) return false;
  if (read.is_other && !original.is_other) return false;
  if (read.collective) return read.collective == original.collective;
  return !original.collective || read.may_be.empty() || contains(read.may_be, *original.collective);
}

std::string text_of_row(const LogRow& row) {
  std::string out = std::to_string(row.size);
  for (const double time : row.times_s) out += " " + std::to_string(time * 1e6) + " us";
  return out;
}

std::string text_of_table(const ReadTable& table) {
  std::string out = table.is_other ? "other" : "open";
  if (table.collective) out = std::string(to_text(*table.collective));
  for (const auto one : table.may_be) out += "/" + std::string(to_text(one));
  if (table.between) out += ", " + std::string(to_text(*table.between));
  return out + ", " + std::to_string(table.ranks) + " ranks, " + std::to_string(table.nodes) +
         " nodes";
}

// The rows of the originals, each of which may be read once, in whole or one of its times.
class Originals {
 public:
  explicit Originals(const ReadTables& tables) : tables_(tables) {
    for (const ReadTable& table : tables_) unread_.push_back(table.rows);
  }

  // What is wrong with what was read; empty where nothing is.
  std::string wrong(const ReadTables& read) {
    for (const ReadTable& table : read) {
      for (const LogRow& row : table.rows) {
        if (!take(table, row)) return text_of_table(table) + ": " + text_of_row(row);
      }
    }
    return "";
  }

 private:
  bool take(const ReadTable& read, const LogRow& row) {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (!agrees(read, tables_[i])) continue;
      const auto found = std::find_if(unread_[i].begin(), unread_[i].end(), [&](const LogRow& one) {
        return one.size == row.size && std::includes(one.times_s.begin(), one.times_s.end(),
                                                     row.times_s.begin(), row.times_s.end());
      });
      if (found == unread_[i].end()) continue;
      unread_[i].erase(found);
      return true;
    }
    return false;
  }

  const ReadTables& tables_;
  std::vector<std::vector<LogRow>> unread_;
};

struct Fixture {
  std::string name, text;
  ReadTables tables;
};

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Those of the folders that are read as they are.
std::vector<Fixture> readable(const std::vector<std::string>& folders, ReadText read) {
  std::set<std::filesystem::path> paths;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(all_fixtures + folder)) {
      paths.insert(entry.path());
    }
  }
  std::vector<Fixture> found;
  for (const auto& path : paths) {
    // Lines inside an object lose it, and its call then takes what another rank had.
    if (path.filename() == "inspector_pretty.json") continue;
    std::string text = file_text(path);
    auto tables = tables_or_none(read, text);
    if (tables) found.push_back({path.filename().string(), std::move(text), std::move(*tables)});
  }
  return found;
}

bool is_json(const std::string& text) {
  const auto first = text.find_first_not_of(" \r\n\t");
  return first != std::string::npos && text[first] == '{';
}

// Medians over an inspector's lines change with each that is lost. A comma-separated table that
// ends early looks whole, and no run of NCCL's prints one.
paceline::test::Bearable bearable(const Fixture& fixture) {
  const bool json = is_json(fixture.text);
  const bool table = fixture.name.ends_with(".csv");
  return {!json, !json && !table, !table};
}

struct MutatedCase {
  MutatedText mutated;
  std::string name;
  ReadTables originals;
};

MutatedCase case_of(std::size_t number, const std::vector<Fixture>& fixtures) {
  TextMutator change(number);
  const Fixture& one = change.one_of(fixtures);
  if (change.below(16) != 0 || is_json(one.text)) {
    return {paceline::test::mutated(one.text, bearable(one), change), one.name, one.tables};
  }
  // Two programs at once, each as a launcher's prefix names it.
  const Fixture& other = change.one_of(fixtures);
  MutatedCase out{{change.interleaved(one.text, other.text), "two logs"},
                  one.name + " + " + other.name,
                  one.tables};
  out.originals.insert(out.originals.end(), other.tables.begin(), other.tables.end());
  return out;
}

std::optional<std::size_t> only_case() {
  const char* said = std::getenv("PACELINE_MUTATION");
  if (said == nullptr) return std::nullopt;
  return std::strtoul(said, nullptr, 10);
}

constexpr std::size_t shown_most = 12;

void expect_no_other_numbers(const std::vector<Fixture>& fixtures, ReadText read,
                             std::size_t cases) {
  ASSERT_FALSE(fixtures.empty());
  const auto only = only_case();
  std::size_t rows = 0, wrong = 0, refused = 0;
  for (std::size_t i = only.value_or(0); i < (only ? *only + 1 : cases); ++i) {
    const MutatedCase one = case_of(i, fixtures);
    if (only) std::fwrite(one.mutated.text.data(), 1, one.mutated.text.size(), stdout);
    const auto tables = tables_or_none(read, one.mutated.text);
    refused += tables ? 0U : 1U;
    if (!tables) continue;
    for (const ReadTable& table : *tables) rows += table.rows.size();
    const std::string what = Originals(one.originals).wrong(*tables);
    if (what.empty()) continue;
    if (++wrong <= shown_most) {
      ADD_FAILURE() << "case " << i << ", " << one.name << ", " << one.mutated.how << ": " << what;
    }
  }
  std::printf("%zu fixtures, %zu cases, %zu refused, %zu rows read, %zu wrong\n", fixtures.size(),
              cases, refused, rows, wrong);
  EXPECT_EQ(wrong, 0U);
}

TEST(MutatedLogs, OfCollectivesGiveNoOtherNumbers) {
  expect_no_other_numbers(readable({"collective_log", "pasted"}, logs_of), logs_of,
                          paceline::test::mutation_cases(6000));
}

TEST(MutatedLogs, OfPingPongsGiveNoOtherNumbers) {
  expect_no_other_numbers(readable({"ping_pong", "pasted"}, ping_pongs_of), ping_pongs_of,
                          paceline::test::mutation_cases(2000));
}

// A number of a row: where it stands, how many decimals it has.
struct PrintedNumber {
  std::size_t at, length;
};

// Size, count, then times and bandwidths of a row of nccl-tests; empty for other lines.
std::vector<PrintedNumber> numbers_of_row(const std::string& text, std::size_t start,
                                          std::size_t end) {
  std::vector<PrintedNumber> numbers;
  bool has_type = false;
  for (std::size_t at = start; at < end;) {
    at = text.find_first_not_of(" \t", at);
    if (at == std::string::npos || at >= end) break;
    const std::size_t stop = std::min(text.find_first_of(" \t\r\n", at), end);
    const std::string word = text.substr(at, stop - at);
    has_type = has_type || (numbers.size() == 2 && word == "float");
    if (word.find_first_not_of("0123456789.") == std::string::npos)
      numbers.push_back({at, stop - at});
    at = stop;
  }
  return has_type ? numbers : std::vector<PrintedNumber>();
}

struct ChangedDigit {
  std::string text;
  std::size_t place = 0;  // of the number in its row: 0 is the size
  std::string from, to;
};

// One digit of one number of one row, or nothing where the text has no row.
std::optional<ChangedDigit> with_changed_digit(const std::string& text, TextMutator& change) {
  std::vector<std::vector<PrintedNumber>> rows;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (auto row = numbers_of_row(text, at, end); row.size() >= 5) rows.push_back(std::move(row));
    at = end + 1;
  }
  if (rows.empty()) return std::nullopt;
  const auto& row = change.one_of(rows);
  const std::size_t place = change.below(row.size());
  const auto [at, length] = row[place];
  ChangedDigit out{text, place, text.substr(at, length), ""};
  std::size_t digit = at + change.below(length);
  while (text[digit] == '.') digit = at + change.below(length);
  out.text[digit] =
      static_cast<char>('0' + (text[digit] - '0' + 1 + static_cast<int>(change.below(9))) % 10);
  out.to = out.text.substr(at, length);
  return out;
}

// How far apart two numbers are that each stand for what is rounded to these decimals.
double relative_rounding(const std::string& printed) {
  const double value = std::strtod(printed.c_str(), nullptr);
  const auto point = printed.find('.');
  const double decimals =
      point == std::string::npos ? 0 : static_cast<double>(printed.size() - point - 1);
  return value > 0 ? 0.5 * std::pow(10.0, -decimals) / value : 1;
}

// A change that is read hides within what the row's other numbers are rounded to: with a time of
// four digits and an algbw of two decimals.
bool is_hidden(const ChangedDigit& digit, const ReadTables& original) {
  const double from = std::strtod(digit.from.c_str(), nullptr);
  const double to = std::strtod(digit.to.c_str(), nullptr);
  const double moved = std::abs(to - from) / std::max(from, 1e-9);
  double loosest = 0;
  for (const ReadTable& table : original) {
    for (const LogRow& row : table.rows) {
      // algbw has two decimals, and stands beside the time that it was computed of.
      for (const double time : row.times_s) {
        const double algbw = static_cast<double>(row.size) / time * 1e-9;
        const bool is_its = digit.place == 0 ? static_cast<double>(row.size) == from
                                             : std::abs(time * 1e6 - from) < 1e-6 * from;
        if (is_its) loosest = std::max(loosest, 0.005 / algbw + relative_rounding(digit.from));
      }
    }
  }
  return moved <= 2 * loosest;
}

TEST(MutatedLogs, WithAChangedDigitLeaveTheRowOutUnlessRoundingHidesIt) {
  const auto fixtures = readable({"collective_log", "pasted"}, logs_of);
  const auto only = only_case();
  std::size_t wrong = 0, tried = 0, hidden = 0;
  const std::size_t cases = paceline::test::mutation_cases(2000);
  for (std::size_t i = only.value_or(0); i < (only ? *only + 1 : cases); ++i) {
    TextMutator change(i);
    const Fixture& one = change.one_of(fixtures);
    const auto digit = with_changed_digit(one.text, change);
    if (!digit) continue;
    ++tried;
    if (only) std::fwrite(digit->text.data(), 1, digit->text.size(), stdout);
    const auto tables = tables_or_none(logs_of, digit->text);
    if (!tables) continue;
    const std::string what = Originals(one.tables).wrong(*tables);
    if (what.empty()) continue;
    if (is_hidden(*digit, one.tables)) {
      ++hidden;
    } else if (++wrong <= shown_most) {
      ADD_FAILURE() << "case " << i << ", " << one.name << ", number " << digit->place << ": "
                    << digit->from << " -> " << digit->to << ": " << what;
    }
  }
  std::printf("%zu digits, %zu hidden by rounding, %zu wrong\n", tried, hidden, wrong);
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace paceline::traces
