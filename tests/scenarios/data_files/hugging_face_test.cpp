// Networks by a config.json of Hugging Face.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/workload/workload.h"
#include "scenarios/data_files/data_files.h"
#include "tests/scenarios/process.h"

namespace paceline::test {
namespace {

struct Published {
  std::string_view config;
  std::uint64_t parameters;  // as the model's page or its program prints
};

// clang-format off
constexpr Published published[] = {
    {R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_head": 12,
"n_layer": 12, "n_positions": 1024, "vocab_size": 50257})", 124'439'808},
    {R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
"vocab_size": 128256})", 8'030'261'248},
    {R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
"vocab_size": 32000})", 7'241'732'096},
    {R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
"num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
"vocab_size": 152064, "tie_word_embeddings": false})", 7'615'616'512},
    {R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
"num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "head_dim": 128,
"vocab_size": 151936, "tie_word_embeddings": true})", 596'049'920},
    {R"({"model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384,
"num_attention_heads": 8, "num_hidden_layers": 18, "num_key_value_heads": 1, "head_dim": 256,
"vocab_size": 256000})", 2'506'172'416},
    {R"({"model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216,
"num_attention_heads": 8, "num_hidden_layers": 26, "num_key_value_heads": 4, "head_dim": 256,
"vocab_size": 256000})", 2'614'341'888},
    {R"({"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912,
"num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1, "head_dim": 256,
"vocab_size": 262144})", 999'885'952},
    {R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240,
"num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 51200})", 2'779'683'840},
    {R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
"vocab_size": 32064})", 3'821'079'552},
    {R"({"model_type": "gpt_neox", "hidden_size": 2048, "intermediate_size": 8192,
"num_attention_heads": 8, "num_hidden_layers": 16, "vocab_size": 50304})", 1'011'781'632},
    {R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
"expansion_ratio": 4, "vocab_size": 50432, "max_seq_len": 2048, "no_bias": true,
"attn_config": {"alibi": true, "attn_impl": "torch"}})", 6'649'286'656},
    {R"({"model_type": "mpt", "d_model": 2048, "n_heads": 16, "n_layers": 24,
"expansion_ratio": 4, "vocab_size": 50368, "max_seq_len": 2048, "no_bias": false,
"attn_config": {"alibi": false}})", 1'315'950'592},
    {R"({"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, "num_attention_heads": 12,
"num_hidden_layers": 12, "max_position_embeddings": 2048, "vocab_size": 50272,
"word_embed_proj_dim": 768, "do_layer_norm_before": true})", 125'239'296},
    {R"({"model_type": "opt", "hidden_size": 1024, "ffn_dim": 4096, "num_attention_heads": 16,
"num_hidden_layers": 24, "max_position_embeddings": 2048, "vocab_size": 50272,
"word_embed_proj_dim": 512, "do_layer_norm_before": false})", 331'196'416},
    {R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768,
"intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12,
"max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30522})", 109'482'240},
    {R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 768,
"intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12,
"max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30522})", 109'514'298},
    {R"({"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "hidden_size": 768,
"intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12,
"max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 50265})", 124'697'433},
    {R"({"model_type": "t5", "d_model": 1024, "d_ff": 4096, "d_kv": 64, "num_heads": 16,
"num_layers": 24, "relative_attention_num_buckets": 32, "vocab_size": 32128})", 737'668'096},
    {R"({"model_type": "t5", "d_model": 768, "d_ff": 2048, "d_kv": 64, "num_heads": 12,
"num_layers": 12, "num_decoder_layers": 12, "feed_forward_proj": "gated-gelu",
"tie_word_embeddings": false, "relative_attention_num_buckets": 32, "vocab_size": 32128})",
247'577'856},
    {R"({"model_type": "vit", "architectures": ["ViTForImageClassification"],
"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
"num_hidden_layers": 24, "image_size": 224, "patch_size": 16, "num_labels": 1000})",
304'326'632},
    {R"({"model_type": "clip", "projection_dim": 512, "text_config": {"hidden_size": 512,
"intermediate_size": 2048, "num_attention_heads": 8, "num_hidden_layers": 12,
"vocab_size": 49408}, "vision_config": {"hidden_size": 768, "intermediate_size": 3072,
"num_attention_heads": 12, "num_hidden_layers": 12, "image_size": 224, "patch_size": 32}})",
151'277'313},
    {R"({"model_type": "clip", "projection_dim": 768, "text_config": {"hidden_size": 768,
"intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12},
"vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
"num_hidden_layers": 24, "image_size": 224, "patch_size": 14}})", 427'616'513},
};
// clang-format on

workload::Network network_of(std::string_view config, std::uint64_t sequence) {
  const Folder folder;
  const auto document =
      loader::parse_document("test.yaml", "value: " + folder.write("config.json", config) + "\n");
  loader::NetworkOptions options;
  if (sequence > 0) options.sequence = sequence;
  return *loader::load_network({document, document->root["value"], "value"}, options);
}

bool is_of_pictures(std::string_view config) {
  return config.find(R"("vit")") != std::string_view::npos ||
         config.find(R"("clip")") != std::string_view::npos;
}

double forward_flops(const workload::Network& network) {
  double flops = 0;
  for (const workload::Layer& layer : network.layers) {
    flops += std::get<workload::ModelledCost>(layer.cost).forward.flops_per_sample.value();
  }
  return flops;
}

std::uint64_t parameters_of(std::string_view config) {
  std::uint64_t parameters = 0;
  for (const auto& tensor :
       workload::parameters(network_of(config, is_of_pictures(config) ? 0 : 128))) {
    parameters += tensor.count.value();
  }
  return parameters;
}

TEST(HuggingFace, ConfigsHaveTheParametersOfTheirModels) {
  for (const Published& one : published) {
    EXPECT_EQ(parameters_of(one.config), one.parameters) << one.config;
  }
}

// A decoder of one layer.
std::string decoder(std::string_view family, std::string_view more) {
  return fmt::format(R"({{"model_type": "{}", "hidden_size": 2048, "intermediate_size": 8,
"num_attention_heads": 32, "num_hidden_layers": 1, "vocab_size": 8, "head_dim": 64,
"attention_bias": false{}}})",
                     family, more);
}

// configuration_*.py of transformers 4.57.
TEST(HuggingFace, AnAbsentKeyIsOfItsFamilysClass) {
  const std::pair<const char*, int> families[] = {{"llama", 32},      {"mistral", 8}, {"qwen2", 32},
                                                  {"qwen3", 32},      {"gemma", 16},  {"gemma2", 4},
                                                  {"gemma3_text", 4}, {"phi3", 32}};
  for (const auto& [family, heads] : families) {
    const std::string said = fmt::format(R"(, "num_key_value_heads": {})", heads);
    EXPECT_EQ(parameters_of(decoder(family, "")), parameters_of(decoder(family, said))) << family;
  }
  const std::string null = R"(, "num_key_value_heads": null)";
  EXPECT_EQ(parameters_of(decoder("mistral", null)), parameters_of(decoder("llama", "")));
  // CLIPConfig() is openai/clip-vit-base-patch32, whose config is among those above.
  EXPECT_EQ(parameters_of(R"({"model_type": "clip", "text_config": {}, "vision_config": {}})"),
            151'277'313U);
}

TEST(HuggingFace, WindowsAreThoseOfTheirFamilysLayers) {
  const auto window = [](std::string_view family, std::string_view more) {
    return network_of(decoder(family, more), 128).window;
  };
  EXPECT_EQ(window("llama", R"(, "sliding_window": 64)"), 0U);
  EXPECT_EQ(window("mistral", ""), 4096U);
  EXPECT_EQ(window("mistral", R"(, "sliding_window": null)"), 0U);
  EXPECT_EQ(window("gemma2", ""), 4096U);
  EXPECT_EQ(window("gemma3_text", R"(, "sliding_window": 512)"), 512U);
  EXPECT_EQ(window("gemma3_text", R"(, "layer_types": ["full_attention"])"), 0U);
  EXPECT_EQ(window("phi3", ""), 0U);
  EXPECT_EQ(window("phi3", R"(, "sliding_window": 2047)"), 2047U);
  EXPECT_EQ(window("qwen2", R"(, "sliding_window": 64)"), 0U);
  const std::string used = R"(, "sliding_window": 64, "use_sliding_window": true)";
  EXPECT_EQ(window("qwen2", used), 0U) << "its one layer is of the first 28, which have none";
  EXPECT_EQ(window("qwen2", used + R"(, "max_window_layers": 0)"), 64U);
  EXPECT_EQ(window("qwen3", used + R"(, "layer_types": ["sliding_attention"])"), 64U);
}

// Of a token 2 FLOPs a weight of every product, the head's among them: 7,504,658,432 of Llama 3's
// 8,030,261,248, which are all but the embedding's 128,256 x 4,096 and 65 norms of 4,096; and
// 4 x 8,192 x 4,096 a layer of attention over 8,192 tokens, half of it masked.
TEST(HuggingFace, ALlamaComputesWithEveryWeightButTheEmbeddings) {
  const double weights = 8'030'261'248.0 - 128'256.0 * 4096 - 65 * 4096;
  EXPECT_EQ(weights, 7'504'658'432.0);
  EXPECT_DOUBLE_EQ(forward_flops(network_of(published[1].config, 8192)),
                   8192 * (2 * weights + 32 * 2.0 * 8192 * 4096));
}

// Eight heads of keys and values for 32 of queries: the forward reads Q and writes the result, of
// 4,096 features, and reads K and V, of 1,024 each; its program writes no scores.
TEST(HuggingFace, FewerHeadsOfKeysAndValuesMoveLess) {
  const workload::Network network = network_of(published[1].config, 128);
  const auto attention =
      std::ranges::find(network.layers, "model.layers.0.self_attn", &workload::Layer::name);
  ASSERT_NE(attention, network.layers.end());
  const auto& cost = std::get<workload::ModelledCost>(attention->cost);
  EXPECT_DOUBLE_EQ(cost.forward.activation_elements_per_sample, 128.0 * (2 * 4096 + 2 * 1024));
  EXPECT_DOUBLE_EQ(attention->kept.input, 128.0 * (4096 + 2 * 1024));
}

Ended run_of(const Folder& folder, const std::string& config, const std::string& setting) {
  folder.write("config.json", config);
  folder.write("s.yaml", R"(schema: paceline/1
name: mine
workload: {model: config.json, batch_per_gpu: 1, precision: bf16, device: h100-sxm5-80gb}
cluster: {preset: dgx-h100}
training: {strategy: ddp}
sweep: {gpus: [8]}
)");
  std::vector<std::string> arguments{"run", "s.yaml", "--quiet"};
  if (!setting.empty()) arguments.insert(arguments.end(), {"--set", setting});
  return paceline(arguments, folder.path());
}

TEST(HuggingFace, ConfigsThatDescribeNothingAreRefused) {
  const Folder folder;
  const auto says = [&](const std::string& config, const std::string& words) {
    const Ended ended = run_of(folder, config, "workload.sequence=128");
    EXPECT_EQ(ended.exit_code, 2) << config;
    EXPECT_NE(ended.err.find(words), std::string::npos) << ended.err;
  };
  says(R"({"model_type": "lama"})", "did you mean llama");
  says(R"({"model_type": "mixtral"})", "is a mixture of experts");
  says("{\"model_type\": \"gpt2\",\n\"n_embd\": 770, \"vocab_size\": 10, \"n_head\": 12}",
       "config.json:2:44: n_head \"12\" does not divide 770");
  says(R"({"model_type": "llama"})", "hidden_size is missing");
  const std::string sizes =
      "{\"model_type\": \"llama\", \"hidden_size\": 12, "
      "\"intermediate_size\": 8, \"vocab_size\": 8,\n";
  says(sizes + "\"num_hidden_layers\": 1, \"num_attention_heads\": 0}",
       "config.json:2:48: num_attention_heads \"0\"");
  says(sizes + "\"num_hidden_layers\": 1, \"num_attention_heads\": 7}",
       "config.json:2:48: num_attention_heads \"7\" does not divide 12");
  says(sizes + "\"num_hidden_layers\": 1, \"num_attention_heads\": 6,\n\"num_key_value_heads\": 4}",
       "config.json:3:24: num_key_value_heads \"4\" does not divide 6");
  says(sizes + "\"num_hidden_layers\": 20000, \"num_attention_heads\": 6}",
       "config.json:2:22: num_hidden_layers \"20000\"");
  says(sizes + "\"num_hidden_layers\": 1, \"num_attention_heads\": 6, \"head_dim\": 1000000000}",
       "config.json:2:63: head_dim");
  // A size by several keys, at none of them.
  says(sizes + "\"num_hidden_layers\": 1, \"num_attention_heads\": 6000000, \"head_dim\": 6000000}",
       "paceline: config.json: out \"36000000000000\"");
  says(R"({"model_type": "llama", "hidden_size": -4})", "hidden_size \"-4\"");
  const std::string gpt2(published[0].config);
  const Ended untold = run_of(folder, gpt2, "");
  EXPECT_EQ(untold.exit_code, 2);
  EXPECT_NE(untold.err.find("set workload.sequence, such as 2048"), std::string::npos);
  EXPECT_EQ(run_of(folder, gpt2, "workload.sequence=1024").exit_code, 0);
}

TEST(HuggingFace, AReportSaysThatAttentionIsWiderThanAWindow) {
  const Folder folder;
  const auto says = [&](const std::string& setting) {
    const Ended ended = run_of(folder, decoder("mistral", R"(, "sliding_window": 512)"), setting);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out.find("the model's window is 512 tokens") != std::string::npos;
  };
  EXPECT_TRUE(says("workload.sequence=513"));
  EXPECT_FALSE(says("workload.sequence=512"));
}

}  // namespace
}  // namespace paceline::test
