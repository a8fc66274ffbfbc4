#include "scenarios/data_files/hf_layers.h"

namespace paceline::loader::hf {
namespace {

// A decoder whose parts have Llama's names, and what of it differs from family to family.
struct Llama {
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  bool norms_heads = false;  // of queries and keys
  bool norms_twice = false;  // after attention and MLP, too
  bool is_fused = false;     // one product for q, k and v, and one for gate and up
  bool is_tied = false;
  Extent kv_heads = 0;  // of its class; 0: as many as heads
  Extent head_size = 0;
  Extent window = 0;
};

void llama_block(Layers& to, Config& config, const Llama& family) {
  const Extent hidden = config.count("hidden_size"), heads = config.count("num_attention_heads");
  const Extent kv_heads = config.kv_heads(heads, family.kv_heads > 0 ? family.kv_heads : heads);
  const Extent size = family.head_size > 0 ? family.head_size
                                           : config.divided(hidden, heads, "num_attention_heads");
  const Extent middle = config.count("intermediate_size");
  const Extent q = heads * size, kv = kv_heads * size;
  to.rmsnorm("input_layernorm", hidden);
  if (family.is_fused) {
    to.linear("self_attn.qkv_proj", hidden, q + 2 * kv, family.qkv_bias);
  } else {
    to.linear("self_attn.q_proj", hidden, q, family.qkv_bias);
    to.linear("self_attn.k_proj", hidden, kv, family.qkv_bias);
    to.linear("self_attn.v_proj", hidden, kv, family.qkv_bias);
  }
  if (family.norms_heads) {
    to.rmsnorm("self_attn.q_norm", size, heads);
    to.rmsnorm("self_attn.k_norm", size, kv_heads);
  }
  to.elementwise("self_attn.rotary", q + kv, 1, "nothing");
  to.attention("self_attn", heads, kv_heads, size, true);
  to.linear("self_attn.o_proj", q, hidden, family.out_bias);
  if (family.norms_twice) to.rmsnorm("post_attention_layernorm", hidden);
  to.elementwise("self_attn.add", hidden, 2);
  to.rmsnorm(family.norms_twice ? "pre_feedforward_layernorm" : "post_attention_layernorm", hidden);
  if (family.is_fused) {
    to.linear("mlp.gate_up_proj", hidden, 2 * middle, family.mlp_bias);
  } else {
    to.linear("mlp.gate_proj", hidden, middle, family.mlp_bias);
    to.linear("mlp.up_proj", hidden, middle, family.mlp_bias);
  }
  to.elementwise("mlp.act_fn", middle);
  to.elementwise("mlp.gate", middle, 2, "input");
  to.linear("mlp.down_proj", middle, hidden, family.mlp_bias);
  if (family.norms_twice) to.rmsnorm("post_feedforward_layernorm", hidden);
  to.elementwise("mlp.add", hidden, 2);
}

// modeling_llama.py, and files that are made from it.
void llama_like(Layers& to, Config& config, const Llama& family) {
  const Extent hidden = config.count("hidden_size"), vocabulary = config.count("vocab_size");
  to.embedding("model.embed_tokens", vocabulary, hidden);
  to.window_is(family.window);
  to.blocks(config.layers("num_hidden_layers"), [&] {
    to.below("model.layers.{i}.");
    llama_block(to, config, family);
    to.below("");
  });
  to.rmsnorm("model.norm", hidden);
  if (config.flag("tie_word_embeddings", family.is_tied)) {
    to.tied_linear("lm_head", hidden, vocabulary);
  } else {
    to.linear("lm_head", hidden, vocabulary, false);
  }
  to.loss(vocabulary);
}

// Of layers behind the first ones, unless types say which.
Extent qwen_window(Config& config) {
  if (!config.flag("use_sliding_window", false)) return 0;
  const bool has_none =
      config.layers("num_hidden_layers") <= config.count("max_window_layers", 28, 0);
  return has_none && !config.is_given("layer_types") ? 0 : config.window(4096);
}

}  // namespace

void llama(Layers& to, Config& config) {
  const bool bias = config.flag("attention_bias", false);
  llama_like(to, config,
             {.qkv_bias = bias,
              .out_bias = bias,
              .mlp_bias = config.flag("mlp_bias", false),
              .head_size = config.count("head_dim", 0)});
}
void mistral(Layers& to, Config& config) {
  llama_like(
      to, config,
      {.kv_heads = 8, .head_size = config.count("head_dim", 0), .window = config.window(4096)});
}
void qwen2(Layers& to, Config& config) {
  llama_like(to, config, {.qkv_bias = true, .kv_heads = 32, .window = qwen_window(config)});
}
void qwen3(Layers& to, Config& config) {
  const bool bias = config.flag("attention_bias", false);
  llama_like(to, config,
             {.qkv_bias = bias,
              .out_bias = bias,
              .norms_heads = true,
              .kv_heads = 32,
              .head_size = config.count("head_dim", 128),
              .window = qwen_window(config)});
}
void gemma(Layers& to, Config& config) {
  llama_like(to, config,
             {.is_tied = true, .kv_heads = 16, .head_size = config.count("head_dim", 256)});
}
void gemma2(Layers& to, Config& config) {
  llama_like(to, config,
             {.norms_twice = true,
              .is_tied = true,
              .kv_heads = 4,
              .head_size = config.count("head_dim", 256),
              .window = config.window(4096)});
}
void gemma3(Layers& to, Config& config) {
  llama_like(to, config,
             {.norms_heads = true,
              .norms_twice = true,
              .is_tied = true,
              .kv_heads = 4,
              .head_size = config.count("head_dim", 256),
              .window = config.window(4096)});
}
void phi3(Layers& to, Config& config) {
  llama_like(to, config, {.is_fused = true, .window = config.window(0)});
}

// modeling_phi.py: attention and MLP read the same normalised input.
void phi(Layers& to, Config& config) {
  const Extent hidden = config.count("hidden_size"), vocabulary = config.count("vocab_size");
  const Extent heads = config.count("num_attention_heads");
  const Extent kv_heads = config.kv_heads(heads, heads);
  const Extent size = config.divided(hidden, heads, "num_attention_heads");
  const Extent middle = config.count("intermediate_size");
  to.embedding("model.embed_tokens", vocabulary, hidden);
  to.blocks(config.layers("num_hidden_layers"), [&] {
    to.below("model.layers.{i}.");
    to.layernorm("input_layernorm", hidden);
    to.linear("self_attn.q_proj", hidden, hidden, true);
    to.linear("self_attn.k_proj", hidden, kv_heads * size, true);
    to.linear("self_attn.v_proj", hidden, kv_heads * size, true);
    to.elementwise("self_attn.rotary", hidden + kv_heads * size, 1, "nothing");
    to.attention("self_attn", heads, kv_heads, size, true);
    to.linear("self_attn.dense", hidden, hidden, true);
    to.mlp({"mlp.fc1", "mlp.activation_fn", "mlp.fc2"}, hidden, middle, true);
    to.elementwise("add", hidden, 3);
    to.below("");
  });
  to.layernorm("model.final_layernorm", hidden);
  to.linear("lm_head", hidden, vocabulary, true);
  to.loss(vocabulary);
}

// modeling_gpt2.py.
void gpt2(Layers& to, Config& config) {
  const Extent hidden = config.count("n_embd"), vocabulary = config.count("vocab_size");
  const Extent heads = config.count("n_head"), middle = config.count("n_inner", 4 * hidden);
  const Extent size = config.divided(hidden, heads, "n_head");
  to.below("transformer.");
  to.embedding("wte", vocabulary, hidden);
  to.embedding("wpe", config.count("n_positions"), hidden);
  to.elementwise("add", hidden, 2);
  to.blocks(config.layers("n_layer"), [&] {
    to.below("transformer.h.{i}.");
    to.layernorm("ln_1", hidden);
    to.linear("attn.c_attn", hidden, 3 * hidden, true);
    to.attention("attn", heads, heads, size, true);
    to.linear("attn.c_proj", hidden, hidden, true);
    to.elementwise("attn.add", hidden, 2);
    to.layernorm("ln_2", hidden);
    to.mlp({"mlp.c_fc", "mlp.act", "mlp.c_proj"}, hidden, middle, true);
    to.elementwise("mlp.add", hidden, 2);
  });
  to.below("");
  to.layernorm("transformer.ln_f", hidden);
  to.tied_linear("lm_head", hidden, vocabulary);
  to.loss(vocabulary);
}

// modeling_gpt_neox.py.
void gpt_neox(Layers& to, Config& config) {
  const Extent hidden = config.count("hidden_size"), vocabulary = config.count("vocab_size");
  const Extent heads = config.count("num_attention_heads");
  const Extent middle = config.count("intermediate_size");
  const Extent size = config.divided(hidden, heads, "num_attention_heads");
  const bool bias = config.flag("attention_bias", true);
  to.embedding("gpt_neox.embed_in", vocabulary, hidden);
  to.blocks(config.layers("num_hidden_layers"), [&] {
    to.below("gpt_neox.layers.{i}.");
    to.layernorm("input_layernorm", hidden);
    to.layernorm("post_attention_layernorm", hidden);
    to.linear("attention.query_key_value", hidden, 3 * hidden, bias);
    to.elementwise("attention.rotary", 2 * hidden, 1, "nothing");
    to.attention("attention", heads, heads, size, true);
    to.linear("attention.dense", hidden, hidden, bias);
    to.mlp({"mlp.dense_h_to_4h", "mlp.act", "mlp.dense_4h_to_h"}, hidden, middle, true);
    to.elementwise("add", hidden, 3);
    to.below("");
  });
  to.layernorm("gpt_neox.final_layer_norm", hidden);
  if (config.flag("tie_word_embeddings", false)) {
    to.tied_linear("embed_out", hidden, vocabulary);
  } else {
    to.linear("embed_out", hidden, vocabulary, false);
  }
  to.loss(vocabulary);
}

// modeling_mpt.py, whose positions are ALiBi; with learned ones (llm-foundry's modeling_mpt.py)
// there is wpe.
void mpt(Layers& to, Config& config) {
  const Extent hidden = config.count("d_model"), vocabulary = config.count("vocab_size");
  const Extent heads = config.count("n_heads");
  const Extent middle = hidden * config.count("expansion_ratio", 4);
  const Extent size = config.divided(hidden, heads, "n_heads");
  const bool bias = !config.flag("no_bias", true);
  Reader attention = config.map("attn_config");
  const bool is_alibi = Config(attention).flag("alibi", true);
  to.embedding("transformer.wte", vocabulary, hidden);
  if (!is_alibi && config.flag("learned_pos_emb", true)) {
    to.embedding("transformer.wpe", config.count("max_seq_len", 2048), hidden);
    to.elementwise("transformer.add", hidden, 2);
  }
  to.blocks(config.layers("n_layers"), [&] {
    to.below("transformer.blocks.{i}.");
    to.layernorm("norm_1", hidden, bias);
    to.linear("attn.Wqkv", hidden, 3 * hidden, bias);
    to.attention("attn", heads, heads, size, true);
    to.linear("attn.out_proj", hidden, hidden, bias);
    to.elementwise("attn.add", hidden, 2);
    to.layernorm("norm_2", hidden, bias);
    to.mlp({"ffn.up_proj", "ffn.act", "ffn.down_proj"}, hidden, middle, bias);
    to.elementwise("ffn.add", hidden, 2);
    to.below("");
  });
  to.layernorm("transformer.norm_f", hidden, bias);
  to.tied_linear("lm_head", hidden, vocabulary);
  to.loss(vocabulary);
}

// modeling_opt.py.
void opt(Layers& to, Config& config) {
  const Extent hidden = config.count("hidden_size"), vocabulary = config.count("vocab_size");
  const Extent heads = config.count("num_attention_heads"), middle = config.count("ffn_dim");
  const Extent size = config.divided(hidden, heads, "num_attention_heads");
  const Extent projected = config.count("word_embed_proj_dim", hidden);
  const bool bias = config.flag("enable_bias", true);
  to.below("model.decoder.");
  to.embedding("embed_tokens", vocabulary, projected);
  to.embedding("embed_positions", config.count("max_position_embeddings") + 2, hidden);
  if (projected != hidden) to.linear("project_in", projected, hidden, false);
  to.elementwise("add", hidden, 2);
  to.blocks(config.layers("num_hidden_layers"), [&] {
    to.below("model.decoder.layers.{i}.");
    to.layernorm("self_attn_layer_norm", hidden);
    to.linears({"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, hidden, hidden, bias);
    to.attention("self_attn", heads, heads, size, true);
    to.linear("self_attn.out_proj", hidden, hidden, bias);
    to.elementwise("self_attn.add", hidden, 2);
    to.layernorm("final_layer_norm", hidden);
    to.mlp({"fc1", "activation_fn", "fc2"}, hidden, middle, bias, "output");
    to.elementwise("add", hidden, 2);
  });
  to.below("model.decoder.");
  if (config.flag("do_layer_norm_before", true) &&
      !config.flag("_remove_final_layer_norm", false)) {
    to.layernorm("final_layer_norm", hidden);
  }
  if (projected != hidden) to.linear("project_out", hidden, projected, false);
  to.below("");
  to.tied_linear("lm_head", projected, vocabulary);
  to.loss(vocabulary);
}

}  // namespace paceline::loader::hf
