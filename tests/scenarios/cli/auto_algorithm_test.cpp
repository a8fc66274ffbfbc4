// `library: plan, algorithm: auto` through the built program.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/collectives/registry.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace auto_algorithm_test {

using collectives::Collective;
using nlohmann::json;

// The small scenario, simulated, with the algorithm to be chosen. Its only call follows the
// backward of all ranks: it is alone, as it is when the algorithms are compared.
std::string to_be_chosen(const std::string& fidelity) {
  return changed(changed(small_scenario, "fidelity: folded", "fidelity: " + fidelity),
                 "library: plan, algorithm: ring", "library: plan, algorithm: auto");
}

std::vector<std::string> all_reduces() {
  std::vector<std::string> names;
  for (const auto& row : collectives::algorithms()) {
    if (row.collective != Collective::all_reduce) continue;
    if (row.reduces == collectives::Reduces::endpoints) names.emplace_back(row.name);
  }
  return names;
}

json result_of(const Folder& folder, const std::vector<std::string>& arguments) {
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return json::parse(ended.out);
}

double step_of(const json& point) { return point.at("predicted").at("step_s"); }

// The names of the algorithms that the spans of collective calls carry.
std::vector<std::string> algorithms_of_spans(const json& timeline) {
  std::vector<std::string> names;
  for (const json& event : timeline.at("traceEvents")) {
    if (event.value("cat", "") == "collective") {
      names.push_back(event.at("args").at("algorithm"));
    }
  }
  return names;
}

class AutoAlgorithm : public testing::TestWithParam<const char*> {};

// 4020 floats: "auto, 4 GPUs: all_reduce of 16080B by NAME (time; second NAME time)". All spans
// carry that name, and run by name no other is faster.
TEST_P(AutoAlgorithm, IsTheFastestOfAllAndNamed) {
  const Folder folder;
  folder.write("auto.yaml", to_be_chosen(GetParam()));
  const json chosen = result_of(folder, {"run", "auto.yaml", "--json", "-"}).at("points").at(0);
  const auto spans =
      algorithms_of_spans(result_of(folder, {"run", "auto.yaml", "--timeline", "-"}));
  ASSERT_FALSE(spans.empty());
  const std::string& name = spans.front();
  EXPECT_EQ(std::count(spans.begin(), spans.end(), name), std::ssize(spans));
  const std::string sentence = "auto, 4 GPUs: all_reduce of 16080B by " + name + " (";
  const json& assumed = chosen.at("assumed");
  EXPECT_TRUE(std::any_of(assumed.begin(), assumed.end(), [&](const json& text) {
    return text.get<std::string>().rfind(sentence, 0) == 0;
  })) << assumed;

  std::map<std::string, double> steps;
  for (const std::string& algorithm : all_reduces()) {
    const json by_name = result_of(
        folder, {"run", "auto.yaml", "--json", "-", "--set", "collective.algorithm=" + algorithm});
    steps[algorithm] = step_of(by_name.at("points").at(0));
  }
  EXPECT_EQ(step_of(chosen), steps.at(name));
  for (const auto& [algorithm, step] : steps) EXPECT_LE(steps.at(name), step) << algorithm;
}

INSTANTIATE_TEST_SUITE_P(AnyFidelity, AutoAlgorithm, testing::Values("folded", "flow"),
                         [](const auto& fidelity) { return std::string(fidelity.param); });

// Buckets of 20 floats and of 16 MiB on two nodes, 2 us within and 5 us between them at 1.25 GB/s.
// The small one is a matter of rounds: recursive doubling has one inside and one across, the least
// that brings everything to all four. The large one is a matter of bytes, and there each NIC would
// carry two whole buffers. Each size has a sentence.
TEST(ChosenAlgorithm, IsChosenForEachSizeOnItsOwn) {
  const Folder folder;
  std::string text = changed(to_be_chosen("folded"), "[1000, 20]", "[20]");
  text = changed(text, "[3000]", "[4194304]");
  folder.write("auto.yaml", changed(text, "bulk_synchronous", "wait_free"));
  const json assumed =
      result_of(folder, {"run", "auto.yaml", "--json", "-"}).at("points").at(0).at("assumed");
  std::map<std::string, std::string> chosen;  // by size
  for (const json& sentence : assumed) {
    const std::string words = sentence.get<std::string>();
    const auto of = words.find(" of "), by = words.find(" by "), end = words.find(" (");
    if (words.rfind("auto, ", 0) != 0) continue;
    chosen[words.substr(of + 4, by - of - 4)] = words.substr(by + 4, end - by - 4);
  }
  ASSERT_EQ(chosen.size(), 2U) << assumed;
  ASSERT_TRUE(chosen.contains("80B") && chosen.contains("16MiB")) << assumed;
  EXPECT_EQ(chosen.at("80B"), "recursive_doubling");
  EXPECT_NE(chosen.at("16MiB"), "recursive_doubling");
}

json rows_of(const Folder& folder, const std::string& algorithm) {
  return result_of(folder,
                   {"collective", "dgx1-v100", "--gpus", "16", "--library", "plan", "--algorithm",
                    algorithm, "--min", "1KiB", "--max", "64MiB", "--factor", "256", "--json", "-"})
      .at("rows");
}

// Rows of 1 KiB, 256 KiB and 64 MiB: each has the name that was chosen for it, and the least time
// that any has at that size.
TEST(ChosenAlgorithm, IsNamedInEachRowOfACollectivesTable) {
  const Folder folder;
  const json chosen = rows_of(folder, "auto");
  ASSERT_EQ(chosen.size(), 3U);
  std::map<std::string, json> by_name;
  for (const std::string& name : all_reduces()) by_name[name] = rows_of(folder, name);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [name, rows] : by_name) {
      least = std::min(least, rows.at(i).at("time_s").get<double>());
    }
    const std::string name = chosen.at(i).at("algorithm");
    ASSERT_TRUE(by_name.contains(name)) << name;
    EXPECT_EQ(chosen.at(i).at("time_s"), by_name.at(name).at(i).at("time_s"));
    EXPECT_EQ(chosen.at(i).at("time_s").get<double>(), least) << name;
  }
}

}  // namespace auto_algorithm_test
}  // namespace paceline::test
