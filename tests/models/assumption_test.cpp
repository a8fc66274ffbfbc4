#include "models/assumption.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr AssumptionKind no_latency{"{}: no latency"};
constexpr AssumptionKind slow{"{}: {} is {} times as slow"};

using Sentences = std::vector<std::string>;

TEST(Assumption, FillsTheSubjectAndTheValuesIntoItsSentence) {
  EXPECT_EQ(Assumption(no_latency, "network").sentence(), "network: no latency");
  EXPECT_EQ(Assumption(slow, "ranks", {"rank 3", "1.2"}).sentence(),
            "ranks: rank 3 is 1.2 times as slow");
}

TEST(Assumption, LeavesBracesOfAValueAsTheyAre) {
  EXPECT_EQ(Assumption(slow, "{}", {"{}", "{1}"}).sentence(), "{}: {} is {1} times as slow");
}

TEST(AssumptionDeathTest, NeedsAValueForEachGap) {
  EXPECT_DEATH(Assumption(slow, "ranks", {"rank 3"}), "contract broken");
}

TEST(Assumptions, AreEachThereOnceInTheOrderOfTheirMaking) {
  Assumptions all;
  all.add({slow, "ranks", {"rank 3", "2"}});
  all.add({no_latency, "network"});
  Assumptions more;
  more.add({no_latency, "network"});
  more.add({no_latency, "intra_node"});
  all.add(more);
  EXPECT_EQ(all.sentences(), (Sentences{"ranks: rank 3 is 2 times as slow", "network: no latency",
                                        "intra_node: no latency"}));
}

TEST(Assumptions, AreRemovedAndAskedForByKindAndSubjectNotByText) {
  static constexpr AssumptionKind same_words{"{}: no latency"};
  Assumptions all;
  all.add({no_latency, "network"});
  all.add({no_latency, "intra_node"});
  all.add({same_words, "network"});
  all.remove(no_latency, "network");
  EXPECT_EQ(all.sentences(), (Sentences{"intra_node: no latency", "network: no latency"}));
  EXPECT_TRUE(all.has(same_words));
  EXPECT_FALSE(all.has(slow));
  all.keep_only({no_latency});
  EXPECT_EQ(all.sentences(), Sentences{"intra_node: no latency"});
  all.remove(no_latency, "intra_node");
  EXPECT_TRUE(all.empty());
}

}  // namespace
}  // namespace paceline
