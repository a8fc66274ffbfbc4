#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "scenarios/loader/data_files/data_files.h"
#include "scenarios/loader/load_trace.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using workload::Device;
using workload::Precision;
using workload::TimedLayer;
using workload::Workload;

constexpr std::array<std::string_view, 10> workload_keys{"model",
                                                         "layers",
                                                         "batch_per_gpu",
                                                         "device",
                                                         "trace",
                                                         "calls",
                                                         "precision",
                                                         "sequence",
                                                         "pretraining_heads",
                                                         "single_gpu_throughput"};
constexpr std::array<std::string_view, 6> layer_keys{"name",     "repeat",     "forward",
                                                     "backward", "parameters", "type"};

constexpr std::array<std::string_view, 3> type_words{"fp32", "fp16", "bf16"};

struct Precisions {
  Precision compute = Precision::fp32;
  std::optional<DataType> gradient;  // empty: as the parameters
};

DataType parameter_type_of(Precision precision) {
  if (precision == Precision::fp16) return DataType::float16;
  if (precision == Precision::bf16) return DataType::bfloat16;
  return DataType::float32;  // amp keeps fp32 parameters
}

DataType to_type(const Field& field) {
  constexpr std::array types{DataType::float32, DataType::float16, DataType::bfloat16};
  return types[field.word(type_words)];
}

// `precision: amp`, or `precision: {compute: amp, gradient: fp16}`.
Precisions read_precision(Reader& workload) {
  const auto field = workload.find("precision");
  Precisions read;
  if (field && !field->node().IsMap()) {
    read.compute = field->word<Precision>();
    return read;
  }
  Reader both = workload.map("precision");
  if (const auto compute = both.find("compute")) read.compute = compute->word<Precision>();
  if (const auto gradient = both.find("gradient")) read.gradient = to_type(*gradient);
  both.finish();
  return read;
}

// One entry of `layers`: {name, repeat, forward, backward, parameters, type}.
void read_layers(const Field& list, const Overrides& overrides, DataType parameter_type,
                 std::vector<TimedLayer>& layers) {
  constexpr std::size_t items_max = 100'000;
  std::size_t number = 0, tensors = 0;
  for (const Field& entry : list.list()) {
    Reader reader(entry.document(), entry.node(), fmt::format("{}.{}", entry.path(), number++),
                  overrides);
    reader.expect_only(layer_keys);
    TimedLayer layer;
    const auto name = reader.find("name");
    layer.name = name ? name->text() : fmt::format("layer {}", number);
    const auto repeat_field = reader.find("repeat");
    const std::uint64_t repeat = repeat_field ? repeat_field->count(1, 100'000) : 1;
    layer.forward = reader.require("forward", "2ms").seconds();
    layer.backward = reader.require("backward", "4ms").seconds();
    const auto type = reader.find("type");
    if (const auto counts = reader.find("parameters")) {
      for (const Field& count : counts->list()) {
        layer.parameters.push_back({fmt::format("{}.{}", layer.name, layer.parameters.size()),
                                    ElementCount(count.count(1, 1'000'000'000'000)),
                                    type ? to_type(*type) : parameter_type});
      }
    }
    reader.finish();
    tensors += repeat * layer.parameters.size();
    if (layers.size() + repeat > items_max || tensors > items_max) {
      entry.fail(fmt::format("makes more than {} layers or tensors", items_max), "");
    }
    for (std::uint64_t i = 0; i < repeat; ++i) layers.push_back(layer);
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

void require_arithmetic(const Field& device, const Device& loaded, Precision precision) {
  if (loaded.speed(precision).peak > FlopsPerSecond(0)) return;
  device.fail(fmt::format("has no {} arithmetic", to_text(precision)),
              "choose another precision or device");
}

void read_model(Reader& reader, const Field& model, const Precisions& precision,
                const Field& device, Workload& workload) {
  NetworkOptions options;
  if (const auto sequence = reader.find("sequence")) {
    options.sequence = sequence->count(1, 1'000'000);
  }
  if (const auto heads = reader.find("pretraining_heads")) {
    options.pretraining_heads = heads->boolean();
  }
  require_arithmetic(device, workload.device, precision.compute);
  const workload::Network network = load_network(model, options);
  workload.name = network.name;
  for (const workload::Layer& layer : network.layers) {
    workload.layers.push_back(
        time_layer(layer, workload.batch_per_gpu, precision.compute, workload.device));
    for (auto& tensor : workload.layers.back().parameters) {
      tensor.type = parameter_type_of(precision.compute);
    }
  }
}

constexpr AssumptionKind scaled_compute{"{}: scaled to {} on one GPU"};

}  // namespace

void load_workload(Reader& reader, const Overrides& overrides, Scenario& scenario) {
  reader.expect_only(workload_keys);
  if (const auto trace = reader.find("trace")) {
    scenario.training.wire_type = read_precision(reader).gradient;
    return load_trace(*trace, reader, scenario);
  }
  Workload& workload = scenario.workload;
  workload.batch_per_gpu =
      static_cast<std::uint32_t>(reader.require("batch_per_gpu", "32").count(1, 100'000'000));
  const Precisions precision = read_precision(reader);
  scenario.training.wire_type = precision.gradient;
  const Field device = reader.require("device", "v100-sxm2-16gb");
  workload.device = load_device(device);
  const auto model = reader.find("model");
  const auto layers = reader.find_list("layers");
  if (model && layers) layers->fail("stands beside model", "keep one of them");
  if (layers) {
    workload.name = "layers";
    read_layers(*layers, overrides, parameter_type_of(precision.compute), workload.layers);
  } else {
    read_model(reader, model ? *model : reader.require("model", "resnet50"), precision, device,
               workload);
  }
}

void rescale_to_measurement(Reader& reader, bool optimizer_modelled, Scenario& scenario) {
  const auto field = reader.find("single_gpu_throughput");
  if (!field) return;
  const std::uint32_t passes = scenario.training.gradient_accumulation;
  const Seconds target(static_cast<double>(scenario.workload.batch_per_gpu) * passes /
                       field->throughput().value());
  const Seconds before = scenario.workload.one_gpu_step(passes);
  if (!rescale(scenario.workload, passes, target, optimizer_modelled)) {
    field->fail("leaves no time for the layers", "check input_time and optimizer.time");
  }
  if (scenario.traced) scale_compute(scenario.traced->program, target / before);
  scenario.assumptions.add({scaled_compute, "compute", {field->text()}});
}

void assume_unmeasured_speed(Reader& reader, Scenario& scenario) {
  if (reader.has("trace") || reader.has("layers") || reader.has("single_gpu_throughput")) return;
  const Precision precision = read_precision(reader).compute;
  const Device& device = scenario.workload.device;
  const Device::Speed& speed = device.speed(precision);
  if (speed.assumed.empty()) return;
  scenario.assumptions.add(
      {unmeasured_speed,
       device.name,
       {fmt::format("{}", speed.attained), std::string(to_text(precision)), speed.assumed}});
}

}  // namespace paceline::loader
