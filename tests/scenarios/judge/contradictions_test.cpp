#include "scenarios/judge/contradictions.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "scenarios/predict/run_scenario.h"
#include "scenarios/report/report.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace contradictions_test {

using test::changed;
using test::small_scenario;

// Compute of 6 ms and an optimizer of 1 ms; what of 4,020 gradients crosses a network of 10 Gb/s is
// some 30 us. 8 samples a GPU: 4 GPUs do 4 x 8 / 7.0 ms = 4,550 samples/s.
std::string with_rows(const std::string& rows) {
  return changed(small_scenario, "  nodes: 2\n", "") + "sweep:\n  gpus: [2, 4, 8, 16]\n" +
         "measured:\n  source: round numbers\n  points:\n" + rows;
}

ScenarioFile read(const std::string& text) {
  const test::Folder folder;
  return ScenarioFile::read(folder.write("scenario.yaml", text), {});
}

std::optional<FoundContradiction> found_in(const std::string& rows) {
  return contradiction_of(run_scenario(read(with_rows(rows)), {}));
}

std::string table_of(const std::string& rows) {
  const ScenarioFile file = read(with_rows(rows));
  std::ostringstream out;
  write_table(out, file, run_scenario(file, {}));
  return out.str();
}

TEST(FoundContradictions, AreNoneWhereRowsAreAsPredicted) {
  const std::string rows = "    - {gpus: 4, step: 7.1ms}\n    - {gpus: 8, step: 7.2ms}\n";
  EXPECT_FALSE(found_in(rows));
  EXPECT_EQ(table_of(rows).find(" the step described: "), std::string::npos);
}

// Half of 7 ms at any number of GPUs is what batches of 4 take.
TEST(FoundContradictions, NameABatchAndWhatTellsItApart) {
  const auto found = found_in(
      "    - {gpus: 2, step: 3.5ms}\n    - {gpus: 4, step: 3.5ms, known: true}\n"
      "    - {gpus: 8, step: 3.5ms}\n");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->rows.size(), 3U);
  EXPECT_TRUE(found->rows[1].known);
  EXPECT_NEAR(found->rows[1].times, 0.5, 0.02);
  EXPECT_LT(found->rows[1].beyond, 1);
  EXPECT_TRUE(found->is_beyond_doubt());
  ASSERT_FALSE(found->explained_by.empty());
  EXPECT_EQ(found->explained_by[0].kind, uncertain::Cause::work);
  EXPECT_NE(found->explained_by[0].words.find("a batch of 4 per GPU, not 8"), std::string::npos);
  const std::string sentence = found->sentence();
  EXPECT_TRUE(sentence.starts_with("contradiction: 2 GPUs 0.5")) << sentence;
  EXPECT_NE(sentence.find("4 GPUs (known row)"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("to check: the shape of a batch"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find('\n'), std::string::npos);
}

// A row that is hardly outside is named, and nothing is claimed.
TEST(FoundContradictions, ClaimNothingOfARowThatIsHardlyOutside) {
  const auto found = found_in("    - {gpus: 2, step: 7.1ms}\n    - {gpus: 4, step: 8.4ms}\n");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->rows.size(), 1U);
  EXPECT_GT(found->rows[0].beyond, 1);
  EXPECT_FALSE(found->is_beyond_doubt());
  EXPECT_TRUE(found->sentence().starts_with("outside: 4 GPUs 1.1"));
}

// 2,000 samples a second, from 2 GPUs that are as described to 16 that could do 18,000.
TEST(FoundContradictions, NameALoaderAndStandBelowTheTable) {
  const std::string rows =
      "    - {gpus: 2, step: 7.1ms}\n    - {gpus: 4, throughput: 2000 samples/s}\n"
      "    - {gpus: 8, throughput: 2000 samples/s}\n    - {gpus: 16, throughput: 2000 samples/s}\n";
  const std::string table = table_of(rows);
  const auto at = table.find("\ncontradiction: 4 GPUs ");
  ASSERT_NE(at, std::string::npos) << table;
  EXPECT_NE(table.find("an input pipeline, or something else serial, of 2", at), std::string::npos)
      << table;
  EXPECT_GT(at, table.find("error of throughput"));
}

TEST(FoundContradictions, AreInResultsAsJson) {
  const test::Folder folder;
  folder.write("scenario.yaml", with_rows("    - {gpus: 4, step: 14ms}\n"));
  for (const char* command : {"run", "validate"}) {
    const test::Ended ended =
        test::paceline({command, "scenario.yaml", "--json", "-"}, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("\"contradictions\""), std::string::npos) << command;
    EXPECT_NE(ended.out.find("\"cause\": \"work\""), std::string::npos) << ended.out;
  }
}

}  // namespace contradictions_test
}  // namespace paceline
