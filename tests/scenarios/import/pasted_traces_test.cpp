// Traces and reports of profilers as people have them (tests/fixtures/pasted), and what a person
// reads in each.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "scenarios/import/import.h"
#include "tests/scenarios/import/pasted.h"

namespace paceline::test {
namespace {

using nlohmann::json;
using traces::RunRecord;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Ended said_of(const std::string& file, std::vector<std::string> arguments) {
  const Folder folder;
  std::filesystem::copy_file(pasted_folder + file, folder.path() / file);
  for (std::string& argument : arguments) {
    if (argument == "FILE") argument = file;
  }
  return paceline(arguments, folder.path());
}

// Its distributedInfo has rank 0 of a world of 8.
TEST(PastedTraces, OfOneRankOfEightSaySoFirst) {
  const std::string file = "trace-one-rank-of-eight.json";
  for (const char* command : {"import", "replay"}) {
    SCOPED_TRACE(command);
    const Ended ended = said_of(file, {command, "FILE"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(first_line(ended.out).find("of 8"), std::string::npos) << first_line(ended.out);
  }
}

TEST(PastedTraces, OfOneRankOfEightAreReplayedOnEight) {
  const Ended ended =
      said_of("trace-one-rank-of-eight.json", {"replay", "FILE", "--quiet", "--json", "-"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json point = json::parse(ended.out).at("points").at(0);
  EXPECT_EQ(point.at("gpus"), 8) << point.dump(1);
}

// No backward pass, no gradient, no optimizer.
TEST(PastedTraces, OfInferenceAreNoTraining) {
  const std::string file = "trace-inference.json";
  const Ended import = said_of(file, {"import", "FILE"});
  EXPECT_EQ(import.exit_code, 0) << import.err;
  EXPECT_NE(import.out.find("forward only"), std::string::npos) << import.out;
  EXPECT_EQ(import.out.find("paceline replay"), std::string::npos) << import.out;
  EXPECT_EQ(import.out.find("optimizer  10ms"), std::string::npos) << import.out;
  const Ended replay = said_of(file, {"replay", "FILE", "--quiet"});
  EXPECT_EQ(replay.exit_code, 2) << replay.out;
  EXPECT_EQ(std::count(replay.err.begin(), replay.err.end(), '\n'), 1) << replay.err;
}

// A kernel of 2.4 ms a step on a stream of its own, of a group of 8: from 7.0 to 9.4 ms, while
// gemm_bwd ends at 6.9 and the optimizer begins at 9.8: all of it is exposed.
TEST(PastedTraces, OfSymmetricMemoryHaveItsCollectives) {
  const Import import = import_traces({pasted_folder + "trace-symmetric-memory-allreduce.json"});
  ASSERT_EQ(import.steps.size(), 1U);
  ASSERT_EQ(import.steps[0].size(), 3U);
  for (const traces::StepProfile& step : import.steps[0]) {
    EXPECT_EQ(step.calls.size(), 1U);
    EXPECT_NEAR(step.communication.value(), 2.4e-3, 1e-9);
    EXPECT_NEAR(step.exposed.value(), 2.4e-3, 1e-9);
    EXPECT_NEAR(step.compute.value(), 2.5e-3 + 3.0e-3 + 0.3e-3, 1e-9);
  }
}

bool has_time(const RunRecord& record, double seconds) {
  const auto is_it = [&](const RunRecord::Cell& cell) {
    const auto* time = std::get_if<Seconds>(&cell);
    return time != nullptr && std::abs(time->value() - seconds) < 1e-9;
  };
  for (const RunRecord::Fact& fact : record.facts) {
    if (is_it(fact.value)) return true;
  }
  for (const RunRecord::Table& table : record.tables) {
    for (const auto& row : table.rows) {
      if (std::ranges::any_of(row, is_it)) return true;
    }
  }
  return false;
}

// NCCL_ALLREDUCE of 500 us, after 2,100 us of NEGOTIATE; the list is not closed, as Horovod leaves
// it.
TEST(PastedTraces, OfHorovodAreItsTimeline) {
  const Import import = import_traces({pasted_folder + "horovod-timeline.json"});
  ASSERT_EQ(import.records.size(), 1U);
  const RunRecord& record = import.records[0].content;
  EXPECT_NE(record.title.find("Horovod"), std::string::npos) << record.title;
  EXPECT_TRUE(has_time(record, 500e-6));
  EXPECT_TRUE(has_time(record, 2100e-6));
}

TEST(PastedTraces, OfNsightSystemsAreNamedWithTheCommandThatExportsThem) {
  expect_said("profile.nsys-rep",
              {{"import", "FILE"}, 2, {"Nsight Systems", "nsys export"}, {"no known format"}});
}

}  // namespace
}  // namespace paceline::test
