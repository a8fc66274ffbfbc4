// The memory of shipped networks, and how `paceline run` says it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

using nlohmann::json;

constexpr const char* given_layers =
    "  layers:\n"
    "    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}\n"
    "    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}\n";

class MemoryReport : public testing::Test {
 protected:
  Ended run(const std::string& scenario, std::vector<std::string> more) {
    folder_.write("scenario.yaml", scenario);
    std::vector<std::string> arguments{"run", "scenario.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Ended ended = paceline(arguments, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended;
  }

  json memory(const std::string& workload, std::vector<std::string> more = {}) {
    const auto scenario = changed(small_scenario, given_layers, "  " + workload + "\n");
    more.insert(more.end(), {"--json", "-"});
    return json::parse(run(scenario, more).out).at("points").at(0).at("predicted").at("memory");
  }

  static std::string with_model(const std::string& workload) {
    return changed(small_scenario, given_layers, "  " + workload + "\n");
  }

  Folder folder_;
};

// 25,557,032 parameters of 4 bytes; plain SGD has no states; all gradients are copied to one
// buffer. Running statistics: 2 x 26,560 channels of 53 batch norms, and 53 counters of int64.
//
// Kept of an image, in elements: the image 150,528; outputs of convolutions (inputs of batch norms)
// 11,113,984, which is the 11.1 million "activations" of Radosavovic et al., "Designing Network
// Design Spaces", CVPR 2020; outputs of ReLUs 802,816 + 3,612,672 + 2,709,504 + 1,956,864 +
// 526,848, by stages; of the pools 200,704 and 2,048; and int64 places of the maxima, 200,704.
TEST_F(MemoryReport, OfResNet50IsThatOfItsLayers) {
  const json of = memory("model: resnet50");
  EXPECT_EQ(of.at("parameters_bytes"), 25'557'032 * 4);
  EXPECT_EQ(of.at("gradients_bytes"), 25'557'032 * 4);
  EXPECT_EQ(of.at("optimizer_bytes"), 0);
  EXPECT_EQ(of.at("buckets_bytes"), 25'557'032 * 4);
  EXPECT_EQ(of.at("gathered_bytes"), 0);
  EXPECT_EQ(of.at("buffers_bytes"), 2 * 26'560 * 4 + 53 * 8);
  constexpr std::uint64_t elements = 150'528 + 11'113'984 + 9'608'704 + 200'704 + 2'048;
  EXPECT_EQ(of.at("activations_bytes"), 8 * (elements * 4 + 200'704 * 8));
  EXPECT_EQ(of.at("device_bytes"), std::uint64_t{16} << 30);
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : of.items()) {
    if (name != "total_bytes" && name != "device_bytes") sum += bytes.get<std::uint64_t>();
  }
  EXPECT_EQ(of.at("total_bytes"), sum);
}

// Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), keep
// s b h (34 + 5 a s / h) bytes a layer at 16 bits: 11 s b h + 5 a s^2 b of attention, 19 s b h of
// the MLP, 4 s b h of layer norms. Of these are dropout's, which our networks leave out: masks of
// one byte behind attention and MLP (2 s b h), and of the scores a mask and an output (3 a s^2 b).
// What remains is s b h (32 + 2 a s / h), which our layers have too.
constexpr std::uint64_t of_layer(std::uint64_t s, std::uint64_t h, std::uint64_t a) {
  return s * h * 34 + 5 * a * s * s - (2 * s * h + 3 * a * s * s);
}

// GPT-2 has beside its 12 layers the input and the output of the last layer norm, and the loss'
// probabilities: 2 s h each, 2 s 50,257.
TEST_F(MemoryReport, OfGpt2IsThatOfThePaperWithoutDropout) {
  constexpr std::uint64_t s = 1024, h = 768, a = 12;
  EXPECT_EQ(memory("model: gpt2\n  precision: fp16").at("activations_bytes"),
            8 * (12 * of_layer(s, h, a) + 4 * s * h + 12 * s * 50'257));
}

// BERT-large: the sum of embeddings, before its layer norm, and the pooler's input and output.
TEST_F(MemoryReport, OfBertIsThatOfThePaperWithoutDropout) {
  constexpr std::uint64_t s = 128, h = 1024, a = 16;
  const json of = memory("model: bert-large\n  precision: fp16");
  EXPECT_EQ(of.at("parameters_bytes"), 335'141'888 * std::uint64_t{2});
  EXPECT_EQ(of.at("activations_bytes"), 8 * (24 * of_layer(s, h, a) + 2 * s * h + 2 * h + 2 * h));
}

// Full recomputation, 2 s b h a layer (section 5 of the paper): 12 inputs of 2 s h. In addition
// either what is after the layers, as above, when the forward is done, or all that one layer keeps,
// its input included, when it is recomputed; what is after the layers is gone then, as is, in BERT,
// the pooler's. GPT-2's loss keeps more than a layer does: 12 s 50,257 is 785 s h, a layer 64 s h.
// BERT keeps the sum of embeddings all the time.
TEST_F(MemoryReport, WithCheckpointedBlocksIsThatOfThePaper) {
  const std::vector<std::string> checkpointed{"--set", "training.activation_checkpointing=blocks"};
  const auto activations = [&](const char* model) {
    const json of = memory(fmt::format("model: {}\n  precision: fp16", model), checkpointed);
    return of.at("activations_bytes").get<std::uint64_t>();
  };
  constexpr std::uint64_t s = 1024, h = 768;
  EXPECT_EQ(activations("gpt2"), 8 * (12 * 2 * s * h + 4 * s * h + 12 * s * 50'257));
  constexpr std::uint64_t of_bert = of_layer(128, 1024, 16), input = 2 * 128 * 1024;
  EXPECT_EQ(activations("bert-large"), 8 * (23 * input + of_bert + input));
}

// Blocks are bottlenecks; the places of maxima and all that the stem keeps stay. The most is kept
// when layer1.0 is recomputed, or when a later one is: less than a half of all.
TEST_F(MemoryReport, OfResNet50ShrinksWithCheckpoints) {
  const auto all = memory("model: resnet50").at("activations_bytes").get<std::uint64_t>();
  const auto with = memory("model: resnet50", {"--set", "training.activation_checkpointing=blocks"})
                        .at("activations_bytes")
                        .get<std::uint64_t>();
  EXPECT_LT(with, all / 2);
}

// Under autocast parameters stay fp32. Of a layer of GPT-2 the inputs of both layer norms have 4
// bytes (2 * 2 s h more) and scores 6 (4 a s^2 more); the last norm's input and the loss likewise.
// Weights of all products are copied: 12 h^2 a layer, and h * 50,257 of the head.
TEST_F(MemoryReport, UnderAmpHasWhatAutocastKeeps) {
  constexpr std::uint64_t s = 1024, h = 768, a = 12;
  const json of = memory("model: gpt2\n  precision: amp");
  EXPECT_EQ(of.at("parameters_bytes"), 124'439'808 * 4);
  const std::uint64_t layer = of_layer(s, h, a) + 4 * s * h + 4 * a * s * s;
  EXPECT_EQ(of.at("activations_bytes"),
            8 * (12 * layer + 6 * s * h + 12 * s * 50'257) + 2 * (12 * 12 * h * h + h * 50'257));
}

TEST_F(MemoryReport, IsALineUnderTheTable) {
  const std::string out = run(with_model("model: resnet50"), {"--assumptions"}).out;
  // 102,228,128 B are 0.095 GiB; activations 8 x 85,909,504 B, 0.64 GiB; in all 0.93.
  EXPECT_NE(out.find("\nmemory, tensors: 0.93GiB of 16.0GiB per GPU at 4 GPUs: parameters 0.10GiB, "
                     "gradients 0.10GiB, buckets 0.10GiB, activations 0.64GiB; on top come "
                     "CUDA's context, libraries, workspaces, and the allocator's gaps, a few per "
                     "cent to a third\n"),
            std::string::npos)
      << out;
  EXPECT_EQ(out.find("does not fit"), std::string::npos);
}

// 300 images keep 25,772,851,200 B, 24.0 GiB.
TEST_F(MemoryReport, SaysWhatDoesNotFit) {
  const std::string sweep = "sweep: {workload.batch_per_gpu: [8, 300]}\n";
  const std::string out = run(with_model("model: resnet50") + sweep, {}).out;
  EXPECT_NE(
      out.find(
          "\nmemory: does not fit: 24.3GiB of 16.0GiB per GPU at 4 GPUs; 1 of 2 points do not\n"),
      std::string::npos)
      << out;
}

TEST_F(MemoryReport, IsAbsentOfLayersThatDoNotTellIt) {
  EXPECT_EQ(run(std::string(small_scenario), {}).out.find("memory"), std::string::npos);
  const auto points = json::parse(run(std::string(small_scenario), {"--json", "-"}).out);
  EXPECT_FALSE(points.at("points").at(0).at("predicted").contains("memory"));
}

}  // namespace
}  // namespace paceline::test
