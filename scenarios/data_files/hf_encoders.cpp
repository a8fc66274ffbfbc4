#include "scenarios/data_files/hf_layers.h"

namespace paceline::loader::hf {
namespace {

// An encoder's layer with norms behind its parts, as BERT has it.
void bert_layer(Layers& to, Extent hidden, Extent heads, Extent middle) {
  to.linears({"attention.self.query", "attention.self.key", "attention.self.value"}, hidden, hidden,
             true);
  to.attention("attention.self", heads, heads, hidden / heads);
  to.linear("attention.output.dense", hidden, hidden, true);
  to.elementwise("attention.output.add", hidden, 2);
  to.layernorm("attention.output.LayerNorm", hidden);
  to.mlp({"intermediate.dense", "intermediate.gelu", "output.dense"}, hidden, middle, true);
  to.elementwise("output.add", hidden, 2);
  to.layernorm("output.LayerNorm", hidden);
}

// modeling_bert.py and modeling_roberta.py: the model with its pooler; with the head of masked
// words where `architectures` has it.
void bert_like(Layers& to, Config& config, const std::string& name, bool is_roberta) {
  const Extent hidden = config.count("hidden_size"), vocabulary = config.count("vocab_size");
  const Extent heads = config.count("num_attention_heads");
  const Extent middle = config.count("intermediate_size");
  (void)config.divided(hidden, heads, "num_attention_heads");
  const bool has_head = config.is_of("ForMaskedLM");
  const std::string prefix = has_head ? name + "." : "";
  to.below(prefix + "embeddings.");
  to.embedding("word_embeddings", vocabulary, hidden);
  to.embedding("position_embeddings", config.count("max_position_embeddings"), hidden);
  to.embedding("token_type_embeddings", config.count("type_vocab_size", 2), hidden);
  to.elementwise("add", hidden, 3);
  to.layernorm("LayerNorm", hidden);
  to.blocks(config.layers("num_hidden_layers"), [&] {
    to.below(prefix + "encoder.layer.{i}.");
    bert_layer(to, hidden, heads, middle);
  });
  to.below("");
  if (!has_head) {
    to.rows_are("1");
    to.linear("pooler.dense", hidden, hidden, true);
    to.elementwise("pooler.activation", hidden, 1, "output");
    return;
  }
  to.below(is_roberta ? "lm_head." : "cls.predictions.");
  to.linear(is_roberta ? "dense" : "transform.dense", hidden, hidden, true);
  to.elementwise("gelu", hidden);
  to.layernorm(is_roberta ? "layer_norm" : "transform.LayerNorm", hidden);
  to.parameter("bias", vocabulary);
  to.tied_linear("decoder", hidden, vocabulary);
  to.below("");
  to.loss(vocabulary);
}

}  // namespace

void bert(Layers& to, Config& config) { bert_like(to, config, "bert", false); }
void roberta(Layers& to, Config& config) { bert_like(to, config, "roberta", true); }

namespace {

struct T5 {
  Extent hidden, heads, size, middle;
  bool is_gated;
};

void t5_attention(Layers& to, const std::string& name, const T5& of) {
  const Extent inner = of.heads * of.size;
  for (const char* part : {"q", "k", "v"}) {
    to.linear(fmt::format("{}.{}", name, part), of.hidden, inner, false);
  }
  to.attention(name, of.heads, of.heads, of.size);
  to.linear(name + ".o", inner, of.hidden, false);
  to.elementwise(name + ".add", of.hidden, 2);
}

void t5_stack(Layers& to, Config& config, const std::string& stack, Extent layers, const T5& of) {
  const bool is_decoder = stack == "decoder";
  to.parameter(stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
               config.count("relative_attention_num_buckets", 32) * of.heads);
  to.blocks(layers, [&] {
    const std::string block = stack + ".block.{i}.layer.";
    to.below(block + "0.");
    to.rmsnorm("layer_norm", of.hidden);
    t5_attention(to, "SelfAttention", of);
    if (is_decoder) {
      to.below(block + "1.");
      to.rmsnorm("layer_norm", of.hidden);
      t5_attention(to, "EncDecAttention", of);
    }
    to.below(block + (is_decoder ? "2." : "1."));
    to.rmsnorm("layer_norm", of.hidden);
    to.linear(of.is_gated ? "DenseReluDense.wi_0" : "DenseReluDense.wi", of.hidden, of.middle,
              false);
    if (of.is_gated) to.linear("DenseReluDense.wi_1", of.hidden, of.middle, false);
    to.elementwise("DenseReluDense.act", of.middle, 1, of.is_gated ? "input" : "output");
    if (of.is_gated) to.elementwise("DenseReluDense.gate", of.middle, 2, "input");
    to.linear("DenseReluDense.wo", of.middle, of.hidden, false);
    to.elementwise("add", of.hidden, 2);
    to.below("");
  });
  to.rmsnorm(stack + ".final_layer_norm", of.hidden);
}

}  // namespace

// modeling_t5.py; the decoder's sequence is as long as the encoder's.
void t5(Layers& to, Config& config) {
  const Extent vocabulary = config.count("vocab_size"), layers = config.layers("num_layers");
  const T5 of{config.count("d_model"), config.count("num_heads"), config.count("d_kv"),
              config.count("d_ff"),
              config.word("feed_forward_proj", "relu").find("gated") != std::string::npos};
  to.embedding("shared", vocabulary, of.hidden);
  t5_stack(to, config, "encoder", layers, of);
  to.embedding("decoder.embed_tokens", vocabulary, of.hidden, true);
  t5_stack(to, config, "decoder", config.layers("num_decoder_layers", layers), of);
  if (config.flag("tie_word_embeddings", true)) {
    to.tied_linear("lm_head", of.hidden, vocabulary);
  } else {
    to.linear("lm_head", of.hidden, vocabulary, false);
  }
  to.loss(vocabulary);
}

namespace {

// A transformer of pictures, in front of its blocks; returns its tokens.
Extent patches(Layers& to, Config& config, const std::string& name, Extent hidden, Extent patch,
               bool bias) {
  const Extent image = config.count("image_size", 224);
  const Extent side = config.divided(image, patch, "patch_size");
  to.conv(name, config.count("num_channels", 3), hidden, patch, side, bias);
  const Extent tokens = side * side + 1;
  to.rows_are(std::to_string(tokens));
  return tokens;
}

}  // namespace

// modeling_vit.py: with its classifier, or as `architectures` says the model with its pooler.
void vit(Layers& to, Config& config) {
  const Extent hidden = config.count("hidden_size"), heads = config.count("num_attention_heads");
  const Extent middle = config.count("intermediate_size");
  const Extent size = config.divided(hidden, heads, "num_attention_heads");
  const bool is_classifier = !config.is_of("ViTModel");
  const std::string prefix = is_classifier ? "vit." : "";
  to.below(prefix + "embeddings.");
  to.parameter("cls_token", hidden);
  const Extent tokens = patches(to, config, "patch_embeddings.projection", hidden,
                                config.count("patch_size", 16), true);
  to.parameter("position_embeddings", tokens * hidden);
  to.elementwise("add", hidden, 2);
  to.blocks(config.layers("num_hidden_layers"), [&] {
    to.below(prefix + "encoder.layer.{i}.");
    to.layernorm("layernorm_before", hidden);
    to.linears(
        {"attention.attention.query", "attention.attention.key", "attention.attention.value"},
        hidden, hidden, config.flag("qkv_bias", true));
    to.attention("attention.attention", heads, heads, size);
    to.linear("attention.output.dense", hidden, hidden, true);
    to.elementwise("attention.output.add", hidden, 2);
    to.layernorm("layernorm_after", hidden);
    to.mlp({"intermediate.dense", "intermediate.gelu", "output.dense"}, hidden, middle, true);
    to.elementwise("output.add", hidden, 2);
  });
  to.below("");
  to.layernorm(prefix + "layernorm", hidden);
  to.rows_are("1");
  if (is_classifier) {
    const Extent labels = config.count("num_labels", config.entries_of("id2label", 2));
    to.linear("classifier", hidden, labels, true);
    return to.loss(labels);
  }
  to.linear("pooler.dense", hidden, hidden, true);
  to.elementwise("pooler.activation", hidden, 1, "output");
}

namespace {

// One of CLIP's two towers (modeling_clip.py).
void clip_tower(Layers& to, Config& config, const std::string& name, Extent hidden) {
  const bool is_text = name == "text_model";
  const Extent heads = config.count("num_attention_heads", is_text ? 8 : 12);
  const Extent middle = config.count("intermediate_size", is_text ? 2048 : 3072);
  const Extent size = config.divided(hidden, heads, "num_attention_heads");
  to.blocks(config.layers("num_hidden_layers", 12), [&] {
    to.below(name + ".encoder.layers.{i}.");
    to.layernorm("layer_norm1", hidden);
    to.linears({"self_attn.k_proj", "self_attn.v_proj", "self_attn.q_proj"}, hidden, hidden, true);
    to.attention("self_attn", heads, heads, size);
    to.linear("self_attn.out_proj", hidden, hidden, true);
    to.elementwise("self_attn.add", hidden, 2);
    to.layernorm("layer_norm2", hidden);
    to.mlp({"mlp.fc1", "mlp.activation_fn", "mlp.fc2"}, hidden, middle, true);
    to.elementwise("add", hidden, 2);
  });
  to.below("");
}

}  // namespace

void clip(Layers& to, Config& config) {
  Reader text_map = config.map("text_config"), vision_map = config.map("vision_config");
  Config text(text_map), vision(vision_map);
  const Extent projected = config.count("projection_dim", 512);
  const Extent words = text.count("hidden_size", 512);
  const Extent positions = text.count("max_position_embeddings", 77);
  to.parameter("logit_scale", 1);
  to.rows_are(std::to_string(positions));
  to.embedding("text_model.embeddings.token_embedding", text.count("vocab_size", 49408), words);
  to.embedding("text_model.embeddings.position_embedding", positions, words);
  to.elementwise("text_model.embeddings.add", words, 2);
  clip_tower(to, text, "text_model", words);
  to.layernorm("text_model.final_layer_norm", words);
  const Extent pixels = vision.count("hidden_size", 768);
  to.parameter("vision_model.embeddings.class_embedding", pixels);
  const Extent tokens = patches(to, vision, "vision_model.embeddings.patch_embedding", pixels,
                                vision.count("patch_size", 32), false);
  to.parameter("vision_model.embeddings.position_embedding.weight", tokens * pixels);
  to.elementwise("vision_model.embeddings.add", pixels, 2);
  to.layernorm("vision_model.pre_layrnorm", pixels);
  clip_tower(to, vision, "vision_model", pixels);
  to.rows_are("1");
  to.layernorm("vision_model.post_layernorm", pixels);
  to.linear("visual_projection", pixels, projected, false);
  to.linear("text_projection", words, projected, false);
}

}  // namespace paceline::loader::hf
