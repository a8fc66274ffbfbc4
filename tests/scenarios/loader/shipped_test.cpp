#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "models/shipped_file.h"
#include "scenarios/loader/data_files.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

// A value of a document, as a scenario would give it.
loader::Field field(const std::string& text) {
  const auto document = loader::parse_document("test.yaml", "value: " + text + "\n");
  return {document, document->root["value"], "value"};
}

std::uint64_t parameters_of(const std::string& network, bool heads) {
  loader::NetworkOptions options;
  options.pretraining_heads = heads;
  return parameter_count(loader::load_network(field(network), options)).value();
}

// What the programs themselves print: torchvision's resnet18() and resnet50() (model zoo pages),
// the BertModel of bert-base-uncased and bert-large-uncased, and BertForPreTraining, whose decoder
// weight is tied: transform (h^2 + h) + its LayerNorm (2h) + decoder bias (30,522) + next sentence
// (2h + 2) more, h = 768 or 1,024.
TEST(ShippedNetworks, HaveTheParametersOfTheOriginals) {
  EXPECT_EQ(parameters_of("resnet18", false), 11'689'512U);
  EXPECT_EQ(parameters_of("resnet50", false), 25'557'032U);
  EXPECT_EQ(parameters_of("bert-base", false), 109'482'240U);
  EXPECT_EQ(parameters_of("bert-large", false), 335'141'888U);
  EXPECT_EQ(parameters_of("bert-base", true), 110'106'428U);
  EXPECT_EQ(parameters_of("bert-large", true), 336'226'108U);
  const auto heads = [](std::uint64_t h) { return h * h + h + 2 * h + 30'522 + 2 * h + 2; };
  EXPECT_EQ(109'482'240U + heads(768), 110'106'428U);
  EXPECT_EQ(335'141'888U + heads(1024), 336'226'108U);
}

TEST(ShippedNetworks, AllLoad) {
  for (const ShippedFile& file : shipped_networks()) {
    SCOPED_TRACE(file.name);
    const auto network = loader::load_network(field(std::string(file.name)), {});
    EXPECT_EQ(network.name, file.name);
    EXPECT_GT(parameter_count(network).value(), 0U);
  }
}

TEST(ShippedDevices, AllLoad) {
  for (const ShippedFile& file : shipped_devices()) {
    SCOPED_TRACE(file.name);
    const auto device = loader::load_device(field(std::string(file.name)));
    EXPECT_EQ(device.name, file.name);
    EXPECT_GT(device.memory_bandwidth, BytesPerSecond(0));
    EXPECT_GT(device.fp32.peak, FlopsPerSecond(0));
  }
}

TEST(ShippedClusters, AllLoad) {
  static const loader::Overrides none;
  for (const ShippedFile& file : shipped_clusters()) {
    SCOPED_TRACE(file.name);
    const auto cluster =
        loader::load_cluster(loader::Reader(field(fmt::format("{{preset: {}}}", file.name)), none));
    EXPECT_EQ(cluster.name, file.name);
    EXPECT_GT(cluster.gpus_per_node, 0U);
  }
}

// A shipped file is compiled in by being in its folder.
TEST(ShippedFiles, AreThoseOfTheTree) {
  const std::pair<const char*, std::span<const ShippedFile>> folders[] = {
      {"models/workload/zoo", shipped_networks()},
      {"models/workload/devices", shipped_devices()},
      {"models/topology/presets", shipped_clusters()}};
  for (const auto& [folder, shipped] : folders) {
    std::set<std::string> compiled, lying;
    for (const ShippedFile& file : shipped) {
      compiled.emplace(file.name);
      EXPECT_EQ(file.text, test::text_of(fmt::format("{}/{}/{}.yaml", PACELINE_SOURCE_DIR, folder,
                                                     file.name)));
    }
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("{}/{}", PACELINE_SOURCE_DIR, folder))) {
      if (entry.path().extension() == ".yaml") lying.insert(entry.path().stem());
    }
    EXPECT_EQ(compiled, lying) << folder;
  }
}

}  // namespace
}  // namespace paceline
