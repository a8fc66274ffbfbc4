#include "scenarios/judge/health.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/errors.h"

namespace paceline {
namespace {

using Settings = std::vector<ScenarioFile::Setting>;

LogTable table_of(std::uint32_t nodes, std::uint32_t ranks, const std::string& release = "") {
  LogTable table;
  table.file = "log";
  table.release = release;
  table.shape = {collectives::Collective::all_reduce, nodes, ranks};
  for (std::uint64_t size = 1 << 20; size <= 1 << 30; size *= 4) {
    table.samples.push_back({table.shape, Bytes(size), Seconds(1)});
  }
  return table;
}

// What a machine with these changes takes, by its prediction.
LogTable measured_on(const std::string& preset, LogTable table, const Settings& changes) {
  const Health there = health_of({preset, "", changes}, {{table}, {}});
  for (std::size_t i = 0; i < table.samples.size(); ++i) {
    table.samples[i].time = there.logs.front().rows[i].predicted.time;
  }
  return table;
}

Health looked_at(const std::string& preset, std::uint32_t nodes, std::uint32_t ranks,
                 const Settings& illness) {
  return health_of({preset, "", {}}, {{measured_on(preset, table_of(nodes, ranks), illness)}, {}});
}

struct Ill {
  const char* preset;
  std::uint32_t nodes, ranks;
  Settings illness;
};

TEST(Health, NamesAPlantedIllness) {
  const std::vector<Ill> all{
      {"dgx-h100", 2, 8, {{"cluster.network.nics_per_node", "2"}}},
      {"dgx-h100", 4, 8, {{"cluster.network.transport", "tcp"}}},
      {"dgx-a100", 1, 8, {{"cluster.intra_node", "{kind: pcie, bandwidth: 12GBps, latency: 5us}"}}},
      {"dgx-a100", 2, 8, {{"cluster.network.bandwidth", "6.25GBps"}}},
      {"pcie-tree-8", 1, 8, {{"cluster.intra_node.peer_to_peer", "false"}}},
  };
  for (const Ill& one : all) {
    const Health found = looked_at(one.preset, one.nodes, one.ranks, one.illness);
    SCOPED_TRACE(one.preset + (" " + one.illness.front().path));
    EXPECT_EQ(found.logs.front().verdict, Verdict::slow);
    const bool is_named = std::ranges::any_of(found.suspects, [&](const Suspect& suspect) {
      return spelled(suspect.settings) == spelled(one.illness);
    });
    EXPECT_TRUE(is_named);
  }
}

TEST(Health, OfWhatIsAsDescribedIsGood) {
  const Health found = looked_at("dgx-h100", 2, 8, {});
  EXPECT_EQ(found.logs.front().verdict, Verdict::healthy);
  EXPECT_TRUE(found.suspects.empty());
  EXPECT_NEAR(found.off, 0, 1e-12);
}

// A node's part, and fewer GPUs of each with their part of the NICs, are parts of the machine.
TEST(Health, LooksAtPartsOfAMachine) {
  EXPECT_EQ(looked_at("dgx-h100", 1, 4, {}).logs.front().verdict, Verdict::healthy);
  EXPECT_EQ(looked_at("dgx-h100", 2, 1, {}).logs.front().verdict, Verdict::healthy);
}

// Half of the NICs are four of eight GPUs', and one of two GPUs', which have two of the eight.
TEST(Health, TakesAPartOfEachLogsOwnNics) {
  const auto halved = [](std::uint32_t ranks, const char* nics) {
    return measured_on("dgx-h100", table_of(2, ranks), {{"cluster.network.nics_per_node", nics}});
  };
  const Health found = health_of({"dgx-h100", "", {}}, {{halved(8, "4"), halved(2, "1")}, {}});
  ASSERT_FALSE(found.suspects.empty());
  EXPECT_EQ(found.suspects.front().words, "1/2 of the NICs");
  EXPECT_NEAR(found.suspects.front().off, 0, 1e-12);
}

// A quarter of four NICs and an eighth are one NIC each.
TEST(Health, NamesEachDescriptionOnce) {
  const Health found = looked_at("dgx1-v100", 2, 8, {{"cluster.network.nics_per_node", "1"}});
  const auto nics = std::ranges::count_if(found.suspects, [](const Suspect& one) {
    return spelled(one.settings).front() == "cluster.network.nics_per_node=1";
  });
  EXPECT_EQ(nics, 1);
}

// 2.18 and 2.30 are tuned differently. A setting goes before what the log says.
TEST(Health, PredictsALogAsItsVersionsOfNccl) {
  const auto off_of = [](const std::string& release, const Settings& settings) {
    const LogTable old = measured_on("dgx-h100", table_of(2, 8, "2.18.3"), {});
    LogTable log = old;
    log.release = release;
    return health_of({"dgx-h100", "", settings}, {{log}, {}}).off;
  };
  EXPECT_NEAR(off_of("2.18.3", {}), 0, 1e-12);
  EXPECT_GT(off_of("2.30.1", {}), 0.001);
  EXPECT_NEAR(off_of("2.30.1", {{"collective.version", "2.18"}}), 0, 1e-12);
  EXPECT_NO_THROW(off_of("not told", {}));
}

using traces::LinkTest;
using traces::TestedLink;

HealthOfLog tested(const std::string& preset, const LinkTest& test) {
  return health_of({preset, "", {}}, {{}, {}, {{"test", {test}}}}).logs.at(0);
}

// By the preset: NICs of 400 Gb/s at 0.96, ports of 370.8 GB/s, hosts' links of 48 GB/s. The
// interval of RDMA and NVLink is 2.13 scales of 0.15 and 0.1, each with 0.222 of itself more.
TEST(Health, JudgesALinkByItsDescription) {
  const auto verdict = [](TestedLink link, double rate) {
    return tested("dgx-h100", {1, link, "it", {0, 1}, BytesPerSecond(rate)}).verdict;
  };
  EXPECT_EQ(verdict(TestedLink::network, 48e9), Verdict::healthy);
  EXPECT_EQ(verdict(TestedLink::network, 48e9 * std::exp(-0.31)), Verdict::healthy);
  EXPECT_EQ(verdict(TestedLink::network, 48e9 * std::exp(-0.34)), Verdict::slow);
  EXPECT_EQ(verdict(TestedLink::network, 51e9), Verdict::fast);  // than wires
  EXPECT_EQ(verdict(TestedLink::gpus, 370.8e9 * std::exp(-0.2)), Verdict::healthy);
  EXPECT_EQ(verdict(TestedLink::gpus, 370.8e9 / 2), Verdict::slow);
  EXPECT_EQ(verdict(TestedLink::to_gpu, 55.6e9), Verdict::healthy);
  EXPECT_EQ(verdict(TestedLink::from_gpu, 24e9), Verdict::slow);
}

// GPUs 0 and 3 of the board have two lanes of 22.5 GB/s between them, 0 and 5 none.
TEST(Health, JudgesEachPairByItsOwnLanes) {
  const auto predicted = [](std::uint32_t to) {
    const HealthOfLog log =
        tested("dgx1-v100", {1, TestedLink::gpus, "it", {0, to}, BytesPerSecond(20e9)});
    return log.busbw(log.rows[0].size, log.rows[0].predicted.time);
  };
  EXPECT_NEAR(predicted(3), 45, 1e-6);
  EXPECT_LE(predicted(5), 22.5);
}

TEST(Health, OfLinksIsSlowWhereOneIs) {
  std::vector<LinkTest> nics(8, {1, TestedLink::network, "mlx5_0", {}, BytesPerSecond(48e9)});
  nics[5] = {6, TestedLink::network, "mlx5_5", {}, BytesPerSecond(24e9)};
  const Health found = health_of({"dgx-h100", "", {}}, {{}, {}, {{"test", nics}}});
  EXPECT_EQ(found.logs.at(0).verdict, Verdict::slow);
  EXPECT_NE(found.logs[0].sentence.find("24 GB/s of mlx5_5; such links give 34.59 to 50"),
            std::string::npos)
      << found.logs[0].sentence;
  EXPECT_TRUE(found.suspects.empty());
}

TEST(Health, RefusesLinksThatTheMachineDoesNotHave) {
  EXPECT_THROW(tested("dgx-h100", {1, TestedLink::gpus, "it", {0, 8}, BytesPerSecond(1e9)}),
               InputError);
}

}  // namespace
}  // namespace paceline
