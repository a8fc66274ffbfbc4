#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "models/shipped_file.h"
#include "models/stats/normal.h"
#include "models/units/parse.h"
#include "models/workload/attained.h"
#include "models/workload/carried.h"
#include "scenarios/data_files/data_files.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using workload::MeasuredStep;
using workload::Workload;

constexpr AssumptionKind scaled_compute{"{}: scaled to {} on one GPU"};
constexpr AssumptionKind between_batches{
    "{}: scaled to steps measured on one GPU; between measured batch sizes each further "
    "sample adds the same time"};
constexpr AssumptionKind beyond_batches{
    "{}: extrapolated beyond the batch sizes {} to {} measured on one GPU: each further "
    "sample adds as much time as between the nearest two"};
constexpr AssumptionKind of_other_batch{
    "{}: scaled to {} on one GPU at batch {}; other batch sizes are scaled {}, not measured"};
constexpr AssumptionKind optimizer_beside_layers{
    "{}: {} per step by the memory traffic of its kernels, in addition to the times of layers; to "
    "set it, give training.optimizer.time, or workload.single_gpu_throughput of whole steps"};
constexpr AssumptionKind layers_of_other_batch{
    "{}: layers were timed at batch {}; at other batch sizes their times are scaled in "
    "proportion, not measured"};

// Measured throughputs by the batch of each.
using Measured = std::map<std::uint32_t, Field>;

constexpr std::array measured_batch_table{
    Key{"batch", Count{1, 100'000'000}, required, "samples of a pass", "32"},
    Key{"throughput", Throughput{.or_tokens = true}, required, "of one GPU with that batch",
        "119.6 samples/s"},
};

Measured read_measured(const Field& list) {
  Measured measured;
  for (const Field& entry : list.list()) {
    Section one(Reader(entry), measured_batch_table);
    const auto samples = one.get<std::uint32_t>("batch");
    if (!measured.emplace(samples, one.require("throughput")).second) {
      one.require("batch").fail("is twice in the list", "leave one of them out");
    }
    one.finish();
  }
  return measured;
}

// One throughput, or several with a batch each.
Measured measured_of(Section& section, const Field& field, const Scenario& scenario) {
  const auto batch = section.field("single_gpu_batch");
  const bool is_list = field.node().is_list();
  if (scenario.traced && is_list) {
    field.fail("gives several batch sizes, and a trace's compute is for its own",
               "give one throughput");
  }
  if (batch && (scenario.traced || is_list)) {
    batch->fail(is_list ? "stands beside a list, which has a batch with each throughput"
                        : "counts for nothing with a trace, whose batch is its own",
                "leave it out");
  }
  if (is_list) return read_measured(field);
  if (scenario.traced) return {{scenario.workload.batch_per_gpu, field}};
  return {{timed_batch(section, "single_gpu_throughput", "single_gpu_batch"), field}};
}

// What one GPU of some device was measured to do: an entry of `workload.measured_on`, or a
// `single_gpu_throughput` of another run than this one.
struct MeasuredOn {
  workload::Device device;
  workload::Precision precision = workload::Precision::fp32;
  std::uint32_t batch = 1;
  Field throughput;
  std::shared_ptr<const workload::Network> network;  // null: of layers

  // Of the scenario's own device, precision and network, so that it is of its steps themselves.
  [[nodiscard]] bool is_own(const Scenario& scenario) const {
    return device.name == scenario.workload.device.name && precision == scenario.precision &&
           network == scenario.network;
  }
  // "740 samples/s on v100-sxm2-16gb", with precision and sequence where they are others.
  [[nodiscard]] std::string text(const Scenario& scenario) const {
    std::string all = fmt::format("{} on {}", throughput.text(), device.name);
    if (precision != scenario.precision) all += fmt::format(" in {}", to_text(precision));
    if (network && network->sequence != scenario.network->sequence) {
      all += fmt::format(" with sequences of {}", network->sequence);
    }
    return all;
  }
};

constexpr std::array measured_device_table{
    Key{"device", Text{"a name, or a file", shipped_devices}, required, "as `workload.device`",
        "v100-sxm2-16gb"},
    Key{"batch", Count{1, 100'000'000}, required, "samples of a pass", "32"},
    Key{"throughput", Throughput{.or_tokens = true}, required, "of one GPU", "119.6 samples/s"},
    Key{"precision", OneOf{texts_of<workload::Precision>}, "the scenario's", "that was measured"},
};

// The precision of entries that say none, and their network.
struct MeasuredAs {
  workload::Precision precision;
  std::shared_ptr<const workload::Network> network;  // null: of layers
};

MeasuredOn read_entry(const Field& entry, const MeasuredAs& unless_said, const Scenario& scenario) {
  Section section(Reader(entry), measured_device_table);
  const Field device = section.require("device");
  const auto precision = section.field("precision");
  MeasuredOn read{load_device(device),
                  section.find<workload::Precision>("precision").value_or(unless_said.precision),
                  section.get<std::uint32_t>("batch"), section.require("throughput"),
                  unless_said.network};
  section.finish();
  (void)throughput_of(read.throughput, read.network.get());
  if (scenario.network) {
    require_arithmetic(precision.value_or(device), read.device, read.precision);
  } else if (!read.is_own(scenario)) {
    const bool is_of_other_device = read.device.name != scenario.workload.device.name;
    (is_of_other_device ? device : *precision)
        .fail("is not the scenario's, and times of layers are of their own",
              "leave it out, or give a model instead of layers");
  }
  return read;
}

bool are_the_same(const MeasuredOn& one, const MeasuredOn& other) {
  return one.device.name == other.device.name && one.precision == other.precision &&
         one.batch == other.batch;
}

// Throws InputError for devices that are not known or lack the arithmetic, for what is twice in the
// list, and for other devices of a scenario without a network, whose compute no description carries
// over. Precondition: the scenario has its workload.
std::vector<MeasuredOn> read_measured_on(const Field& list, const MeasuredAs& unless_said,
                                         const Scenario& scenario) {
  if (scenario.traced) {
    list.fail("is of devices, and a trace does not say its own", "write single_gpu_throughput");
  }
  std::vector<MeasuredOn> all;
  for (const Field& entry : list.list()) {
    MeasuredOn one = read_entry(entry, unless_said, scenario);
    if (std::ranges::any_of(all, [&](const auto& other) { return are_the_same(one, other); })) {
      entry.fail("repeats a device, batch and precision of the list", "leave one of them out");
    }
    all.push_back(std::move(one));
  }
  return all;
}

// Of all passes of a step, each with that batch.
Seconds step_of(std::uint32_t batch, const Field& throughput, const Scenario& scenario) {
  const double samples = static_cast<double>(batch) * scenario.training.gradient_accumulation;
  return Seconds(samples / throughput_of(throughput, scenario.network.get()).value());
}

std::vector<MeasuredStep> steps_of(const Measured& measured, const Scenario& scenario) {
  std::vector<MeasuredStep> steps;
  for (const auto& [batch, field] : measured) {
    steps.push_back({batch, step_of(batch, field, scenario)});
  }
  return steps;
}

// The workload with the batch of its only measurement.
Workload timed_workload(const Measured& measured, Scenario& scenario) {
  const auto& [batch, field] = *measured.begin();
  const std::string how = scenario.network
                              ? fmt::format("by the roofline of {}", scenario.workload.device.name)
                              : "in proportion";
  scenario.assumptions.add({of_other_batch, "compute", {field.text(), std::to_string(batch), how}});
  scenario.compute_ratio = compute_of_other_batch;
  return with_batch(batch, scenario);
}

void assume_measured(const Measured& measured, Scenario& scenario) {
  const std::uint32_t batch = scenario.workload.batch_per_gpu;
  const std::uint32_t least = measured.begin()->first, most = measured.rbegin()->first;
  if (const auto own = measured.find(batch); own != measured.end()) {
    scenario.assumptions.add({scaled_compute, "compute", {own->second.text()}});
  } else if (batch > least && batch < most) {
    scenario.assumptions.add({between_batches, "compute"});
  } else {
    scenario.assumptions.add(
        {beyond_batches, "compute", {std::to_string(least), std::to_string(most)}});
    scenario.compute_ratio = compute_of_other_batch;
  }
}

void assume_timed_layers(Section& section, bool optimizer_modelled, Scenario& scenario) {
  if (!section.field("layers")) return;
  const Seconds optimizer = scenario.workload.optimizer;
  if (optimizer_modelled && optimizer > Seconds(0)) {
    scenario.assumptions.add({optimizer_beside_layers, "optimizer", {to_text(optimizer)}});
  }
  const std::uint32_t timed = timed_batch(section, "layers", "layers_batch");
  if (timed == scenario.workload.batch_per_gpu) return;
  scenario.assumptions.add({layers_of_other_batch, "compute", {std::to_string(timed)}});
  scenario.compute_ratio = compute_of_other_batch;
}

// From here on launches are said to bound a step: it takes a tenth longer than its kernels.
constexpr double bound_from = 1.1;
// Up to here steps have no lane for them.
constexpr double hidden_up_to = 1.02;

void say_what_bounds(Scenario& scenario) {
  const std::uint32_t passes = scenario.training.gradient_accumulation;
  const workload::Launches& launches = scenario.training.host.launches;
  const Workload& work = scenario.workload;
  const Seconds kernels = work.one_gpu_step(passes);
  if (!scenario.models_launches() || launches.take_turns ||
      work.one_gpu_step(passes, launches) < kernels * bound_from) {
    return;
  }
  scenario.launches = work.launch_time(passes, launches);
  scenario.assumptions.add(
      {bound_by_launches, "host", {to_text(*scenario.launches), to_text(kernels - work.input)}});
}

void say_hooks(Scenario& scenario) {
  const bool is_known = scenario.host_given.hooks && scenario.host_given.calls;
  if (is_known || scenario.cluster.ranks() == RankCount(1)) return;
  const training::HostCosts& host = scenario.training.host;
  std::string hooks = fmt::format("{} a gradient", to_text(host.per_gradient));
  if (host.per_unit > Seconds(0)) {
    hooks = fmt::format("{} a unit in forward and {} in backward", to_text(host.per_unit),
                        to_text(host.per_gradient));
  }
  if (scenario.one_gpu_is_wrapped) hooks = "what the measured step has of them";
  const bool is_measured = scenario.strategy->hooks.is_measured;
  scenario.assumptions.add({hooks_of_wrapper,
                            "host",
                            {std::string(scenario.strategy->name), hooks, to_text(host.per_call),
                             is_measured ? "measured beside an H100" : "judged"}});
}

// Where kernels hide what the host does, also once ranks divide the optimizer, steps have no lane
// for it: what launches lengthen the step by stands before the first layer.
void leave_out_hidden_launches(Scenario& scenario) {
  if (!scenario.models_host() || scenario.workload.layers.empty()) return;
  const std::uint32_t passes = scenario.training.gradient_accumulation;
  Workload& whole = scenario.workload;
  Workload sharded = whole;
  sharded.optimizer = sharded.optimizer * (1.0 / scenario.cluster.ranks().value());
  const Seconds least = sharded.one_gpu_step(passes);
  training::HostCosts& host = scenario.training.host;
  const Seconds step = sharded.one_gpu_step(passes, host.with_hooks(whole.layers));
  if (step > least * hidden_up_to) return say_hooks(scenario);
  scenario.hidden_host = host;
  if (!scenario.host_given.launches) {
    const Seconds longer = whole.one_gpu_step(passes, host.launches) - whole.one_gpu_step(passes);
    whole.layers.front().forward += longer / passes;
    host.launches = {};
  }
  if (!scenario.host_given.hooks) host.per_gradient = host.per_unit = Seconds(0);
  if (!scenario.host_given.calls) host.per_call = Seconds(0);
}

workload::OneGpu one_gpu_of(std::uint32_t batch, const Scenario& scenario) {
  return {*scenario.network,
          batch,
          scenario.training.gradient_accumulation,
          scenario.precision,
          scenario.workload.device,
          scenario.workload.optimizer_states};
}

// How far a step of another device is from its model. What the scenario says of its host and of its
// optimizer's time is of its own machine.
workload::KnownStep known_step(const MeasuredOn& measured, const Scenario& scenario) {
  Scenario there = scenario;
  there.workload.device = measured.device;
  there.precision = measured.precision;
  there.network = measured.network;
  Workload timed = with_batch(measured.batch, there);
  timed.optimizer = optimizer_time(timed.optimizer_states, timed.layers, timed.device,
                                   workload::known_attained());
  const std::uint32_t passes = scenario.training.gradient_accumulation;
  const auto launches =
      workload::launches_of(timed.layers, workload::known_attained(), there.network->launching);
  const Seconds modelled = timed.one_gpu_step(passes, launches) - timed.input;
  const Seconds step = step_of(measured.batch, measured.throughput, there) - timed.input;
  if (step <= Seconds(0)) {
    measured.throughput.fail("leaves no time for the layers", "check input_time");
  }
  return {step_errors(one_gpu_of(measured.batch, there)), std::log(step / modelled)};
}

void assume_carried_over(const std::vector<MeasuredOn>& others, double factor,
                         const std::array<std::string, 2>& within, Scenario& scenario) {
  std::string steps;
  for (const MeasuredOn& one : others) {
    steps += (steps.empty() ? "" : ", ") + one.text(scenario);
  }
  scenario.assumptions.add({carried_speed,
                            "compute",
                            {steps, scenario.workload.device.name, fmt::format("{:.2f}", factor),
                             within[0], within[1]}});
}

void lengthen(const workload::OneGpuFactors& by, bool scale_optimizer, Scenario& scenario) {
  scale(scenario.workload, by, scale_optimizer);
  workload::Launches& launches = scenario.training.host.launches;
  launches = launches.times(by.launches);
}

// Of a network whose step was not measured, or only that of other devices.
void assume_modelled(const std::vector<MeasuredOn>& others, bool optimizer_modelled,
                     Scenario& scenario) {
  Workload& workload = scenario.workload;
  const workload::OneGpu run = one_gpu_of(workload.batch_per_gpu, scenario);
  double factor = 1, spread = one_gpu_spread(run);
  if (!others.empty()) {
    std::vector<workload::KnownStep> known;
    for (const MeasuredOn& one : others) known.push_back(known_step(one, scenario));
    const workload::CarriedOver carried = carry_over(known, step_errors(run));
    factor = carried.factor;
    spread = carried.spread;
    const workload::Launches& launches = scenario.training.host.launches;
    const std::uint32_t passes = scenario.training.gradient_accumulation;
    const Seconds step = workload.one_gpu_step(passes, launches) - workload.input;
    const auto by = factors_to(
        {passes, workload.input + step * factor, optimizer_modelled, !scenario.models_launches()},
        workload, launches);
    if (by) lengthen(*by, optimizer_modelled, scenario);
  } else if (run.network.from_shapes) {
    const double longer = std::hypot(spread, workload::from_shapes_spread);
    scenario.compute_shorter = spread / longer;
    spread = longer;
  }
  const bool is_of_row = std::ranges::any_of(others, [&](const MeasuredOn& one) {
    return one.device.name == workload.device.name && one.precision == scenario.precision;
  });
  const double ratio =
      std::max(std::exp(stats::normal_90 * spread), is_of_row ? compute_of_other_batch : 1);
  scenario.compute_ratio = ratio;
  const double shortest = std::pow(ratio, -scenario.compute_shorter);
  const std::array<std::string, 2> within{fmt::format("{:.0f}", 100 * (shortest - 1)),
                                          fmt::format("{:.0f}", 100 * (ratio - 1))};
  if (others.empty()) {
    scenario.assumptions.add(
        {unmeasured_speed, workload.name, {workload.device.name, within[0], within[1]}});
  } else {
    assume_carried_over(others, factor, within, scenario);
  }
}

void scale_compute(training::StepProgram& program, double factor) {
  for (training::Operation& operation : program.operations) {
    if (auto* time = std::get_if<Seconds>(&operation.work)) *time = *time * factor;
  }
}

// What the scenario says of one GPU: its own, and, where it says nothing of that, others.
struct OneGpuRows {
  std::optional<Field> field;  // of its own
  Measured own;
  std::vector<MeasuredOn> others;
};

void add(MeasuredOn one, const Field& field, const Scenario& scenario, OneGpuRows& rows) {
  if (!one.is_own(scenario)) return rows.others.push_back(std::move(one));
  rows.field = field;
  rows.own.emplace(one.batch, one.throughput);
}

// The precision and network that the key's throughputs were measured with; nullopt: those of
// another network, which are left out.
std::optional<MeasuredAs> measured_as(std::string_view key, Section& section,
                                      const Scenario& scenario) {
  Section said = section.as_given_with(key);
  MeasuredAs as{precisions_of(said).compute, scenario.network};
  if (!section.is_outlived(key)) return as;
  as.network = scenario.network && said.field("model") ? network_of(said) : nullptr;
  if (as.network && as.network->name == scenario.network->name) return as;
  section.leave_out(key);
  return std::nullopt;
}

// A throughput that was measured with another device, precision or sequence.
OneGpuRows carried_rows(Section& section, const Field& field, const Scenario& scenario) {
  OneGpuRows rows;
  const auto as = measured_as("single_gpu_throughput", section, scenario);
  if (!as) return rows;
  const auto device = section.as_given_with("single_gpu_throughput").field("device");
  if (!device) {
    field.fail("does not say of which device it is, and the runs have several",
               "write measured_on: [{device: ..., batch: ..., throughput: ...}]");
  }
  for (const auto& [batch, throughput] : measured_of(section, field, scenario)) {
    add({load_device(*device), as->precision, batch, throughput, as->network}, field, scenario,
        rows);
  }
  return rows;
}

OneGpuRows read_one_gpu(Section& section, const Scenario& scenario) {
  const auto throughput = section.field("single_gpu_throughput");
  const auto list = section.field("measured_on");
  if (throughput && list) {
    list->fail("stands beside single_gpu_throughput, which says what this GPU does",
               "keep one of them");
  }
  if (throughput && section.is_outlived("single_gpu_throughput") && scenario.network &&
      !scenario.traced) {
    return carried_rows(section, *throughput, scenario);
  }
  if (throughput) return {throughput, measured_of(section, *throughput, scenario), {}};
  OneGpuRows rows;
  if (!list) return rows;
  const auto as = measured_as("measured_on", section, scenario);
  if (!as) return rows;
  for (MeasuredOn& one : read_measured_on(*list, *as, scenario)) {
    add(std::move(one), *list, scenario, rows);
  }
  return rows;
}

}  // namespace

std::span<const Key> measured_device_keys() { return measured_device_table; }
std::span<const Key> measured_batch_keys() { return measured_batch_table; }

SamplesPerSecond throughput_of(const Field& field, const workload::Network* network) {
  constexpr std::string_view unit = "tokens/s";
  const std::string text = field.text();
  if (!text.ends_with(unit)) return field.throughput();
  if (network == nullptr || network->sequence == 0) {
    field.fail("is in tokens, and the scenario does not say how many a sample contains",
               "write samples/s, or take a model with a sequence");
  }
  const auto parsed = parse_throughput(text.substr(0, text.size() - unit.size()) + "samples/s");
  const auto* tokens = std::get_if<SamplesPerSecond>(&parsed);
  if (tokens == nullptr || tokens->value() <= 0) {
    field.fail("is not a throughput", "write 52000 tokens/s");
  }
  return SamplesPerSecond(tokens->value() / static_cast<double>(network->sequence));
}

namespace {

void find_speed(Section& section, bool optimizer_modelled, Scenario& scenario) {
  const OneGpuRows rows = read_one_gpu(section, scenario);
  section.say_left_out(scenario.assumptions);
  const std::optional<Field>& field = rows.field;
  scenario.one_gpu_is_wrapped = section.get<bool>("single_gpu_wrapped");
  if (!field && scenario.network && !scenario.traced) {
    return assume_modelled(rows.others, optimizer_modelled, scenario);
  }
  if (!field) return assume_timed_layers(section, optimizer_modelled, scenario);
  if (scenario.one_gpu_is_wrapped && scenario.traced) {
    section.require("single_gpu_wrapped")
        .fail("has no effect with a trace, which already contains its copies", "leave it out");
  }
  const std::uint32_t passes = scenario.training.gradient_accumulation;
  const Measured& measured = rows.own;
  const auto steps = steps_of(measured, scenario);
  Workload timed = scenario.workload;
  Seconds target = steps.front().step;
  if (steps.size() == 1 && steps.front().batch != timed.batch_per_gpu) {
    timed = timed_workload(measured, scenario);
  } else {
    if (steps.size() > 1) target = step_at(steps, timed.batch_per_gpu);
    assume_measured(measured, scenario);
  }
  const auto factors = factors_to({passes, target, optimizer_modelled, !scenario.models_launches()},
                                  timed, scenario.training.host.launches);
  if (!factors) {
    field->fail("leaves no time for the layers",
                "check input_time, optimizer.time and host.per_operation");
  }
  lengthen(*factors, optimizer_modelled, scenario);
  if (scenario.traced) scale_compute(scenario.traced->program, target / timed.one_gpu_step(passes));
}

}  // namespace

void find_one_gpu_speed(Section& section, bool optimizer_modelled, Scenario& scenario) {
  find_speed(section, optimizer_modelled, scenario);
  if (scenario.one_gpu_is_wrapped && !scenario.host_given.hooks) {  // its step has them
    scenario.training.host.per_gradient = scenario.training.host.per_unit = Seconds(0);
  }
  say_what_bounds(scenario);
  leave_out_hidden_launches(scenario);
}

}  // namespace paceline::loader
