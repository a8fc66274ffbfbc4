#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <variant>

#include "scenarios/data_files/data_files.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace {

workload::Network network_of_layers(const std::string& layers, const std::string& file,
                                    loader::NetworkOptions options = {}) {
  const test::Folder folder;
  const std::string path = folder.write(
      file,
      "{\"schema\": \"paceline.network/1\", \"name\": \"mine\", \"sample\": {\"sequence\": 8}, "
      "\"layers\": [" +
          layers + "]}");
  const auto document = loader::parse_document("test.yaml", "value: " + path + "\n");
  return *loader::load_network({document, document->root["value"], "value"}, options);
}

auto cost_and_kept(const workload::Layer& layer) {
  const auto& [forward, backward, work] = std::get<workload::ModelledCost>(layer.cost);
  const auto of_pass = [](const workload::PassCost& pass) {
    return std::tuple(pass.flops_per_sample.value(), pass.activation_elements_per_sample,
                      pass.parameter_elements);
  };
  const workload::Kept& kept = layer.kept;
  return std::tuple(of_pass(forward), of_pass(backward), work,
                    std::tuple(kept.input, kept.output, kept.needs_input, kept.needs_output,
                               kept.is_wide, kept.scores, kept.indices, kept.cast_weights));
}

// A sequence of 8. By LAYERS.md:
// - a first convolution of 3 channels to 4, 3 x 3, 5 x 5 places: w = 108, 2 * 108 * 25 FLOPs, 75
//   elements in and 100 out.
// - an embedding of 8 tokens with 4 features makes 32; a product with 4 x 6 weights reads them,
// makes
//   48 and takes 2 * 8 * 24 FLOPs; a normalisation of 8 rows of 4 reads and makes 32.
// - attention of 2 heads with 4 features: Q, K, V are 3 * 8 * 8, what comes out 8 * 8, scores are
//   2 * 8 * 8, FLOPs 4 * 8 * 8 * 8.
// - a batch normalisation of 2 channels, 3 x 3: 18; an addition reads 20 and makes 10; a pool of 2
//   channels reads 4 x 4 and makes 2 x 2.
TEST(ModuleLayers, CostWhatLayersOfTheirKindCost) {
  const auto layers = network_of_layers(
      "{conv: a, in: 3, out: 4, kernel: 3, stride: 1, out_size: 5},"
      "{embedding: b, rows: 10, columns: 4, lookups: sequence},"
      "{linear: c, in: 4, out: 6, rows: sequence}, {layernorm: d, features: 4, rows: sequence},"
      "{attention: e, heads: 2, head_size: 4}, {batchnorm: f, channels: 2, size: 3},"
      "{elementwise: g, elements: 10, inputs: 2}, {elementwise: h, elements: 10, keeps: output},"
      "{pool: i, channels: 2, in_size: 4, out_size: 2}",
      "kinds.yaml");
  const auto modules = network_of_layers(
      R"({"module": "a", "kind": "convolution", "flops": 5400, "in": 75, "out": 100,
          "parameters": [{"name": "weight", "shape": [4, 3, 3, 3]}]},
         {"module": "b", "kind": "embedding", "in": 8, "out": 32,
          "parameters": [{"name": "weight", "shape": [10, 4]}]},
         {"module": "c", "kind": "linear", "flops": 384, "in": 32, "out": 48,
          "parameters": [{"name": "weight", "shape": [6, 4]}, {"name": "bias", "shape": [6]}]},
         {"module": "d", "kind": "layernorm", "in": 32, "out": 32,
          "parameters": [{"name": "weight", "shape": [4]}, {"name": "bias", "shape": [4]}]},
         {"module": "e", "kind": "attention", "flops": 2048, "in": 192, "out": 64, "scores": 128},
         {"module": "f", "kind": "batchnorm", "in": 18, "out": 18,
          "parameters": [{"name": "weight", "shape": [2]}, {"name": "bias", "shape": [2]}],
          "buffers": [{"name": "mean", "shape": [2]}, {"name": "var", "shape": [2]},
                      {"name": "batches", "shape": [1], "type": "int64"}]},
         {"module": "g", "kind": "elementwise", "in": 20, "out": 10, "keeps": "nothing"},
         {"module": "h", "kind": "elementwise", "in": 10, "out": 10, "keeps": "output"},
         {"module": "i", "kind": "pool", "in": 32, "out": 8})",
      "modules.json");
  ASSERT_EQ(modules.layers.size(), layers.layers.size());
  for (std::size_t i = 0; i < layers.layers.size(); ++i) {
    const workload::Layer &one = layers.layers[i], &other = modules.layers[i];
    EXPECT_EQ(cost_and_kept(one), cost_and_kept(other)) << one.name;
    ASSERT_EQ(one.parameters.size(), other.parameters.size()) << one.name;
    for (std::size_t j = 0; j < one.parameters.size(); ++j) {
      EXPECT_EQ(one.parameters[j].name, other.parameters[j].name);
      EXPECT_EQ(one.parameters[j].count, other.parameters[j].count);
      EXPECT_EQ(one.parameters[j].rows, other.parameters[j].rows);
    }
    ASSERT_EQ(one.buffers.size(), other.buffers.size()) << one.name;
    for (std::size_t j = 0; j < one.buffers.size(); ++j) {
      EXPECT_EQ(one.buffers[j].count, other.buffers[j].count);
      EXPECT_EQ(one.buffers[j].type, other.buffers[j].type);
    }
  }
}

// The scores of fused attention are not written, and its backward has five products for two.
TEST(ModuleLayers, MayHaveFusedAttention) {
  const std::string in_out = R"("flops": 2048, "in": 192, "out": 64, "scores": 128})";
  const auto fused =
      network_of_layers(R"({"module": "e", "kind": "fused_attention", )" + in_out, "one.json");
  const auto asked = network_of_layers(R"({"module": "e", "kind": "attention", )" + in_out,
                                       "other.json", {{}, false, true});
  for (const workload::Network* network : {&fused, &asked}) {
    const auto& layer = network->layers.front();
    const auto& cost = std::get<workload::ModelledCost>(layer.cost);
    EXPECT_EQ(cost.work, workload::Work::fused_attention);
    EXPECT_EQ(cost.forward.activation_elements_per_sample, 256);
    EXPECT_EQ(cost.backward.flops_per_sample, Flops(2.5 * 2048));
  }
  EXPECT_EQ(asked.layers.front().kept.scores, 0);
}

// A head that shares another module's weight reads it and has none.
TEST(ModuleLayers, NameTheirKernelsAndKeepTypes) {
  const auto network = network_of_layers(
      R"({"repeat": 2, "from": 3, "layers": [{"module": "h.{i}", "op": "mm", "kind": "linear",
          "flops": 2, "in": 1, "out": 1, "weights": 40,
          "parameters": [{"name": "w", "shape": [4], "type": "bf16"}]}]})",
      "types.json");
  ASSERT_EQ(network.layers.size(), 2U);
  const workload::Layer& layer = network.layers.back();
  EXPECT_EQ(layer.name, "h.4.mm");
  EXPECT_EQ(layer.block, 1U);
  EXPECT_EQ(layer.parameters.front().name, "h.4.w");
  EXPECT_EQ(layer.parameters.front().type, DataType::bfloat16);
  EXPECT_EQ(std::get<workload::ModelledCost>(layer.cost).forward.parameter_elements, 40);
}

TEST(ModuleLayers, AreRefusedAtTheirOwnLines) {
  const test::Folder folder;
  const auto buckets = [&](const std::string& layer, const std::string& message) {
    folder.write(
        "mine.json",
        "{\"schema\": \"paceline.network/1\", \"name\": \"x\",\n\"layers\": [\n" + layer + "]}");
    test::expect_refused(test::paceline({"buckets", "mine.json"}, folder.path()),
                         "paceline: mine.json:3:" + message);
  };
  buckets(R"({"module": "a", "kind": "linaer"})",
          "25: kind \"linaer\" is not known; did you mean linear?");
  buckets(R"({"module": "a", "flop": 3})", "17: unknown key \"layers.flop\"; did you mean flops?");
  buckets(R"({"module": "a", "parameters": [{"name": "w", "shape": [10000000000, 10000000000]}]})",
          "55: shape has more than 10^13 elements");
  buckets(R"({"module": "a", "parameters": [{"name": "w"}]})",
          "32: layers.parameters.shape is missing");
}

// A product whose weight is frozen has one product backward; its bias may be trained.
TEST(ModuleLayers, HaveNoGradientsOfFrozenParameters) {
  const auto network = network_of_layers(
      R"({"module": "a", "kind": "linear", "flops": 80, "in": 4, "out": 10, "parameters": [
            {"name": "weight", "shape": [10, 4], "frozen": true}, {"name": "bias", "shape": [10]}]},
          {"parameter": "p", "count": 3, "frozen": true})",
      "mine.json");
  const workload::Layer& product = network.layers.front();
  EXPECT_EQ(std::get<workload::ModelledCost>(product.cost).backward.flops_per_sample, Flops(80));
  EXPECT_EQ(product.frozen.front().name, "a.weight");
  EXPECT_EQ(product.parameters.front().name, "a.bias");
  EXPECT_TRUE(network.layers.back().parameters.empty());
  EXPECT_EQ(workload::parameters(network).size(), 1U);
}

// Costs are of the sequence that the model was described with.
TEST(ModuleLayers, AreOfOneSequence) {
  const test::Folder folder;
  folder.write(
      "mine.json",
      R"({"schema": "paceline.network/1", "name": "x", "sample": {"sequence": 8}, "layers": [
                  {"module": "a", "kind": "linear", "flops": 8, "in": 1, "out": 1}]})");
  folder.write("s.yaml", test::changed(test::small_scenario,
                                       "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, "
                                       "parameters: [1000, 20]}\n    - {name: b, forward: 1ms, "
                                       "backward: 2ms, parameters: [3000]}\n",
                                       "  model: mine.json\n  sequence: 16\n"));
  test::expect_refused(test::paceline({"run", "s.yaml"}, folder.path()),
                       "paceline: s.yaml:6:10: model \"mine.json\" has modules that were described "
                       "with sequences of 8, not 16; leave out sequence");
}

}  // namespace
}  // namespace paceline
