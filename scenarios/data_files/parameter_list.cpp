#include "scenarios/data_files/parameter_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/workload/costs.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "traces/text/lines.h"

namespace paceline::loader {
namespace {

using workload::Layer;

constexpr std::size_t list_bytes_max = std::size_t{1} << 24;
constexpr std::size_t listed_max = 100'000;
constexpr std::uint64_t listed_elements_max = 10'000'000'000'000;
constexpr std::string_view line_hint = "write a name and a shape, as in fc.weight [10, 512]";

// As PyTorch and safetensors spell them. Integers have no gradient.
struct TypeWord {
  std::string_view text;
  DataType type;
  bool is_buffer = false;
};
constexpr TypeWord type_spellings[] = {
    {"float32", DataType::float32},   {"fp32", DataType::float32},
    {"F32", DataType::float32},       {"float16", DataType::float16},
    {"fp16", DataType::float16},      {"F16", DataType::float16},
    {"bfloat16", DataType::bfloat16}, {"bf16", DataType::bfloat16},
    {"BF16", DataType::bfloat16},     {"float64", DataType::float64},
    {"fp64", DataType::float64},      {"F64", DataType::float64},
    {"int64", DataType::int64, true}, {"I64", DataType::int64, true},
    {"int32", DataType::int32, true}, {"I32", DataType::int32, true},
};

const TypeWord* type_named(std::string_view word) {
  if (word.starts_with("torch.")) word.remove_prefix(6);
  const auto* found = std::ranges::find(type_spellings, word, &TypeWord::text);
  return found == std::end(type_spellings) ? nullptr : found;
}

struct ListedTensor {
  std::string name;
  std::vector<std::uint64_t> shape;  // empty: a single number
  DataType type = DataType::float32;
  bool is_buffer = false;

  [[nodiscard]] ElementCount count() const {
    std::uint64_t elements = 1;
    for (const std::uint64_t size : shape) elements *= size;
    return ElementCount(elements);
  }
  // All but the last part of its name: "h.0.attn" of "h.0.attn.weight".
  [[nodiscard]] std::string_view module() const {
    return std::string_view(name).substr(0, name.rfind('.'));
  }
  // Without dimensions of 1 in front, as of a position embedding for all samples.
  [[nodiscard]] std::span<const std::uint64_t> matrix() const {
    std::span<const std::uint64_t> sizes = shape;
    while (!sizes.empty() && sizes.front() == 1) sizes = sizes.subspan(1);
    return sizes;
  }
};

std::vector<std::string_view> words_of_line(std::string_view line) {
  constexpr std::string_view separators = " \t\r,:=|()[]{}<>'\"";
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t from = line.find_first_not_of(separators, begin);
    if (from == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(separators, from), line.size());
    words.push_back(line.substr(from, end - from));
    begin = end;
  }
  return words;
}

void add_size(std::string_view word, const Location& where, ListedTensor& tensor) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (error != std::errc() || end != word.data() + word.size() || size == 0) {
    throw InputError(where, fmt::format("\"{}\" is no size above 0 and no type", word),
                     std::string(line_hint));
  }
  if (size > listed_elements_max / tensor.count().value()) {
    throw InputError(where, tensor.name + " has more than 10^13 elements", "");
  }
  tensor.shape.push_back(size);
}

ListedTensor read_line(std::string_view line, const Location& where) {
  ListedTensor tensor;
  for (const std::string_view word : words_of_line(line)) {
    if (const TypeWord* type = type_named(word)) {
      tensor.type = type->type;
      tensor.is_buffer = type->is_buffer;
    } else if (tensor.name.empty()) {
      tensor.name = word;
    } else if (word != "torch.Size" && word != "Size") {
      add_size(word, where, tensor);
    }
  }
  if (tensor.name.find_first_not_of("0123456789.") == std::string::npos) {
    throw InputError(where, "begins with no name", std::string(line_hint));
  }
  const bool is_number = line.find("()") != line.npos || line.find("[]") != line.npos;
  if (tensor.shape.empty() && !is_number) {
    throw InputError(where, tensor.name + " has no shape", std::string(line_hint));
  }
  for (const auto* statistics : {"running_mean", "running_var", "num_batches_tracked"}) {
    tensor.is_buffer |= tensor.name.ends_with(statistics);
  }
  return tensor;
}

// Makes a layer of the tensors of each module that follow one another.
class ListedLayers {
 public:
  explicit ListedLayers(double rows) : rows_(rows) {}

  void add(const ListedTensor& tensor) {
    if (layers_.empty() || layers_.back().name != tensor.module()) begin(tensor.module());
    Layer& layer = layers_.back();
    if (tensor.is_buffer) {
      const bool counts = tensor.name.ends_with("num_batches_tracked");
      layer.buffers.push_back({tensor.count(), counts ? DataType::int64 : tensor.type});
      return;
    }
    const auto sizes = tensor.matrix();
    const ElementCount first(tensor.shape.empty() ? 1 : tensor.shape.front());
    layer.parameters.push_back({tensor.name, tensor.count(), tensor.type, 0, first});
    if (sizes.size() < 2) return add_vector(static_cast<double>(tensor.count().value()));
    if (sizes.size() == 2) return add_matrix(tensor, sizes);
    if (shapes_.without_output_size.empty()) shapes_.without_output_size = tensor.name;
    has_matrix_ = true;
    add_product(1, 0, static_cast<double>(tensor.count().value()));
  }

  [[nodiscard]] workload::Network take(std::string name) {
    workload::Network network{std::move(name), std::move(layers_)};
    network.from_shapes = std::move(shapes_);
    return network;
  }

 private:
  void begin(std::string_view module) {
    layers_.push_back({std::string(module), {}, {}, workload::ModelledCost{}});
    has_matrix_ = false;
  }

  workload::ModelledCost& cost() { return std::get<workload::ModelledCost>(layers_.back().cost); }

  // A normalisation, if there is no matrix, whose bias it would be.
  void add_vector(double features) {
    if (has_matrix_ || layers_.back().parameters.size() > 1) return;
    cost() = workload::traffic_cost(2 * rows_ * features, 5 * rows_ * features);
  }

  void add_matrix(const ListedTensor& tensor, std::span<const std::uint64_t> sizes) {
    if (!has_matrix_) cost() = {};
    has_matrix_ = true;
    const auto out = static_cast<double>(sizes[0]), in = static_cast<double>(sizes[1]);
    const bool is_lookup = is_embedding(tensor, sizes);
    has_matrices_ = true;
    // Of a mixture each expert sees a part of the tokens, which no list has.
    if (tensor.module().find("experts.") != std::string_view::npos &&
        shapes_.without_output_size.empty()) {
      shapes_.without_output_size = tensor.module();
    }
    if (!is_lookup) return add_product(rows_, in + out, in * out);
    shapes_.looked_up.emplace_back(tensor.module());
    cost() = sum_of(cost(), workload::embedding_cost(rows_ * in, in * out));
  }

  // By its name, or as the first matrix, of a vocabulary.
  [[nodiscard]] bool is_embedding(const ListedTensor& tensor,
                                  std::span<const std::uint64_t> sizes) const {
    const std::string_view module = tensor.module();
    const std::string_view last = module.substr(module.rfind('.') + 1);
    const bool is_head = last.find("out") != last.npos || last.find("unemb") != last.npos;
    for (const auto* word : {"emb", "wte", "wpe", "tok"}) {
      if (!is_head && last.find(word) != last.npos) return true;
    }
    return !has_matrices_ && sizes[0] > 8 * sizes[1];
  }

  void add_product(double rows, double activations, double weights) {
    const double moved = std::max(rows * activations, 1.0);
    const workload::PassCost forward{Flops(2 * rows * weights), moved, weights};
    cost() = sum_of(cost(), product_cost(workload::Work::product, forward, false));
  }

  double rows_;
  bool has_matrix_ = false;    // the last layer
  bool has_matrices_ = false;  // any
  std::vector<Layer> layers_;
  workload::FromShapes shapes_;
};

}  // namespace

DocumentPtr parameter_list(const Field& name) {
  static thread_local std::map<std::string, DocumentPtr> known;
  const std::string path = name.file_path();
  DocumentPtr& document = known[path];
  if (document) return document;
  std::string text = files::read_text(path, list_bytes_max);
  if (text.find('\0') != std::string::npos) {
    throw InputError({path}, "is not text", std::string(line_hint));
  }
  document = std::make_shared<const Document>(Document{path, "", std::move(text), {}});
  return document;
}

workload::Network read_parameter_list(const Document& list, std::optional<std::uint64_t> sequence) {
  ListedLayers layers(static_cast<double>(sequence.value_or(1)));
  std::map<std::string, std::size_t> lines;  // by name
  traces::for_each_line(list.text, [&](std::size_t number, std::string_view line) {
    const Location where{list.name, number};
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#') return;
    const ListedTensor tensor = read_line(line, where);
    const auto [known, is_new] = lines.emplace(tensor.name, number);
    if (!is_new) {
      throw InputError(where,
                       fmt::format("{} stands twice, first in line {}", tensor.name, known->second),
                       "keep one of them");
    }
    if (lines.size() > listed_max) throw InputError(where, "is above 100000 parameters", "");
    layers.add(tensor);
  });
  if (lines.empty()) throw InputError({list.name}, "lists no parameter", std::string(line_hint));
  auto network = layers.take(std::filesystem::path(list.name).stem().string());
  network.sequence = sequence.value_or(0);
  return network;
}

void refuse_checkpoint_index(const Field& name) {
  if (!name.text().ends_with(".index.json")) return;
  name.fail("has the names of parameters and no shapes",
            "list them: python3 -c \"import json,sys;[print(n,t['shape'],t['dtype']) for p in "
            "sys.argv[1:] for f in [open(p,'rb')] for n,t in json.loads(f.read(int.from_bytes("
            "f.read(8),'little'))).items() if 'shape' in t]\" *.safetensors > model.txt");
}

}  // namespace paceline::loader
