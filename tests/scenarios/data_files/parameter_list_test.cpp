#include "scenarios/data_files/parameter_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <variant>

#include "models/stats/normal.h"
#include "scenarios/data_files/data_files.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace {

workload::Network network_of_list(const std::string& text,
                                  std::optional<std::uint64_t> sequence = {}) {
  return loader::read_parameter_list({"list.txt", "", text, {}}, sequence);
}

workload::Network shipped_network(const std::string& name) {
  const auto document = loader::parse_document("test.yaml", "value: " + name + "\n");
  return *loader::load_network({document, document->root["value"], "value"}, {});
}

TEST(ParameterLists, AreInTheFormsThatPeoplePaste) {
  for (const auto* line :
       {"fc.weight (10, 512)", "fc.weight: torch.Size([10, 512])", "fc.weight [10, 512]",
        "fc.weight torch.Size([10, 512])", "fc.weight 10 512", "torch.float32 fc.weight 10 512",
        "fc.weight [10, 512] torch.float32", "('fc.weight', torch.Size([10, 512])),",
        "# a comment\n\n  fc.weight\t10\t512\r", "fc.weight [10, 512] F32",
        "fc.weight | 10, 512 |"}) {
    const auto network = network_of_list(line);
    ASSERT_EQ(network.layers.size(), 1U) << line;
    EXPECT_EQ(network.layers.front().name, "fc") << line;
    const auto& tensor = network.layers.front().parameters.at(0);
    EXPECT_EQ(tensor.name, "fc.weight") << line;
    EXPECT_EQ(tensor.count, ElementCount(5120)) << line;
    EXPECT_EQ(tensor.rows, ElementCount(10)) << line;
    EXPECT_EQ(tensor.type, DataType::float32) << line;
  }
  EXPECT_EQ(network_of_list("a.b 3 torch.bfloat16").layers[0].parameters[0].type,
            DataType::bfloat16);
  EXPECT_EQ(network_of_list("logit_scale ()").layers[0].parameters[0].count, ElementCount(1));
}

// With 8 rows a sample: 100 rows are more than 8 x 4 columns, so the first matrix is looked up, by
// 2 * 8 * 4 elements; 4 x 6 weights take 2 * 8 * 24 FLOPs and 8 * (4 + 6) elements; vectors alone
// are a normalisation of 8 * 4 elements. The second matrix of a vocabulary is a head.
TEST(ParameterLists, CostWhatTheirShapesTell) {
  const auto network = network_of_list(
      "shared.weight 100 4\nln.weight 4\nln.bias 4\nfc.weight 6 4\nfc.bias 6\npos_emb 8 4\n"
      "head.weight 100 4\n",
      8);
  ASSERT_EQ(network.layers.size(), 5U);
  const auto forward = [&](std::size_t layer) {
    const auto& pass = std::get<workload::ModelledCost>(network.layers[layer].cost).forward;
    return std::tuple(pass.flops_per_sample.value(), pass.activation_elements_per_sample,
                      pass.parameter_elements);
  };
  EXPECT_EQ(forward(0), std::tuple(0.0, 64.0, 0.0));
  EXPECT_EQ(forward(1), std::tuple(0.0, 64.0, 0.0));
  EXPECT_EQ(forward(2), std::tuple(384.0, 80.0, 24.0));
  EXPECT_EQ(forward(3), std::tuple(0.0, 64.0, 0.0));
  EXPECT_EQ(forward(4), std::tuple(6400.0, 832.0, 400.0));
  EXPECT_EQ(network.from_shapes->looked_up, (std::vector<std::string>{"shared", "pos_emb"}));
  EXPECT_EQ(network.sequence, 8U);
}

TEST(ParameterLists, KnowBuffers) {
  const auto network = network_of_list(
      "bn.weight 4\nbn.bias 4\nbn.running_mean 4\nbn.running_var 4\nbn.num_batches_tracked ()\n"
      "ids 7 torch.int64\n");
  EXPECT_EQ(parameters(network).size(), 2U);
  ASSERT_EQ(network.layers.size(), 2U);
  ASSERT_EQ(network.layers[0].buffers.size(), 3U);
  EXPECT_EQ(network.layers[0].buffers[2].type, DataType::int64);
  EXPECT_EQ(network.layers[1].buffers.at(0).count, ElementCount(7));
}

// The buckets of a list are those of the network that it lists.
TEST(ParameterLists, HaveTheBucketsOfTheirNetwork) {
  const test::Folder folder;
  for (const std::string name : {"gpt2", "resnet18"}) {
    std::string list;
    for (const auto& tensor : parameters(shipped_network(name))) {
      const std::uint64_t rows = tensor.rows->value(), columns = tensor.count.value() / rows;
      list += columns == 1 ? fmt::format("{} torch.Size([{}])\n", tensor.name, rows)
                           : fmt::format("{} torch.Size([{}, {}])\n", tensor.name, rows, columns);
    }
    folder.write("mine.txt", list);
    const auto table = [&](const std::string& model) {
      const auto ended = test::paceline({"buckets", model}, folder.path());
      EXPECT_EQ(ended.exit_code, 0) << ended.err;
      return ended.out.substr(0, ended.out.find("\n\n"));
    };
    EXPECT_EQ(table("mine.txt"), table(name));
  }
}

class ListedModel : public testing::Test {
 protected:
  test::Ended run(const std::string& list, const std::string& more = "") {
    folder_.write("mine.txt", list);
    folder_.write("s.yaml", test::changed(test::small_scenario,
                                          "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, "
                                          "parameters: [1000, 20]}\n    - {name: b, forward: 1ms, "
                                          "backward: 2ms, parameters: [3000]}\n",
                                          "  model: mine.txt\n" + more));
    return test::paceline({"run", "s.yaml"}, folder_.path());
  }

  test::Folder folder_;
};

TEST_F(ListedModel, SaysThatComputeIsFromShapesAlone) {
  const auto ended = run("wte.weight 5000 512\nfc.weight 512 512\n", "  sequence: 128\n");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(
      ended.out.find("compute: from shapes alone: each matrix multiplies 128 rows of a sample, "
                     "and wte is looked up"),
      ended.out.npos)
      << ended.out;
}

// What a list lacks makes steps longer: below, the interval is that of described models.
TEST_F(ListedModel, MayTakeLongerByMoreThanShorter) {
  (void)run("wte.weight 5000 512\nfc.weight 512 512\n", "  sequence: 128\n");
  const auto ended = test::paceline({"run", "s.yaml", "--assumptions"}, folder_.path());
  const std::string words = "is modelled, not measured (";
  const std::size_t from = ended.out.find(words);
  ASSERT_NE(from, ended.out.npos) << ended.out << ended.err;
  int low_percent = 0, high_percent = 0;
  ASSERT_EQ(std::sscanf(ended.out.c_str() + from + words.size(), "%d to +%d", &low_percent,
                        &high_percent),
            2);
  const double low = 1 + low_percent / 100.0, high = 1 + high_percent / 100.0;
  const double alone = -std::log(low) / stats::normal_90;
  EXPECT_GT(alone, 0.1);
  EXPECT_NEAR(std::log(high) / stats::normal_90, std::hypot(alone, workload::from_shapes_spread),
              0.01);
}

TEST_F(ListedModel, DividesAMeasuredStep) {
  const std::string list = "conv.weight 64 3 3 3\nfc.weight 512 512\n";
  test::expect_refused(run(list),
                       "paceline: s.yaml:6:10: model \"mine.txt\" has conv.weight, whose work "
                       "depends on the size of its output, which no list has; give "
                       "single_gpu_throughput");
  const auto ended = run(list, "  single_gpu_throughput: 800 samples/s\n");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("compute: from shapes alone: the measured step is divided"),
            ended.out.npos)
      << ended.out;
}

TEST_F(ListedModel, IsRefusedAtItsLine) {
  const std::string hint = "; write a name and a shape, as in fc.weight [10, 512]\n";
  test::expect_refused(run("a 3\nabc\n"), "paceline: mine.txt:2: abc has no shape" + hint);
  test::expect_refused(run("a [3, 0]\n"),
                       "paceline: mine.txt:1: \"0\" is no size above 0 and no type" + hint);
  test::expect_refused(run("a 3 foo\n"),
                       "paceline: mine.txt:1: \"foo\" is no size above 0 and no type" + hint);
  test::expect_refused(run("3 4\n"), "paceline: mine.txt:1: begins with no name" + hint);
  test::expect_refused(run("# none\n"), "paceline: mine.txt: lists no parameter" + hint);
  test::expect_refused(run("a 3\nb 4\na 5\n"),
                       "paceline: mine.txt:3: a stands twice, first in line 1; keep one of them");
  test::expect_refused(run("a 10000000000 10000000000\n"),
                       "paceline: mine.txt:1: a has more than 10^13 elements");
  test::expect_refused(run(std::string("a\0b", 3)), "paceline: mine.txt: is not text");
  test::expect_refused(run("a 3 3\n", "  fused_attention: true\n"),
                       "paceline: s.yaml:6:10: model \"mine.txt\" has no attention");
  folder_.write("model.safetensors.index.json", "{\"metadata\": {\"total_size\": 8}}");
  test::expect_refused(
      test::paceline({"buckets", "model.safetensors.index.json"}, folder_.path()),
      "paceline: command line: model \"model.safetensors.index.json\" has the names of parameters "
      "and no shapes; list them: python3 -c");
}

}  // namespace
}  // namespace paceline
