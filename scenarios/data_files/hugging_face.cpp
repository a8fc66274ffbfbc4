#include "scenarios/data_files/hugging_face.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
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
  std::string sample;
  if (family.has_sequence) {
    sample = sequence ? fmt::format("sample: {{sequence: {}}}\n", *sequence)
                      : "sample: {of_tokens: true}\n";
  }
  return parse_document(
      name, fmt::format("schema: paceline.network/1\nname: {}\n{}fused_attention: {}\nlayers:\n{}",
                        yaml_quoted(name), sample, family.is_fused, layers.text()));
}

}  // namespace paceline::loader
