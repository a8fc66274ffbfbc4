#include "scenarios/loader/load_scenario.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/loader/data_files.h"
#include "scenarios/loader/load_collective.h"
#include "scenarios/loader/load_trace.h"

namespace paceline::loader {
namespace {

using training::DdpSettings;
using training::TrainingSettings;
using workload::DataType;
using workload::Device;
using workload::Precision;
using workload::TimedLayer;
using workload::Workload;

struct Precisions {
  Precision compute = Precision::fp32;
  std::optional<DataType> gradient;  // empty: as the parameters
};

DataType parameter_type_of(Precision precision) {
  if (precision == Precision::fp16) return DataType::float16;
  if (precision == Precision::bf16) return DataType::bfloat16;
  return DataType::float32;  // amp keeps fp32 parameters
}

// The keys of the maps that have required ones; of all strategies.
constexpr std::array<std::string_view, 14> scenario_keys{
    "contention", "other_jobs", "schema",     "name",  "workload", "cluster",  "training",
    "collective", "ranks",      "simulation", "sweep", "gpus",     "measured", "real"};
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
constexpr std::array<std::string_view, 15> training_keys{"strategy",
                                                         "merge_startup",
                                                         "merge_bandwidth",
                                                         "bucket_cap",
                                                         "first_bucket",
                                                         "torch_version",
                                                         "gradient_as_bucket_view",
                                                         "find_unused_parameters",
                                                         "static_graph",
                                                         "broadcast_buffers",
                                                         "iteration",
                                                         "gradient_accumulation",
                                                         "optimizer",
                                                         "input_time",
                                                         "collectives_in_flight"};
constexpr std::array<std::string_view, 3> other_jobs_keys{"count", "start", "placement"};
constexpr std::array<std::string_view, 5> real_keys{"backend", "mode", "steps", "warmup",
                                                    "timeout"};
constexpr std::uint64_t ranks_of_all_jobs_max = 1'000'000;  // as of one cluster
constexpr std::array<std::string_view, 5> precision_words{"fp32", "tf32", "amp", "bf16", "fp16"};
constexpr std::array<std::string_view, 3> type_words{"fp32", "fp16", "bf16"};

Precision to_precision(const Field& field) {
  return Precision{static_cast<int>(field.word(precision_words))};
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
    read.compute = to_precision(*field);
    return read;
  }
  Reader both = workload.map("precision");
  if (const auto compute = both.find("compute")) read.compute = to_precision(*compute);
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
  device.fail(
      fmt::format("has no {} arithmetic", precision_words[static_cast<std::size_t>(precision)]),
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

// Of a modelled network whose times no measurement rescales.
std::string compute_assumption(const Device& device, Precision precision) {
  const Device::Speed& speed = device.speed(precision);
  if (speed.assumed.empty()) return "";
  return fmt::format("compute: {} attains {} of its {} peak: {}, not measured", device.name,
                     speed.attained, precision_words[static_cast<std::size_t>(precision)],
                     speed.assumed);
}

void read_workload(Reader& reader, const Overrides& overrides, Scenario& scenario) {
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
    if (!reader.has("single_gpu_throughput")) {
      scenario.compute_assumption = compute_assumption(workload.device, precision.compute);
    }
  }
}

// `single_gpu_throughput` is what was measured on one GPU; the modelled times keep their
// proportions.
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
  scenario.assumptions.push_back(fmt::format("compute: scaled to {} on one GPU", field->text()));
}

Bytes parameter_bytes(const Workload& workload) {
  Bytes total;
  for (const TimedLayer& layer : workload.layers) {
    for (const auto& tensor : layer.parameters) total += tensor.count * element_size(tensor.type);
  }
  return total;
}

// Returns whether the time was modelled rather than given, or traced.
bool read_optimizer(Reader reader, Scenario& scenario) {
  Workload& workload = scenario.workload;
  const auto given = reader.find("time");
  if (scenario.traced && (!given || given->text() == "auto")) {
    reader.finish();
    return false;
  }
  constexpr std::array<std::string_view, 3> kinds{"sgd", "sgd_momentum", "adam"};
  auto kind = workload::OptimizerKind::sgd_momentum;
  if (const auto field = reader.find("kind")) {
    kind = workload::OptimizerKind{static_cast<int>(field->word(kinds))};
  }
  const auto time = reader.find("time");
  const bool modelled = !time || time->text() == "auto";
  workload.optimizer =
      modelled ? optimizer_time(kind, parameter_bytes(workload), workload.device) : time->seconds();
  reader.finish();
  return modelled;
}

void read_torch_version(const Field& field, DdpSettings& ddp) {
  const std::string text = field.text();
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, ddp.torch_major);
  if (major.ec == std::errc{} && major.ptr != end && *major.ptr == '.') {
    const auto minor = std::from_chars(major.ptr + 1, end, ddp.torch_minor);
    if (minor.ec == std::errc{} && (minor.ptr == end || *minor.ptr == '.')) return;
  }
  field.fail("is not a version", "write \"2.1\"");
}

DdpSettings read_ddp(Reader& reader, std::vector<std::string>& assumptions) {
  DdpSettings ddp;
  if (const auto cap = reader.find("bucket_cap")) {
    ddp.bucket_cap = cap->bytes();
    ddp.bucket_cap_was_set = true;
  }
  if (const auto version = reader.find("torch_version")) read_torch_version(*version, ddp);
  const auto first = reader.find("first_bucket");
  if (first && first->text() != "auto") ddp.first_bucket = first->bytes();
  const std::pair<const char*, bool*> flags[] = {
      {"gradient_as_bucket_view", &ddp.gradient_as_bucket_view},
      {"find_unused_parameters", &ddp.find_unused_parameters},
      {"static_graph", &ddp.static_graph},
      {"broadcast_buffers", &ddp.broadcast_buffers}};
  for (const auto& [key, flag] : flags) {
    if (const auto field = reader.find(key)) *flag = field->boolean();
  }
  constexpr std::array<std::string_view, 2> iterations{"steady", "first"};
  if (const auto iteration = reader.find("iteration")) {
    ddp.first_iteration = iteration->word(iterations) == 1;
  }
  if (ddp.find_unused_parameters && !ddp.static_graph) {
    assumptions.emplace_back("ddp: the search for unused parameters takes no time");
  }
  if (ddp.torch_is_before(1, 6)) {
    assumptions.emplace_back("ddp: buckets are never rebuilt before torch 1.6 (assumed)");
  }
  if (!ddp.first_bucket && (!ddp.first_iteration || ddp.buckets_are_initial())) {
    const bool as_cap = ddp.bucket_cap_was_set && !ddp.torch_is_before(2, 5);
    assumptions.push_back(fmt::format(
        "ddp: the first bucket's limit is {} (torch {}.{}; from 2.5 on, assumed, a cap "
        "that was set holds for it too)",
        as_cap ? "the cap" : to_text(ddp.first_bucket_limit()), ddp.torch_major, ddp.torch_minor));
  }
  return ddp;
}

training::MergeSettings read_merge(Reader& reader) {
  training::MergeSettings merge;
  if (const auto startup = reader.find("merge_startup")) merge.startup = startup->seconds();
  if (const auto bandwidth = reader.find("merge_bandwidth")) {
    merge.bandwidth = bandwidth->bandwidth();
  }
  return merge;
}

std::string read_strategy(Reader& training, const Scenario& scenario) {
  const Field field = training.require("strategy", "ddp");
  std::vector<std::string_view> known;
  for (const auto& row : training::strategies()) known.push_back(row.name);
  known.push_back(strategy_traced);
  const std::string strategy(known[field.word(known)]);
  check_strategy(field, strategy, scenario);
  return strategy;
}

void read_training(Reader& reader, Scenario& scenario) {
  reader.expect_only(training_keys);
  scenario.strategy = read_strategy(reader, scenario);
  if (scenario.strategy == strategy_traced) check_traced_training(reader);
  TrainingSettings& training = scenario.training;
  if (scenario.strategy == "ddp") training.ddp = read_ddp(reader, scenario.assumptions);
  if (scenario.strategy == "merged_gradient") training.merge = read_merge(reader);
  if (const auto passes = reader.find("gradient_accumulation")) {
    training.gradient_accumulation = static_cast<std::uint32_t>(passes->count(1, 1'000'000));
  }
  training.collectives_in_flight = cost::default_in_flight(scenario.collective.library);
  if (const auto in_flight = reader.find("collectives_in_flight")) {
    training.collectives_in_flight = static_cast<std::uint32_t>(in_flight->count(1, 1024));
  }
  if (const auto input = reader.find("input_time")) scenario.workload.input = input->seconds();
}

RealSettings read_real(Reader reader) {
  constexpr std::array<std::string_view, 2> modes{"native", "plan"};
  reader.expect_only(real_keys);
  RealSettings real;
  if (const auto backend = reader.find("backend")) real.backend = backend->text();
  if (const auto mode = reader.find("mode")) {
    real.measure.mode = CollectiveMode{static_cast<int>(mode->word(modes))};
  }
  if (const auto steps = reader.find("steps")) {
    real.measure.steps = static_cast<std::uint32_t>(steps->count(1, 1'000'000));
  }
  if (const auto warmup = reader.find("warmup")) {
    real.measure.warmup = static_cast<std::uint32_t>(warmup->count(2, 1'000'000));
  }
  if (const auto timeout = reader.find("timeout")) real.timeout = timeout->positive_seconds();
  reader.finish();
  return real;
}

// What is predicted where the scenario does not name a library: what is to be measured, if
// anything.
cost::Library library_of(const RealSettings& real) {
  if (real.measure.mode == CollectiveMode::plan || real.backend == "memory") {
    return cost::Library::plan;
  }
  if (real.backend == "gloo") return cost::Library::gloo;
  return real.backend == "mpi" ? cost::Library::mpi : cost::Library::nccl;
}

// Messages wait for their receivers as those of the library do over TCP, unless the scenario says
// how. Paceline's own plans post receives ahead, cut messages for MPI so short that it does not ask
// first, and ask strangers themselves, whatever is below MPI.
void wait_as_the_library(Reader& file, Scenario& scenario) {
  topology::Network& network = scenario.cluster.network;
  Reader section = file.map("cluster").map("network");
  const auto library = scenario.collective.library;
  const auto runs_on = [&](std::string_view backend) {
    return library == cost::Library::plan && file.has("real") && scenario.real.backend == backend;
  };
  using topology::Receives;
  const bool is_said = section.has("receives");
  if (!is_said && runs_on("mpi")) network.receives = Receives::announced_to_strangers;
  if (network.transport != topology::Transport::tcp) return;
  if (!is_said && library == cost::Library::gloo) network.receives = Receives::announced;
  if (!is_said && runs_on("gloo")) network.receives = Receives::announced_ahead;
  // btl_tcp_eager_limit of Open MPI 4.1.
  constexpr Bytes open_mpi_eager_limit{64 * 1024};
  if (!section.has("rendezvous_above") && library == cost::Library::mpi) {
    network.rendezvous_above = open_mpi_eager_limit;
  }
}

void read_ranks(Reader reader, Scenario& scenario) {
  Reader slowdown = reader.map("slowdown");
  for (const auto& [key, field] : slowdown.entries()) {
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
    if (error != std::errc{} || end != key.data() + key.size() || rank >= 1'000'000) {
      field.fail("belongs to no rank", "write slowdown: {3: 1.2}");
    }
    scenario.slowdown[rank] = field.number(0.001, 1000);
  }
  if (const auto jitter = reader.find("jitter")) scenario.jitter = jitter->fraction(0.99);
  reader.finish();
}

OtherJobs read_other_jobs(Reader reader) {
  constexpr std::array<std::string_view, 3> placements{"packed", "alternate", "random"};
  reader.expect_only(other_jobs_keys);
  OtherJobs jobs;
  if (const auto count = reader.find("count")) {
    jobs.count = static_cast<std::uint32_t>(count->count(0, 1000));
  }
  if (const auto start = reader.find("start")) jobs.start = start->seconds();
  if (const auto placement = reader.find("placement")) {
    jobs.placement = JobPlacement{static_cast<int>(placement->word(placements))};
  }
  reader.finish();
  return jobs;
}

// off, assumed, measured, or a factor.
Contention read_contention(Reader& file) {
  const auto field = file.find("contention");
  Contention contention;
  if (!field || field->text() == "off") return contention;
  contention.where = field->location();
  contention.assumed = field->text() == "assumed";
  contention.measured = field->text() == "measured";
  if (!contention.assumed && !contention.measured) {
    try {
      contention.slowdown = field->number(1, 100);
    } catch (const InputError&) {
      field->fail("is neither off, assumed, measured nor a factor of 1 to 100",
                  "write contention: 1.3");
    }
  }
  return contention;
}

// What the formulas leave out, and what would not fit.
void check_other_jobs(const Reader& section, const Scenario& scenario) {
  if (scenario.other_jobs.count == 0) return;
  if (scenario.fidelity == Fidelity::closed) {
    throw InputError(section.location(), "other_jobs are not in the closed formulas",
                     "take fidelity: folded or flow");
  }
  const std::uint64_t jobs = scenario.other_jobs.count + std::uint64_t{1};
  if (jobs * scenario.cluster.ranks().value() > ranks_of_all_jobs_max) {
    throw InputError(section.location(),
                     fmt::format("all jobs together have more than {} GPUs", ranks_of_all_jobs_max),
                     "");
  }
}

void read_simulation(Reader reader, Scenario& scenario) {
  if (const auto fidelity = reader.find("fidelity")) {
    constexpr std::array<std::string_view, 3> fidelities{"flow", "folded", "closed"};
    scenario.fidelity = Fidelity{static_cast<int>(fidelity->word(fidelities))};
  }
  if (const auto seed = reader.find("seed")) scenario.seed = seed->count(0, 1ULL << 53);
  reader.finish();
}

// Beside the scenario's own file.
std::string calibration_of(Reader& cluster) {
  const auto path = cluster.find("calibration");
  if (!path) return "";
  return (std::filesystem::path(path->document()->folder) / path->text()).string();
}

void size_cluster(Reader& file, Scenario& scenario) {
  topology::Cluster& cluster = scenario.cluster;
  if (const auto gpus = file.find("gpus")) {
    const auto sized = cluster.with_gpus(static_cast<std::uint32_t>(gpus->count(1, 1'000'000)));
    if (!sized) {
      gpus->fail(fmt::format("does not fill nodes of {} GPUs", cluster.gpus_per_node),
                 fmt::format("write a multiple of {}, or less for a part of one node",
                             cluster.gpus_per_node));
    }
    cluster = *sized;
  }
  if (cluster.nodes > 1 && cluster.network.latency == Seconds(0)) {
    scenario.assumptions.emplace_back("network: no latency");
  }
  if (cluster.gpus_per_node > 1 && cluster.intra_node.latency == Seconds(0)) {
    scenario.assumptions.emplace_back("intra_node: no latency");
  }
  if (cluster.nodes > 1 && cluster.network.bandwidth == BytesPerSecond(0)) {
    throw InputError(file.map("cluster").location(), "cluster.network.bandwidth is missing",
                     "write network: {bandwidth: 100Gbps}");
  }
}

}  // namespace

Scenario load_scenario(const DocumentPtr& document, const Overrides& overrides) {
  Reader file(document, document->root, "", overrides);
  file.expect_only(scenario_keys);
  const Field schema = file.require("schema", "paceline/1");
  if (schema.text() != "paceline/1") schema.fail("is not known", "write schema: paceline/1");
  Scenario scenario;
  scenario.name = file.require("name", "my scenario").text();
  (void)file.has("sweep");
  (void)file.has("measured");
  (void)file.find("gpus");
  for (const auto& [path, field] : overrides) scenario.set_paths.insert(path);

  const auto section = [&](const char* key, const char* example) {
    if (!file.has(key)) (void)file.require(key, example);
    return file.map(key);
  };
  Reader workload = section("workload", "{model: resnet50, batch_per_gpu: 32, ...}");
  Reader training = section("training", "{strategy: ddp}");
  read_workload(workload, overrides, scenario);
  Reader cluster = section("cluster", "{nodes: 4, gpus_per_node: 8, ...}");
  scenario.calibration = calibration_of(cluster);
  scenario.cluster = load_cluster(std::move(cluster));
  scenario.real = read_real(file.map("real"));
  scenario.collective = load_collective(
      file.map("collective"), file.has("real") ? library_of(scenario.real) : cost::Library::nccl);
  wait_as_the_library(file, scenario);
  read_training(training, scenario);
  const bool optimizer_modelled = read_optimizer(training.map("optimizer"), scenario);
  rescale_to_measurement(workload, optimizer_modelled, scenario);
  read_ranks(file.map("ranks"), scenario);
  const Reader other_jobs = file.map("other_jobs");
  scenario.other_jobs = read_other_jobs(other_jobs);
  scenario.contention = read_contention(file);
  if (scenario.traced && scenario.contention.assumed) {
    throw InputError(scenario.contention.where,
                     "contention is assumed by a device's memory, and a trace tells none",
                     "leave it out: traced compute has in it what it lost beside collectives");
  }
  read_simulation(file.map("simulation"), scenario);
  size_cluster(file, scenario);
  check_other_jobs(other_jobs, scenario);
  check_traced_ranks(workload, scenario);
  workload.finish();
  training.finish();
  if (scenario.workload.one_gpu_step(1) == Seconds(0)) {
    throw InputError(workload.location(), "the step takes no time", "give layers that take some");
  }
  file.finish();
  return scenario;
}

}  // namespace paceline::loader
