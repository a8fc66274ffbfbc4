// The tables of SCHEMA.md and JOB.md, which are made from the tables of keys.
// PACELINE_UPDATE_SCHEMA=1 rewrites them.

#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/loader/job/catalogue.h"
#include "scenarios/loader/job/job_keys.h"
#include "scenarios/loader/load_scenario.h"
#include "tests/scenarios/loader/schema_rows.h"

namespace paceline::test {
namespace schema_test {

const std::filesystem::path documents = std::filesystem::path(PACELINE_SOURCE_DIR) / "scenarios";

TEST(Schema, ListsTheKeysOfTheTables) {
  expect_table(documents / "SCHEMA.md", "# Scenario files", loader::scenario_keys());
}

TEST(Schema, ListsTheKeysOfJobsAndCatalogues) {
  const std::filesystem::path document = documents / "JOB.md";
  expect_table(document, "# Jobs", loader::job_file_keys());
  expect_table(document, "## An entry of `measured_on`", loader::measured_on_keys());
  expect_table(document, "## A catalogue", loader::catalogue_keys());
  expect_table(document, "## An entry of `machines`", loader::machine_keys());
  expect_table(document, "## `spot` as a map", loader::spot_keys());
}

}  // namespace schema_test
}  // namespace paceline::test
