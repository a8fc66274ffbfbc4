#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "models/shipped_file.h"
#include "tests/scenarios/process.h"

namespace paceline::test {
namespace presets_table_test {

// What the command prints in the column busbw (GB/s) for an all-reduce of one size.
std::string printed_busbw(const std::string& preset, const std::string& gpus,
                          const std::string& size) {
  const Ended ended = run_program({PACELINE_BINARY, "collective", preset, "--gpus", gpus, "--min",
                                   size, "--max", size, "--quiet", "--json", "-"},
                                  PACELINE_SOURCE_DIR);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto rows = nlohmann::json::parse(ended.out).at("rows");
  return fmt::format("{:.2f}", rows.at(0).at("busbw_bytes_per_s").get<double>() * 1e-9);
}

// models/topology/presets/README.md has a row for every preset with bandwidths.
TEST(PresetsTable, SaysWhatTheCommandPrints) {
  const std::string readme =
      text_of(std::string(PACELINE_SOURCE_DIR) + "/models/topology/presets/README.md");
  const std::regex row(R"(\n\| ([\w-]+) \| (\d+) \| (\w+) \| ([\d.]+) \|)");
  std::set<std::string> tabled{"flat"};
  for (std::sregex_iterator i(readme.begin(), readme.end(), row), end; i != end; ++i) {
    SCOPED_TRACE((*i)[0]);
    tabled.insert((*i)[1]);
    EXPECT_EQ(printed_busbw((*i)[1], (*i)[2], (*i)[3]), (*i)[4]);
  }
  std::set<std::string> shipped;
  for (const ShippedFile& file : shipped_clusters()) shipped.emplace(file.name);
  EXPECT_EQ(tabled, shipped);
}

}  // namespace presets_table_test
}  // namespace paceline::test
