#include "scenarios/data_files/hugging_face.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "scenarios/data_files/hf_layers.h"

namespace paceline::loader {
namespace {

struct Family {
  std::string_view type;
  hf::Write* write;
  bool has_sequence = true;  // a sample's length is nobody's but the scenario's
  bool is_fused = true;      // the default of its attn_implementation is sdpa
};

constexpr std::array families{
    Family{"bert", hf::bert},
    Family{"clip", hf::clip, false},
    Family{"gemma", hf::gemma},
    Family{"gemma2", hf::gemma2},
    Family{"gemma3_text", hf::gemma3},
    Family{"gpt2", hf::gpt2},
    Family{"gpt_neox", hf::gpt_neox},
    Family{"llama", hf::llama},
    Family{"mistral", hf::mistral},
    Family{"mpt", hf::mpt, true, false},
    Family{"opt", hf::opt},
    Family{"phi", hf::phi},
    Family{"phi3", hf::phi3},
    Family{"qwen2", hf::qwen2},
    Family{"qwen3", hf::qwen3},
    Family{"roberta", hf::roberta},
    Family{"t5", hf::t5, true, false},
    Family{"vit", hf::vit, false},
};

const Family& family_of(Reader& config) {
  const Field type = config.require("model_type", "llama");
  const std::string name = type.text();
  const auto found = std::ranges::find(families, name, &Family::type);
  if (found != families.end()) return *found;
  if (name.find("moe") != std::string::npos || name == "mixtral") {
    type.fail("is a mixture of experts, which nothing here describes",
              "describe it with layers of their own (models/workload/LAYERS.md)");
  }
  std::vector<std::string> known;
  std::ranges::transform(families, std::back_inserter(known),
                         [](const Family& one) { return std::string(one.type); });
  type.fail("is no family that is known", known_ones(name, known));
}

// Layers are of the model, or of the model with the head that it is pre-trained or classifies with.
void expect_architecture(Reader& config) {
  const auto given = config.find("architectures");
  if (!given) return;
  const Field first = given->list().front();
  const std::string name = first.text();
  for (const char* known : {"Model", "LMHeadModel", "ForCausalLM", "ForMaskedLM",
                            "ForConditionalGeneration", "ForImageClassification"}) {
    if (name.ends_with(known)) return;
  }
  first.fail("has another head than is known here", "describe the model by paceline_describe.py");
}

// How a config itself says that attention is computed; else its program's default.
bool is_fused(Reader& config, const Family& family) {
  for (const char* key : {"_attn_implementation", "attn_implementation"}) {
    if (const auto said = config.find(key)) return said->text() != "eager";
  }
  return family.is_fused;
}

// Tokens that learned positions have: 0 of others.
std::uint64_t longest_of(Reader& config, const Family& family) {
  for (const char* type : {"bert", "gpt2", "opt", "roberta"}) {
    if (family.type != type) continue;
    const char* key = config.has("n_positions") ? "n_positions" : "max_position_embeddings";
    const std::uint64_t positions = config.require(key, "1024").count(1, 1'000'000);
    return family.type == "roberta" && positions > 2 ? positions - 2 : positions;
  }
  return 0;
}

}  // namespace

bool is_config(Reader& document) { return document.has("model_type") && !document.has("schema"); }

bool is_config_file(const std::string& model) {
  if (!model.ends_with(".json")) return false;
  Reader config(read_document(model));
  return is_config(config);
}

bool asks_for_sequence(const std::string& model) {
  if (!is_config_file(model)) return false;
  Reader config(read_document(model));
  return family_of(config).has_sequence;
}

DocumentPtr network_of_config(Reader& config, const std::string& name,
                              std::optional<std::uint64_t> sequence) {
  const Family& family = family_of(config);
  hf::Layers layers;
  hf::Config keys(config);
  family.write(layers, keys);
  expect_architecture(config);
  std::string sample;
  if (family.has_sequence) {
    sample = sequence ? fmt::format("sequence: {}", *sequence) : "of_tokens: true";
    if (const auto longest = longest_of(config, family))
      sample += fmt::format(", longest: {}", longest);
    if (layers.window() > 0) sample += fmt::format(", window: {}", layers.window());
    sample = "sample: {" + sample + "}\n";
  }
  Document made = *parse_document(
      config.location().file,
      fmt::format("schema: paceline.network/1\nname: {}\n{}fused_attention: {}\nlayers:\n{}",
                  yaml_quoted(name), sample, is_fused(config, family), layers.text()));
  made.has_lines = false;  // that the config's reader would find
  return std::make_shared<const Document>(std::move(made));
}

}  // namespace paceline::loader
