// Logs of collectives as people paste them, and what a person reads in each: a row an input. The
// times are those that stand in the files, in us: out of place, in place. What commands say of them
// is in tests/scenarios/import/pasted_commands_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "traces/formats/formats.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

const std::string pasted_folder = PACELINE_SOURCE_DIR "/tests/fixtures/pasted/";

// Whether a reader may leave the collective to whoever asks.
enum class Open {
  no,
  may,   // as rows of two ranks leave it: a hint (redop sum) is taken and said, or it is asked for
  must,  // the rows say no more
};

struct TableRow {
  std::uint64_t size;
  std::vector<double> times_us;
  friend auto operator<=>(const TableRow&, const TableRow&) = default;
};

struct Table {
  std::set<Collective> collectives;  // that remain; what it is, where it is known
  Open open = Open::no;
  std::set<std::uint32_t> ranks, nodes;  // any of these; 0: not recorded
  std::size_t rows = 0;                  // how many, and some or all of them
  std::vector<TableRow> some = {};
  std::size_t broken = 0;   // of the rows: whole again, or named as skipped
  std::size_t skipped = 0;  // beside these
  std::string other = {};
  std::map<std::string, std::size_t> left_out = {};  // at least these
  bool is_noted = false;                             // a sentence says what is odd about it
};

struct PastedLog {
  const char* file;
  std::vector<Table> tables;
  bool may_be_refused = false;  // with what to do instead
};

const std::vector<TableRow> four_sizes{{1u << 20, {120.0, 122.4}},
                                       {2u << 20, {200.0, 204.0}},
                                       {4u << 20, {360.0, 367.2}},
                                       {8u << 20, {690.0, 703.8}}};

constexpr std::uint64_t MiB = 1u << 20;

// 2 (n-1)/n is 1 on two ranks, and so is the factor of pairs that exchange.
Table four_rows_of_two_nodes() {
  return {{Collective::all_reduce}, Open::may, {2}, {2}, 4, four_sizes};
}

// size / busbw factor 1.5: four ranks of one host, by program name, list and factor.
Table seven_rows_of_four_gpus() {
  return {{Collective::all_reduce},
          Open::no,
          {4},
          {1},
          7,
          {{256 * MiB, {5180.2, 5247.5}}, {65536, {19.26, 19.51}}}};
}

std::vector<PastedLog> simple_logs() {
  Table mixed = four_rows_of_two_nodes();
  mixed.left_out = {{"NCCL's log", 4}};  // three INFO, one WARN
  Table cut = four_rows_of_two_nodes();
  cut.rows = 3;
  cut.some.pop_back();
  cut.skipped = 1;
  Table broken = four_rows_of_two_nodes();
  broken.broken = 1;
  // A command stands before it.
  Table named = four_rows_of_two_nodes();
  named.open = Open::no;
  mixed.open = Open::no;
  const Table gathered{{Collective::all_gather},
                       Open::no,
                       {2},
                       {1},
                       4,
                       {{1 * MiB, {60.0, 61.2}}, {8 * MiB, {345.0, 351.9}}}};
  return {
      {"tag-output.txt", {four_rows_of_two_nodes()}},
      {"srun-label.txt", {four_rows_of_two_nodes()}},
      {"scheduler-prefix.txt", {four_rows_of_two_nodes()}},
      {"no-hash.txt", {four_rows_of_two_nodes()}},
      {"na-errors.txt", {four_rows_of_two_nodes()}},
      {"mpi-warning-first.txt", {four_rows_of_two_nodes()}},
      {"nccl-info-mixed.txt", {mixed}},
      {"cut-tail.txt", {cut}},
      {"info-inside-number.txt", {broken}},
      {"markdown-two-logs.md", {named, gathered}},
      {"prefix-tag-output.txt", {seven_rows_of_four_gpus()}},
      {"prefix-srun-label.txt", {seven_rows_of_four_gpus()}},
      {"prefix-ray-and-tag.txt", {seven_rows_of_four_gpus()}},
      {"no-hash-signs.txt", {seven_rows_of_four_gpus()}},
  };
}

// What follows from redop, root and busbw / algbw, or does not.
std::vector<PastedLog> unnamed_logs() {
  const std::set<Collective> half{Collective::all_gather, Collective::all_to_all};
  return {
      // redop none excludes a reduce_scatter, a root of -1 gathers and scatters: 1/2 leaves two.
      {"unlabelled-collective.txt", {{half, Open::must, {2}, {2}, 4, four_sizes}}},
      // 7/8 on eight ranks.
      {"ratio-contradicts-collective.txt",
       {{half, Open::must, {8}, {1}, 7, {{256 * MiB, {4419.6, 4477.1}}}}}},
      // 2 - 1.9169 = 2/24: above 1 is an all-reduce alone.
      {"ratio-tells-all_reduce.txt",
       {{{Collective::all_reduce}, Open::no, {0, 24}, {0}, 7, {{256 * MiB, {8175.4, 8281.7}}}}}},
      // Columns of releases without redop and root. All-to-alls, which came later, look alike.
      {"old-columns-blank-redop.txt",
       {{half, Open::may, {2}, {1}, 4, {{8 * MiB, {690.0, 759.0}}, {1 * MiB, {120.0, 132.0}}}}}},
      {"old-columns-all_gather.txt",
       {{half, Open::may, {4}, {1}, 7, {{256 * MiB, {7922.2, 8009.3}}}}}},
      // A root, no redop, a factor of 1 on four ranks.
      {"old-columns-broadcast.txt",
       {{{Collective::broadcast}, Open::no, {4}, {1}, 7, {{256 * MiB, {15815.3, 15989.3}}}}}},
      {"one-run-a-size.txt",
       {{half, Open::may, {2}, {1}, 3, {{65536, {38.1}}, {MiB, {61.4}}, {16 * MiB, {260.0}}}}}},
      // The one of 4 KiB (0.25 / 0.17) says nothing alone; the others say 1.5.
      {"one-run-per-size.txt",
       {{{Collective::all_reduce},
         Open::no,
         {4},
         {1},
         7,
         {{4096, {24.1}}, {64 * MiB, {3281.0}}, {1024 * MiB, {52110.0}}}}}},
      {"info-inside-row.txt",
       {{{Collective::all_reduce}, Open::no, {4}, {1}, 1, {{MiB, {131.4}}}, 1}},
       true},
      // 1.75, 1.875 and 1.9375: 8, 16 and 32 ranks of 1, 2 and 4 nodes; or how to write a table.
      {"leading-column-nodes.txt",
       {{{Collective::all_reduce}, Open::no, {0, 8}, {0, 1}, 1, {{512 * MiB, {4310, 4313}}}},
        {{Collective::all_reduce}, Open::no, {0, 16}, {0, 2}, 1, {{512 * MiB, {18400, 18403}}}},
        {{Collective::all_reduce}, Open::no, {0, 32}, {0, 4}, 1, {{512 * MiB, {36900, 36903}}}}},
       true},
  };
}

// What contradicts itself, or would be taken for something else.
std::vector<PastedLog> contradictory_logs() {
  const std::vector<TableRow> first_gather{{256 * MiB, {4419.6, 4477.1}}};
  return {
      {"sendrecv-called-all_reduce.txt",
       {{{Collective::all_reduce}, Open::no, {8}, {2}, 7, {{256 * MiB, {24434.2, 24751.8}}}},
        {{}, Open::must, {8}, {2}, 7, {{256 * MiB, {103266, 104608}}}, 0, 0, "sendrecv"}}},
      // Its first table reduces nothing; two commands stand before both.
      {"last-command-names-all.txt",
       {{{Collective::all_gather, Collective::all_to_all}, Open::may, {8}, {1}, 7, first_gather},
        {{Collective::reduce_scatter}, Open::no, {8}, {1}, 7, {{256 * MiB, {6265.7, 6347.2}}}}}},
      // The list is of the log before.
      {"list-of-another-log.txt",
       {{{Collective::all_reduce}, Open::may, {2}, {1}, 7, {{256 * MiB, {4647.2, 4707.6}}}},
        {{Collective::all_reduce}, Open::no, {0, 32}, {0}, 7, {{256 * MiB, {7319.0, 7414.1}}}}}},
      // 1.875 is of 16 ranks; 11 are listed.
      {"list-cut.txt",
       {{{Collective::all_reduce},
         Open::no,
         {0, 16},
         {0, 2},
         7,
         {{256 * MiB, {12839.6, 13006.5}}}}}},
      {"two-ranks-on-one-gpu.txt",
       {{{Collective::all_reduce},
         Open::no,
         {0, 2},
         {0, 1},
         7,
         {{256 * MiB, {131726, 133438}}},
         0,
         0,
         "",
         {},
         true}}},
      // 16 ranks, eight devices: one name for two hosts.
      {"one-host-name-twice.txt",
       {{{Collective::all_reduce}, Open::no, {16}, {0}, 7, {{256 * MiB, {12839.6, 13006.5}}}}}},
  };
}

// Other programs' logs.
std::vector<PastedLog> other_programs() {
  // Of both jobs, with a word that they shared the machine.
  Table jobs{{Collective::all_reduce}, Open::no, {2}, {1}, 6, {}};
  jobs.is_noted = true;
  return {
      {"inspector-pretty-json.log",
       {{{Collective::all_reduce}, Open::no, {2}, {1}, 6, {{1024 * MiB, {118013}}, {MiB, {135}}}}}},
      {"inspector-two-jobs-at-once.log", {jobs}},
      {"osu-allreduce.txt",
       {{{Collective::all_reduce},
         Open::no,
         {0},
         {0},
         6,
         {{1024, {12.11}}, {256 * MiB, {28876.03}}}}}},
      {"imb-allreduce.txt",
       {{{Collective::all_reduce},
         Open::no,
         {16},
         {0},
         6,
         {{1024, {9.82}}, {256 * MiB, {82605.02}}}}}},
  };
}

std::vector<PastedLog> pasted_logs() {
  std::vector<PastedLog> all;
  for (const auto& part : {simple_logs(), unnamed_logs(), contradictory_logs(), other_programs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void PrintTo(const PastedLog& log, std::ostream* out) { *out << log.file; }

TableRow row_of_log(const CollectiveLog::Row& row) {
  TableRow out{row.size.value(), {}};
  for (const Seconds time : row.times) out.times_us.push_back(std::round(time.value() * 1e9) / 1e3);
  return out;
}

std::string text_of_log(const CollectiveLog& log) {
  std::string out = log.collective ? std::string(to_text(*log.collective)) : "open";
  for (const Collective one : log.may_be) out += ", may be " + std::string(to_text(one));
  if (!log.other.empty()) out += ", other: " + log.other;
  out += ", ranks " + std::to_string(log.ranks) + ", nodes " + std::to_string(log.nodes);
  for (const auto& [kind, lines] : log.left_out)
    out += ", left out " + kind + " " + std::to_string(lines);
  for (const CollectiveLog::Row& row : log.rows) {
    out += "\n  " + std::to_string(row.size.value());
    for (const double time : row_of_log(row).times_us) out += " " + std::to_string(time);
  }
  for (const auto& [line, why] : log.skipped)
    out += "\n  line " + std::to_string(line) + ": " + why;
  for (const std::string& note : log.notes) out += "\n  note: " + note;
  return out;
}

void expect_collective(const CollectiveLog& log, const Table& right) {
  const std::set<Collective> may_be(log.may_be.begin(), log.may_be.end());
  EXPECT_EQ(log.other, right.other);
  if (log.collective) {
    EXPECT_NE(right.open, Open::must);
    EXPECT_TRUE(right.collectives.contains(*log.collective));
    return;
  }
  EXPECT_NE(right.open, Open::no);
  if (right.open == Open::must) {
    EXPECT_EQ(may_be, right.collectives);
  } else if (!may_be.empty()) {
    EXPECT_TRUE(may_be.contains(*right.collectives.begin()));
  }
}

void expect_rows(const CollectiveLog& log, const Table& right) {
  EXPECT_LE(log.rows.size(), right.rows);
  EXPECT_GE(log.rows.size() + right.broken, right.rows);
  EXPECT_EQ(log.rows.size() + log.skipped.size(), right.rows + right.skipped);
  std::set<TableRow> read;
  for (const CollectiveLog::Row& row : log.rows) read.insert(row_of_log(row));
  std::size_t lacks = 0;
  for (const TableRow& row : right.some) lacks += read.contains(row) ? 0U : 1U;
  EXPECT_LE(lacks, right.broken);
}

void expect_table(const CollectiveLog& log, const Table& right) {
  SCOPED_TRACE(text_of_log(log));
  expect_collective(log, right);
  EXPECT_TRUE(right.ranks.contains(log.ranks));
  EXPECT_TRUE(right.nodes.contains(log.nodes));
  expect_rows(log, right);
  for (const auto& [kind, lines] : right.left_out) {
    const auto found = log.left_out.find(kind);
    EXPECT_GE(found == log.left_out.end() ? 0 : found->second, lines) << kind;
  }
  EXPECT_TRUE(!right.is_noted || !log.notes.empty());
}

class PastedLogs : public testing::TestWithParam<PastedLog> {};

TEST_P(PastedLogs, AreReadAsAPersonReadsThem) {
  const PastedLog& right = GetParam();
  std::ifstream in(pasted_folder + right.file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::vector<CollectiveLog> logs;
  try {
    logs = read_collective_logs(text);
  } catch (const FormatError& error) {
    EXPECT_TRUE(right.may_be_refused) << error.what();
    EXPECT_STRNE(error.what(), "has no measured collective");
    return;
  }
  EXPECT_EQ(logs.size(), right.tables.size());
  for (std::size_t i = 0; i < std::min(logs.size(), right.tables.size()); ++i) {
    SCOPED_TRACE("table " + std::to_string(i + 1));
    expect_table(logs[i], right.tables[i]);
  }
}

// A test's name: the file's with letters and digits alone.
std::string name_of_file(std::string file) {
  std::replace_if(
      file.begin(), file.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return file;
}

INSTANTIATE_TEST_SUITE_P(Files, PastedLogs, testing::ValuesIn(pasted_logs()),
                         [](const auto& one) { return name_of_file(one.param.file); });

}  // namespace
}  // namespace paceline::traces
