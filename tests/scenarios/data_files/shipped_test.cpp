#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/data_files/data_files.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

// A value of a document, as a scenario would give it.
loader::Field field(const std::string& text) {
  const auto document = loader::parse_document("test.yaml", "value: " + text + "\n");
  return {document, document->root["value"], "value"};
}

workload::Network network(std::string_view name, bool heads = false) {
  loader::NetworkOptions options;
  options.pretraining_heads = heads;
  return *loader::load_network(field(std::string(name)), options);
}

struct Original {
  std::string_view network;
  bool heads;
  std::uint64_t parameters;
  std::size_t tensors;
};

// Parameters are what the programs themselves print: torchvision's model pages; the BertModel of
// bert-base-uncased and bert-large-uncased and its BertForPreTraining; GPT2LMHeadModel. Tensors:
// - ResNet of n blocks: 3 of the stem (convolution, batch normalisation), 2 of fc, per block 6
//   (basic) or 9 (bottleneck), and 3 for each downsample branch: 5 + 6 * 8 + 9, 5 + 9 * 16 + 12,
//   5 + 9 * 33 + 12, 5 + 9 * 50 + 12. ResNeXt has the same blocks.
// - VGG-16: 13 convolutions and 3 linear layers of weight and bias.
// - BERT of n blocks: 5 of the embeddings, 16 a block, 2 of the pooler; 7 of the heads.
// - GPT-2 of n blocks: 2 embeddings, 12 a block, 2 of the last layer norm; the head has none.
// - Others: what their model pages and papers print; tensors by hand. Llama and Mistral of n blocks
//   have 9 a block, an embedding, a norm and a head; Qwen3 11 a block; T5 8 an encoder's block, 13
//   a decoder's, an embedding, and of each stack a bias and a norm.
constexpr Original originals[] = {
    {"resnet18", false, 11'689'512, 62},         {"resnet50", false, 25'557'032, 161},
    {"resnet101", false, 44'549'160, 314},       {"resnet152", false, 60'192'808, 467},
    {"resnext50-32x4d", false, 25'028'904, 161}, {"resnext101-32x8d", false, 88'791'336, 314},
    {"vgg16", false, 138'357'544, 32},           {"bert-base", false, 109'482'240, 199},
    {"bert-base", true, 110'106'428, 206},       {"bert-large", false, 335'141'888, 391},
    {"bert-large", true, 336'226'108, 398},      {"gpt2", false, 124'439'808, 148},
    {"gpt2-medium", false, 354'823'168, 292},    {"gpt2-large", false, 774'030'080, 436},
    {"gpt2-xl", false, 1'557'611'200, 580},      {"alexnet", false, 61'100'840, 16},
    {"inception-v3", false, 23'834'568, 284},    {"mobilenet-v2", false, 3'504'872, 158},
    {"llama-2-7b", false, 6'738'415'616, 291},   {"llama-2-13b", false, 13'015'864'320, 363},
    {"llama-3-8b", false, 8'030'261'248, 291},   {"llama-3-70b", false, 70'553'706'496, 723},
    {"mistral-7b", false, 7'241'732'096, 291},   {"qwen3-0.6b", false, 596'049'920, 310},
    {"qwen3-8b", false, 8'190'735'360, 399},     {"mpt-1b", false, 1'315'950'592, 292},
    {"mpt-7b", false, 6'649'286'656, 194},       {"pythia-1b", false, 1'011'781'632, 196},
    {"t5-large", false, 737'668'096, 509},       {"vit-b-16", false, 86'567'656, 200},
    {"vit-l-16", false, 304'326'632, 392}};

std::uint64_t parameter_count(const workload::Network& network) {
  ElementCount total;
  for (const workload::ParameterTensor& tensor : parameters(network)) total += tensor.count;
  return total.value();
}

TEST(ShippedNetworks, HaveTheParametersOfTheOriginals) {
  std::set<std::string_view> listed, shipped;
  for (const Original& original : originals) {
    SCOPED_TRACE(original.network);
    listed.insert(original.network);
    const auto loaded = network(original.network, original.heads);
    EXPECT_EQ(parameter_count(loaded), original.parameters);
    EXPECT_EQ(parameters(loaded).size(), original.tensors);
  }
  for (const ShippedFile& file : shipped_networks()) shipped.insert(file.name);
  EXPECT_EQ(listed, shipped);
}

// The decoder's weight is tied: transform (h^2 + h) + its LayerNorm (2h) + decoder bias (30,522) +
// next sentence (2h + 2) more, h = 768 or 1,024.
TEST(ShippedNetworks, AddTheParametersOfPretrainingHeads) {
  const auto added = [](std::string_view name) {
    return parameter_count(network(name, true)) - parameter_count(network(name));
  };
  const auto heads = [](std::uint64_t h) { return h * h + h + 2 * h + 30'522 + 2 * h + 2; };
  EXPECT_EQ(added("bert-base"), heads(768));
  EXPECT_EQ(added("bert-large"), heads(1024));
}

double forward_flops(const workload::Network& network) {
  double flops = 0;
  for (const workload::Layer& layer : network.layers) {
    flops += std::get<workload::ModelledCost>(layer.cost).forward.flops_per_sample.value();
  }
  return flops;
}

// Multiply-adds an image as torchvision's model pages give them (there called GFLOPS), counted by a
// program that also counts a bias: 1 % is left for that and for their rounding.
TEST(ShippedNetworks, HaveTheForwardWorkOfTheOriginals) {
  const std::pair<std::string_view, double> published[] = {
      {"resnet18", 1.81e9},   {"resnet50", 4.09e9},        {"resnet101", 7.80e9},
      {"resnet152", 11.51e9}, {"resnext50-32x4d", 4.23e9}, {"resnext101-32x8d", 16.41e9},
      {"vgg16", 15.47e9},     {"inception-v3", 5.71e9},    {"vit-b-16", 17.56e9},
      {"vit-l-16", 61.55e9},  {"alexnet", 0.714e9},        {"mobilenet-v2", 0.301e9}};
  for (const auto& [name, multiply_adds] : published) {
    EXPECT_NEAR(forward_flops(network(name)) / (2 * multiply_adds), 1, 0.01) << name;
  }
}

// 2 FLOPs a token for each weight of the 12 h^2 in a block and of the h * 50,257 in the head, tied
// or not, and 4 * s * h a token for the two products of attention over s = 1,024 tokens.
TEST(ShippedNetworks, ComputeTheTiedHeadOfGpt2) {
  const std::tuple<std::string_view, double, double> sizes[] = {{"gpt2", 12, 768},
                                                                {"gpt2-medium", 24, 1024},
                                                                {"gpt2-large", 36, 1280},
                                                                {"gpt2-xl", 48, 1600}};
  for (const auto& [name, n, h] : sizes) {
    const double s = 1024;
    const double a_token = n * (2 * 12 * h * h + 4 * s * h) + 2 * h * 50'257;
    EXPECT_DOUBLE_EQ(forward_flops(network(name)), s * a_token) << name;
  }
}

// The head's gradient is added to the embedding's, whose backward comes last: DDP fills buckets in
// reverse, so the embedding of 50,257 x 768 is in the last one.
TEST(ShippedNetworks, RegisterTheTiedWeightOfGpt2First) {
  const auto tensors = parameters(network("gpt2"));
  EXPECT_EQ(tensors.front().name, "transformer.wte.weight");
  EXPECT_EQ(tensors.front().count, ElementCount(50'257 * 768));
  EXPECT_EQ(tensors.back().name, "transformer.ln_f.bias");
  for (const auto& tensor : tensors) EXPECT_EQ(tensor.name.find("lm_head"), std::string::npos);
}

// First dimensions as torch prints the shapes: a convolution's and a linear layer's outputs, an
// embedding's rows; a vector has as many as elements.
TEST(ShippedNetworks, KnowTheRowsOfTheirMatrices) {
  for (const ShippedFile& file : shipped_networks()) {
    for (const auto& tensor : parameters(network(file.name))) {
      ASSERT_TRUE(tensor.rows) << tensor.name;
      EXPECT_EQ(tensor.count.value() % tensor.rows->value(), 0U) << tensor.name;
    }
  }
  const auto rows_of = [](std::string_view name, std::string_view tensor) {
    const auto tensors = parameters(network(name, name == "bert-base"));
    const auto found = std::ranges::find(tensors, tensor, &workload::ParameterTensor::name);
    return found == tensors.end() ? 0 : found->rows->value();
  };
  EXPECT_EQ(rows_of("resnet50", "conv1.weight"), 64U);
  EXPECT_EQ(rows_of("resnet50", "layer1.0.conv3.weight"), 256U);
  EXPECT_EQ(rows_of("resnet50", "bn1.bias"), 64U);
  EXPECT_EQ(rows_of("resnet50", "fc.weight"), 1'000U);
  EXPECT_EQ(rows_of("bert-base", "cls.predictions.bias"), 30'522U);
}

// Registration order decides the buckets: a few places of it, as named_parameters() has them.
TEST(ShippedNetworks, RegisterInTheOrderOfTheOriginals) {
  const auto names_of = [](std::string_view name, std::size_t from, std::size_t count) {
    std::vector<std::string> names;
    const auto tensors = parameters(network(name));
    for (std::size_t i = from; i < from + count; ++i) names.push_back(tensors.at(i).name);
    return names;
  };
  EXPECT_EQ(
      names_of("resnext101-32x8d", 9, 6),
      (std::vector<std::string>{"layer1.0.conv3.weight", "layer1.0.bn3.weight", "layer1.0.bn3.bias",
                                "layer1.0.downsample.0.weight", "layer1.0.downsample.1.weight",
                                "layer1.0.downsample.1.bias"}));
  EXPECT_EQ(names_of("vgg16", 24, 4),
            (std::vector<std::string>{"features.28.weight", "features.28.bias",
                                      "classifier.0.weight", "classifier.0.bias"}));
  EXPECT_EQ(names_of("gpt2-xl", 2, 6),
            (std::vector<std::string>{
                "transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
                "transformer.h.0.attn.c_attn.weight", "transformer.h.0.attn.c_attn.bias",
                "transformer.h.0.attn.c_proj.weight", "transformer.h.0.attn.c_proj.bias"}));
}

TEST(ShippedNetworks, AllLoad) {
  for (const ShippedFile& file : shipped_networks()) {
    SCOPED_TRACE(file.name);
    EXPECT_EQ(network(file.name).name, file.name);
  }
}

TEST(ShippedDevices, AllLoad) {
  for (const ShippedFile& file : shipped_devices()) {
    SCOPED_TRACE(file.name);
    const auto device = loader::load_device(field(std::string(file.name)));
    EXPECT_EQ(device.name, file.name);
    EXPECT_GT(device.memory_bandwidth, BytesPerSecond(0));
    EXPECT_GT(device.fp32.peak, FlopsPerSecond(0));
    EXPECT_GE(device.multiprocessors, 1);
  }
}

// No part of a peak is a device's own: what is attained is learnt for all (attained.h).
TEST(ShippedDevices, AttainWhatOthersDo) {
  for (const ShippedFile& file : shipped_devices()) {
    const auto device = loader::load_device(field(std::string(file.name)));
    for (const auto* speed : {&device.fp32, &device.tf32, &device.fp16, &device.bf16}) {
      EXPECT_EQ(speed->attained, std::nullopt) << file.name;
    }
    EXPECT_EQ(device.attained_memory, 0.85) << file.name;
  }
}

// Lanes times multiprocessors are the cores of the data sheets.
TEST(ShippedDevices, HaveTheLanesOfTheirCapability) {
  const auto cores = [](const char* name) {
    const auto device = loader::load_device(field(name));
    return device.fp32_lanes * device.multiprocessors;
  };
  EXPECT_EQ(cores("k80"), 2496);
  EXPECT_EQ(cores("gtx-1080-ti"), 3584);
  EXPECT_EQ(cores("p100-pcie-16gb"), 3584);
  EXPECT_EQ(cores("v100-sxm2-16gb"), 5120);
  EXPECT_EQ(cores("tesla-t4"), 2560);
  EXPECT_EQ(cores("a100-sxm4-40gb"), 6912);
  EXPECT_EQ(cores("rtx-3090"), 10496);
  EXPECT_EQ(cores("h100-sxm5-80gb"), 16896);
  EXPECT_EQ(cores("rtx-2080"), 2944);
  EXPECT_EQ(cores("a10"), 9216);
  EXPECT_EQ(cores("a40"), 10752);
  EXPECT_EQ(cores("l4"), 7424);
  EXPECT_EQ(cores("rtx-6000-ada"), 18176);
  EXPECT_EQ(cores("a100-pcie-80gb"), 6912);
  EXPECT_EQ(cores("h100-pcie-80gb"), 14592);
  // Of each lane of these two a clock, two.
  EXPECT_EQ(cores("mi250x-gcd"), 14080);
  EXPECT_EQ(cores("mi300x-192gb"), 38912);
  EXPECT_EQ(cores("rtx-3060-12gb"), 3584);
  EXPECT_EQ(cores("rtx-4080"), 9728);
  EXPECT_EQ(cores("rtx-5080"), 10752);
  EXPECT_EQ(cores("rtx-5090"), 21760);
  EXPECT_EQ(cores("gh200-96gb"), 16896);
}

TEST(ShippedClusters, AllLoad) {
  for (const ShippedFile& file : shipped_clusters()) {
    SCOPED_TRACE(file.name);
    const auto cluster = loader::load_described_cluster(
                             {loader::Reader(field(fmt::format("{{preset: {}}}", file.name))),
                              loader::cluster_keys()})
                             .cluster;
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
