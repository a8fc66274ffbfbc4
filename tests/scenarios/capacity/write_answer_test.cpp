// What a planner reads, of shipped jobs: tests/golden/jobs/NAME.txt. PACELINE_UPDATE_GOLDEN=1
// writes the files again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenarios/capacity/answer.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/text_form.h"
#include "tests/scenarios/process.h"

namespace paceline::capacity {
namespace {

// 2026-12-08: twelve days after prices were read.
constexpr Today some_day{20795};

std::string answered(const std::string& path,
                     const std::vector<ScenarioFile::Setting>& settings = {}) {
  const PlannedJob job = load_job(path, settings);
  Grid grid = grid_of(job, unconditioned_belief().priors());
  Predictor predictor(job, {});
  Search search(
      job, grid, [&](const Setup& setup) { return predictor.step_at_least(setup); },
      [&](std::span<const Setup> setups) { return predictor.speeds(setups); });
  const Answer answer = answer_of(job, grid, search, predictor);
  std::ostringstream out;
  set_text_form(out, {.lists_assumptions = true});
  write_answer(out, job, grid, answer, predictor, some_day);
  return out.str();
}

const std::filesystem::path source_dir = PACELINE_SOURCE_DIR;

class AnswerText : public testing::TestWithParam<const char*> {};

TEST_P(AnswerText, IsWhatItWas) {
  const std::string text =
      answered((source_dir / "scenarios/library/jobs" / GetParam()).string() + ".yaml");
  const std::filesystem::path file =
      source_dir / "tests/golden/jobs" / (std::string(GetParam()) + ".txt");
  if (std::getenv("PACELINE_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << text;
  EXPECT_EQ(text, test::text_of(file));
}

INSTANTIATE_TEST_SUITE_P(Library, AnswerText,
                         testing::Values("gpt2-medium-one-gpu", "own-machines"),
                         [](const testing::TestParamInfo<const char*>& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(AnswerText, SaysWhatUnknownPreemptionsAreTakenFor) {
  const std::string job = (source_dir / "scenarios/library/jobs/gpt2-medium-one-gpu.yaml").string();
  EXPECT_NE(answered(job).find("preemptions (2.5 % of spot nodes"), std::string::npos);
  EXPECT_EQ(answered(job, {{"catalogue", "[lambda]"}}).find("preemptions (2.5 % of spot nodes"),
            std::string::npos);
}

// Four cores of a node decode 800 images/s, less than four T4 train.
TEST(AnswerText, SaysWhereInputLimitsAPlanAndWhatRelievesIt) {
  const std::string job = (source_dir / "scenarios/library/jobs/resnet50-90-epochs.yaml").string();
  const std::vector<ScenarioFile::Setting> small{{"limits.machines", "[n1-standard-8 + 4xT4]"},
                                                 {"strategies", "[ddp]"},
                                                 {"batch_per_gpu", "{exactly: 128}"}};
  const std::string text = answered(job, small);
  EXPECT_NE(text.find("limits it: 8 vCPUs get about 800 samples/s ready per node (400 to 1,600)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("not counted: whether a node's storage delivers "), std::string::npos);
  std::vector<ScenarioFile::Setting> on_gpus = small;
  on_gpus.push_back({"input.kind", "none"});
  EXPECT_EQ(answered(job, on_gpus).find("limits it"), std::string::npos);
}

}  // namespace
}  // namespace paceline::capacity
