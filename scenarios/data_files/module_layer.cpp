#include "scenarios/data_files/module_layer.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/workload/costs.h"

namespace paceline::loader {
namespace {

using workload::Layer;
using workload::ModelledCost;
using workload::Work;

// What a module computes, so that it costs as layers of that name do.
enum class ModuleKind {
  linear,
  convolution,
  grouped_convolution,
  attention,
  fused_attention,
  batchnorm,
  layernorm,
  elementwise,
  pool,
  embedding,
  other
};

constexpr auto words_of(ModuleKind) {
  return words_up_to<ModuleKind::other>("linear", "convolution", "grouped_convolution", "attention",
                                        "fused_attention", "batchnorm", "layernorm", "elementwise",
                                        "pool", "embedding", "other");
}

constexpr std::uint64_t module_elements_max = 10'000'000'000'000;  // so that no sum leaves 64 bits
constexpr std::uint64_t module_flops_max = 1'000'000'000'000'000'000;

constexpr std::array<std::string_view, 6> tensor_type_words{"fp32", "fp16",  "bf16",
                                                            "fp64", "int32", "int64"};
constexpr std::array tensor_types{DataType::float32, DataType::float16, DataType::bfloat16,
                                  DataType::float64, DataType::int32,   DataType::int64};
constexpr std::array shape_forms{Form{Count{1, module_elements_max}, Form::Of::list}};

constexpr std::array tensor_table{
    Key{"name", Text{"text"}, required, "within its module", "weight"},
    Key{"shape", Structure{"a list of counts", rows<shape_forms>}, required, "its dimensions",
        "[4096, 1024]"},
    Key{"type", OneOf{tensor_type_words}, std::uint64_t{0},
        "a parameter of fp32 follows the scenario's `precision`; other types stay"},
    Key{"frozen", Flag{}, false, "no gradient is of it (requires_grad is False)"},
};
constexpr std::array tensor_forms{Form{Map{rows<tensor_table>}, Form::Of::list}};

constexpr Key elements_key(std::string_view name, std::string_view meaning) {
  return {name, Count{0, module_elements_max}, std::uint64_t{0}, meaning};
}

constexpr std::array module_table{
    Key{"module", Text{"text"}, required, "the name of a module of a model of your own",
        "layer{i}"},
    Key{"op", Text{"text"}, "none", "which of its kernels, where it has several", "add"},
    Key{"kind", OneOf{texts_of<ModuleKind>}, value_of(ModuleKind::other), "what it computes"},
    Key{"flops", Count{0, module_flops_max}, std::uint64_t{0},
        "of the forward of a sample; a multiply-add is 2"},
    elements_key("in", "elements that it reads of a sample"),
    elements_key("out", "elements that it makes of a sample"),
    elements_key("scores", "elements of an attention's scores, of a sample"),
    Key{"weights", Count{0, module_elements_max}, "those of its parameters that are no vectors",
        "elements of weights that it reads, its own or another module's"},
    Key{"keeps", OneOf{texts_of<Keeps>}, value_of(Keeps::input),
        "what the backward of an elementwise one or a pool reads of its forward"},
    Key{"parameters", Structure{"a list of maps", rows<tensor_forms>}, "none",
        "its own, in the order of registration"},
    Key{"buffers", Structure{"a list of maps", rows<tensor_forms>}, "none", "likewise"},
};

struct NamedTensor {
  std::string name;
  ElementCount count;
  DataType type;
  ElementCount rows;  // its first dimension
  bool is_frozen = false;
};

NamedTensor read_tensor(const Field& entry) {
  Section one(Reader(entry), tensor_table);
  const Field shape = one.require("shape");
  std::uint64_t elements = 1, first = 0;
  for (const Field& dimension : shape.list()) {
    const std::uint64_t size = dimension.count(1, module_elements_max);
    if (size > module_elements_max / elements) {
      throw InputError(shape.location(), "shape has more than 10^13 elements", "");
    }
    elements *= size;
    if (first == 0) first = size;
  }
  NamedTensor tensor{one.text("name"), ElementCount(elements),
                     tensor_types[one.get<std::uint64_t>("type")], ElementCount(first),
                     one.get<bool>("frozen")};
  one.finish();
  return tensor;
}

void read_tensors(Section& section, const std::string& module, Layer& layer) {
  if (const auto list = section.field("parameters")) {
    for (const Field& entry : list->list()) {
      const NamedTensor one = read_tensor(entry);
      auto& tensors = one.is_frozen ? layer.frozen : layer.parameters;
      tensors.push_back({module + "." + one.name, one.count, one.type, 0, one.rows});
    }
  }
  if (const auto list = section.field("buffers")) {
    for (const Field& entry : list->list()) {
      const NamedTensor one = read_tensor(entry);
      layer.buffers.push_back({one.count, one.type});
    }
  }
}

double elements_of_matrices(const std::vector<workload::ParameterTensor>& tensors) {
  double elements = 0;
  for (const auto& tensor : tensors) {
    if (tensor.rows != tensor.count) elements += static_cast<double>(tensor.count.value());
  }
  return elements;
}

// What a module reads, makes and computes of a sample. Names as in LAYERS.md.
struct ModuleSizes {
  double in, out, flops, scores;
  double w;  // elements of weights
};

ModelledCost cost_of(ModuleKind kind, const ModuleSizes& m, ModuleOptions options) {
  const auto products = [&](Work work) {
    return product_cost(work, {Flops(m.flops), m.in + m.out, m.w}, options.is_first);
  };
  switch (kind) {
    case ModuleKind::linear: return products(Work::product);
    case ModuleKind::convolution: return products(Work::convolution);
    case ModuleKind::grouped_convolution: return products(Work::grouped_convolution);
    case ModuleKind::attention:
    case ModuleKind::fused_attention:
      return workload::attention_cost(
          Flops(m.flops), m.in + m.out, m.scores,
          options.fused_attention || kind == ModuleKind::fused_attention);
    case ModuleKind::batchnorm:
      return workload::traffic_cost(2 * m.in + m.out, 4 * m.in + 2 * m.out);
    case ModuleKind::layernorm: return workload::traffic_cost(m.in + m.out, 3 * m.in + 2 * m.out);
    case ModuleKind::elementwise: return workload::traffic_cost(m.in + m.out, 3 * m.out);
    case ModuleKind::pool: return workload::traffic_cost(m.in + m.out, m.in + m.out);
    case ModuleKind::embedding: return workload::embedding_cost(m.out, m.w);
    case ModuleKind::other: break;
  }
  return products(m.flops > 0 ? Work::product : Work::traffic);
}

workload::Kept kept_of(ModuleKind kind, const ModuleSizes& m, Keeps which, bool is_fused) {
  workload::Kept kept{m.in, m.out, true};
  switch (kind) {
    case ModuleKind::linear:
    case ModuleKind::convolution:
    case ModuleKind::grouped_convolution: kept.cast_weights = m.w; break;
    case ModuleKind::attention: kept.scores = is_fused ? 0 : m.scores; break;
    case ModuleKind::layernorm: kept.is_wide = true; break;
    case ModuleKind::elementwise: return keeps(kept, which);
    case ModuleKind::pool:
      kept = keeps(kept, which);
      if (kept.needs_input) kept.indices = kept.output;
      break;
    case ModuleKind::embedding: return {0, m.out};
    case ModuleKind::fused_attention:
    case ModuleKind::batchnorm:
    case ModuleKind::other: break;
  }
  return kept;
}

}  // namespace

std::span<const Key> module_keys() { return module_table; }

workload::Layer read_module(Section& section, const std::string& name, ModuleOptions options) {
  const auto size = [&](std::string_view key) {
    return static_cast<double>(section.get<std::uint64_t>(key));
  };
  Layer layer{name, {}, {}, {}};
  if (const auto op = section.field("op")) layer.name += "." + op->text();
  read_tensors(section, name, layer);
  const double trained = elements_of_matrices(layer.parameters);
  const double own = trained + elements_of_matrices(layer.frozen);
  const auto weights = section.find<std::uint64_t>("weights");
  const ModuleSizes sizes{size("in"), size("out"), size("flops"), size("scores"),
                          weights ? static_cast<double>(*weights) : own};
  const auto kind = section.get<ModuleKind>("kind");
  layer.cost = cost_of(kind, sizes, options);
  layer.kept = kept_of(kind, sizes, section.get<Keeps>("keeps"), options.fused_attention);
  auto& cost = std::get<ModelledCost>(layer.cost);
  if (own > 0 && trained == 0 && sizes.flops > 0) {  // no product for the weight's gradient
    cost.backward = cost.forward;
    layer.kept.needs_input = false;
  }
  return layer;
}

}  // namespace paceline::loader
