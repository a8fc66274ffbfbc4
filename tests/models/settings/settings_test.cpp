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
};

TEST(Settings, HoldWhatTheTableSaysUntilTheyAreGiven) {
  Settings settings(keys);
  EXPECT_EQ(settings.get<Bytes>("size"), Bytes(5));
  EXPECT_EQ(settings.find<Bytes>("limit"), std::nullopt);
  EXPECT_EQ(settings.find<Seconds>("map.time"), std::nullopt);
  EXPECT_EQ(settings.word<Order>("order"), Order::last);
  settings.set("size", Bytes(5));
  settings.set("limit", Bytes(7));
  settings.set("order", value_of(Order::first));
  EXPECT_TRUE(settings.is_given("size"));
  EXPECT_FALSE(settings.is_given("map.time"));
  EXPECT_EQ(settings.get<Bytes>("limit"), Bytes(7));
  EXPECT_EQ(settings.word<Order>("order"), Order::first);
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
