#include "models/training/parameter_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/training/strategies.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using workload::DataType;
using workload::ParameterTensor;

// Of 10, 4 and 6 floats: 40, 16 and 24 bytes.
const std::vector<ParameterTensor> three_tensors{{"b", ElementCount(10), DataType::float32},
                                                 {"c", ElementCount(4), DataType::float32},
                                                 {"a", ElementCount(6), DataType::float32}};

std::vector<TensorPartition> partitions_of(std::uint64_t bytes, std::uint32_t servers,
                                           ServerAssignment assignment) {
  const std::vector<ElementSize> elements(three_tensors.size(), ElementSize(4));
  return tensor_partitions(three_tensors, elements, {Bytes(bytes), servers, assignment});
}

TensorPartition part(std::size_t tensor, std::uint64_t count, std::uint32_t server) {
  return {tensor, ElementCount(count), server};
}

// 320 tensors of one partition each: 160 or 40 a server where they are dealt by size. A hash gives
// the fullest of eight more of its share than the fuller of two, so that steps grow with the
// servers.
TEST(TensorPartitions, FillTheFullestServerByHashAlone) {
  const std::vector<ParameterTensor> tensors(320, {"t", ElementCount(4), DataType::float32});
  const std::vector<ElementSize> elements(tensors.size(), ElementSize(4));
  const auto fullest = [&](ServerAssignment assignment, std::uint32_t servers) {
    std::vector<int> held(servers);
    for (const TensorPartition& one :
         tensor_partitions(tensors, elements, {Bytes(16), servers, assignment})) {
      ++held[one.server];
    }
    return *std::ranges::max_element(held);
  };
  EXPECT_EQ(fullest(ServerAssignment::size, 2), 160);
  EXPECT_EQ(fullest(ServerAssignment::size, 8), 40);
  const double of_two = fullest(ServerAssignment::hash, 2) / 160.0;
  EXPECT_GE(of_two, 1);
  EXPECT_GT(fullest(ServerAssignment::hash, 8) / 40.0, of_two);
}

// 19 bytes hold four floats.
TEST(TensorPartitions, GoInTurn) {
  EXPECT_EQ(partitions_of(19, 2, ServerAssignment::round_robin),
            (std::vector{part(0, 4, 0), part(0, 4, 1), part(0, 2, 0), part(1, 4, 1), part(2, 4, 0),
                         part(2, 2, 1)}));
  EXPECT_EQ(partitions_of(1'000, 3, ServerAssignment::round_robin),
            (std::vector{part(0, 10, 0), part(1, 4, 1), part(2, 6, 2)}));
}

// 40 bytes to the first server; 16 to the second, and 24 more, which makes 40 there.
TEST(TensorPartitions, GoToTheServerWithTheFewestBytes) {
  EXPECT_EQ(partitions_of(1'000, 2, ServerAssignment::size),
            (std::vector{part(0, 10, 0), part(1, 4, 1), part(2, 6, 1)}));
}

// By name: a is tensor 0, b 1, c 2; keys 0, 65536 and 131072. Modulo 4 a step of djb2 is h + c, for
// 33 = 1 mod 4, and 5381 is 1: the sums of digits' codes. "0": 1 + 48 = 1 mod 4. "65536": 5 x 48 +
// 25 = 265, 1 + 265 = 2. "131072": 6 x 48 + 14 = 302, 1 + 302 = 3.
TEST(TensorPartitions, GoWhereTheHashOfTheirKeysSays) {
  EXPECT_EQ(partitions_of(1'000, 4, ServerAssignment::hash),
            (std::vector{part(0, 10, 2), part(1, 4, 3), part(2, 6, 1)}));
}

// Of tensors 5, 3 and 4: 5 is alone at 0 and goes; at 10 the others are there, and 3 is
// nearer to the input; 1 comes at 25, before 4, which has waited.
TEST(ByPriority, TheNearestToTheInputOfThoseThatWaitGoesFirst) {
  const std::vector<WaitingPush> pushes{{Seconds(0), Seconds(10), 5},
                                        {Seconds(2), Seconds(10), 4},
                                        {Seconds(3), Seconds(15), 3},
                                        {Seconds(25), Seconds(1), 1}};
  EXPECT_EQ(by_priority(pushes), (std::vector<std::size_t>{0, 2, 3, 1}));
}

TEST(ByPriority, PartitionsOfATensorKeepTheirOrder) {
  const std::vector<WaitingPush> pushes(3, {Seconds(0), Seconds(1), 7});
  EXPECT_EQ(by_priority(pushes), (std::vector<std::size_t>{0, 1, 2}));
}

std::vector<std::string> pushes_of(const StepProgram& program) {
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) {
    if (operation.name.ends_with(" push")) names.push_back(operation.name);
  }
  return names;
}

StepProgram step_of(std::map<std::string, settings::Value> values, std::uint32_t gpus,
                    std::uint32_t nodes) {
  return build(parameter_server_strategy, two_layers(), {std::move(values), {}, gpus, nodes});
}

TEST(ParameterServer, PushesAsGradientsComeOrByPriority) {
  const std::vector<std::string> as_they_come{"b.weight push", "a.weight push"},
      from_the_input{"a.weight push", "b.weight push"};
  EXPECT_EQ(pushes_of(step_of({}, 1, 2)), as_they_come);
  EXPECT_EQ(pushes_of(step_of({{"overlap", false}}, 1, 2)), as_they_come);
  EXPECT_EQ(pushes_of(step_of({{"overlap", false}, {"priority", true}}, 1, 2)), from_the_input);
  // b comes alone, and goes.
  EXPECT_EQ(pushes_of(step_of({{"priority", true}}, 1, 2)), as_they_come);
}

// 4 MB of b in four partitions and 2 MB of a in two: with a credit of 2 the third waits for the
// first pull, beside its own gradient.
TEST(ParameterServer, CreditHoldsPushesBack) {
  const StepProgram program =
      step_of({{"credit", std::uint64_t{2}}, {"partition", Bytes(1'000'000)}}, 1, 2);
  std::vector<OperationId> pushes, pulls;
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    if (program.operations[id].name.ends_with(" push")) pushes.push_back(id);
    if (program.operations[id].name.ends_with(" pull")) pulls.push_back(id);
  }
  ASSERT_EQ(pushes.size(), 6U);
  for (std::size_t i = 0; i < pushes.size(); ++i) {
    const auto& after = program.operations[pushes[i]].after;
    ASSERT_EQ(after.size(), i < 2 ? 1U : 2U);
    if (i >= 2) {
      EXPECT_EQ(after[1], pulls[i - 2]);
    }
  }
}

// One node has nothing to push: its GPUs reduce-scatter and all-gather.
TEST(ParameterServer, OneNodeReducesByItself) {
  const StepProgram program = step_of({}, 4, 1);
  EXPECT_TRUE(pushes_of(program).empty());
  EXPECT_EQ(calls_of(program, collectives::Collective::reduce_scatter).size(), 2U);
  EXPECT_EQ(calls_of(program, collectives::Collective::all_gather).size(), 2U);
}

std::optional<Refusal> refusal_of(std::map<std::string, settings::Value> values, std::uint32_t gpus,
                                  std::uint32_t nodes) {
  settings::Settings settings(parameter_server_strategy.keys);
  for (const auto& [name, value] : values) settings.set(name, value);
  topology::Cluster cluster = cluster_of({{}, {}, gpus, nodes});
  cluster.network.bandwidth = BytesPerSecond(1e9);
  const auto workload = two_layers();
  const CommonSettings common;
  return parameter_server_strategy.refuse({workload, cluster, settings, common});
}

TEST(ParameterServer, RefusesServersThatHaveNoPlace) {
  const auto beside = settings::value_of(ServerHosts::beside_workers);
  const std::uint64_t three = 3;
  EXPECT_FALSE(refusal_of({{"servers", three}}, 1, 2));
  const auto refused = refusal_of({{"servers", three}, {"server_hosts", beside}}, 2, 2);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->what, "has 3 servers beside 2 nodes");
  EXPECT_FALSE(
      refusal_of({{"servers", three}, {"server_hosts", beside}, {"hierarchical", false}}, 2, 2));
}

TEST(ParameterServer, RefusesPartitionsOfNoElement) {
  const auto refused = refusal_of({{"partition", Bytes(3)}}, 1, 2);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->what, "has partitions smaller than an element of a.weight");
  EXPECT_FALSE(refusal_of({{"partition", Bytes(4)}}, 1, 2));
}

}  // namespace
}  // namespace paceline::training
