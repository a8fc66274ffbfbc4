#include "scenarios/judge/health.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  const Health there = health_of({preset, "", changes}, {table});
  for (std::size_t i = 0; i < table.samples.size(); ++i) {
    table.samples[i].time = there.logs.front().rows[i].predicted.time;
  }
  return table;
}

Health looked_at(const std::string& preset, std::uint32_t nodes, std::uint32_t ranks,
                 const Settings& illness) {
  return health_of({preset, "", {}}, {measured_on(preset, table_of(nodes, ranks), illness)});
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
  const Health found = health_of({"dgx-h100", "", {}}, {halved(8, "4"), halved(2, "1")});
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
    return health_of({"dgx-h100", "", settings}, {log}).off;
  };
  EXPECT_NEAR(off_of("2.18.3", {}), 0, 1e-12);
  EXPECT_GT(off_of("2.30.1", {}), 0.001);
  EXPECT_NEAR(off_of("2.30.1", {{"collective.version", "2.18"}}), 0, 1e-12);
  EXPECT_NO_THROW(off_of("not told", {}));
}

}  // namespace
}  // namespace paceline
