// Layers that a scenario lists itself, and what it measured of one GPU.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "scenarios/errors.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace load_workload_test {

// With the first of the small scenario's layers, of 1000 and 20 parameters, told these rows.
ScenarioFile file_with_rows(std::string_view rows) {
  const test::Folder folder;
  const std::string parameters = "parameters: [1000, 20]";
  return ScenarioFile::read(
      folder.write("s.yaml", test::changed(test::small_scenario, parameters,
                                           parameters + ", rows: " + std::string(rows))),
      {});
}

// Without its folder.
std::string refusal_of_rows(std::string_view rows) {
  try {
    (void)file_with_rows(rows);
  } catch (const InputError& error) {
    const std::string text = error.what();
    return text.substr(text.find("s.yaml"));
  }
  return "";
}

TEST(Layers, TellTheRowsOfTheirTensors) {
  const Scenario told = file_with_rows("[50, 20]").scenario(0);
  const auto& layers = told.workload.layers;
  EXPECT_EQ(layers.at(0).parameters.at(0).rows, ElementCount(50));
  EXPECT_EQ(layers.at(0).parameters.at(1).rows, ElementCount(20));
  EXPECT_FALSE(layers.at(1).parameters.at(0).rows);
}

// The list begins in column 76 of line 7, its first number in the next one, the third in column 85.
TEST(Layers, TellRowsThatFitTheirTensors) {
  EXPECT_EQ(refusal_of_rows("[7, 20]"),
            "s.yaml:7:77: rows \"7\" does not divide the 1000 elements; write the tensor's first "
            "dimension");
  EXPECT_EQ(refusal_of_rows("[50]"),
            "s.yaml:7:76: rows has 1 numbers for 2 parameters; write one number per tensor");
  EXPECT_EQ(refusal_of_rows("[50, 20, 1]"),
            "s.yaml:7:85: rows \"1\" is one more than parameters; write one number per tensor");
}

// `single_gpu_wrapped` follows batch_per_gpu, with or without a measurement before it.
Scenario scenario_wrapped(std::string_view more) {
  const test::Folder folder;
  return ScenarioFile::read(
             folder.write("s.yaml", test::changed(test::small_scenario, "  batch_per_gpu: 8\n",
                                                  "  batch_per_gpu: 8\n" + std::string(more))),
             {})
      .scenario(0);
}

TEST(OneGpuRows, AreMeasuredInAWrapperWhereTheFileSaysSo) {
  const std::string measured = "  single_gpu_throughput: 100 samples/s\n";
  EXPECT_FALSE(scenario_wrapped("").one_gpu_is_wrapped);
  EXPECT_FALSE(scenario_wrapped(measured).one_gpu_is_wrapped);
  EXPECT_FALSE(scenario_wrapped(measured + "  single_gpu_wrapped: false\n").one_gpu_is_wrapped);
  EXPECT_TRUE(scenario_wrapped(measured + "  single_gpu_wrapped: true\n").one_gpu_is_wrapped);
}

TEST(OneGpuRows, AreNotWrappedWithoutAMeasurement) {
  for (const char* value : {"true", "false"}) {
    const test::Folder folder;
    folder.write(
        "bad.yaml",
        test::changed(test::small_scenario, "  batch_per_gpu: 8\n",
                      std::string("  batch_per_gpu: 8\n  single_gpu_wrapped: ") + value + "\n"));
    test::expect_refused(test::paceline({"run", "bad.yaml"}, folder.path()),
                         std::string("paceline: bad.yaml:5:23: single_gpu_wrapped \"") + value +
                             "\" belongs to single_gpu_throughput");
  }
}

}  // namespace load_workload_test
}  // namespace paceline
