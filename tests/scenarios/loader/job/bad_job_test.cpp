// Jobs and catalogues that are refused: one line, with its place and a hint.

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/scenarios/loader/bad_scenario.h"
#include "tests/scenarios/loader/job/bad_jobs.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline {
namespace {

using test::changed;
using Bad = test::BadJobFile;
using test::Folder;
using test::Marked;
using test::small_catalogue;
using test::small_job;

// What the two files get, without the folder that they are in; empty: nothing.
std::string refusal_of(const std::string& job, const std::string& catalogue,
                       const std::vector<ScenarioFile::Setting>& settings = {}) {
  const Folder folder;
  folder.write("small.yaml", catalogue);
  try {
    (void)load_job(folder.write("job.yaml", job), settings);
    return "";
  } catch (const InputError& error) {
    std::string text = error.what();
    const std::string prefix = folder.path().string() + "/";
    for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }
}

std::string name_of(const testing::TestParamInfo<Bad>& info) { return info.param.name; }

void expect_begin(const std::string& text, const std::string& expected) {
  EXPECT_EQ(text.substr(0, expected.size()), expected) << text;
}

class BadJob : public testing::TestWithParam<Bad> {};
class BadCatalogue : public testing::TestWithParam<Bad> {};

TEST_P(BadJob, IsRefusedAtItsPlace) {
  const Marked marked(changed(small_job, GetParam().from, GetParam().to));
  expect_begin(
      refusal_of(marked.text, std::string(small_catalogue)),
      "job.yaml" + (marked.place.empty() ? ":1:1" : marked.place) + ": " + GetParam().message);
}

TEST_P(BadCatalogue, IsRefusedAtItsPlace) {
  const Marked marked(changed(small_catalogue, GetParam().from, GetParam().to));
  expect_begin(refusal_of(std::string(small_job), marked.text),
               "small.yaml" + marked.place + ": " + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Keys, BadJob, testing::ValuesIn(test::bad_keys_of_jobs), name_of);

INSTANTIATE_TEST_SUITE_P(Amounts, BadJob, testing::ValuesIn(test::bad_amounts_of_jobs), name_of);

INSTANTIATE_TEST_SUITE_P(Targets, BadJob, testing::ValuesIn(test::bad_targets_of_jobs), name_of);

INSTANTIATE_TEST_SUITE_P(Choices, BadJob, testing::ValuesIn(test::bad_choices_of_jobs), name_of);

INSTANTIATE_TEST_SUITE_P(Machines, BadJob, testing::ValuesIn(test::bad_machines_of_jobs), name_of);

INSTANTIATE_TEST_SUITE_P(Machines, BadCatalogue,
                         testing::ValuesIn(test::bad_machines_of_catalogues), name_of);

TEST(Job, IsRefusedWithABudgetOfAnotherCurrencyThanItsCatalogues) {
  EXPECT_EQ(refusal_of(changed(small_job, "deadline: 6h", "budget: 500 EUR"),
                       std::string(small_catalogue)),
            "small.yaml:10:12: price \"36 USD/h\" is in USD, and job.yaml:5:18 in EUR; write all "
            "prices in one currency");
}

TEST(Job, MayBeABadOneBySettings) {
  EXPECT_EQ(
      refusal_of(std::string(small_job), std::string(small_catalogue), {{"target.deadline", "6"}}),
      "--set target.deadline=6: deadline \"6\" has no unit; write 6h or 6min");
  EXPECT_EQ(refusal_of(std::string(small_job), std::string(small_catalogue),
                       {{"workload.precison", "fp32"}}),
            "--set workload.precison=fp32: unknown key \"workload.precison\"; did you mean "
            "precision?");
}

}  // namespace
}  // namespace paceline
