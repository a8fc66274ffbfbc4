#include "models/workload/checkpoints.h"

#include <gtest/gtest.h>

#include "models/workload/activations.h"

namespace paceline::workload {
namespace {

using Segments = std::vector<Segment>;

constexpr Block outside = std::nullopt;

// A stem, blocks of two, one and one layers, and a head.
const std::vector<Block> blocks{outside, 0, 0, 1, 2, outside};

TEST(Checkpoints, AreOfSoManyBlocks) {
  EXPECT_EQ(segments_of(blocks, {0}), Segments{});
  EXPECT_EQ(segments_of(blocks, {1}), (Segments{{1, 3}, {3, 4}, {4, 5}}));
  EXPECT_EQ(segments_of(blocks, {2}), (Segments{{1, 4}, {4, 5}}));
  EXPECT_EQ(segments_of(blocks, {3}), (Segments{{1, 5}}));
  EXPECT_EQ(segments_of(blocks, {100}), (Segments{{1, 5}}));
}

TEST(Checkpoints, EndBeforeALayerOutsideOfBlocks) {
  const std::vector<Block> parted{0, 1, outside, 2, 3};
  EXPECT_EQ(segments_of(parted, {3}), (Segments{{0, 2}, {3, 5}}));
}

TEST(Checkpoints, MayBeOfEveryOtherBlock) {
  EXPECT_EQ(segments_of(blocks, {1, 2}), (Segments{{3, 4}}));
  EXPECT_EQ(segments_of(blocks, {1, 3}), (Segments{{4, 5}}));
  EXPECT_EQ(segments_of(blocks, {2, 2}), (Segments{{4, 5}}));
  EXPECT_EQ(segments_of(blocks, {1, 4}), Segments{});
}

// Each block keeps 16 elements, or only its input of 1 element where it is checkpointed, as the
// second and the fourth are. Kept are 2 x 16 and 2 x 1, and 16 more of the block that is being
// recomputed.
TEST(Checkpoints, OfEveryOtherBlockLeaveTheOthersAsTheyAre) {
  Network network;
  network.layers.push_back({"", {}, {}, ModelledCost{}, {.output = 1}});
  std::vector<TimedLayer> timed{{"", Seconds(1), Seconds(2), {}, {}}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    network.layers.push_back(
        {"", {}, {}, ModelledCost{}, {.input = 1, .output = 16, .needs_output = true}, i});
    network.layers.push_back({"", {}, {}, ModelledCost{}, {.input = 16, .output = 1}, i});
    for (int layer = 0; layer < 2; ++layer) {
      timed.push_back({"", Seconds(1), Seconds(2), {}, {}, i});
    }
  }
  EXPECT_EQ(activation_bytes(network, 1, Precision::fp32, {1, 2}), Bytes(4 * (2 * 16 + 2 + 16)));
  recompute(timed, {1, 2});
  std::vector<double> backward;
  for (const TimedLayer& layer : timed) backward.push_back(layer.backward.value());
  EXPECT_EQ(backward, (std::vector<double>{2, 2, 2, 2, 4, 2, 2, 2, 4}));
}

// Two layers of a transformer with s = 2, h = 3 and 4 heads, at 16 bits: each keeps Q, K, V and the
// result, which the next product reads, 4 s h, and the input of its products, s h; of the scores,
// 4 s^2, one layer's alone, while its attention is recomputed.
TEST(Checkpoints, OfAttentionKeepScoresOfOneAttention) {
  const double sh = 6, scores = 16;
  Network network;
  network.layers.push_back({"", {}, {}, ModelledCost{}, {.output = sh}});
  for (std::uint32_t i = 0; i < 2; ++i) {
    const Layer product{"", {}, {}, ModelledCost{{}, {}, Work::product}, {sh, sh, true}, i};
    Layer attention{"", {}, {}, ModelledCost{{}, {}, Work::attention}, {3 * sh, sh, true}, i};
    attention.kept.scores = scores;
    Layer out = product;
    for (int qkv = 0; qkv < 3; ++qkv) {
      network.layers.push_back(product);
      if (qkv > 0) network.layers.back().kept.needs_input = false;
    }
    network.layers.push_back(attention);
    network.layers.push_back(out);
  }
  const auto kept = [&](Checkpoints checkpoints) {
    return activation_bytes(network, 1, Precision::bf16, checkpoints);
  };
  EXPECT_EQ(kept({}), Bytes(2 * (2 * 5 * 6 + 2 * 16)));
  EXPECT_EQ(kept({.attention = true}), Bytes(2 * (2 * 5 * 6)) + Bytes(2 * 16) - Bytes(2 * 6));
}

TEST(Checkpoints, OfAttentionRunItAlone) {
  std::vector<TimedLayer> layers(3, {"", Seconds(1), Seconds(2), {}, {}});
  layers[1].is_attention = true;
  recompute(layers, {.attention = true});
  EXPECT_EQ(layers[0].backward, Seconds(2));
  EXPECT_EQ(layers[1].backward, Seconds(3));
  EXPECT_EQ(layers[1].recomputed, 1U);
  EXPECT_EQ(layers[2].backward, Seconds(2));
}

// Forwards of 1, 2, 4, 8, 16 and 32 s: a segment's come with the backward of its last layer.
TEST(Checkpoints, RunTheForwardOfASegmentAgain) {
  std::vector<TimedLayer> layers;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    layers.push_back({"", Seconds(1U << i), Seconds(100), {}, {}, blocks[i]});
  }
  recompute(layers, {2});
  std::vector<double> backward;
  for (const TimedLayer& layer : layers) backward.push_back(layer.backward.value());
  EXPECT_EQ(backward, (std::vector<double>{100, 100, 100, 100 + 2 + 4 + 8, 100 + 16, 100}));
}

// Block of one layer that reads 1 element and keeps 16 that it makes, so many of them in a row.
// Without checkpoints 16 a block, and the first input. With segments of k of n blocks: n/k inputs,
// of which the first stands for itself, and 16 k of the one that is recomputed.
Bytes kept_of(std::uint32_t blocks_in_all, std::uint32_t of_segment) {
  Network network;
  network.layers.push_back({"", {}, {}, ModelledCost{}, {.output = 1}});
  for (std::uint32_t i = 0; i < blocks_in_all; ++i) {
    Layer inner{"", {}, {}, ModelledCost{}, {.input = 1, .output = 16, .needs_output = true}, i};
    Layer last{"", {}, {}, ModelledCost{}, {.input = 16, .output = 1}, i};
    network.layers.push_back(inner);
    network.layers.push_back(last);
  }
  return activation_bytes(network, 1, Precision::fp32, {of_segment});
}

// Chen et al., section 4.1: n/k + 16 k is least where k is the root of n/16; of 256 blocks 4, which
// keep 64 + 64 of 256 * 16 elements.
TEST(Checkpoints, KeepInputsAndOneSegment) {
  EXPECT_EQ(kept_of(256, 0), Bytes(4 * 256 * 16));
  EXPECT_EQ(kept_of(256, 1), Bytes(4 * (256 + 16)));
  EXPECT_EQ(kept_of(256, 4), Bytes(4 * (64 + 64)));
  EXPECT_EQ(kept_of(256, 16), Bytes(4 * (16 + 256)));
  EXPECT_EQ(kept_of(256, 256), Bytes(4 * (1 + 256 * 16)));
  for (const std::uint32_t other : {1U, 2U, 3U, 5U, 8U, 16U, 256U}) {
    EXPECT_GT(kept_of(256, other), kept_of(256, 4)) << other;
  }
}

// What comes after the segments is kept when the forward is done, and freed when they are
// recomputed: 1 + 1 inputs beside 100, or beside one block of 16.
TEST(Checkpoints, KeepWhatIsAfterThemUntilTheBackward) {
  Network network;
  network.layers.push_back({"", {}, {}, ModelledCost{}, {.output = 1}});
  for (std::uint32_t i = 0; i < 2; ++i) {
    network.layers.push_back(
        {"", {}, {}, ModelledCost{}, {.input = 1, .output = 16, .needs_output = true}, i});
    network.layers.push_back({"", {}, {}, ModelledCost{}, {.input = 16, .output = 1}, i});
  }
  network.layers.push_back({"", {}, {}, ModelledCost{}, {.output = 100, .needs_output = true}});
  EXPECT_EQ(activation_bytes(network, 3, Precision::fp32, {1}), Bytes(3 * 4 * (2 + 100)));
  network.layers.back().kept.output = 10;
  EXPECT_EQ(activation_bytes(network, 3, Precision::fp32, {1}), Bytes(3 * 4 * (2 + 16)));
}

// Under autocast the input of a segment is fp32 where a layer norm reads it, and what the forward
// cast of weights it has until it is done; a product that is recomputed casts its own 50 again.
TEST(Checkpoints, UnderAmpKeepInputsAsTheyWereMade) {
  const auto network_with = [](bool norm_is_first, double head) {
    Network network;
    network.layers.push_back({"", {}, {}, ModelledCost{}, {.output = 8}});
    Layer norm{"", {}, {}, ModelledCost{}, {8, 8, true, false, true}, 0};
    Layer product{"", {}, {}, ModelledCost{}, {8, 8, true}, 0};
    product.kept.cast_weights = 50;
    network.layers.push_back(norm_is_first ? norm : product);
    network.layers.push_back(norm_is_first ? product : norm);
    network.layers.push_back({"", {}, {}, ModelledCost{}, {.output = head, .needs_output = true}});
    return network;
  };
  const auto kept = [](const Network& network) {
    return activation_bytes(network, 1, Precision::amp, {1});
  };
  EXPECT_EQ(kept(network_with(true, 1000)), Bytes(8 * 4 + 1000 * 2 + 50 * 2));
  EXPECT_EQ(kept(network_with(false, 1000)), Bytes(8 * 2 + 1000 * 2 + 50 * 2));
  // Recomputed: the norm's input in fp32 and its output in 16 bits; the copies of weights.
  EXPECT_EQ(kept(network_with(true, 1)), Bytes(8 * 4 + 8 * 2 + 50 * 2));
}

}  // namespace
}  // namespace paceline::workload
