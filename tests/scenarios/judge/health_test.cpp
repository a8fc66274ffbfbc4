#include "scenarios/judge/health.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace paceline {
namespace {

using Settings = std::vector<ScenarioFile::Setting>;

LogTable table_of(std::uint32_t nodes, std::uint32_t ranks) {
  LogTable table;
  table.file = "log";
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

}  // namespace
}  // namespace paceline
