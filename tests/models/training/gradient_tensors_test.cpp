#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/training/strategy.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

TEST(GradientTensors, AreInRegistrationOrder) {
  workload::Workload workload = two_layers();
  workload.layers[1].parameters.push_back({"b.bias", ElementCount(30), workload::DataType::int64});
  const auto gradients = gradient_tensors(workload);
  ASSERT_EQ(gradients.size(), 3U);
  const std::vector<std::string> names{"a.weight", "b.weight", "b.bias"};
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(gradients[i].name, names[i]);
  EXPECT_EQ(gradients[2].type, workload::DataType::int64);
}

}  // namespace
}  // namespace paceline::training
