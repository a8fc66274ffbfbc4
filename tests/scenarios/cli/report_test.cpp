// Pages: `--html` of commands, and `paceline report`.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/report/page/payload.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace report_test {

using nlohmann::json;

constexpr const char* swept =
    "sweep: {gpus: [1, 2, 4], cluster.network.latency: [5us, 1ms]}\n"
    "measured:\n"
    "  source: a test\n"
    "  points:\n"
    "    - {gpus: 4, cluster.network.latency: 5us, throughput: 2500 samples/s}\n";

class ReportCommand : public testing::Test {
 protected:
  ReportCommand() {
    folder_.write("a.yaml", std::string(small_scenario) + swept);
    folder_.write("one.yaml", small_scenario);
  }
  // The page that a command writes to p.html.
  std::string page(std::vector<std::string> arguments, const char* option = "--html") {
    arguments.insert(arguments.end(), {option, "p.html"});
    const Ended ended = paceline(arguments, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return text_of(folder_.path() / "p.html");
  }
  json json_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const Ended ended = paceline(arguments, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return json::parse(ended.out);
  }
  Ended report(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    return paceline(arguments, folder_.path());
  }

  Folder folder_;
};

TEST_F(ReportCommand, RunWritesItsResultItsStepsAndItsScenario) {
  const std::string text = page({"run", "a.yaml"});
  const json payload = payload_of(text);
  EXPECT_EQ(payload.at("title"), "two nodes");
  EXPECT_EQ(payload.at("command"), "paceline run a.yaml --html p.html");
  EXPECT_EQ(payload.at("scenario"), std::string(small_scenario) + swept);
  EXPECT_EQ(document_of(text, "paceline.result/1"), json_of({"run", "a.yaml"}));
  const json steps = document_of(text, "paceline.steps/1").at("steps");
  EXPECT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps.at(5).at("gpus"), 4);
}

TEST_F(ReportCommand, SameCommandSameBytes) {
  EXPECT_EQ(page({"run", "a.yaml"}), page({"run", "a.yaml"}));
}

TEST_F(ReportCommand, ComparisonsBringTheResultsThatTheyAreOf) {
  ASSERT_EQ(paceline({"run", "a.yaml", "--json", "r.json"}, folder_.path()).exit_code, 0);
  const std::string text = page({"compare", "r.json"});
  EXPECT_EQ(document_of(text, "paceline.comparison/1"), json_of({"compare", "r.json"}));
  EXPECT_EQ(document_of(text, "paceline.result/1").at("points").size(), 6U);
}

TEST_F(ReportCommand, StrategiesAndValidationsWriteTheirTables) {
  EXPECT_EQ(document_of(page({"strategies", "one.yaml"}), "paceline.strategies/1"),
            json_of({"strategies", "one.yaml"}));
  EXPECT_EQ(document_of(page({"validate", "a.yaml"}), "paceline.validation/1"),
            json_of({"validate", "a.yaml"}));
}

TEST_F(ReportCommand, ASweepWritesItsPoints) {
  const std::string text = page({"sweep", "a.yaml", "--store", "s.db"});
  const json points = document_of(text, "paceline.points/1");
  ASSERT_EQ(points.at("rows").size(), 6U);
  EXPECT_EQ(points.at("scenarios"), json({"two nodes"}));
  json latency, gpus;
  std::size_t column = 0, latency_at = 0, gpus_at = 0, measured_at = 0;
  for (const json& one : points.at("columns")) {
    if (one.at("name") == "cluster.network.latency") {
      latency_at = column;
      EXPECT_EQ(one.at("unit"), "s");
      EXPECT_EQ(one.at("is_axis"), true);
    }
    if (one.at("name") == "gpus") gpus_at = column;
    if (one.at("name") == "measured_throughput_per_s") measured_at = column;
    ++column;
  }
  const json& last = points.at("rows").back();
  ASSERT_EQ(last.size(), column);
  EXPECT_EQ(last.at(gpus_at), 4);
  EXPECT_EQ(last.at(latency_at), 1e-3);
  EXPECT_EQ(points.at("rows").at(4).at(measured_at), 2500.0);
  // The whole store is the same, if only the sweep's points are in it.
  EXPECT_EQ(document_of(page({"report", "s.db"}, "-o"), "paceline.points/1"), points);
}

TEST_F(ReportCommand, TakesResultsStoresAndTraces) {
  ASSERT_EQ(paceline({"run", "a.yaml", "--json", "r.json", "--trace", "t.json"}, folder_.path())
                .exit_code,
            0);
  const std::string text = page({"report", "r.json", "t.json"}, "-o");
  EXPECT_EQ(payload_of(text).at("title"), "two nodes");
  EXPECT_EQ(document_of(text, "paceline.steps/1"),
            document_of(page({"run", "a.yaml"}), "paceline.steps/1"));
  EXPECT_EQ(payload_of(page({"report", "r.json", "--title", "other"}, "-o")).at("title"), "other");
}

TEST_F(ReportCommand, RefusesWhatIsNoResult) {
  folder_.write("list.json", "[1]");
  folder_.write("text.txt", "hello");
  folder_.write("none.db", std::string("SQLite format 3\0", 16) + std::string(200, 'x'));
  for (const char* const name : {"a.yaml", "list.json", "text.txt", "none.db", "missing.json"}) {
    const Ended ended = report({name, "-o", "q.html"});
    EXPECT_EQ(ended.exit_code, 2) << name << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "q.html")) << name;
  }
}

TEST_F(ReportCommand, AHostileNameStaysAName) {
  const std::string name = "<img src=x onerror=alert(1)>";
  folder_.write("b.yaml", changed(small_scenario, "two nodes", "\"" + name + "\""));
  const std::string text = page({"run", "b.yaml"});
  EXPECT_EQ(text.find("<img"), text.npos);
  EXPECT_EQ(payload_of(text).at("title"), name);
}

}  // namespace report_test
}  // namespace paceline::test
