#include "models/cost/collective_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace paceline::cost {
namespace collective_fit_test {

using collectives::Collective;
using P = StructureParameters;

// A cluster that is not the prior's mean: slower hosts, hops and wires; rings from 64 KiB a rank
// on.
StructureParameters cluster() {
  StructureParameters parameters = structure_prior().mean;
  parameters[P::base_ll] = 0.4;
  parameters[P::base_simple] = 0.3;
  parameters[P::local_ll] = -0.2;
  parameters[P::remote_ll] = 0.2;
  parameters[P::remote_simple] = 0.1;
  parameters[P::local_bandwidth] = std::log(0.6);
  parameters[P::remote_bandwidth] = std::log(1.2);
  return parameters;
}

constexpr double ring_from = 64 * 1024;

Seconds true_time(const CollectiveShape& shape, std::uint64_t bytes) {
  const double each = static_cast<double>(bytes) / shape.ranks();
  const bool ring = shape.ranks() == 2 || each >= ring_from;
  return structural_time(cluster(), ring ? Pattern::ring : Pattern::tree, shape, Bytes(bytes));
}

std::vector<CollectiveSample> log_of(const CollectiveShape& shape, double wobble = 0) {
  std::vector<CollectiveSample> samples;
  int number = 0;
  for (std::uint64_t bytes = 1024; bytes <= (1U << 28); bytes *= 2) {
    const double off = 1 + wobble * ((++number * 7) % 5 - 2) / 2;  // -wobble .. wobble
    samples.push_back({shape, Bytes(bytes), true_time(shape, bytes) * off, 0.01});
  }
  return samples;
}

std::vector<CollectiveSample> logs_of(const std::vector<CollectiveShape>& shapes) {
  std::vector<CollectiveSample> all;
  for (const CollectiveShape& shape : shapes) {
    const auto log = log_of(shape, 0.01);
    all.insert(all.end(), log.begin(), log.end());
  }
  return all;
}

const std::vector<CollectiveShape> few_nodes{
    {Collective::all_reduce, 1, 4}, {Collective::all_reduce, 1, 8}, {Collective::all_reduce, 2, 8}};

double worst_error(const CollectiveFit& fit, const CollectiveShape& shape) {
  double worst = 0;
  for (std::uint64_t bytes = 1024; bytes <= (1U << 28); bytes *= 2) {
    const double ratio = fit.predict(shape, Bytes(bytes)).time / true_time(shape, bytes);
    worst = std::max(worst, std::abs(std::log(ratio)));
  }
  return worst;
}

TEST(CollectiveFit, MeetsWhatItWasFittedTo) {
  const auto fit = fit_collectives(logs_of(few_nodes), {});
  for (const CollectiveShape& shape : few_nodes) EXPECT_LT(worst_error(fit, shape), 0.04);
  double sum = 0;
  for (const auto& hypothesis : fit.hypotheses()) sum += hypothesis.weight;
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(CollectiveFit, ExtrapolatesByStructure) {
  const auto fit = fit_collectives(logs_of(few_nodes), {});
  EXPECT_LT(worst_error(fit, {Collective::all_reduce, 1, 2}), 0.20);
  EXPECT_LT(worst_error(fit, {Collective::all_reduce, 4, 8}), 0.20);
  EXPECT_LT(worst_error(fit, {Collective::all_reduce, 16, 8}), 0.35);
}

TEST(CollectiveFit, IsLessSureFartherAway) {
  const auto fit = fit_collectives(logs_of(few_nodes), {});
  double before = 1;
  for (const std::uint32_t nodes : {2U, 4U, 16U, 64U}) {
    const auto one = fit.predict({Collective::all_reduce, nodes, 8}, Bytes(1U << 24));
    EXPECT_LT(one.low, one.time);
    EXPECT_GT(one.high, one.time);
    EXPECT_GT(one.high / one.low, before) << nodes;
    before = one.high / one.low;
  }
  // On what was measured, to a few per cent.
  const auto known = fit.predict(few_nodes.front(), Bytes(1U << 20));
  EXPECT_LT(known.high / known.low, 1.12);
}

TEST(CollectiveFit, IsNotLedAstrayByOneOddSample) {
  auto samples = logs_of(few_nodes);
  CollectiveSample& odd = samples[10];
  odd.time = odd.time * 3.0;
  const auto fit = fit_collectives(samples, {});
  const auto at = fit.predict(odd.shape, odd.size);
  EXPECT_NEAR(at.time / true_time(odd.shape, odd.size.value()), 1, 0.1);
  double most = 0;
  for (std::size_t i = 0; i < fit.samples().size(); ++i) {
    const auto& sample = fit.samples()[i];
    if (sample.shape == odd.shape && sample.size == odd.size) most = fit.noise()[i];
  }
  EXPECT_GT(most, 0.5);
  // Nor is anything else: not what the others are taken to be off by, nor where they lead.
  const auto without = fit_collectives(logs_of(few_nodes), {});
  EXPECT_LE(fit.scale().shared, 2 * without.scale().shared);
  EXPECT_LT(worst_error(fit, {Collective::all_reduce, 4, 8}), 0.25);
}

// One node tells nothing of where rings take over between nodes: the structure's quicker one runs.
TEST(CollectiveFit, DoesNotTakeRingsForGrantedWhereItKnowsNothing) {
  const auto fit = fit_collectives(logs_of({{Collective::all_reduce, 1, 8}}), {});
  for (const auto& hypothesis : fit.hypotheses()) {
    EXPECT_EQ(hypothesis.remote_switch, the_quicker);
    EXPECT_NE(hypothesis.local_switch, the_quicker);
  }
  const CollectiveShape many{Collective::all_reduce, 128, 8};
  const Seconds ring =
      structural_time(fit.hypotheses().front().parameters, Pattern::ring, many, Bytes(1024));
  EXPECT_LT(fit.predict(many, Bytes(1024)).time, ring * 0.5);
}

TEST(CollectiveFit, TakesRepetitionsForOneSample) {
  auto samples = log_of({Collective::all_reduce, 1, 8});
  const std::size_t sizes = samples.size();
  auto again = samples;
  for (CollectiveSample& sample : again) sample.time = sample.time * 1.1;
  samples.insert(samples.end(), again.begin(), again.end());
  const auto fit = fit_collectives(samples, {});
  ASSERT_EQ(fit.samples().size(), sizes);
  EXPECT_NEAR(fit.samples().front().spread, 0.05 / 1.05, 1e-9);
}

// What is saved and read again must predict the same.
TEST(CollectiveFit, IsMadeAgainFromItsParts) {
  const auto fit = fit_collectives(logs_of(few_nodes), {});
  const CollectiveFit again({fit.samples().begin(), fit.samples().end()},
                            {fit.noise().begin(), fit.noise().end()}, fit.scale(),
                            {fit.hypotheses().begin(), fit.hypotheses().end()}, {});
  const CollectiveShape shape{Collective::all_reduce, 4, 8};
  const auto one = fit.predict(shape, Bytes(12345678)),
             other = again.predict(shape, Bytes(12345678));
  EXPECT_EQ(one.time, other.time);
  EXPECT_EQ(one.low, other.low);
  EXPECT_EQ(one.high, other.high);
}

// A machine whose rings carry a sixth, a third, ... of what those of four ranks do: what a log of
// three ranks would be follows, whose like was never fitted.
TEST(CollectiveFit, ExtrapolatesByWhatRingsCarry) {
  const RingParts parts({{1, 1}, {1.0 / 6, 1}, {1.0 / 3, 1}, {1, 1}});
  const auto log = [&](std::uint32_t ranks) {
    CollectiveShape shape{Collective::all_reduce, 1, ranks};
    shape.part = parts.of(ranks);
    return log_of(shape, 0.01);
  };
  std::vector<CollectiveSample> samples = log(2);
  for (const CollectiveSample& sample : log(4)) samples.push_back(sample);
  const auto known = fit_collectives(samples, parts), unknown = fit_collectives(samples, {});
  for (const CollectiveSample& sample : log(3)) {
    if (sample.size < Bytes(1 << 26)) continue;  // where bandwidth is nearly all of the time
    EXPECT_NEAR(known.predict(sample.shape, sample.size).time / sample.time, 1, 0.1);
    EXPECT_GT(sample.time / unknown.predict(sample.shape, sample.size).time, 1.2);
  }
}

TEST(CollectiveFit, TakesEightSamplesAnOctave) {
  std::vector<CollectiveSample> dense;
  const CollectiveShape shape{Collective::all_reduce, 1, 8};
  for (std::uint64_t mib = 1; mib <= 512; ++mib) {
    dense.push_back({shape, Bytes(mib << 20), true_time(shape, mib << 20)});
  }
  EXPECT_LE(fit_collectives(dense, {}).samples().size(), 9 * 8 + 1U);
}

TEST(CollectiveFit, AsksForEnoughSizes) {
  const CollectiveShape shape{Collective::all_reduce, 1, 8};
  std::vector<CollectiveSample> samples;
  for (std::uint64_t bytes = 1024; samples.size() < samples_least; bytes *= 2) {
    EXPECT_FALSE(are_enough(samples));
    samples.push_back({shape, Bytes(bytes), Seconds(1e-3)});
  }
  EXPECT_TRUE(are_enough(samples));
  for (CollectiveSample& sample : samples) sample.size = Bytes(1024 + sample.size.value() / 1024);
  EXPECT_FALSE(are_enough(samples));  // too near one another
}

TEST(CollectiveFit, KnowsOtherCollectives) {
  for (const Collective collective : {Collective::all_gather, Collective::broadcast}) {
    std::vector<CollectiveSample> samples;
    for (const std::uint32_t nodes : {1U, 2U}) {
      const auto log = log_of({collective, nodes, 8}, 0.01);
      samples.insert(samples.end(), log.begin(), log.end());
    }
    const auto fit = fit_collectives(samples, {});
    EXPECT_LT(worst_error(fit, {collective, 4, 8}), 0.25) << to_text(collective);
  }
}

// Logs of one node say nothing of links between nodes: a description does, and no more than that.
TEST(CollectiveFit, TakesLinksBetweenNodesFromADescriptionWhereNoLogHasThem) {
  const CollectiveShape node{Collective::all_reduce, 1, 4}, nodes{Collective::all_reduce, 2, 4};
  const Bytes large(1U << 28);
  const auto predicted = [&](std::vector<CollectiveSample> log, double bandwidth) {
    const RingParts parts({4, RingPart{}}, BytesPerSecond(bandwidth));
    return fit_collectives(std::move(log), parts).predict(nodes, large);
  };
  const Prediction slow = predicted(log_of(node), 2.5e9);
  const double bytes_time = 1.75 * static_cast<double>(large.value()) / 2.5e9;  // 2 (p - 1) / p
  EXPECT_NEAR(slow.time.value() / bytes_time, 1, 0.1);
  EXPECT_LT(slow.low.value(), bytes_time / 1.5);  // known as roughly as descriptions are
  EXPECT_GT(slow.high.value(), bytes_time * 1.5);
  EXPECT_LT(predicted(log_of(node), 10e9).time.value(), slow.time.value() / 3);
  auto both = log_of(node);
  std::ranges::copy(log_of(nodes), std::back_inserter(both));
  EXPECT_EQ(predicted(both, 2.5e9).time, predicted(both, 10e9).time);
}

// Two and four ranks along lanes of their own, three over a GPU between, of which there is no log:
// their interval has a factor of two more, either way.
TEST(CollectiveFit, IsLessSureOfRingsThatCrossWhatNoSampleDoes) {
  using topology::RingWay;
  const auto fit_of = [](RingWay of_three) {
    const RingParts parts({{}, {}, {1, 1, of_three}, {}});
    std::vector<CollectiveSample> samples;
    for (const std::uint32_t ranks : {2U, 4U}) {
      for (auto& sample : log_of({Collective::all_reduce, 1, ranks}, 0.01))
        samples.push_back(sample);
    }
    return fit_collectives(samples, parts);
  };
  const auto far = fit_of(RingWay::neighbours), near = fit_of(RingWay::nvlink);
  for (const std::uint32_t ranks : {2U, 3U}) {
    const auto wide = far.predict({Collective::all_reduce, 1, ranks}, Bytes(1 << 26));
    const auto usual = near.predict({Collective::all_reduce, 1, ranks}, Bytes(1 << 26));
    EXPECT_EQ(wide.time, usual.time);
    const double more = ranks == 3 ? std::log(2.0) : 0;
    EXPECT_NEAR(std::log(wide.high / wide.time),
                std::hypot(std::log(usual.high / usual.time), more), 1e-9);
  }
}

}  // namespace collective_fit_test
}  // namespace paceline::cost
