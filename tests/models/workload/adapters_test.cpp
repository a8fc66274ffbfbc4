#include "models/workload/adapters.h"

#include <gtest/gtest.h>

namespace paceline::workload {
namespace {

// 4 features to 6, over 10 rows of a sample: 24 weights, 480 FLOPs.
Layer product(const char* name) {
  const PassCost one{Flops(480), 100, 24};
  Layer layer{
      name,
      {{std::string(name) + ".weight", ElementCount(24), DataType::float32, 0, ElementCount(6)}},
      {},
      ModelledCost{one, {Flops(960), 200, 48}, Work::product}};
  layer.kept = {40, 60, true};
  return layer;
}

Network three() { return {"three", {product("embed"), product("a.q_proj"), product("a.k_proj")}}; }

const ModelledCost& cost_of(const Layer& layer) { return std::get<ModelledCost>(layer.cost); }

// Of rank 2: 4 x 2 and 2 x 6 weights, 160 and 240 FLOPs a sample, and twice that backward.
TEST(Adapters, StandBesideTheirTargets) {
  const Network adapted = with_adapters(three(), {2, {"q_proj"}});
  ASSERT_EQ(adapted.layers.size(), 6U);
  const Layer &down = adapted.layers[2], &up = adapted.layers[3], &sum = adapted.layers[4];
  EXPECT_EQ(down.name, "a.q_proj.lora_A");
  EXPECT_EQ(up.name, "a.q_proj.lora_B");
  EXPECT_EQ(down.parameters.front().count, ElementCount(8));
  EXPECT_EQ(up.parameters.front().count, ElementCount(12));
  EXPECT_DOUBLE_EQ(cost_of(down).forward.flops_per_sample.value(), 160);
  EXPECT_DOUBLE_EQ(cost_of(up).backward.flops_per_sample.value(), 480);
  EXPECT_DOUBLE_EQ(cost_of(sum).forward.activation_elements_per_sample, 180);
  EXPECT_EQ(parameters(adapted).size(), 2U);
}

// What stands before the first adapter has no backward; behind it a product has that of its input
// alone, and keeps nothing for its weight's.
TEST(Adapters, FreezeAllElse) {
  const Network adapted = with_adapters(three(), {2, {"q_proj"}});
  const Layer &before = adapted.layers[0], &behind = adapted.layers[5];
  EXPECT_EQ(cost_of(before).backward.flops_per_sample, Flops(0));
  EXPECT_DOUBLE_EQ(cost_of(behind).backward.flops_per_sample.value(), 480);
  for (const Layer* layer : {&before, &behind}) {
    EXPECT_TRUE(layer->parameters.empty());
    EXPECT_EQ(layer->frozen.front().count, ElementCount(24));
    EXPECT_FALSE(layer->kept.needs_input);
  }
}

TEST(Adapters, NeedAProductThatIsCalledSo) {
  EXPECT_FALSE(has_target(three(), "proj"));  // no part of a name
  EXPECT_TRUE(has_target(three(), "embed"));
  EXPECT_EQ(with_adapters(three(), {2, {"embed"}}).layers.size(), 6U);
}

// A backbone that is frozen, and a head that is trained.
TEST(Adapters, NothingRunsBackwardBeforeWhatIsTrained) {
  std::vector<Layer> layers = three().layers;
  drop_unreached_backward(layers);
  EXPECT_EQ(cost_of(layers[0]).backward.flops_per_sample, Flops(960));  // all are trained
  layers[0].frozen = std::move(layers[0].parameters);
  layers[0].parameters.clear();
  drop_unreached_backward(layers);
  EXPECT_EQ(cost_of(layers[0]).backward.flops_per_sample, Flops(0));
  EXPECT_EQ(cost_of(layers[1]).backward.flops_per_sample, Flops(960));
}

}  // namespace
}  // namespace paceline::workload
