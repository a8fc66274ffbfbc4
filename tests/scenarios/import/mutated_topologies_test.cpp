// Topologies as they come out of terminals, launchers and hands: whatever befell a text, its
// cluster is that of the text as it was, or it is refused. PACELINE_MUTATIONS says how many cases,
// PACELINE_MUTATION=N runs the N-th alone and prints its text.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/import/cluster_file.h"
#include "tests/mutated_text.h"
#include "tests/scenarios/process.h"
#include "traces/text/format_error.h"

namespace paceline {
namespace {

using test::TextMutator;

const std::string fixture_folders = PACELINE_SOURCE_DIR "/tests/fixtures/";

// All that files leave open is told, so that what they say is what differs.
std::vector<TopologyOptions> told_options() {
  TopologyOptions host;
  host.link_bandwidth = BytesPerSecond(20e9);
  host.network_bandwidth = BytesPerSecond(25e9);
  TopologyOptions device = host;
  device.device = device_named("a100-sxm4-40gb");
  return {host, device};
}

// Without comments, which name lines; empty where it is refused.
std::string cluster_lines(const std::string& text, const TopologyOptions& options) {
  std::string lines;
  try {
    auto [format, topology] = traces::read_node_topology(text);
    const std::string all = cluster_file_text({"text", format, std::move(topology)}, options);
    for (const std::string& line : TextMutator::lines_of(all)) {
      const auto first = line.find_first_not_of(' ');
      if (first == std::string::npos || line[first] == '#') continue;
      lines += line.substr(0, line.find(" #")) + "\n";
    }
  } catch (const traces::FormatError&) {
    return "";
  } catch (const InputError&) {
    return "";
  }
  return lines;
}

struct TopologyText {
  std::string name, text;
  TopologyOptions options;
  std::string cluster;
};

std::vector<TopologyText> topology_texts() {
  std::set<std::filesystem::path> paths;
  for (const char* folder : {"topology", "pasted"}) {
    for (const auto& entry : std::filesystem::directory_iterator(fixture_folders + folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending == ".txt" || ending == ".xml") paths.insert(entry.path());
    }
  }
  std::vector<TopologyText> found;
  for (const auto& path : paths) {
    const std::string text = test::text_of(path);
    for (const TopologyOptions& options : told_options()) {
      std::string cluster = cluster_lines(text, options);
      if (cluster.empty()) continue;
      found.push_back({path.filename().string(), text, options, std::move(cluster)});
      break;
    }
  }
  return found;
}

// What a run logged tells less with each line that is lost, and nothing says so; so does a node
// without its second matrix, of peer to peer.
test::Bearable bearable(const std::string& text) {
  const bool loses = text.find("NCCL INFO") != std::string::npos ||
                     text.find("\tNS") != std::string::npos ||
                     text.find("\tOK") != std::string::npos;
  return {!loses, !loses};
}

constexpr std::size_t shown_most = 12;

TEST(MutatedTopologies, AreTheSameClusterOrRefused) {
  const auto fixtures = topology_texts();
  ASSERT_FALSE(fixtures.empty());
  const char* said = std::getenv("PACELINE_MUTATION");
  const std::size_t first = said == nullptr ? 0 : std::strtoul(said, nullptr, 10);
  const std::size_t end = said == nullptr ? test::mutation_cases(2000) : first + 1;
  std::size_t wrong = 0, refused = 0;
  for (std::size_t i = first; i < end; ++i) {
    TextMutator change(i);
    const TopologyText& one = change.one_of(fixtures);
    const auto made = test::mutated(one.text, bearable(one.text), change);
    const std::string cluster = cluster_lines(made.text, one.options);
    if (said != nullptr) std::printf("%s\n%s", made.text.c_str(), cluster.c_str());
    refused += cluster.empty() ? 1U : 0U;
    if (cluster.empty() || cluster == one.cluster) continue;
    if (++wrong <= shown_most) {
      ADD_FAILURE() << "case " << i << ", " << one.name << ", " << made.how << ":\n"
                    << cluster << "instead of:\n"
                    << one.cluster;
    }
  }
  std::printf("%zu fixtures, %zu cases, %zu refused, %zu wrong\n", fixtures.size(), end - first,
              refused, wrong);
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace paceline
