// What a scenario says of compute beside collectives.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace load_contention_test {

Contention contention_told(const std::string& value) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  values.set_given({{"contention", value}});
  return scenario_of_options(values, {}).contention;
}

TEST(ContentionSettings, AreAutomaticUnlessGiven) {
  for (const char* value : {"", "auto"}) {
    const Contention contention = contention_told(value);
    EXPECT_TRUE(contention.automatic);
    EXPECT_FALSE(contention.assumed);
    EXPECT_EQ(contention.slowdown, 1);
  }
}

TEST(ContentionSettings, AreAWord) {
  const Contention off = contention_told("off");
  EXPECT_FALSE(off.automatic || off.assumed);
  EXPECT_EQ(off.slowdown, 1);
  const Contention assumed = contention_told("assumed");
  EXPECT_TRUE(assumed.assumed);
  EXPECT_FALSE(assumed.automatic);
  EXPECT_EQ(assumed.more, 0);
}

TEST(ContentionSettings, AreAFactor) {
  const Contention given = contention_told("1.3");
  EXPECT_FALSE(given.automatic || given.assumed);
  EXPECT_EQ(given.slowdown, 1.3);
}

TEST(ContentionSettings, AreWhatIsAssumedAndMore) {
  for (const auto& [value, more] : {std::pair{"assumed+0", 0.0}, std::pair{"assumed+0.1", 0.1},
                                    std::pair{"assumed+10", 10.0}}) {
    const Contention contention = contention_told(value);
    EXPECT_TRUE(contention.assumed) << value;
    EXPECT_FALSE(contention.automatic) << value;
    EXPECT_EQ(contention.more, more) << value;
    EXPECT_EQ(contention.slowdown, 1) << value;
  }
}

// The small scenario has 16 lines.
void expect_no_contention(const std::string& value, const std::string& message) {
  const test::Folder folder;
  folder.write("bad.yaml", test::changed(test::small_scenario, "", "contention: " + value + "\n"));
  test::expect_refused(
      test::paceline({"run", "bad.yaml"}, folder.path()),
      fmt::format("paceline: bad.yaml:17:13: contention \"{}\" {}\n", value, message));
}

TEST(ContentionSettings, AreRefusedWithoutANumberBehindThePlus) {
  for (const char* more : {"", "x", "-1", "11", "10%", "0.1s", "nan", "+1"}) {
    expect_no_contention(
        std::string("assumed+") + more,
        "needs a number from 0 to 10 after assumed+; write contention: assumed+0.1");
  }
}

TEST(ContentionSettings, AreRefusedWhenTheyAreNoneOfThese) {
  for (const char* value : {"some", "0.5", "101", "assumed-0.1", "measured"}) {
    expect_no_contention(value,
                         "is neither auto, off, assumed, assumed+0.1 nor a factor of 1 to 100; "
                         "write contention: 1.3");
  }
}

}  // namespace load_contention_test
}  // namespace paceline
