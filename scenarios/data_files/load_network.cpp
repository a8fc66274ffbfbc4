#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "models/shipped_file.h"
#include "models/workload/adapters.h"
#include "models/workload/costs.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/data_files/hugging_face.h"
#include "scenarios/data_files/module_layer.h"
#include "scenarios/data_files/parameter_list.h"
#include "scenarios/data_files/shipped.h"

namespace paceline::loader {
namespace {

constexpr std::uint64_t extent_max = 1'000'000'000;  // of a layer in any one direction

constexpr Key name_of_layer(std::string_view kind, std::string_view meaning) {
  return {kind, Text{"text"}, required, meaning, "layer{i}"};
}

constexpr Key extent_key(std::string_view name, std::string_view meaning) {
  return {name, Count{1, extent_max}, required, meaning, "64"};
}

constexpr std::array<std::string_view, 1> sequence_word{"sequence"};

constexpr std::array tokens_forms{Form{Count{1, extent_max}}, Form{OneOf{sequence_word}}};

constexpr Structure tokens_type{"a count, or sequence", rows<tokens_forms>};

constexpr std::array conv_table{
    name_of_layer("conv", "a convolution's name"),
    extent_key("in", "channels"),
    extent_key("out", "channels"),
    extent_key("kernel", "its height, and its width"),
    Key{"kernel_width", Count{1, extent_max}, "that of kernel", "its width, if that is another"},
    extent_key("stride", "between two of its places"),
    extent_key("out_size", "the width of what comes out"),
    Key{"groups", Count{1, extent_max}, std::uint64_t{1}, "which divide the channels"},
    Key{"bias", Flag{}, false, "whether there is one"},
};

constexpr std::array linear_table{
    name_of_layer("linear", "a linear layer's name"),
    extent_key("in", "features"),
    extent_key("out", "features"),
    Key{"rows", tokens_type, "1", "of one sample", "sequence"},
    Key{"tied", Flag{}, false, "its weight is another layer's"},
    Key{"bias", Flag{}, true, "whether there is one"},
};

constexpr std::array batchnorm_table{
    name_of_layer("batchnorm", "a batch normalisation's name"),
    extent_key("channels", "how many"),
    extent_key("size", "the width of an image"),
};

constexpr std::array layernorm_table{
    name_of_layer("layernorm", "a layer normalisation's name"),
    extent_key("features", "how many"),
    Key{"rows", tokens_type, "1", "of one sample", "sequence"},
    Key{"bias", Flag{}, true, "whether there is one"},
};

constexpr std::array rmsnorm_table{
    name_of_layer("rmsnorm", "the name of a normalisation by the root of the mean square"),
    extent_key("features", "how many"),
    Key{"rows", tokens_type, "1", "of one sample", "sequence"},
    Key{"per_row", Count{1, extent_max}, std::uint64_t{1}, "so many of a row: one for each head"},
};

constexpr OneOf keeps_type{texts_of<Keeps>};

constexpr std::array elementwise_table{
    name_of_layer("elementwise", "the name of what works element by element"),
    Key{"elements",
        Count{1, extent_max},
        "required, except with `elements_per_token`",
        "of one sample",
        "64",
        {},
        {"elements_per_token"}},
    Key{"elements_per_token", Count{1, extent_max}, "none", "in place of `elements`"},
    Key{"inputs", Count{1, extent_max}, std::uint64_t{1}, "how many it reads"},
    Key{"keeps", keeps_type, "input, or with several inputs nothing",
        "what its backward reads of its forward"},
};

constexpr std::array pool_table{
    name_of_layer("pool", "a pool's name"),
    extent_key("in_size", "the width of what goes in"),
    extent_key("out_size", "the width of what comes out"),
    extent_key("channels", "how many"),
    Key{"keeps", keeps_type, value_of(Keeps::input), "what its backward reads of its forward"},
};

constexpr std::array embedding_table{
    name_of_layer("embedding", "an embedding's name"),
    extent_key("rows", "the size of the vocabulary"),
    extent_key("columns", "features"),
    Key{"lookups", tokens_type, "1", "of one sample", "sequence"},
    Key{"tied", Flag{}, false, "its weight is another layer's"},
};

constexpr std::array attention_table{
    name_of_layer("attention", "the name of the products of an attention"),
    extent_key("heads", "how many"),
    extent_key("head_size", "features of each"),
    Key{"kv_heads", Count{1, extent_max}, "those of heads",
        "of keys and values, if they are fewer"},
    Key{"causal", Flag{}, false, "tokens look at none behind them: fused, half the work"},
    Key{"queries", tokens_type, "sequence", "tokens that look", "197"},
    Key{"keys", tokens_type, "those of queries", "tokens that are looked at", "sequence"},
};

constexpr std::array parameter_table{
    name_of_layer("parameter", "the name of a parameter without a layer"),
    extent_key("count", "its elements"),
    Key{"frozen", Flag{}, false, "no gradient is of it"},
};

constexpr std::array buffer_table{
    name_of_layer("buffer", "the name of a buffer of int64"),
    Key{"count", Count{1, extent_max}, required, "its elements", "512"},
};

// The keys of each kind of layer, the first of which names it. Where several do, the first counts.
const std::array<std::span<const Key>, 12> layer_kinds{
    conv_table, linear_table,    batchnorm_table, layernorm_table, rmsnorm_table, elementwise_table,
    pool_table, embedding_table, attention_table, parameter_table, buffer_table,  module_keys()};

std::span<const Key> block_keys();  // of layers that are repeated

// One of the kinds; with the last one a block.
constexpr std::array layer_or_block_forms{Form{Map{rows<conv_table>}},
                                          Form{Map{rows<linear_table>}},
                                          Form{Map{rows<batchnorm_table>}},
                                          Form{Map{rows<layernorm_table>}},
                                          Form{Map{rows<rmsnorm_table>}},
                                          Form{Map{rows<elementwise_table>}},
                                          Form{Map{rows<pool_table>}},
                                          Form{Map{rows<embedding_table>}},
                                          Form{Map{rows<attention_table>}},
                                          Form{Map{rows<parameter_table>}},
                                          Form{Map{rows<buffer_table>}},
                                          Form{Map{module_keys}},
                                          Form{Map{block_keys}}};
static_assert(layer_or_block_forms.size() == std::tuple_size_v<decltype(layer_kinds)> + 1);

std::span<const Form> layer_forms() {
  return std::span(layer_or_block_forms).first(layer_kinds.size());
}

constexpr std::array inner_forms{Form{Structure{"a layer", layer_forms}, Form::Of::list}};
constexpr std::array list_forms{
    Form{Structure{"a layer", rows<layer_or_block_forms>}, Form::Of::list}};

constexpr std::array block_table{
    Key{"repeat", Count{1, 10'000}, required, "how often its layers stand there", "12"},
    Key{"from", Count{0, 10'000}, std::uint64_t{0}, "the first number that names have for {i}"},
    Key{"layers", Structure{"a list of layers", rows<inner_forms>}, required, "that are repeated",
        "[...]"},
};

std::span<const Key> block_keys() { return block_table; }

using workload::Kept;
using workload::Layer;
using workload::ModelledCost;
using workload::ParameterTensor;

constexpr double tensor_elements_max = 1e13;  // so that no sum leaves 64 bits
constexpr std::size_t layers_max = 100'000;

// Reads one layer of a network file. Costs, and the names w, a, n, f: models/workload/LAYERS.md.
class LayerReader {
 public:
  LayerReader(Section layer, std::string name, std::uint64_t sequence, bool fused, bool first)
      : layer_(std::move(layer)),
        name_(std::move(name)),
        sequence_(sequence),
        fused_(fused),
        first_(first) {}

  Layer conv() {
    const double in = size("in"), out = size("out"), kernel = size("kernel");
    const double stride = size("stride"), out_size = size("out_size");
    const double groups = size("groups");
    if (std::fmod(in, groups) != 0 || std::fmod(out, groups) != 0) {
      layer_.require("groups").fail("does not divide in and out", "");
    }
    const double w = out * in / groups * kernel * size_or("kernel_width", kernel);
    const double in_size = stride * out_size;
    const double a = in * in_size * in_size + out * out_size * out_size;
    const double f = 2 * w * out_size * out_size;
    const auto work =
        groups > 1 ? workload::Work::grouped_convolution : workload::Work::convolution;
    Layer layer{name_,
                {tensor("weight", w, out)},
                {},
                workload::product_cost(work, {Flops(f), a, w}, first_)};
    layer.kept = {in * in_size * in_size, out * out_size * out_size, true};
    layer.kept.cast_weights = w;
    if (flag("bias")) layer.parameters.push_back(tensor("bias", out));
    return layer;
  }

  Layer linear() {
    const double in = size("in"), out = size("out"), rows = tokens("rows");
    const double w = in * out;
    Layer layer{name_, {}, {}, {}};
    layer.cost = workload::product_cost(workload::Work::product,
                                        {Flops(2 * rows * w), rows * (in + out), w}, first_);
    layer.kept = {rows * in, rows * out, true};
    layer.kept.cast_weights = w;
    const bool bias = flag("bias");
    if (flag("tied")) return layer;
    layer.parameters.push_back(tensor("weight", w, out));
    if (bias) layer.parameters.push_back(tensor("bias", out));
    return layer;
  }

  Layer batchnorm() {
    const double channels = size("channels"), extent = size("size");
    const double n = channels * extent * extent;
    Layer layer{name_,
                {tensor("weight", channels), tensor("bias", channels)},
                {},
                workload::traffic_cost(3 * n, 6 * n)};
    const ElementCount each(channels);
    layer.buffers = {{each}, {each}, {ElementCount(1), DataType::int64}};
    layer.kept = {n, n, true};
    return layer;
  }

  Layer layernorm() {
    const double features = size("features"), n = tokens("rows") * features;
    Layer layer{name_, {tensor("weight", features)}, {}, workload::traffic_cost(2 * n, 5 * n)};
    if (flag("bias")) layer.parameters.push_back(tensor("bias", features));
    layer.kept = {n, n, true};
    layer.kept.is_wide = true;
    return layer;
  }

  Layer rmsnorm() {
    const double features = size("features"), n = tokens("rows") * size("per_row") * features;
    Layer layer{name_, {tensor("weight", features)}, {}, workload::traffic_cost(2 * n, 5 * n)};
    layer.kept = {n, n, true};
    layer.kept.is_wide = true;
    return layer;
  }

  Layer elementwise() {
    const bool per_token = layer_.is_given("elements_per_token");
    const auto elements = layer_.field("elements");
    if (per_token && elements) {
      elements->fail("stands beside elements_per_token", "keep one of them");
    }
    if (!per_token) (void)layer_.require("elements");
    const double n =
        per_token ? size("elements_per_token") * static_cast<double>(sequence_) : size("elements");
    const double inputs = size("inputs");
    Layer layer{name_, {}, {}, workload::traffic_cost((inputs + 1) * n, 3 * n)};
    layer.kept = keeps({n * inputs, n}, inputs > 1 ? Keeps::nothing : Keeps::input);
    return layer;
  }

  Layer pool() {
    const double in = size("in_size"), out = size("out_size"), channels = size("channels");
    const double n = channels * (in * in + out * out);
    Layer layer{name_, {}, {}, workload::traffic_cost(n, n)};
    layer.kept = keeps({channels * in * in, channels * out * out}, Keeps::input);
    if (layer.kept.needs_input) layer.kept.indices = layer.kept.output;
    return layer;
  }

  Layer embedding() {
    const double rows = size("rows"), columns = size("columns");
    const double n = tokens("lookups") * columns;
    Layer layer{name_, {}, {}, workload::embedding_cost(n, rows * columns)};
    if (!flag("tied")) layer.parameters.push_back(tensor("weight", rows * columns, rows));
    layer.kept.output = n;
    return layer;
  }

  Layer attention() {
    const double heads = size("heads"), h = heads * size("head_size");
    const double kv_heads = size_or("kv_heads", heads), g = kv_heads * size("head_size");
    if (std::fmod(heads, kv_heads) != 0)
      layer_.require("kv_heads").fail("does not divide heads", "");
    const double q = tokens_or("queries", static_cast<double>(sequence_)), k = tokens_or("keys", q);
    const double moved = 2 * q * h + 2 * k * g;  // Q and the result; K and V
    const double scores = heads * q * k;
    // Fused, blocks of scores that are masked whole are skipped (FlashAttention-2: Dao, arXiv
    // 2307.08691, section 3.1).
    const bool skips = flag("causal") && fused_;
    const Flops flops((skips ? 2 : 4) * q * k * h);
    Layer layer{name_, {}, {}, workload::attention_cost(flops, moved, scores, fused_)};
    layer.kept = {q * h + 2 * k * g, q * h, true};
    if (!fused_) layer.kept.scores = scores;
    return layer;
  }

  Layer parameter() {
    const ElementCount count(size("count"));
    Layer layer{name_, {}, {}, ModelledCost{}};
    auto& tensors = flag("frozen") ? layer.frozen : layer.parameters;
    tensors.push_back({name_, count, DataType::float32, 0, count});
    return layer;
  }

  Layer buffer() {
    const ElementCount count(size("count"));
    return {name_, {}, {{count, DataType::int64}}, ModelledCost{}};
  }

  Layer module() { return read_module(layer_, name_, {fused_, first_}); }

  void finish() { layer_.finish(); }

 private:
  double size(std::string_view key) { return static_cast<double>(layer_.get<std::uint64_t>(key)); }
  double size_or(std::string_view key, double otherwise) {
    return static_cast<double>(layer_.find<std::uint64_t>(key).value_or(otherwise));
  }
  // A number, or the word `sequence`.
  double tokens(std::string_view key) { return tokens_or(key, 1); }
  double tokens_or(std::string_view key, double otherwise) {
    const auto field = layer_.field(key);
    if (!field) return otherwise;
    if (field->text() == "sequence") return static_cast<double>(sequence_);
    return static_cast<double>(field->count(1, extent_max));
  }
  bool flag(std::string_view key) { return layer_.get<bool>(key); }
  Kept keeps(Kept kept, Keeps unless_given) {
    return loader::keeps(kept, layer_.find<Keeps>("keeps").value_or(unless_given));
  }
  ParameterTensor tensor(const char* suffix, double count) const {
    return tensor(suffix, count, count);
  }
  ParameterTensor tensor(const char* suffix, double count, double rows) const {
    if (count > tensor_elements_max) {
      throw InputError(layer_.location(),
                       fmt::format("{}.{} has more than 10^13 elements", name_, suffix), "");
    }
    return {name_ + "." + suffix, ElementCount(count), DataType::float32, 0, ElementCount(rows)};
  }

  Section layer_;
  std::string name_;
  std::uint64_t sequence_;
  bool fused_;
  bool first_;
};

constexpr std::array layer_readers{
    &LayerReader::conv,      &LayerReader::linear,    &LayerReader::batchnorm,
    &LayerReader::layernorm, &LayerReader::rmsnorm,   &LayerReader::elementwise,
    &LayerReader::pool,      &LayerReader::embedding, &LayerReader::attention,
    &LayerReader::parameter, &LayerReader::buffer,    &LayerReader::module};

constexpr std::array sample_table{
    Key{"sequence", Count{1, 1'000'000}, "none", "tokens, unless a scenario says"},
    Key{"image_size", Count{1, extent_max}, "none", "the width, which nothing counts"},
    Key{"of_tokens", Flag{}, false, "tokens, of which a scenario has to say how many"},
    Key{"longest", Count{1, 1'000'000}, "none", "tokens, for which it has learned positions"},
    Key{"window", Count{1, extent_max}, "none", "tokens that some layers look back at"},
};

constexpr std::array network_file_table{
    schema_key("paceline.network/1"),
    Key{"name", Text{"text"}, required, "what reports call it", "my-network"},
    Key{"note", Text{"text"}, "none", "for its readers"},
    Key{"sample", Map{rows<sample_table>}, "", "what one is"},
    Key{"fused_attention", Flag{}, false,
        "unless a scenario says: as the network's program has it"},
    Key{"layers",
        Structure{"a list of layers", rows<list_forms>},
        "required, without `config`",
        "in forward order",
        "[...]",
        {},
        {"config"}},
    Key{"config", Structure{"a map"}, "none",
        "in place of `layers`: what a config.json of Hugging Face has", "{model_type: llama}"},
    Key{"heads", Structure{"a list of layers", rows<list_forms>}, "none",
        "layers behind those, with a scenario's `pretraining_heads`"},
};

// Of all kinds of layers: each kind has its own, but which it is may be what is misspelt.
std::span<const std::string_view> all_layer_keys() {
  static const std::vector<std::string_view> names = [] {
    std::set<std::string_view> all;
    for (const auto keys : layer_kinds) {
      for (const Key& key : keys) all.insert(key.name);
    }
    return std::vector(all.begin(), all.end());
  }();
  return names;
}

class NetworkReader {
 public:
  NetworkReader(std::uint64_t sequence, bool fused) : sequence_(sequence), fused_(fused) {}

  void read_list(const Field& list) {
    for (const Field& entry : list.list()) {
      Reader layer(entry);
      if (layers_.size() >= layers_max) {
        entry.fail(fmt::format("makes more than {} layers", layers_max), "");
      }
      if (layer.has("repeat")) {
        read_repeated(layer);
      } else {
        layers_.push_back(read_layer(entry, layer));
      }
    }
  }

  [[nodiscard]] std::vector<Layer> take() { return std::move(layers_); }
  // Whether layers have costs of one sequence, which the file was written for.
  [[nodiscard]] bool has_modules() const { return has_modules_; }

 private:
  void read_repeated(const Reader& map) {
    Section block(map, block_keys());
    const auto repeat = block.get<std::uint64_t>("repeat");
    const auto from = block.get<std::uint64_t>("from");
    const Field inner = block.require("layers");
    block.finish();
    if (repeating_) inner.fail("stands in a repeated block", "repeat one level deep");
    repeating_ = true;
    for (std::uint64_t i = from; i < from + repeat; ++i) {
      counter_ = std::to_string(i);
      read_list(inner);
      ++blocks_;
    }
    repeating_ = false;
  }

  Layer read_layer(const Field& entry, Reader& layer) {
    layer.expect_only(all_layer_keys());
    for (std::size_t i = 0; i < layer_readers.size(); ++i) {
      const auto keys = layer_kinds[i];
      const auto name = layer.find(std::string(keys.front().name));
      if (!name) continue;
      LayerReader reader(Section(layer, keys), counted(name->text()), sequence_, fused_,
                         layers_.empty());
      Layer read = (reader.*layer_readers[i])();
      reader.finish();
      has_modules_ |= layer_readers[i] == &LayerReader::module;
      if (repeating_) read.block = blocks_;
      return read;
    }
    std::vector<std::string_view> known;
    for (const auto keys : layer_kinds) known.push_back(keys.front().name);
    throw InputError(entry.location(), "a layer of no known kind",
                     fmt::format("known: {}", fmt::join(known, ", ")));
  }

  [[nodiscard]] std::string counted(std::string name) const {
    const auto place = name.find("{i}");
    if (repeating_ && place != std::string::npos) name.replace(place, 3, counter_);
    return name;
  }

  std::uint64_t sequence_;
  bool fused_;
  bool repeating_ = false;
  bool has_modules_ = false;
  std::string counter_;
  std::uint32_t blocks_ = 0;  // that were read
  std::vector<Layer> layers_;
};

// What a config.json calls the model, or its file is called.
std::string name_of_config(Reader& config, const Field& file) {
  const auto said = config.find("_name_or_path");
  std::filesystem::path path = said ? said->text() : std::string();
  if (!path.has_filename()) path = path.parent_path();  // "my/model/"
  if (path.empty()) path = std::filesystem::path(file.text()).stem();
  return path.filename();
}

// With layers, whatever the document has.
DocumentPtr with_layers(const Field& name, const DocumentPtr& document) {
  Reader root(document);
  if (is_config(root)) return network_of_config(root, name_of_config(root, name), std::nullopt);
  if (!root.has("config")) return document;
  for (const char* beside : {"layers", "heads", "fused_attention"}) {
    if (const auto field = root.find(beside))
      field->fail("stands beside config", "keep one of them");
  }
  Section file(std::move(root), network_file_table);
  Reader config = file.map().map("config");
  return network_of_config(config, file.text("name"),
                           file.below("sample").find<std::uint64_t>("sequence"));
}

workload::Network read_network(const Field& name, const DocumentPtr& document,
                               const NetworkOptions& options) {
  Section file(Reader(with_layers(name, document)), network_file_table);
  workload::Network network;
  network.name = file.text("name");
  const auto default_sequence = file.below("sample").find<std::uint64_t>("sequence");
  const bool is_open = file.below("sample").get<bool>("of_tokens");
  if (is_open && !options.sequence) {
    name.fail("does not say how many tokens a sample has", "set workload.sequence, such as 2048");
  }
  if (options.sequence && !default_sequence && !is_open) {
    name.fail("has no sequence length", "leave out sequence");
  }
  const std::uint64_t sequence = options.sequence.value_or(default_sequence.value_or(1));
  if (default_sequence || is_open) network.sequence = sequence;
  const auto longest = file.below("sample").find<std::uint64_t>("longest");
  if (longest && sequence > *longest) {
    name.fail(fmt::format("has positions for {} tokens, not {}", *longest, sequence),
              fmt::format("set workload.sequence to {} or less", *longest));
  }
  network.window = file.below("sample").find<std::uint64_t>("window").value_or(0);
  network.fuses_attention = file.get<bool>("fused_attention");
  NetworkReader reader(sequence, options.fused_attention.value_or(network.fuses_attention));
  reader.read_list(file.require("layers"));
  const auto heads = file.field("heads");
  file.finish();
  if (options.pretraining_heads) {
    if (!heads) name.fail("has no pre-training heads", "leave out pretraining_heads");
    reader.read_list(*heads);
  }
  if (reader.has_modules() && options.sequence && sequence != default_sequence) {
    name.fail(fmt::format("has modules that were described with sequences of {}, not {}",
                          *default_sequence, sequence),
              "leave out sequence, or describe the model with the other one");
  }
  network.layers = reader.take();
  workload::drop_unreached_backward(network.layers);
  if (options.fused_attention == true &&
      std::ranges::none_of(network.layers, workload::is_attention)) {
    name.fail("has no attention", "leave out fused_attention");
  }
  return network;
}

workload::Network read_list_of_parameters(const Field& name, const Document& list,
                                          const NetworkOptions& options) {
  if (options.pretraining_heads) {
    name.fail("has no pre-training heads", "leave out pretraining_heads");
  }
  if (options.fused_attention) name.fail("has no attention", "leave out fused_attention");
  return read_parameter_list(list, options.sequence);
}

}  // namespace

std::span<const Key> network_file_keys() { return network_file_table; }

std::shared_ptr<const workload::Network> load_network(const Field& name,
                                                      const NetworkOptions& options) {
  constexpr std::size_t kept_max = 8;
  // Documents that are named are kept as long as their thread, so that each has its own address.
  static thread_local std::map<std::pair<const Document*, NetworkOptions>,
                               std::shared_ptr<const workload::Network>>
      kept;
  refuse_checkpoint_index(name);
  const bool is_list = names_a_parameter_list(name.text());
  const DocumentPtr document =
      is_list ? parameter_list(name) : named_document(name, shipped_networks(), network_file_table);
  const std::pair key(document.get(), options);
  if (const auto found = kept.find(key); found != kept.end()) return found->second;
  if (kept.size() == kept_max) kept.clear();
  auto network = std::make_shared<const workload::Network>(
      is_list ? read_list_of_parameters(name, *document, options)
              : read_network(name, document, options));
  kept.emplace(key, network);
  return network;
}

}  // namespace paceline::loader
