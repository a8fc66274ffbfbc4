#include "models/workload/activations.h"

#include <gtest/gtest.h>

namespace paceline::workload {
namespace {

Layer with(Kept kept) { return {"", {}, {}, ModelledCost{}, kept}; }

// Layers that need their input, their output, or nothing.
Layer product(double in, double out) { return with({in, out, true}); }
Layer relu(double n) { return with({n, n, false, true}); }
Layer sum(double n) { return with({2 * n, n}); }
Layer layernorm(double n) { return with({n, n, true, false, true}); }

Bytes kept_by(std::vector<Layer> layers, Precision precision, std::uint32_t batch = 1) {
  return activation_bytes({"", std::move(layers)}, batch, precision, {});
}

// The input, 10 elements, and what the first product makes for the second, 20. Nobody needs the 30
// of the last one.
TEST(Activations, AreTheInputsOfProducts) {
  const std::vector layers{product(10, 20), product(20, 30)};
  EXPECT_EQ(kept_by(layers, Precision::fp32), Bytes(4 * 30));
  EXPECT_EQ(kept_by(layers, Precision::tf32, 3), Bytes(3 * 4 * 30));
  EXPECT_EQ(kept_by(layers, Precision::bf16, 3), Bytes(3 * 2 * 30));
}

// The input, 10, and of a loss of 20 logits the softmax, its gradient and that of the logits, each
// in fp32.
TEST(Activations, HaveThreeArraysOfTheLossInFp32) {
  const std::vector layers{product(10, 20), with({20, 20, false, true, true})};
  EXPECT_EQ(kept_by(layers, Precision::fp32), Bytes(4 * 10 + 12 * 20));
  EXPECT_EQ(kept_by(layers, Precision::amp), Bytes(2 * 10 + 12 * 20));
  EXPECT_EQ(kept_by(layers, Precision::bf16), Bytes(2 * 10 + 12 * 20));
}

// A ReLU's output, which its backward and the next product read, is one tensor: 10 + 20. The
// product's own output, over which the ReLU wrote, is none.
TEST(Activations, CountATensorOnceWhoeverReadsIt) {
  EXPECT_EQ(kept_by({product(10, 20), relu(20), product(20, 5)}, Precision::fp32), Bytes(4 * 30));
}

// A branch: the last product reads 40, which the ReLU made and keeps, not the 7 before it. So 10,
// the ReLU's 40, and nothing more.
TEST(Activations, OfABranchAreThoseOfTheLayerThatItLeaves) {
  EXPECT_EQ(
      kept_by({product(10, 40), relu(40), product(40, 7), sum(7), product(40, 7)}, Precision::fp32),
      Bytes(4 * (10 + 40)));
}

// Nor does it read two layers before it that have as much together: 10, the ReLU's 40, and the 20
// of the product that a norm reads.
TEST(Activations, OfABranchAreNotThoseOfTwoLayersOfItsSize) {
  EXPECT_EQ(kept_by({product(10, 40), relu(40), product(40, 20), layernorm(20), product(40, 7)},
                    Precision::fp32),
            Bytes(4 * (10 + 40 + 20)));
}

// Query, key and value of 10 each from 10 of a layer norm, 8 scores: the norm's input, its output,
// the three, the scores, and what attention gives to the last product: 10 + 10 + 30 + 8 + 10.
std::vector<Layer> attention() {
  Layer attention = with({30, 10, true});
  attention.kept.scores = 8;
  return {layernorm(10),   product(10, 10), product(10, 10),
          product(10, 10), attention,       product(10, 10)};
}

TEST(Activations, OfAttentionAreQueryKeyValueAndScores) {
  EXPECT_EQ(kept_by(attention(), Precision::fp32), Bytes(4 * 68));
  EXPECT_EQ(kept_by(attention(), Precision::fp16), Bytes(2 * 68));
}

// Under autocast the norm's input has 4 bytes, and scores 4 and 2 of their copy: 40 + 48; the other
// 50 elements have 2.
TEST(Activations, UnderAmpAreWideWhereAutocastComputesInFp32) {
  EXPECT_EQ(kept_by(attention(), Precision::amp), Bytes(40 + 8 * 6 + 50 * 2));
  EXPECT_EQ(kept_by(attention(), Precision::amp, 2), Bytes(2 * (40 + 8 * 6 + 50 * 2)));
}

// What is read both ways is kept in both types: 10 * 4 + 10 * 2 of the first output, and the input
// of 5 in 2.
TEST(Activations, UnderAmpMayBeOfTwoTypes) {
  const std::vector layers{product(5, 10), layernorm(10), product(7, 7), product(10, 1)};
  // The norm's own output is what the last product reads; 7 come from nowhere.
  EXPECT_EQ(kept_by(layers, Precision::amp), Bytes(2 * 5 + 4 * 10 + 2 * 7 + 2 * 10));
  EXPECT_EQ(
      kept_by({layernorm(10), relu(10), layernorm(10), sum(3), product(10, 1)}, Precision::amp),
      Bytes(4 * 10 + (4 + 2) * 10 + 2 * 10));
}

// A batch of 3: the casts of 100 weights once, 2 bytes each; without autocast none.
TEST(Activations, UnderAmpHaveCopiesOfWeightsOnce) {
  Layer layer = product(10, 20);
  layer.kept.cast_weights = 100;
  EXPECT_EQ(kept_by({layer}, Precision::amp, 3), Bytes(3 * 2 * 10 + 200));
  EXPECT_EQ(kept_by({layer}, Precision::fp16, 3), Bytes(3 * 2 * 10));
}

// Places of maxima are int64: 8 bytes whatever the precision.
TEST(Activations, OfPoolsHaveIndices) {
  Layer pool = with({40, 10, true});
  pool.kept.indices = 10;
  EXPECT_EQ(kept_by({pool}, Precision::fp32), Bytes(40 * 4 + 80));
  EXPECT_EQ(kept_by({pool}, Precision::fp16), Bytes(40 * 2 + 80));
}

}  // namespace
}  // namespace paceline::workload
