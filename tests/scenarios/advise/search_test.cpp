#include "scenarios/advise/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/scenarios/process.h"

namespace paceline::advise {
namespace {

// Six layers of 2 MB to 32 MB of gradients, on `cluster`, with `training`.
std::string scenario_of(std::string_view cluster, std::string_view training,
                        std::string_view collective) {
  std::string text = R"(schema: paceline/1
name: six layers
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 1ms, backward: 2ms, parameters: [500000]}
    - {name: b, forward: 1ms, backward: 2ms, parameters: [1000000, 1000]}
    - {name: c, forward: 1ms, backward: 2ms, parameters: [2000000, 1000]}
    - {name: d, forward: 1ms, backward: 2ms, parameters: [4000000]}
    - {name: e, forward: 1ms, backward: 2ms, parameters: [8000000, 1000]}
    - {name: f, forward: 1ms, backward: 2ms, parameters: [100000]}
simulation: {fidelity: folded}
)";
  text += "cluster: " + std::string(cluster) + "\n";
  text += "training: " + std::string(training) + "\n";
  text += "collective: " + std::string(collective) + "\n";
  return text;
}

constexpr std::string_view one_node =
    "{gpus_per_node: 4, intra_node: {bandwidth: 10GBps, latency: 5us}}";
constexpr std::string_view slow_network =
    "{nodes: 4, gpus_per_node: 1, intra_node: {host_bandwidth: 10GBps}, "
    "network: {bandwidth: 10Gbps, latency: 20us}}";
constexpr std::string_view far_apart =
    "{nodes: 2, gpus_per_node: 2, intra_node: {bandwidth: 10GBps, latency: 5us}, "
    "network: {bandwidth: 100Gbps, latency: 5ms}}";

struct Shape {
  std::string_view name, cluster, training, collective;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.name; }

class SearchOf : public testing::TestWithParam<Shape> {};

// Every choice of the whole grid against what the search finds.
TEST_P(SearchOf, FindsTheBestOfTheGridWithinOnePercent) {
  const test::Folder folder;
  const auto& [name, cluster, training, collective] = GetParam();
  const std::string path =
      folder.write("scenario.yaml", scenario_of(cluster, training, collective));
  const auto axes = options_of(ScenarioFile::read(path, {}).scenario(0), Strategies::all);
  RunOptions two_at_once;
  two_at_once.jobs = 2;
  Variants variants(path, {}, axes, two_at_once);
  const std::vector<std::size_t> along{0, 1, 2, 3};
  const Choice found = search(variants, variants.as_it_is(), along);
  const std::size_t looked_at = variants.all().size();
  std::vector<Choice> grid{variants.as_it_is()};
  for (const std::size_t axis : along) {
    const std::vector<Choice> before = grid;
    for (Choice choice : before) {
      while (++choice[axis] < axes[axis].size()) grid.push_back(choice);
    }
  }
  variants.predict(grid);
  double best = 0;
  for (const Choice& choice : grid) best = std::max(best, variants.throughput_of(choice));
  EXPECT_GE(variants.throughput_of(found), 0.99 * best);
  EXPECT_LT(looked_at, grid.size() / 2);
  EXPECT_GT(best, variants.throughput_of(variants.as_it_is()));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SearchOf,
    testing::Values(
        Shape{"ddp_on_a_node", one_node, "{strategy: ddp}", "{library: nccl}"},
        Shape{"data_parallel_on_a_node", one_node, "{strategy: data_parallel}", "{library: nccl}"},
        Shape{"ddp_between_nodes", slow_network, "{strategy: ddp, bucket_cap: 100MiB}",
              "{library: nccl}"},
        Shape{"fsdp_over_gloo", slow_network, "{strategy: fsdp}", "{library: gloo}"},
        Shape{"wait_free_far_apart", far_apart, "{strategy: wait_free}", "{library: nccl}"},
        Shape{"apex_ddp_far_apart", far_apart, "{strategy: apex_ddp, message_size: 1000}",
              "{library: nccl, algorithm: ring}"}),
    testing::PrintToStringParamName());

TEST(Search, ChangesNothingForNothing) {
  const test::Folder folder;
  const std::string path = folder.write(
      "scenario.yaml",
      scenario_of("{gpus_per_node: 1}", "{strategy: ddp, optimizer: {time: 0ms}}", "{}"));
  const auto axes = options_of(ScenarioFile::read(path, {}).scenario(0), Strategies::all);
  Variants variants(path, {}, axes, {});
  EXPECT_EQ(search(variants, variants.as_it_is(), {0, 1, 2, 3}), variants.as_it_is());
}

// 8 billion parameters, gradients, copies and states of 2, 2, 4 and 8 bytes are 128 GB.
TEST(Search, SimulatesNothingThatDoesNotFit) {
  const test::Folder folder;
  const std::string path = folder.write(
      "scenario.yaml",
      "schema: paceline/1\nname: large\n"
      "workload: {model: llama-3-8b, sequence: 4096, batch_per_gpu: 1, precision: bf16, device: "
      "h100-sxm5-80gb}\n"
      "cluster: {preset: dgx-h100}\ngpus: 256\n"
      "training: {strategy: fsdp, wrap: blocks, optimizer: {kind: adam, fp32_master: true}}\n");
  const std::vector<SearchAxis> axes{
      {{Option::strategy, {}}, {Option::strategy, {{"training.strategy", "ddp"}}}}};
  Variants variants(path, {}, axes, {});
  variants.predict({{1}});
  const Attempt* const made = variants.find({1});
  ASSERT_NE(made, nullptr);
  EXPECT_FALSE(made->outcome);
  EXPECT_NE(made->refusal.find(" of 80.0GiB per GPU"), std::string::npos) << made->refusal;
  EXPECT_EQ(variants.throughput_of({1}), 0);
}

}  // namespace
}  // namespace paceline::advise
