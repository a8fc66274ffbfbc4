#include "scenarios/report/gate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "scenarios/errors.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace {

// 100 ms predicted, 80 to 130 within 90 %.
ValidationRow measured(double milliseconds) {
  ValidationRow row;
  row.scenario = "a <b>";
  row.point = "8 GPUs";
  row.measured_step = Seconds(milliseconds * 1e-3);
  row.predicted_step = Seconds(0.1);
  row.low = Seconds(0.08);
  row.high = Seconds(0.13);
  return row;
}

bool keeps(const Gate& gate, double milliseconds) {
  return !gate.broken_by(measured(milliseconds)).has_value();
}

TEST(Gate, IsTheIntervalOrAPercentage) {
  const Gate interval = parse_gate("interval", "both"), tenth = parse_gate("10%", "both");
  EXPECT_TRUE(keeps(interval, 81) && keeps(interval, 129));
  EXPECT_FALSE(keeps(interval, 79) || keeps(interval, 131));
  EXPECT_TRUE(keeps(tenth, 91) && keeps(tenth, 109));
  EXPECT_FALSE(keeps(tenth, 89) || keeps(tenth, 111));
}

TEST(Gate, MayHaveOneSide) {
  const Gate slow = parse_gate("10%", "slow"), fast = parse_gate("10%", "fast");
  EXPECT_TRUE(keeps(slow, 1) && keeps(fast, 1000));
  EXPECT_FALSE(keeps(slow, 111) || keeps(fast, 89));
}

TEST(Gate, RefusesWhatIsNoLimit) {
  for (const char* within : {"", "10", "-1%", "%", "nan%"}) {
    EXPECT_THROW((void)parse_gate(within, "both"), InputError) << within;
  }
  EXPECT_THROW((void)parse_gate("10%", "slower"), InputError);
}

TEST(Gate, WritesACaseForEachRow) {
  std::ostringstream out;
  write_junit(out, {measured(100), measured(200)}, parse_gate("interval", "both"));
  EXPECT_EQ(out.str(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"paceline\" tests=\"2\" failures=\"1\">\n"
            "  <testcase classname=\"a &lt;b&gt;\" name=\"8 GPUs\" time=\"0.1\"/>\n"
            "  <testcase classname=\"a &lt;b&gt;\" name=\"8 GPUs\" time=\"0.2\">\n"
            "    <failure message=\"a step of 200ms was measured, longer than the 130ms that are "
            "allowed\"/>\n"
            "  </testcase>\n"
            "</testsuite>\n");
}

TEST(Gate, WritesOpenMetrics) {
  std::ostringstream out;
  write_open_metrics(out, {measured(90)});
  EXPECT_NE(out.str().find("# TYPE paceline_measured_step_seconds gauge\n"
                           "# UNIT paceline_measured_step_seconds seconds\n"
                           "paceline_measured_step_seconds{scenario=\"a <b>\",point=\"8 GPUs\"} "
                           "0.09\n"),
            std::string::npos)
      << out.str();
  EXPECT_TRUE(out.str().ends_with("# EOF\n"));
}

std::set<std::string> metrics_in(const std::string& text) {
  static const std::regex name("paceline_[a-z_]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), name), std::sregex_token_iterator()};
}

TEST(Gate, HasADashboardOfItsMetrics) {
  const auto dashboard = nlohmann::json::parse(
      test::text_of(PACELINE_SOURCE_DIR "/scenarios/guides/grafana-dashboard.json"));
  ASSERT_EQ(dashboard["panels"].size(), 1U);
  std::ostringstream out;
  write_open_metrics(out, {measured(90)});
  EXPECT_EQ(metrics_in(dashboard.dump()), metrics_in(out.str()));
}

// Its bench.yaml has a step that is faster than predicted, which a job may be.
TEST(Gate, HasAWorkflowThatRuns) {
  const test::Folder folder;
  folder.write("bench.yaml", test::changed(test::small_scenario, "",
                                           "measured: {source: a test, points: [{step: 1us}]}\n"));
  const std::string workflow =
      test::text_of(PACELINE_SOURCE_DIR "/scenarios/guides/github-workflow.yml");
  static const std::regex command("- run: paceline (.*)");
  std::size_t commands = 0;
  for (std::sregex_iterator at(workflow.begin(), workflow.end(), command), end; at != end; ++at) {
    const std::string typed = PACELINE_BINARY " " + (*at)[1].str();
    const test::Ended ended = test::run_program({"/bin/bash", "-c", typed}, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << typed << ": " << ended.err;
    ++commands;
  }
  EXPECT_EQ(commands, 2U);
  for (const char* uploaded : {"steps.xml", "steps.prom"}) {
    EXPECT_NE(test::text_of(folder.path() / uploaded), "") << uploaded;
  }
}

}  // namespace
}  // namespace paceline
