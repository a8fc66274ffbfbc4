#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

using Cells = std::vector<std::string>;

// RFC 4180: cells between commas, or in quotes with quotes doubled.
std::vector<Cells> parsed_csv(const std::string& text) {
  std::vector<Cells> rows(1, Cells(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();  // behind the last line break
  return rows;
}

std::vector<Cells> csv_of(const std::string& text, const std::vector<std::string>& more = {}) {
  const Folder folder;
  folder.write("scenario.yaml", text);
  std::vector<std::string> arguments{"run", "scenario.yaml", "--csv", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return parsed_csv(ended.out);
}

// Of the first point, by name.
std::string cell_of(const std::vector<Cells>& rows, const std::string& column) {
  for (std::size_t i = 0; i < rows.at(0).size(); ++i) {
    if (rows.at(0).at(i) == column) return rows.at(1).at(i);
  }
  ADD_FAILURE() << "no column " << column;
  return "";
}

TEST(Csv, HasALineAPointWithAsManyCellsAsTheHeader) {
  const auto rows = csv_of(changed(small_scenario, "",
                                   "sweep: {gpus: [1, 2, 4], cluster.network.latency: [1us, 1ms]}\n"
                                   "measured: {source: s, points: [{gpus: 4, "
                                   "cluster.network.latency: 1us, step: 1s}]}\n"));
  ASSERT_EQ(rows.size(), 7U);
  for (const Cells& row : rows) EXPECT_EQ(row.size(), rows.front().size());
  EXPECT_EQ(rows.front().at(0), "axis gpus");
  EXPECT_EQ(rows.front().at(1), "axis cluster.network.latency (s)");
  EXPECT_EQ(rows.at(5).at(0), "4");
  EXPECT_EQ(rows.at(5).at(1), "1e-06");
}

// What was not measured is empty.
TEST(Csv, HasTheFiguresOfTheJson) {
  const auto rows = csv_of(std::string(small_scenario));
  ASSERT_EQ(rows.size(), 2U);
  const auto cell = [&](const std::string& column) { return cell_of(rows, column); };
  EXPECT_EQ(cell("gpus"), "4");
  EXPECT_EQ(cell("nodes"), "2");
  EXPECT_NEAR(std::stod(cell("predicted_step_s")), 7.030e-3 + 49.296e-6, 1e-12);
  EXPECT_NEAR(std::stod(cell("compute_s")), 7.030e-3, 1e-12);
  EXPECT_NEAR(std::stod(cell("communication_s")), 49.296e-6, 1e-12);
  EXPECT_EQ(cell("transfers"), "24");
  EXPECT_EQ(cell("fidelity"), "folded");
  for (const char* column : {"measured_throughput_per_s", "measured_speedup", "error_percent"}) {
    EXPECT_EQ(cell(column), "") << column;
  }
}

TEST(Csv, QuotesWhatWouldMislead) {
  const auto rows =
      csv_of(changed(small_scenario, "", "sweep: {name: ['a, b', 'say \"hi\"', plain]}\n"));
  ASSERT_EQ(rows.size(), 4U);
  const Cells names{"a, b", "say \"hi\"", "plain"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(rows.at(i + 1).at(0), names[i]);
    EXPECT_EQ(rows.at(i + 1).size(), rows.front().size());
  }
}

// A spreadsheet would run them.
TEST(Csv, HasNoFormulas) {
  const auto rows =
      csv_of(changed(small_scenario, "", "sweep: {name: ['=1+1', '+a', '-a', '@sum', plain-=]}\n"));
  const Cells names{"'=1+1", "'+a", "'-a", "'@sum", "plain-="};
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(rows.at(i + 1).at(0), names[i]);
}

TEST(Csv, HasTheIntervalOfThePrediction) {
  const auto rows = csv_of(std::string(small_scenario));
  EXPECT_LT(std::stod(cell_of(rows, "step_s_low")), 7.03e-3 + 49.296e-6);
  EXPECT_GT(std::stod(cell_of(rows, "step_s_high")), 7.03e-3 + 49.296e-6);
  EXPECT_EQ(cell_of(rows, "failure"), "");
}

// 16 samples of 128 tokens in each of two steps: that of the file takes a second.
TEST(Csv, HasTokensOfALanguageModel) {
  const auto rows = csv_of(
      "schema: paceline/1\nname: n\nworkload: {model: bert-base, batch_per_gpu: 8, device: "
      "a100-sxm4-40gb}\ncluster: {gpus_per_node: 2, intra_node: {bandwidth: 100GBps}}\n"
      "training: {strategy: ddp}\nmeasured: {source: s, points: [{step: 1s}]}\n");
  const auto cell = [&](const char* column) { return std::stod(cell_of(rows, column)); };
  const double step = cell("predicted_step_s");
  EXPECT_NEAR(cell("tokens_per_s"), 16 * 128 / step, 1e-6);
  EXPECT_NEAR(cell("gpu_throughput_per_s"), 8 / step, 1e-9);
  EXPECT_NEAR(cell("gpu_tokens_per_s"), 8 * 128 / step, 1e-6);
  EXPECT_NEAR(cell("measured_tokens_per_s"), 16 * 128, 1e-9);
  EXPECT_EQ(cell_of(csv_of(std::string(small_scenario)), "tokens_per_s"), "");
}

// Others come behind them.
TEST(Csv, KeepsItsColumnsWhereTheyAre) {
  const Cells known{"gpus",
                    "nodes",
                    "predicted_step_s",
                    "compute_s",
                    "communication_s",
                    "exposed_communication_s",
                    "predicted_throughput_per_s",
                    "predicted_speedup",
                    "measured_throughput_per_s",
                    "measured_speedup",
                    "known",
                    "error_percent",
                    "transfers",
                    "fidelity",
                    "measured_step_s",
                    "mad_s",
                    "measured_exposed_communication_s",
                    "cpu_busy",
                    "step_s_low",
                    "step_s_high",
                    "failure",
                    "tokens_per_s",
                    "gpu_throughput_per_s",
                    "gpu_tokens_per_s",
                    "measured_tokens_per_s"};
  Cells header = csv_of(std::string(small_scenario)).at(0);
  ASSERT_GE(header.size(), known.size());
  header.resize(known.size());
  EXPECT_EQ(header, known);
}

TEST(Csv, GoesToAFileBesideTheTable) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended = paceline({"run", "scenario.yaml", "--csv", "out.csv"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_NE(ended.out.find("two nodes"), std::string::npos);
  EXPECT_EQ(parsed_csv(text_of(folder.path() / "out.csv")).size(), 2U);
}

}  // namespace
}  // namespace paceline::test
