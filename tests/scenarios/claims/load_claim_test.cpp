#include <gtest/gtest.h>

#include <string>

#include "scenarios/claims/verdict.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::claims {
namespace load_claim_test {

using test::changed;
using test::Folder;

const std::string faster_optimizer = R"(schema: paceline.claim/1
claim: a free optimizer saves a seventh
source: folklore
scenario: scenario.yaml
before: {training.optimizer.time: 1ms}
after: {training.optimizer.time: 0ms}
quantity: time_saved
range: {least: 14%, most: 15%}
conditions: {gpus: [1]}
)";

TEST(LoadClaim, ReadsEveryKey) {
  const Folder folder;
  const Claim claim = load_claim(folder.write("mine.yaml", R"(schema: paceline.claim/1
claim: a sentence
source: https://example.org
base: {workload.model: resnet18, gpus: 2}
before: [{training.bucket_cap: 1MB}, {}]
after: {training.bucket_cap: 25MB}
quantity: throughput_ratio
range: {least: 2}
given: {quantity: exposed_share, range: {most: 30%}}
conditions: {gpus: [2, 4], training.torch_version: ["2.1"]}
not_modelled: the weather
note: a note
)"));
  EXPECT_EQ(claim.name, "mine");
  EXPECT_EQ(claim.sentence, "a sentence");
  EXPECT_EQ(claim.source, "https://example.org");
  EXPECT_EQ(claim.scenario, "");
  EXPECT_EQ(claim.base.by_path.at("workload.model"), "resnet18");
  EXPECT_EQ(claim.base.by_path.at("name"), "mine");
  ASSERT_EQ(claim.before.size(), 2U);
  EXPECT_EQ(claim.before[0].at(0).value, "1MB");
  EXPECT_TRUE(claim.before[1].empty());
  ASSERT_EQ(claim.after.size(), 1U);
  EXPECT_EQ(claim.quantity, Quantity::throughput_ratio);
  EXPECT_EQ(claim.claimed.least, 2.0);
  EXPECT_FALSE(claim.claimed.most);
  ASSERT_TRUE(claim.given);
  EXPECT_EQ(claim.given->quantity, Quantity::exposed_share);
  EXPECT_EQ(claim.given->range.most, 0.3);
  ASSERT_EQ(claim.conditions.size(), 2U);
  EXPECT_EQ(claim.conditions[0].values, (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(claim.not_modelled, "the weather");
  EXPECT_EQ(claim.note, "a note");
}

TEST(LoadClaim, ReadsEveryShippedClaim) {
  const auto claims = load_shipped_claims();
  EXPECT_GE(claims.size(), 15U);
  for (const Claim& claim : claims) {
    EXPECT_FALSE(claim.sentence.empty()) << claim.name;
    EXPECT_FALSE(claim.conditions.empty()) << claim.name;
  }
}

TEST(LoadClaim, RefusesBadClaimsInOneLine) {
  const Folder folder;
  folder.write("scenario.yaml", test::small_scenario);
  const struct {
    const char *from, *to, *message;
  } faults[] = {
      {"paceline.claim/1", "paceline/1", "paceline: c.yaml:1:9: schema \"paceline/1\" is not"},
      {"quantity: time_saved", "quantity: times", "paceline: c.yaml:7:11: quantity \"times\""},
      {"least: 14%, most: 15%", "least: 16%, most: 15%", "paceline: c.yaml:8:8: range is empty"},
      {"{least: 14%, most: 15%}", "{}", "paceline: c.yaml:8:8: range has no bounds"},
      {"gpus: [1]", "gpus: 1", "paceline: c.yaml:9:20: gpus \"1\" is not a list"},
      {"source: folklore\n", "", "paceline: c.yaml:1:1: source is missing"},
      {"scenario: scenario.yaml", "scenario: none.yaml", "paceline: none.yaml"},
      {"optimizer.time: 1ms", "optimiser.time: 1ms", "paceline: --set training.optimiser.time=1ms"},
      {"claim: a", "clam: a", "paceline: c.yaml:1:1: claim is missing"},
  };
  for (const auto& [from, to, message] : faults) {
    folder.write("c.yaml", changed(faster_optimizer, from, to));
    test::expect_refused(test::paceline({"claims", "c.yaml"}, folder.path()), message);
  }
  test::expect_refused(test::paceline({"claims", "bucket-cap-100-resnet5"}, folder.path()),
                       "paceline: bucket-cap-100-resnet5: is no claim; did you mean "
                       "bucket-cap-100-resnet50?");
}

}  // namespace load_claim_test
}  // namespace paceline::claims
