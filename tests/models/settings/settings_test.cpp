#include "models/settings/settings.h"

#include <gtest/gtest.h>

namespace paceline::settings {
namespace {

enum class Order { first, last };

constexpr auto words_of(Order) {
  using enum Order;
  return std::array{Word{first, "first"}, Word{last, "last"}};
}

constexpr std::array keys{
    Key{"size", Size{}, Value(Bytes(5)), "of all"},
    Key{"limit", Size{}, automatic, "of one"},
    Key{"order", OneOf{texts_of<Order>}, value_of(Order::last), "of sending"},
    Key{"map.time", Time{}, "by the rest", "of one"},
    Key{"count", Count{1, 9}, std::uint64_t{3}, "of all", "", {"order", {"first"}}},
    Key{"part", Fraction{0, 1}, required, "of the count", "", {"count"}},
};

TEST(Settings, HoldWhatTheTableSaysUntilTheyAreGiven) {
  Settings settings(keys);
  EXPECT_EQ(settings.get<Bytes>("size"), Bytes(5));
  EXPECT_EQ(settings.find<Bytes>("limit"), std::nullopt);
  EXPECT_EQ(settings.find<Seconds>("map.time"), std::nullopt);
  EXPECT_EQ(settings.get<Order>("order"), Order::last);
  settings.set("size", Bytes(5));
  settings.set("limit", Bytes(7));
  settings.set("order", value_of(Order::first));
  EXPECT_TRUE(settings.is_given("size"));
  EXPECT_FALSE(settings.is_given("map.time"));
  EXPECT_EQ(settings.get<Bytes>("limit"), Bytes(7));
  EXPECT_EQ(settings.get<Order>("order"), Order::first);
}

TEST(Settings, AreTakenAsTheirReaderHoldsThem) {
  const Settings settings(keys);
  EXPECT_EQ(settings.get<std::uint32_t>("count"), 3U);
  EXPECT_EQ(settings.get<std::string_view>("order"), "last");
}

// The part needs a count, which needs an order that is not the default.
TEST(Settings, KnowTheFirstThingThatAKeyLacks) {
  Settings settings(keys);
  EXPECT_EQ(settings.unmet("size"), nullptr);
  EXPECT_EQ(settings.unmet("count")->key, "order");
  EXPECT_EQ(settings.unmet("part")->key, "order");
  settings.set("order", value_of(Order::first));
  EXPECT_EQ(settings.unmet("count"), nullptr);
  EXPECT_EQ(settings.unmet("part")->key, "count");
  settings.set("count", std::uint64_t{3});
  EXPECT_EQ(settings.unmet("part"), nullptr);
}

TEST(Settings, AreSpelledAsInAFile) {
  EXPECT_EQ(spelled(keys[0], Bytes(5)), "5B");
  EXPECT_EQ(spelled(keys[2], value_of(Order::last)), "last");
  EXPECT_EQ(spelled(keys[3], Seconds(0)), "0s");
  EXPECT_EQ(spelled(keys[4], std::uint64_t{7}), "7");
  EXPECT_EQ(spelled(keys[5], 0.25), "0.25");
  EXPECT_EQ(spelled(keys[0], Version{2, 1}), "\"2.1\"");
  EXPECT_EQ(spelled(keys[0], true), "true");
}

TEST(SettingsDeathTest, AreOfKnownKeysOnly) {
  Settings settings(keys);
  EXPECT_DEATH((void)settings.is_given("sise"), "contract broken");
  EXPECT_DEATH((void)settings.get<Bytes>("limit"), "contract broken");
}

TEST(Keys, StandBelowTheirMaps) {
  EXPECT_EQ(top_of(keys[0]), "size");
  EXPECT_EQ(top_of(keys[3]), "map");
}

}  // namespace
}  // namespace paceline::settings
