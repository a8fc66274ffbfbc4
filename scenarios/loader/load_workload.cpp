#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "models/shipped_file.h"
#include "models/workload/activations.h"
#include "models/workload/adapters.h"
#include "models/workload/attained.h"
#include "models/workload/compiled.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using workload::Device;
using workload::Precision;
using workload::TimedLayer;
using workload::Workload;

constexpr std::array<std::string_view, 3> type_words{"fp32", "fp16", "bf16"};

constexpr std::uint64_t elements_max = 1'000'000'000'000;  // of a tensor

constexpr std::array count_forms{Form{Count{1, elements_max}, Form::Of::list}};

constexpr std::array layer_table{
    Key{"name", Text{"text"}, "its number", "what reports call it", "block"},
    Key{"repeat", Count{1, 100'000}, std::uint64_t{1}, "how many such layers follow one another"},
    Key{"forward", Time{}, Seconds(0), "of a pass"},
    Key{"backward", Time{}, Seconds(0), "of a pass"},
    Key{"parameters", Structure{"a list of counts", rows<count_forms>}, "none",
        "element count of each tensor", "[1000, 20]"},
    Key{"rows", Structure{"a list of counts", rows<count_forms>}, "not told",
        "the first dimension of each tensor, a vector's its elements", "[100, 20]"},
    Key{"type", OneOf{type_words}, "by `precision`", "of its parameters"},
};

constexpr std::array layer_forms{Form{Map{rows<layer_table>}, Form::Of::list}};

constexpr std::array trace_forms{Form{Text{"a file"}}, Form{Text{"a file"}, Form::Of::list}};

constexpr std::array precision_table{
    Key{"compute", OneOf{texts_of<Precision>}, value_of(Precision::fp32), "as `precision` alone"},
    Key{"gradient", OneOf{type_words}, "as the parameters", "what gradients are cast to"},
};

constexpr std::array precision_forms{Form{OneOf{texts_of<Precision>}},
                                     Form{Map{rows<precision_table>}}};

constexpr std::array input_forms{Form{Throughput{.or_tokens = true}}};

constexpr std::array throughput_forms{Form{Throughput{.or_tokens = true}},
                                      Form{Map{measured_batch_keys}, Form::Of::list}};

constexpr std::array measured_on_forms{Form{Map{measured_device_keys}, Form::Of::list}};

constexpr std::array<std::string_view, 2> calls_words{"predicted", "as_traced"};
constexpr Needs of_model{"model"};
constexpr Needs of_measured{"single_gpu_throughput"};

// Layers have the times of one device; speeds are of what a network's options make of its layers,
// too, and are carried over to other devices (load_one_gpu.cpp).
constexpr Owners of_device{{"device"}, {}, Owners::Then::refused};
constexpr Owners of_speed{{"device", "precision", "model", "sequence", "pretraining_heads",
                           "fused_attention", "lora.rank", "compile", "cuda_graphs", "float8"},
                          {},
                          Owners::Then::carried};
constexpr Owners of_network{{"model", "sequence", "pretraining_heads", "fused_attention",
                             "lora.rank", "compile", "cuda_graphs", "float8", "memory_format"},
                            {},
                            Owners::Then::carried};

constexpr std::array names_forms{Form{Text{"a name"}, Form::Of::list}};

constexpr std::array lora_table{
    Key{"rank", Count{1, 65'536}, "none: no adapters",
        "of low-rank adapters beside products, which alone are trained"},
    Key{"targets", Structure{"a list of names", rows<names_forms>}, "[q_proj, v_proj]",
        "the ends of the products' names", "[q_proj, k_proj, v_proj, o_proj]"},
};

// PyTorch's names.
enum class MemoryFormat { contiguous, channels_last };
constexpr auto words_of(MemoryFormat) {
  return words_up_to<MemoryFormat::channels_last>("contiguous", "channels_last");
}

constexpr std::array workload_table{
    Key{"model",
        Text{"a name, or a file", shipped_networks},
        "none",
        "a shipped network, a file of schema `paceline.network/1`, or a `.txt` list of parameters",
        "resnet50",
        {},
        {"layers", "trace"}},
    Key{"layers", Structure{"a list of maps", rows<layer_forms>}, "none",
        "instead of `model`, in forward order: `{name: block, repeat: 30, forward: 1.3ms, "
        "backward: 2.7ms, parameters: [12000000]}`. `forward` and `backward` are the times of one "
        "pass on one GPU, without the optimizer; where no layer has any, `single_gpu_throughput` "
        "is "
        "divided among them by their parameters, a third of it forward; `parameters` lists the "
        "element count of each "
        "tensor; `rows` its first dimension, of a vector its elements; `type` is fp32, fp16 or "
        "bf16",
        "[{forward: 1ms, backward: 2ms}]"}
        .of(of_device),
    Key{"trace", Structure{"a file, an archive, a folder, or a list of them", rows<trace_forms>},
        "none",
        "instead of `layers` and `device`: a traced run beside the scenario: what `paceline "
        "import` "
        "reads of training, or wrote with `-o`. Its step of median length gives the compute; with "
        "`single_gpu_throughput` scaled; with `model` its gradients are that network's"},
    Key{"calls", OneOf{calls_words}, std::uint64_t{0},
        "as_traced: collectives take what they took on the trace's ranks", "", Needs{"trace"}},
    Key{"layers_batch", Count{1, 100'000'000}, "`batch_per_gpu`",
        "with `layers`; samples of a pass that takes these times. Times of other batches are in "
        "proportion"},
    Key{"batch_per_gpu",
        Count{1, 100'000'000},
        "required, except with a trace or `job.global_batch`",
        "samples per GPU and pass",
        "32",
        {},
        {"trace", "job.global_batch"}},
    Key{"input_rate", Structure{"a throughput", rows<input_forms>}, "as much as is trained",
        "that a node's CPUs get ready for all its GPUs, beside the step", "560 samples/s"},
    Key{"device",
        Text{"a name, or a file", shipped_devices},
        "required, except with a trace",
        "a shipped device, or a file of schema `paceline.device/1`",
        "v100-sxm2-16gb",
        {},
        {"trace"}},
    Key{"precision", Structure{"fp32, tf32, amp, bf16, fp16, or a map", rows<precision_forms>},
        "fp32",
        "`{compute: amp, gradient: fp16}`: fp32 parameters and buckets whose gradients are cast "
        "for the wire. Parameters of fp32, tf32 and amp are fp32",
        "amp"},
    Key{"sequence", Count{1, 1'000'000}, "the network's",
        "tokens per sample; of a list of parameters the rows that each matrix multiplies, else 1",
        "", of_model},
    Key{"pretraining_heads", Flag{}, NetworkOptions{}.pretraining_heads, "BERT's heads", "",
        of_model},
    Key{"fused_attention", Flag{}, "the network's: true by a config, but of T5 and MPT",
        "FlashAttention, or PyTorch's scaled_dot_product_attention on it: scores are not written "
        "to memory",
        "", of_model},
    Key{"lora", Map{rows<lora_table>}, "", "adapters", "", of_model},
    Key{"compile", Flag{}, false,
        "torch.compile: elementwise layers, norms and pools that follow one another run as one "
        "kernel with one launch, products as before (models/workload/compiled.h)",
        "", of_model},
    Key{"cuda_graphs", Flag{}, false,
        "kernels in CUDA graphs (make_graphed_callables; with `compile` its mode "
        "reduce-overhead): the host launches a pass's forward at once, and so its backward",
        "", of_model},
    Key{"float8", Flag{}, false,
        "with 16 bits: products of linear layers but the last are in FP8, with dynamic scales of "
        "whole tensors (torchao's float8); calls stay as they are",
        "", of_model},
    Key{"memory_format", OneOf{texts_of<MemoryFormat>}, value_of(MemoryFormat::contiguous),
        "channels_last: tensors of convolutions lie as tensor cores of 16 bits read them, and are "
        "not transposed before and after each",
        "", of_model},
    Key{"single_gpu_throughput",
        Structure{"a throughput, or a list of maps", rows<throughput_forms>}, "none",
        "scales the modelled compute to this measurement, in samples/s or, of a network with a "
        "sequence, tokens/s; or to several with other batches, `[{batch: 32, throughput: ..}]`, "
        "between which a step takes a fixed time and one for each sample",
        "119.6 samples/s"}
        .of(of_speed),
    Key{"single_gpu_batch", Count{1, 100'000'000}, "`batch_per_gpu`",
        "samples of a pass when that was measured. Other batches are scaled by the same factor", "",
        of_measured},
    Key{"single_gpu_wrapped", Flag{}, false,
        "it was measured inside the strategy's wrapper with one rank, so it includes the "
        "wrapper's copies on the GPU",
        "", of_measured},
    Key{"measured_on", Structure{"a list of maps", rows<measured_on_forms>}, "none",
        "instead of `single_gpu_throughput`: `{device, batch, throughput, precision}`, what one "
        "GPU of each device does, `precision` the scenario's unless given. On the scenario's own "
        "it is `single_gpu_throughput`; else, of a `model`, other devices move the modelled "
        "compute by what their errors have in common with its",
        "[{device: v100-sxm2-16gb, batch: 256, throughput: 740 samples/s}]"}
        .of(of_network),
};

DataType parameter_type_of(Precision precision) {
  if (precision == Precision::fp16) return DataType::float16;
  if (precision == Precision::bf16) return DataType::bfloat16;
  return DataType::float32;  // amp keeps fp32 parameters
}

std::optional<DataType> type_in(const Section& section, std::string_view key) {
  constexpr std::array types{DataType::float32, DataType::float16, DataType::bfloat16};
  const auto word = section.find<std::uint64_t>(key);
  return word ? std::optional(types[*word]) : std::nullopt;
}

// Of each parameter of a layer, its first dimension.
void read_rows(const Field& list, std::vector<workload::ParameterTensor>& tensors) {
  std::size_t i = 0;
  for (const Field& entry : list.list()) {
    if (i == tensors.size())
      entry.fail("is one more than parameters", "write one number per tensor");
    workload::ParameterTensor& tensor = tensors[i++];
    const std::uint64_t rows = entry.count(1, tensor.count.value());
    if (tensor.count.value() % rows != 0) {
      entry.fail(fmt::format("does not divide the {} elements", tensor.count.value()),
                 "write the tensor's first dimension");
    }
    tensor.rows = ElementCount(rows);
  }
  if (i < tensors.size()) {
    list.fail(fmt::format("has {} numbers for {} parameters", i, tensors.size()),
              "write one number per tensor");
  }
}

// One entry of `layers`: {name, repeat, forward, backward, parameters, rows, type}.
void read_layers(const Field& list, const Overrides& overrides, DataType parameter_type,
                 std::vector<TimedLayer>& layers) {
  constexpr std::size_t items_max = 100'000;
  std::size_t number = 0, tensors = 0;
  for (const Field& entry : list.list()) {
    Section section(Reader(entry.document(), entry.node(),
                           fmt::format("{}.{}", entry.path(), number++), overrides),
                    layer_table);
    TimedLayer layer;
    const auto name = section.field("name");
    layer.name = name ? name->text() : fmt::format("layer {}", number);
    const auto repeat = section.get<std::uint64_t>("repeat");
    layer.forward = section.get<Seconds>("forward");
    layer.backward = section.get<Seconds>("backward");
    const DataType type = type_in(section, "type").value_or(parameter_type);
    if (const auto counts = section.field("parameters")) {
      for (const Field& count : counts->list()) {
        layer.parameters.push_back({fmt::format("{}.{}", layer.name, layer.parameters.size()),
                                    ElementCount(count.count(1, elements_max)), type});
      }
    }
    if (const auto rows = section.field("rows")) read_rows(*rows, layer.parameters);
    section.finish();
    tensors += repeat * layer.parameters.size();
    if (layers.size() + repeat > items_max || tensors > items_max) {
      entry.fail(fmt::format("makes more than {} layers or tensors", items_max), "");
    }
    for (std::uint64_t i = 0; i < repeat; ++i) {
      layer.block = static_cast<std::uint32_t>(layers.size());
      layers.push_back(layer);
    }
  }
  for (const auto& [path, field] : overrides) {
    if (path.rfind(list.path() + ".", 0) != 0) continue;
    const std::string rest = path.substr(list.path().size() + 1);
    std::size_t entry = number;
    std::from_chars(rest.data(), rest.data() + rest.size(), entry);
    if (entry < number) continue;
    throw InputError(field.location(), fmt::format("{} names none of the {} layers", path, number),
                     fmt::format("they count from 0: {}.0.forward", list.path()));
  }
}

constexpr AssumptionKind untimed_layers{
    "{}: divided among the layers by their parameters, a third of it forward, because no layer has "
    "a time; to set it, give forward and backward of each"};

// A list of parameters does not tell when gradients are ready: layers get shares of one second by
// their elements, which the measured step scales.
void time_untimed(const Field& list, bool is_measured, std::vector<TimedLayer>& layers,
                  Assumptions& assumptions) {
  const auto elements_of = [](const TimedLayer& layer) {
    double elements = 0;
    for (const auto& tensor : layer.parameters) {
      elements += static_cast<double>(tensor.count.value());
    }
    return elements;
  };
  double all = 0;
  for (const TimedLayer& layer : layers) {
    if (layer.forward + layer.backward > Seconds(0)) return;
    all += elements_of(layer);
  }
  if (!is_measured || all <= 0) {
    list.fail("has no times, and a list of parameters does not say how long a step takes",
              "give forward and backward of each layer, or single_gpu_throughput");
  }
  for (TimedLayer& layer : layers) {
    layer.forward = Seconds(elements_of(layer) / all / 3);
    layer.backward = layer.forward * 2;
  }
  assumptions.add({untimed_layers, "compute"});
}

// A setting of one layer of a list that the scenario has not.
void refuse_single_layers(const Overrides& overrides, std::string_view instead) {
  for (const auto& [path, field] : overrides) {
    if (!path.starts_with("workload.layers.")) continue;
    field.fail(fmt::format("sets a layer, and the scenario gives {} instead of layers", instead),
               fmt::format("leave it out, or give layers instead of {}", instead));
  }
}

std::vector<TimedLayer> timed_layers(std::uint32_t batch, const Scenario& scenario) {
  std::vector<TimedLayer> layers;
  for (const workload::Layer& layer : scenario.network->layers) {
    layers.push_back(time_layer(layer, batch, scenario.precision, scenario.workload.device,
                                workload::known_attained()));
    for (auto* tensors : {&layers.back().parameters, &layers.back().frozen}) {
      for (auto& tensor : *tensors) {
        // A model of one's own may hold some in other types, which stay.
        if (tensor.type == DataType::float32) tensor.type = parameter_type_of(scenario.precision);
      }
    }
  }
  return layers;
}

constexpr AssumptionKind fuses_attention{
    "{}: by scaled_dot_product_attention, as the network's program has it unless told; "
    "workload.fused_attention says which"};

// Transformers 4.57, masking_utils.py (_ignore_causal_mask_sdpa): a mask is made of a window that
// is shorter than the sample, and torch's flash kernel takes none.
constexpr AssumptionKind wider_than_window{
    "{}: is taken over the whole sequence of {} tokens, half of it masked; the model's window is "
    "{} tokens: such layers take up to twice as long with scaled_dot_product_attention, which is "
    "then given a mask, and less with FlashAttention-2, which skips what no window has",
    true};

constexpr AssumptionKind trains_adapters{
    "{}: adapters of rank {}: {} parameters are trained beside {} frozen ones, whose units FSDP "
    "gathers whole and reduces in part, as FSDP2 does; beside the one published source, "
    "what a step gains by them is predicted 14 to 21 % too large"};

double elements_of(const workload::Network& network,
                   std::vector<workload::ParameterTensor> workload::Layer::*tensors) {
  double count = 0;
  for (const workload::Layer& layer : network.layers) {
    for (const auto& tensor : layer.*tensors) count += static_cast<double>(tensor.count.value());
  }
  return count;
}

using NetworkPtr = std::shared_ptr<const workload::Network>;

// With the workload's adapters, if it has any; each call makes a network of its own.
NetworkPtr with_lora(Section& workload, const NetworkPtr& network) {
  Section lora = workload.below("lora");
  const auto rank = lora.find<std::uint64_t>("rank");
  const auto targets = lora.field("targets");
  if (!rank) {
    if (targets) targets->fail("belongs to rank", "give workload.lora.rank, or leave it out");
    return network;
  }
  workload::Adapters adapters{*rank, {"q_proj", "v_proj"}};
  if (targets) adapters.targets.clear();
  for (const Field& target : targets ? targets->list() : std::vector<Field>{}) {
    adapters.targets.push_back(target.text());
  }
  for (std::size_t i = 0; i < adapters.targets.size(); ++i) {
    if (workload::has_target(*network, adapters.targets[i])) continue;
    const Field field = targets ? targets->list()[i] : lora.require("rank");
    field.fail(fmt::format("finds no product called {}", adapters.targets[i]),
               "set workload.lora.targets to the ends of names that paceline buckets shows");
  }
  return std::make_shared<workload::Network>(workload::with_adapters(*network, adapters));
}

constexpr AssumptionKind from_shapes_alone{
    "{}: from shapes alone: each matrix multiplies {} of a sample, and {} looked up; what has no "
    "parameters is left out (products of attention, activations, a head that shares its weight), "
    "so steps take longer; to settle it, describe the model by paceline_describe.py, or give "
    "workload.single_gpu_throughput",
    true};
constexpr AssumptionKind divided_by_shapes{
    "{}: from shapes alone: the measured step is divided among the layers as each matrix "
    "multiplies "
    "{} of a sample, and {} looked up; larger weights count by their elements; to settle it, "
    "describe the model by paceline_describe.py",
    true};

// Refuses weights whose work shapes do not tell, unless the step was measured.
void assume_from_shapes(Section& section, Scenario& scenario) {
  const auto& shapes = scenario.network->from_shapes;
  if (!shapes) return;
  const bool is_measured =
      section.is_given("single_gpu_throughput") || section.is_given("measured_on");
  if (!is_measured && !shapes->without_output_size.empty()) {
    section.require("model").fail(
        fmt::format("has {}, whose work depends on the size of its output, which no list has",
                    shapes->without_output_size),
        "give single_gpu_throughput, or describe the model by paceline_describe.py");
  }
  const std::uint64_t rows = scenario.network->sequence;
  std::string looked_up = shapes->looked_up.empty() ? "none" : shapes->looked_up.front();
  if (shapes->looked_up.size() > 1) {
    looked_up += fmt::format(" and {} more", shapes->looked_up.size() - 1);
  }
  scenario.assumptions.add({is_measured ? divided_by_shapes : from_shapes_alone,
                            "compute",
                            {rows > 1 ? fmt::format("{} rows", rows) : "one row",
                             looked_up + (shapes->looked_up.size() > 1 ? " are" : " is")}});
  scenario.workload.activations.reset();
}

// One object for equal networks, as load_network() has them.
template <auto Change>
NetworkPtr changed(const NetworkPtr& network) {
  constexpr std::size_t kept_max = 4;
  thread_local std::map<NetworkPtr, NetworkPtr> kept;
  if (kept.size() == kept_max && !kept.contains(network)) kept.clear();
  NetworkPtr& made = kept[network];
  if (!made) made = std::make_shared<const workload::Network>(Change(*network));
  return made;
}

constexpr AssumptionKind compiled_network{
    "{}: torch.compile runs elementwise layers, norms and pools that follow one another as one "
    "kernel; an operation of several kernels that the network's file has as one layer gains more "
    "than is predicted; memory is as without it, and graphs are not split at DDP's buckets"};
constexpr AssumptionKind float8_network{
    "{}: products in FP8 attain 0.875 of twice what those of 16 bits do; never compared with a "
    "measured step"};
constexpr AssumptionKind channels_last_network{
    "{}: convolutions at 16 bits with channels last are modelled by the steps of two sources"};
constexpr AssumptionKind graphed_network{
    "{}: the host launches one CUDA graph for a forward and one for a backward; steps of small "
    "batches, whose kernels have a least time, gain less than is predicted"};

void assume_changed(Section& section, Scenario& scenario) {
  if (section.get<MemoryFormat>("memory_format") == MemoryFormat::channels_last) {
    scenario.assumptions.add({channels_last_network, "compute"});
  }
  if (section.get<bool>("float8")) scenario.assumptions.add({float8_network, "compute"});
  if (section.get<bool>("compile")) scenario.assumptions.add({compiled_network, "compute"});
  if (section.get<bool>("cuda_graphs")) scenario.assumptions.add({graphed_network, "host"});
  if (const auto rank = section.below("lora").find<std::uint64_t>("rank")) {
    const double trained = elements_of(*scenario.network, &workload::Layer::parameters);
    const double frozen = elements_of(*scenario.network, &workload::Layer::frozen);
    scenario.assumptions.add(
        {trains_adapters,
         "lora",
         {std::to_string(*rank), fmt::format("{:.3g}", trained), fmt::format("{:.4g}", frozen)}});
  }
}

void require_float8(const Field& named, const Scenario& scenario) {
  const bool has_16_bits = scenario.precision > Precision::tf32;
  if (!has_16_bits) named.fail("goes with 16 bits", "add precision: bf16");
  constexpr double ada = 8.9;  // NVIDIA's first with FP8 (CUDA C++ Programming Guide)
  if (scenario.workload.device.compute_capability >= ada) return;
  named.fail(scenario.workload.device.name + " has no FP8 arithmetic, or it is not described",
             "choose a GPU of compute capability 8.9 or above");
}

void read_model(Section& section, const Field& device, Scenario& scenario) {
  Workload& workload = scenario.workload;
  require_arithmetic(device, workload.device, scenario.precision);
  if (section.get<bool>("float8")) require_float8(section.require("float8"), scenario);
  scenario.network = network_of(section);
  workload.name = scenario.network->name;
  if (scenario.network->fuses_attention && !section.is_given("fused_attention")) {
    scenario.assumptions.add({fuses_attention, "attention"});
  }
  const workload::Network& network = *scenario.network;
  const bool fused = section.find<bool>("fused_attention").value_or(network.fuses_attention);
  if (fused && network.window > 0 && network.sequence > network.window) {
    scenario.assumptions.add({wider_than_window,
                              "attention",
                              {std::to_string(network.sequence), std::to_string(network.window)}});
  }
  assume_changed(section, scenario);
  workload.activations = activation_bytes(*scenario.network, workload.batch_per_gpu,
                                          scenario.precision, scenario.training.checkpoints);
  workload.layers = timed_layers(workload.batch_per_gpu, scenario);
  assume_from_shapes(section, scenario);
}

}  // namespace

std::span<const Key> workload_keys() { return workload_table; }

Precisions precisions_of(Section& workload) {
  const auto field = workload.field("precision");
  Precisions read;
  if (field && !field->node().is_map()) {
    read.compute = field->word<Precision>();
    return read;
  }
  Section both(workload.map().map("precision"), precision_table);
  read.compute = both.get<Precision>("compute");
  read.gradient = type_in(both, "gradient");
  both.finish();
  return read;
}

std::shared_ptr<const workload::Network> network_of(Section& workload) {
  NetworkPtr network = load_network(workload.require("model"),
                                    {.sequence = workload.find<std::uint64_t>("sequence"),
                                     .pretraining_heads = workload.get<bool>("pretraining_heads"),
                                     .fused_attention = workload.find<bool>("fused_attention")});
  network = with_lora(workload, network);
  if (workload.get<MemoryFormat>("memory_format") == MemoryFormat::channels_last) {
    network = changed<workload::channels_last>(network);
  }
  if (workload.get<bool>("float8")) {
    const std::size_t layers = network->layers.size();
    network = changed<workload::in_float8>(network);
    if (network->layers.size() == layers) {
      workload.require("float8").fail("finds no linear layer beside the last", "leave it out");
    }
  }
  if (workload.get<bool>("compile")) network = changed<workload::compiled>(network);
  if (workload.get<bool>("cuda_graphs")) network = changed<workload::in_graphs>(network);
  return network;
}

void require_arithmetic(const Field& named, const Device& device, Precision precision) {
  if (device.speed(precision).peak > FlopsPerSecond(0)) return;
  named.fail(fmt::format("has no {} arithmetic", to_text(precision)),
             "choose another precision or device");
}

std::uint32_t timed_batch(const Section& section, std::string_view timed, std::string_view key) {
  if (const auto batch = section.find<std::uint32_t>(key)) return *batch;
  const Section said = section.as_given_with(timed);
  if (const auto own = said.find<std::uint32_t>("batch_per_gpu")) return *own;
  throw InputError(
      section.location(),
      fmt::format("workload.{} is missing, and no batch_per_gpu stands beside {}", key, timed),
      fmt::format("write {}: 32, or what was timed", key));
}

Workload with_batch(std::uint32_t batch, const Scenario& scenario) {
  Workload other = scenario.workload;
  if (scenario.network) {
    other.layers = timed_layers(batch, scenario);
    recompute(other.layers, scenario.training.checkpoints);
  } else {
    scale(other, {static_cast<double>(batch) / other.batch_per_gpu}, false);
  }
  other.batch_per_gpu = batch;
  return other;
}

void load_workload(Section& section, const Overrides& overrides,
                   std::optional<std::uint32_t> shared_batch, Scenario& scenario) {
  const auto layers = section.map().find_list("layers");
  if (const auto timed = section.field("layers_batch"); timed && !layers) {
    timed->fail("is of layers, and the scenario has none", "leave it out");
  }
  if (const auto trace = section.field("trace")) {
    refuse_single_layers(overrides, "trace");
    scenario.training.wire_type = precisions_of(section).gradient;
    return load_trace(*trace, section, scenario);
  }
  Workload& workload = scenario.workload;
  if (!shared_batch) (void)section.require("batch_per_gpu");
  workload.batch_per_gpu =
      shared_batch ? *shared_batch : section.get<std::uint32_t>("batch_per_gpu");
  const Precisions precision = precisions_of(section);
  scenario.training.wire_type = precision.gradient;
  scenario.precision = precision.compute;
  const Field device = section.require("device");
  workload.device = load_device(device);
  const auto model = section.field("model");
  if (model && layers) layers->fail("stands beside model", "keep one of them");
  if (layers) {
    workload.name = "layers";
    const auto said = section.field("precision");
    if (said && said->node().is_scalar() &&
        parameter_type_of(precision.compute) == DataType::float32 &&
        precision.compute != Precision::fp32) {
      section.refuse_set("precision", "does not change layers whose times are given",
                         "write fp32; or fp16 or bf16 for parameters of that type");
    }
    read_layers(*layers, overrides, parameter_type_of(precision.compute), workload.layers);
    time_untimed(*layers, section.is_given("single_gpu_throughput"), workload.layers,
                 scenario.assumptions);
    const std::uint32_t timed = timed_batch(section, "layers", "layers_batch");
    scale(workload, {static_cast<double>(workload.batch_per_gpu) / timed}, false);
  } else {
    (void)section.require("model");
    refuse_single_layers(overrides, "model");
    read_model(section, device, scenario);
  }
}

}  // namespace paceline::loader
