// Steps composed anew of their parts, and how they respond to what descriptions leave open.

#include "scenarios/predict/composition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/preparer.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace composition_test {

using test::changed;
using uncertain::Unknown;

constexpr double ms = 1e-3;
// Gradients of 50 MB are divided by the ranks: read and written at 0.85 of a V100's 900 GB/s.
constexpr double divided = 2 * 50e6 / (0.85 * 900e9);

// Forward 20 ms, backward 10 ms of the last layer, whose gradients of 25 MB are then reduced over
// 1 GB/s in 25 ms beside 100 ms of backward of the first; its 25 MB are reduced after that, and
// nothing hides them: 155 ms, of 130 of compute and 50 of calls, 25 of which are hidden.
constexpr std::string_view half_hidden = R"(schema: paceline/1
name: half hidden
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: first, forward: 10ms, backward: 100ms, parameters: [6250000]}
    - {name: last, forward: 10ms, backward: 10ms, parameters: [6250000]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 1us}}
training: {strategy: wait_free, optimizer: {time: 0ms}}
collective: {library: plan, algorithm: ring}
simulation: {fidelity: folded}
ranks: {spread: 0}
)";

// A point with what is predicted of it.
struct Composed {
  explicit Composed(const std::string& text)
      : prepared(prepared_of(text)),
        result(std::get<Result>(simulate(prepared->point))),
        composition(*prepared, result) {}

  static std::shared_ptr<const PreparedPoint> prepared_of(const std::string& text) {
    const test::Folder folder;
    const auto file = ScenarioFile::read(folder.write("scenario.yaml", text), {});
    return Preparer(file).prediction(0);
  }

  [[nodiscard]] double step(const StepScale& scale) const {
    return composition.step(scale).value();
  }
  [[nodiscard]] uncertain::Response response() const {
    return response_of(*prepared, result.totals.step, [&](std::span<const StepScale> scales) {
      std::vector<Seconds> steps;
      for (const StepScale& scale : scales) steps.push_back(composition.step(scale));
      return steps;
    });
  }

  std::shared_ptr<const PreparedPoint> prepared;
  Result result;
  Composition composition;
};

const std::string of_two_nodes(half_hidden);

TEST(Composition, WithoutAScaleIsThePredictedStep) {
  const Composed made(of_two_nodes);
  EXPECT_NEAR(made.result.totals.step.value(), 155 * ms + divided, 0.01 * ms);
  EXPECT_NEAR(made.step({}), made.result.totals.step.value(), 1e-12);
  const StepTrace trace = made.composition.trace({});
  EXPECT_EQ(rank_count(trace), 2U);
  EXPECT_EQ(trace.classes.size(), made.result.trace.classes.size());
}

// The second call, which nothing hides, takes 25 ms more; the first then ends at 80 of 130 ms.
TEST(Composition, HasWhatIsExposedOfLongerCalls) {
  const Composed made(of_two_nodes);
  EXPECT_NEAR(made.step({.network = 2}), made.step({}) + 25 * ms, 0.1 * ms);
  EXPECT_NEAR(made.step({.node_links = 2}), made.step({}), 1e-12);  // none stays in a node
  // Six times as long the first ends at 30 + 150 ms, and the second 150 ms later.
  EXPECT_NEAR(made.step({.network = 6}), (30 + 150 + 150) * ms + divided, 0.1 * ms);
}

TEST(Composition, HasLongerCompute) {
  const Composed made(of_two_nodes);
  EXPECT_NEAR(made.step({.compute = 1.1}), made.step({}) + 13 * ms, 0.1 * ms);
}

// The 25 ms beside the first call are 25 ms longer: compute and calls one after the other. Half of
// it with half.
TEST(Composition, CostsHiddenCallsAsIfNothingOverlapped) {
  const Composed made(of_two_nodes);
  EXPECT_NEAR(made.step({.overlap_lost = 1}), (130 + 50) * ms + divided, 0.01 * ms);
  EXPECT_NEAR(made.step({.overlap_lost = 0.5}), made.step({}) + 12.5 * ms, 0.1 * ms);
}

TEST(Composition, OfOneNodeHasItsCallsInIt) {
  const Composed made(changed(
      of_two_nodes, "{nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 1us}}",
      "{nodes: 1, gpus_per_node: 2, intra_node: {kind: nvswitch, bandwidth: 1GBps, "
      "latency: 1us}, network: {bandwidth: 1GBps, latency: 1us}}"));
  EXPECT_NEAR(made.step({.node_links = 2}), made.step({}) + 25 * ms, 0.1 * ms);
  EXPECT_NEAR(made.step({.network = 2}), made.step({}), 1e-12);
}

// Ranks of unequal lengths keep them: the slower one has 1.5 times 130 ms.
TEST(Composition, KeepsRanksThatDiffer) {
  const Composed made(of_two_nodes);
  const Composed slow(changed(of_two_nodes, "{spread: 0}", "{spread: 0, slowdown: {1: 1.5}}"));
  EXPECT_NEAR(slow.step({}), slow.result.totals.step.value(), 1e-12);
  EXPECT_EQ(rank_count(slow.composition.trace({.compute = 1.1})), 2U);
  EXPECT_NEAR(slow.step({.compute = 2}) - slow.step({}), 1.5 * (130 * ms + divided), 0.01 * ms);
  EXPECT_GT(slow.step({}), made.step({}));
}

TEST(TimeBesideCalls, IsOfComputeThatIsUnderWay) {
  const Composed made(of_two_nodes);
  const auto beside = time_beside_calls(made.prepared->point.program, made.result.trace);
  Seconds sum;
  for (const Seconds time : beside) sum += time;
  EXPECT_NEAR(sum.value(), 25 * ms, 0.1 * ms);
}

TEST(Scale, IsOfTheQuantitiesValues) {
  std::array<double, uncertain::quantities> values{};
  PreparedPoint any{};
  any.place.log2_ranks = 1;
  EXPECT_EQ(scale_of(any, values), StepScale());
  const auto at = [&](Unknown quantity) -> double& {
    return values[static_cast<std::size_t>(quantity)];
  };
  at(Unknown::compute) = 0.1;
  at(Unknown::wrapper) = 0.2;
  at(Unknown::node_links) = -1;
  at(Unknown::network) = 1;
  at(Unknown::overlap) = 1.5;
  const StepScale scale = scale_of(any, values);
  EXPECT_DOUBLE_EQ(scale.compute, std::exp(0.3));
  EXPECT_DOUBLE_EQ(scale.node_links, std::exp(-1.0));
  EXPECT_DOUBLE_EQ(scale.network, std::exp(1.0));
  EXPECT_EQ(scale.overlap_lost, 1);
  EXPECT_EQ(scale.waits, 1);
}

// Hooks that are shorter than none are none.
TEST(Scale, HasLongerHooksInItsCompute) {
  std::array<double, uncertain::quantities> values{};
  PreparedPoint point{};
  point.place.log2_ranks = 1;
  const auto compute_at = [&](double hooks) {
    values[static_cast<std::size_t>(Unknown::host)] = hooks;
    return scale_of(point, values).compute;
  };
  EXPECT_EQ(compute_at(1), 1);
  point.longer_hooks = uncertain::Curve({{2, std::log(1.1)}});
  EXPECT_DOUBLE_EQ(compute_at(2), 1.1);
  EXPECT_EQ(compute_at(-1), 1);
  point.longer_hooks = uncertain::Curve({{-1.5, std::log(0.8)}, {2, std::log(1.1)}});
  EXPECT_DOUBLE_EQ(compute_at(-1.5), 0.8);
  EXPECT_DOUBLE_EQ(compute_at(-3), 0.8);
  point.place.log2_ranks = 0;  // alone there is no wrapper
  EXPECT_EQ(compute_at(2), 1);
}

// The responses are those of the composed steps at the places that are looked at.
TEST(Response, IsOfTheComposedSteps) {
  const Composed made(of_two_nodes);
  const uncertain::Response response = made.response();
  const auto moved = [&](const StepScale& scale) {
    return std::log(made.step(scale) / made.step({}));
  };
  EXPECT_NEAR(response.at(Unknown::compute, 0.25), moved({.compute = std::exp(0.25)}), 1e-12);
  EXPECT_NEAR(response.at(Unknown::wrapper, -0.25), moved({.compute = std::exp(-0.25)}), 1e-12);
  EXPECT_NEAR(response.at(Unknown::network, 1), moved({.network = std::exp(1)}), 1e-12);
  EXPECT_NEAR(response.at(Unknown::network, -0.3), moved({.network = std::exp(-0.3)}), 1e-12);
  EXPECT_EQ(response.at(Unknown::node_links, 1), 0);
  EXPECT_NEAR(response.at(Unknown::overlap, 1), std::log(180.0 / 155), 1e-3);
  EXPECT_EQ(response.waits_low, 0);
  EXPECT_EQ(response.waits_high, 0);
  EXPECT_EQ(response.place.log2_nodes, 1);
}

// There is no wrapper on one GPU, and no link.
TEST(Response, OfOneGpuIsOfItsCompute) {
  const Composed made(changed(of_two_nodes, "{nodes: 2,", "{nodes: 1,"));
  const uncertain::Response response = made.response();
  EXPECT_NEAR(response.at(Unknown::compute, 0.25), 0.25, 1e-12);
  for (const Unknown quantity :
       {Unknown::wrapper, Unknown::node_links, Unknown::network, Unknown::overlap}) {
    EXPECT_EQ(response.at(quantity, 1), 0);
  }
}

}  // namespace composition_test
}  // namespace paceline
