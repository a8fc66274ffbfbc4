#include "scenarios/report/fields.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

namespace paceline {
namespace {

// In SI base units; words as text.
template <class T>
auto plain(const T& value) {
  if constexpr (HasWords<T>) {
    return std::string(to_text(value));
  } else if constexpr (requires { value.value(); }) {
    return value.value();
  } else if constexpr (std::is_same_v<T, std::vector<Seconds>>) {
    std::vector<double> seconds;
    for (const Seconds time : value) seconds.push_back(time.value());
    return seconds;
  } else {
    return value;
  }
}

// What the members lead to, one after the other; nullopt where one on the way is empty.
template <class From, class... Members>
auto behind(const From& from, Members... members) {
  if constexpr (requires { *from; }) {
    return from ? behind(*from, members...) : decltype(behind(*from, members...))();
  } else if constexpr (sizeof...(members) == 0) {
    return std::optional(plain(from));
  } else {
    return [&](auto first, auto... others) {
      return behind(std::invoke(first, from), others...);
    }(members...);
  }
}

template <auto... members>
auto of(const PointOutcome& outcome) {
  return behind(outcome, members...);
}

// Of points that have the first member, what the others lead to.
template <auto has, auto... members>
auto given(const PointOutcome& outcome) {
  return outcome.*has ? of<members...>(outcome) : decltype(of<members...>(outcome))();
}

template <auto count>
std::optional<std::uint64_t> predicted_or_0(const PointOutcome& outcome) {
  return of<&PointOutcome::predicted, count>(outcome).value_or(0);
}

std::uint64_t gpus(const PointOutcome& outcome) { return outcome.gpus; }
std::uint64_t nodes(const PointOutcome& outcome) { return outcome.nodes; }
double efficiency(const PointOutcome& outcome) {
  return outcome.predicted_speedup() / outcome.gpus;
}
double measured_step(const PointOutcome& outcome) {
  return outcome.samples_per_step / outcome.measured->throughput.value();
}
std::optional<double> tokens(const PointOutcome& outcome) {
  if (outcome.tokens_per_sample == 0) return std::nullopt;
  return outcome.predicted_throughput().value() * static_cast<double>(outcome.tokens_per_sample);
}
std::optional<std::string> checked_by(const PointOutcome& outcome) {
  const bool is_checked = outcome.check && outcome.check->is_done() && outcome.check->agrees();
  return is_checked ? std::optional<std::string>("simgrid") : std::nullopt;
}
std::optional<Bytes> device_memory(const PointOutcome& outcome) {
  return outcome.memory ? outcome.device_memory : std::nullopt;
}

using Row = PointField;
using Of = PointOutcome;
using training::GpuMemory, training::ModelMemory;
template <auto... members>
constexpr auto predicted = given<&Of::predicted, members...>;
template <auto part>
constexpr auto step = of<&Of::predicted, &Prediction::totals, part>;
template <auto end>
constexpr auto interval = of<&Of::predicted, &Prediction::interval, end>;
template <auto... part>
constexpr auto memory = given<&Of::predicted, &Of::memory, part...>;
template <auto part>
constexpr auto model = memory<&GpuMemory::model, part>;
template <auto part>
constexpr auto median = of<&Of::measurement, &Result::totals, part>;
template <auto part>
constexpr auto run = of<&Of::measurement, &Result::measurement, part>;
constexpr bool absent = true;

constexpr std::array field_rows{
    Row{"gpus", 1, "gpus", "of the job", of<gpus>},
    Row{"nodes", 2, "nodes", "of the job", of<nodes>},
    Row{"predicted.step_s", 3, "predicted_step_s", "one training step", step<&StepTotals::step>},
    Row{"predicted.step_s_low", 19, "step_s_low", "its 90 % interval",
        interval<&StepInterval::low>},
    Row{"predicted.step_s_high", 20, "step_s_high", "its 90 % interval",
        interval<&StepInterval::high>},
    Row{"predicted.compute_s", 4, "compute_s", "of the step", step<&StepTotals::compute>},
    Row{"predicted.communication_s", 5, "communication_s", "of the step; compute overlaps it",
        step<&StepTotals::communication>},
    Row{"predicted.exposed_communication_s", 6, "exposed_communication_s", "not behind compute",
        step<&StepTotals::exposed_communication>},
    Row{"predicted.throughput_per_s", 7, "predicted_throughput_per_s", "samples a second",
        predicted<&Of::predicted_throughput>},
    Row{"predicted.tokens_per_s", 0, "", "likewise tokens, of a network with a sequence",
        predicted<tokens>, absent},
    Row{"predicted.speedup", 8, "predicted_speedup", "over one GPU",
        predicted<&Of::predicted_speedup>},
    Row{"predicted.efficiency", 0, "", "speedup over the number of GPUs", predicted<efficiency>},
    Row{"predicted.memory.parameters_bytes", 0, "", "of a GPU", model<&ModelMemory::parameters>},
    Row{"predicted.memory.gradients_bytes", 0, "", "likewise", model<&ModelMemory::gradients>},
    Row{"predicted.memory.optimizer_bytes", 0, "", "its states", model<&ModelMemory::optimizer>},
    Row{"predicted.memory.buckets_bytes", 0, "", "copies of gradients",
        model<&ModelMemory::buckets>},
    Row{"predicted.memory.gathered_bytes", 0, "", "of other ranks' shards, by fsdp",
        model<&ModelMemory::gathered>},
    Row{"predicted.memory.buffers_bytes", 0, "", "of layers", memory<&GpuMemory::buffers>},
    Row{"predicted.memory.activations_bytes", 0, "", "likewise", memory<&GpuMemory::activations>},
    Row{"predicted.memory.total_bytes", 0, "", "the sum of these", memory<&GpuMemory::total>},
    Row{"predicted.memory.device_bytes", 0, "", "what the device has", predicted<device_memory>},
    Row{"predicted.compute_spread_s", 0, "", "between ranks; absent where calls are",
        of<&Of::predicted, &Prediction::compute_spread>},
    Row{"predicted.launches_s", 0, "",
        "of the host for the kernels of one GPU's step, where that bounds it", of<&Of::launches>,
        absent},
    Row{"measured.step_s", 0, "", "by the file, or the median of those on hardware",
        given<&Of::measured, measured_step>},
    Row{"", 15, "measured_step_s", "the median of those on hardware", median<&StepTotals::step>},
    Row{"measured.throughput_per_s", 9, "measured_throughput_per_s", "samples a second",
        of<&Of::measured, &MeasuredPoint::throughput>},
    Row{"measured.speedup", 10, "measured_speedup", "over one GPU", of<&Of::measured_speedup>},
    Row{"measured.samples", 0, "", "seconds of each step, on hardware", run<&Measurement::steps>},
    Row{"measured.mad_s", 16, "mad_s", "median absolute deviation of those",
        run<&Measurement::mad>},
    Row{"measured.known", 11, "known", "evidence for the predictions of all points: never counted",
        of<&Of::measured, &MeasuredPoint::known>},
    Row{"measured.compute_s", 0, "", "of the median step, on hardware",
        median<&StepTotals::compute>, absent},
    Row{"measured.communication_s", 0, "", "likewise", median<&StepTotals::communication>, absent},
    Row{"measured.exposed_communication_s", 17, "measured_exposed_communication_s", "likewise",
        median<&StepTotals::exposed_communication>, absent},
    Row{"measured.backend", 0, "", "that ran it", run<&Measurement::backend>, absent},
    Row{"measured.mode", 0, "", "`native` or `plan`", run<&Measurement::mode>, absent},
    Row{"measured.cpu_busy", 18, "cpu_busy", "0 to 1, of rank 0's machine",
        run<&Measurement::cpu_busy>, absent},
    Row{"measured.clock_error_s", 0, "", "between ranks", run<&Measurement::clock_error>, absent},
    Row{"measured.compute_spread_s", 0, "", "between ranks",
        given<&Of::measurement, &Of::compute_spread_measured>, absent},
    Row{"error_percent", 12, "error_percent", "of throughput, predicted beside measured",
        of<&Of::error_percent>},
    Row{"transfers", 13, "transfers", "that it stands for", predicted_or_0<&Prediction::transfers>},
    Row{"checked_by", 0, "", "`simgrid`, where SimGrid found the same", of<checked_by>},
    Row{"fidelity", 14, "fidelity", "`flow`, `folded`, `measured`", of<&Of::fidelity>},
    Row{"assumed", 0, "", "what the figures rest on", of<&Of::assumptions>},
    Row{"failure", 0, "", "why there is no prediction", of<&Of::failure, &PointFailure::why>,
        absent},
    Row{"measure_failure", 0, "", "why nothing was measured",
        of<&Of::measure_failure, &PointFailure::why>, absent},
    Row{"", 21, "failure", "why either is missing", of<&Of::missing, &PointFailure::why>},
    Row{"steps_measured_s", 0, "", "done before that",
        given<&Of::measure_failure, &Of::steps_measured>, absent},
};

}  // namespace

std::span<const PointField> point_fields() { return field_rows; }

std::span<const PointField> point_columns() {
  static const std::vector<PointField> columns = [] {
    std::vector<PointField> with_column;
    std::ranges::copy_if(field_rows, std::back_inserter(with_column),
                         [](const PointField& field) { return field.column_number > 0; });
    std::ranges::sort(with_column, {}, &PointField::column_number);
    return with_column;
  }();
  return columns;
}

}  // namespace paceline
