#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/document/reader.h"

namespace paceline::loader::hf {

using Extent = std::uint64_t;

// More than any model has.
constexpr Extent config_most = 10'000'000, layers_most = 1000;

// Keys of a config, null and absent ones alike but for those that have a function of their own.
class Config {
 public:
  explicit Config(Reader& map) : map_(&map) {}

  [[nodiscard]] Extent count(const char* key) {
    return map_->require(key, "768").count(1, config_most);
  }
  [[nodiscard]] Extent count(const char* key, Extent unless_given, Extent least = 1) {
    const auto field = map_->find(key);
    return field ? field->count(least, config_most) : unless_given;
  }
  [[nodiscard]] Extent layers(const char* key) {
    return map_->require(key, "12").count(1, layers_most);
  }
  [[nodiscard]] Extent layers(const char* key, Extent unless_given) {
    return map_->find(key) ? layers(key) : unless_given;
  }
  // Heads of keys and values: as many as `heads` where a config says null; where it leaves the key
  // out, as many as its class has.
  [[nodiscard]] Extent kv_heads(Extent heads, Extent of_class) {
    const char* key = "num_key_value_heads";
    const Extent kv_heads = count(key, is_null(key) ? heads : of_class);
    (void)divided(heads, kv_heads, key);
    return kv_heads;
  }
  // Tokens that some layers look back at; 0: all. Null is none, whatever its class has.
  [[nodiscard]] Extent window(Extent of_class) {
    const char* key = "sliding_window";
    const auto types = map_->find("layer_types");
    const auto slides = [](const Field& type) { return type.text() == "sliding_attention"; };
    if (is_null(key) || (types && std::ranges::none_of(types->list(), slides))) return 0;
    return count(key, of_class, 0);
  }
  [[nodiscard]] bool flag(const char* key, bool unless_given) {
    const auto field = map_->find(key);
    return field ? field->boolean() : unless_given;
  }
  [[nodiscard]] std::string word(const char* key, const char* unless_given) {
    const auto field = map_->find(key);
    return field ? field->text() : unless_given;
  }
  [[nodiscard]] bool is_given(const char* key) { return map_->find(key).has_value(); }
  // Whether the class that the config was saved with is called so.
  [[nodiscard]] bool is_of(std::string_view architecture) {
    const auto field = map_->find("architectures");
    return field && field->list().front().text().find(architecture) != std::string::npos;
  }
  [[nodiscard]] Reader map(const char* key) { return map_->map(key); }
  [[nodiscard]] Extent entries_of(const char* key, Extent unless_given) {
    return map_->has(key) ? map_->map(key).entries().size() : unless_given;
  }
  // Exactly so many to each of others.
  [[nodiscard]] Extent divided(Extent whole, Extent by, const char* key) {
    if (by > 0 && whole % by == 0) return whole / by;
    map_->require(key, std::to_string(whole)).fail(fmt::format("does not divide {}", whole), "");
  }

 private:
  [[nodiscard]] bool is_null(const char* key) { return map_->has(key) && !map_->find(key); }

  Reader* map_;
};

// Layers as YAML, in forward order. `rows` are those of a sample: a number, or sequence.
class Layers {
 public:
  explicit Layers(std::string rows = "sequence") : rows_(std::move(rows)) {}

  void rows_are(std::string rows) { rows_ = std::move(rows); }
  // Some look back at so many tokens; 0: at all.
  void window_is(Extent window) { window_ = window; }
  [[nodiscard]] Extent window() const { return window_; }
  // All names from here on begin so.
  void below(std::string prefix) { prefix_ = std::move(prefix); }

  void linear(const std::string& name, Extent in, Extent out, bool bias) {
    line("linear", name, "in: {}, out: {}, bias: {}, rows: {}", in, out, bias, rows_);
  }
  void linears(std::initializer_list<const char*> names, Extent in, Extent out, bool bias) {
    for (const char* name : names) linear(name, in, out, bias);
  }
  // Up, the activation, and down.
  void mlp(const std::array<const char*, 3>& names, Extent features, Extent middle, bool bias,
           const char* keeps = nullptr) {
    linear(names[0], features, middle, bias);
    elementwise(names[1], middle, 1, keeps);
    linear(names[2], middle, features, bias);
  }
  void tied_linear(const std::string& name, Extent in, Extent out) {
    line("linear", name, "in: {}, out: {}, tied: true, rows: {}", in, out, rows_);
  }
  void embedding(const std::string& name, Extent rows, Extent columns, bool tied = false) {
    line("embedding", name, "rows: {}, columns: {}, lookups: {}, tied: {}", rows, columns, rows_,
         tied);
  }
  void layernorm(const std::string& name, Extent features, bool bias = true) {
    line("layernorm", name, "features: {}, rows: {}, bias: {}", features, rows_, bias);
  }
  void rmsnorm(const std::string& name, Extent features, Extent heads = 1) {
    line("rmsnorm", name, "features: {}, rows: {}, per_row: {}", features, rows_, heads);
  }
  void attention(const std::string& name, Extent heads, Extent kv_heads, Extent size,
                 bool causal = false) {
    line("attention", name, "heads: {}, kv_heads: {}, head_size: {}, queries: {}, causal: {}",
         heads, kv_heads, size, rows_, causal);
  }
  void elementwise(const std::string& name, Extent features, Extent inputs = 1,
                   const char* keeps = nullptr) {
    std::string kept = keeps == nullptr ? "" : fmt::format(", keeps: {}", keeps);
    if (rows_ == "sequence") {
      line("elementwise", name, "elements_per_token: {}, inputs: {}{}", features, inputs, kept);
    } else {
      line("elementwise", name, "elements: {}, inputs: {}{}", features * std::stoull(rows_), inputs,
           kept);
    }
  }
  void parameter(const std::string& name, Extent count) {
    line("parameter", name, "count: {}", count);
  }
  void conv(const std::string& name, Extent in, Extent out, Extent patch, Extent side, bool bias) {
    line("conv", name, "in: {}, out: {}, kernel: {}, stride: {}, out_size: {}, bias: {}", in, out,
         patch, patch, side, bias);
  }
  void loss(Extent vocabulary) { elementwise("loss", vocabulary, 1, "fp32_output"); }

  // `of_block` is called once, for all blocks; names have {i} for their number.
  template <class Block>
  void blocks(Extent count, const Block& of_block) {
    text_ += fmt::format("  - repeat: {}\n    layers:\n", count);
    indent_ = "      ";
    of_block();
    indent_ = "  ";
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class... Values>
  void line(const char* kind, const std::string& name, fmt::format_string<const Values&...> keys,
            const Values&... values) {
    text_ += fmt::format("{}- {{{}: {}, {}}}\n", indent_, kind, yaml_quoted(prefix_ + name),
                         fmt::format(keys, values...));
  }

  std::string rows_, prefix_, indent_ = "  ", text_;
  Extent window_ = 0;
};

// Writes a family's layers, in the order in which its forward calls them.
using Write = void(Layers& to, Config& config);
Write llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3, phi3, phi, gpt2, gpt_neox, mpt, opt;
Write bert, roberta, t5, vit, clip;

}  // namespace paceline::loader::hf
