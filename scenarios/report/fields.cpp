#include "scenarios/report/fields.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include "scenarios/report/report.h"

namespace paceline {

// Quoted by RFC 4180; an apostrophe before what looks like a formula (OWASP, "CSV Injection").
std::string csv_cell(const std::string& text) {
  const std::size_t first =
      std::min(text.find_first_not_of(' '), text.size());  // blanks are trimmed
  const bool is_formula = text.find_first_of("=+-@\t\r", first) == first;
  if (!is_formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = is_formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_cell(const AxisValue& axis) {
  const auto* number = std::get_if<double>(&axis.value);
  return number ? fmt::format("{}", *number) : csv_cell(std::get<std::string>(axis.value));
}

std::string csv_cell(const Cell& cell, PointColumn::Type type) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_cell(*text);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  const auto* whole = std::get_if<std::int64_t>(&cell);
  if (whole == nullptr) return "";
  if (type == PointColumn::Type::truth) return *whole == 0 ? "false" : "true";
  return std::to_string(*whole);
}

std::string csv_axis(const std::string& path, const std::string& unit) {
  const bool has_unit = !unit.empty() && unit != "1";
  return csv_cell("axis " + path + (has_unit ? " (" + unit + ")" : ""));
}

void write_csv_header(std::ostream& out, std::vector<std::string> first) {
  for (const PointColumn& column : point_columns()) first.emplace_back(column.name);
  fmt::print(out, "{}\n", fmt::join(first, ","));
}

void write_csv_line(std::ostream& out, std::vector<std::string> first,
                    const std::vector<Cell>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    first.push_back(csv_cell(cells[i], point_columns()[i].type));
  }
  fmt::print(out, "{}\n", fmt::join(first, ","));
}

void write_csv(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  std::vector<std::string> header;
  for (const AxisValue& axis : outcomes.front().axes) {
    header.push_back(csv_axis(axis.path, axis.unit));
  }
  write_csv_header(out, std::move(header));
  for (const PointOutcome& outcome : outcomes) {
    std::vector<std::string> axes;
    for (const AxisValue& axis : outcome.axes) axes.push_back(csv_cell(axis));
    std::vector<Cell> cells;
    for (const PointColumn& column : point_columns()) cells.push_back(column.cell(outcome));
    write_csv_line(out, std::move(axes), cells);
  }
}

struct WrittenPoint {
  const PointOutcome& outcome;
  bool with_calls;
};

namespace {

using Of = PointOutcome;
using training::GpuMemory, training::ModelMemory;

template <auto... members>
constexpr auto of = [](const WrittenPoint& point) { return at<members...>(point.outcome); };
template <auto member>
constexpr auto step = of<&Of::predicted, &Prediction::totals, member>;
template <auto member>
constexpr auto interval = of<&Of::predicted, &Prediction::interval, member>;
template <auto... members>
constexpr auto memory = of<&Of::memory, members...>;
template <auto member>
constexpr auto model = of<&Of::memory, &GpuMemory::model, member>;
template <auto member>
constexpr auto setup = of<&Of::setup, member>;
template <auto member>
constexpr auto median = of<&Of::measurement, &Result::totals, member>;
template <auto member>
constexpr auto run = of<&Of::measurement, &Result::measurement, member>;

constexpr auto is_predicted = [](const WrittenPoint& one) {
  return one.outcome.predicted.has_value();
};
constexpr auto is_measured = [](const WrittenPoint& one) {
  return one.outcome.measured || one.outcome.measurement;
};
constexpr auto has_memory = [](const WrittenPoint& one) { return one.outcome.memory.has_value(); };

double efficiency(const WrittenPoint& one) {
  return one.outcome.predicted_speedup() / one.outcome.gpus;
}
SamplesPerSecond of_each_gpu(const WrittenPoint& one) {
  return one.outcome.predicted_throughput() / one.outcome.gpus;
}
template <auto throughput>
std::optional<double> tokens(const WrittenPoint& one) {
  return one.outcome.tokens_of(throughput(one));
}
std::optional<double> measured_tokens(const WrittenPoint& one) {
  if (!one.outcome.measured) return std::nullopt;
  return one.outcome.tokens_of(one.outcome.measured->throughput);
}
// As the file says, or the median of those on hardware.
std::optional<double> measured_step(const WrittenPoint& one) {
  if (!one.outcome.measured) return std::nullopt;
  return one.outcome.samples_per_step / one.outcome.measured->throughput.value();
}
std::optional<Seconds> measured_spread(const WrittenPoint& one) {
  if (!one.outcome.measurement) return std::nullopt;
  return one.outcome.compute_spread_measured;
}
std::optional<std::vector<Loss>> lost_parts(const WrittenPoint& one) {
  if (!one.outcome.losses) return std::nullopt;
  return one.outcome.losses->parts;
}
bool has_calls(const WrittenPoint& one) { return one.with_calls || one.outcome.measurement; }
std::optional<Seconds> predicted_spread(const WrittenPoint& one) {
  if (!has_calls(one)) return std::nullopt;
  return one.outcome.predicted->compute_spread;
}
const std::vector<CallTimes>* predicted_calls(const WrittenPoint& one) {
  return has_calls(one) ? &one.outcome.predicted->calls : nullptr;
}
const std::vector<CallTimes>* measured_calls(const WrittenPoint& one) {
  return one.outcome.measurement ? &one.outcome.calls_measured : nullptr;
}
std::optional<std::vector<Seconds>> steps_until_failure(const WrittenPoint& one) {
  if (!one.outcome.measure_failure) return std::nullopt;
  return one.outcome.steps_measured;
}
template <auto count>
std::uint64_t predicted_or_0(const WrittenPoint& one) {
  return one.outcome.predicted ? std::invoke(count, *one.outcome.predicted) : 0;
}
std::optional<std::string_view> checked_by(const WrittenPoint& one) {
  const auto& check = one.outcome.check;
  const bool is_checked = check && check->is_done() && check->agrees();
  return is_checked ? std::optional<std::string_view>("simgrid") : std::nullopt;
}
std::optional<std::string> why_missing(const WrittenPoint& one) {
  const PointFailure* missing = one.outcome.missing();
  return missing == nullptr ? std::nullopt : std::optional(missing->why);
}

// A field with its place among the columns, from 1.
template <class Base>
struct InColumn : Base {
  int number;
  std::string_view column;
};
template <class Base>
constexpr InColumn<Base> column(int number, std::string_view name, Base field) {
  return {field, number, name};
}
template <class Get>
constexpr ObjectField<Get, Presence::never> only_in_column(Get get) {
  return {"", get};
}

}  // namespace

constexpr auto fields_of(const AxisValue*) {
  return Fields(field("path", &AxisValue::path), field("unit", &AxisValue::unit),
                field("value", &AxisValue::value));
}

constexpr auto fields_of(const Reduced*) {
  return Fields(field("group", &Reduced::group), field("type", &Reduced::type),
                field("size_bytes", &Reduced::size), field("calls", &Reduced::calls));
}

constexpr auto fields_of(const Loss*) {
  return Fields(field("kind", &Loss::kind), field("time_s", &Loss::time));
}

constexpr auto fields_of(const WrittenPoint*) {
  const auto predicted = group(
      "predicted", is_predicted,
      column(3, "predicted_step_s", field("step_s", step<&StepTotals::step>)),
      column(19, "step_s_low", field("step_s_low", interval<&StepInterval::low>)),
      column(20, "step_s_high", field("step_s_high", interval<&StepInterval::high>)),
      column(4, "compute_s", field("compute_s", step<&StepTotals::compute>)),
      column(5, "communication_s", field("communication_s", step<&StepTotals::communication>)),
      column(6, "exposed_communication_s",
             field("exposed_communication_s", step<&StepTotals::exposed_communication>)),
      column(7, "predicted_throughput_per_s",
             field("throughput_per_s", of<&Of::predicted_throughput>)),
      column(22, "tokens_per_s",
             optional_field("tokens_per_s", tokens<of<&Of::predicted_throughput>>)),
      column(23, "gpu_throughput_per_s", field("gpu_throughput_per_s", of_each_gpu)),
      column(24, "gpu_tokens_per_s", optional_field("gpu_tokens_per_s", tokens<of_each_gpu>)),
      column(8, "predicted_speedup", field("speedup", of<&Of::predicted_speedup>)),
      field("efficiency", efficiency),
      optional_group("memory", has_memory,
                     field("parameters_bytes", model<&ModelMemory::parameters>),
                     field("gradients_bytes", model<&ModelMemory::gradients>),
                     field("optimizer_bytes", model<&ModelMemory::optimizer>),
                     field("buckets_bytes", model<&ModelMemory::buckets>),
                     field("gathered_bytes", model<&ModelMemory::gathered>),
                     field("buffers_bytes", memory<&GpuMemory::buffers>),
                     field("activations_bytes", memory<&GpuMemory::activations>),
                     field("total_bytes", memory<&GpuMemory::total>),
                     field("device_bytes", of<&Of::device_memory>)),
      optional_field("compute_spread_s", predicted_spread),
      optional_field("launches_s", of<&Of::launches>), optional_field("losses", lost_parts),
      optional_field("calls", predicted_calls));
  const auto measured = group(
      "measured", is_measured, field("step_s", measured_step),
      column(15, "measured_step_s", only_in_column(median<&StepTotals::step>)),
      column(9, "measured_throughput_per_s",
             field("throughput_per_s", of<&Of::measured, &MeasuredPoint::throughput>)),
      column(25, "measured_tokens_per_s", optional_field("tokens_per_s", measured_tokens)),
      column(10, "measured_speedup", field("speedup", of<&Of::measured_speedup>)),
      field("samples", run<&Measurement::steps>),
      column(16, "mad_s", field("mad_s", run<&Measurement::mad>)),
      column(11, "known", field("known", of<&Of::measured, &MeasuredPoint::known>)),
      optional_field("compute_s", median<&StepTotals::compute>),
      optional_field("communication_s", median<&StepTotals::communication>),
      column(17, "measured_exposed_communication_s",
             optional_field("exposed_communication_s", median<&StepTotals::exposed_communication>)),
      optional_field("backend", run<&Measurement::backend>),
      optional_field("mode", run<&Measurement::mode>),
      column(18, "cpu_busy", optional_field("cpu_busy", run<&Measurement::cpu_busy>)),
      optional_field("clock_error_s", run<&Measurement::clock_error>),
      optional_field("compute_spread_s", measured_spread), optional_field("calls", measured_calls));
  return Fields(field("axes", of<&Of::axes>), column(1, "gpus", field("gpus", of<&Of::gpus>)),
                column(2, "nodes", field("nodes", of<&Of::nodes>)),
                field("batch_per_gpu", setup<&PointSetup::batch_per_gpu>),
                field("gradient_accumulation", setup<&PointSetup::passes>),
                optional_field("sequence", setup<&PointSetup::sequence>),
                optional_field("precision", setup<&PointSetup::precision>),
                field("transport", setup<&PointSetup::transport>),
                field("reduced", of<&Of::reduced>), predicted, measured,
                column(12, "error_percent", field("error_percent", of<&Of::error_percent>)),
                column(13, "transfers", field("transfers", predicted_or_0<&Prediction::transfers>)),
                field("checked_by", checked_by),
                column(14, "fidelity", field("fidelity", of<&Of::fidelity>)),
                field("assumed", of<&Of::assumptions>),
                optional_field("failure", of<&Of::failure, &PointFailure::why>),
                optional_field("measure_failure", of<&Of::measure_failure, &PointFailure::why>),
                column(21, "failure", only_in_column(why_missing)),
                optional_field("steps_measured_s", steps_until_failure));
}

void write_point(JsonWriter& json, const PointOutcome& outcome, bool with_calls) {
  json.value(WrittenPoint{outcome, with_calls});
}

namespace {

template <class T>
constexpr PointColumn::Type type_of_column() {
  if constexpr (requires(T value) { *value; }) {
    return type_of_column<std::remove_cvref_t<decltype(*std::declval<T>())>>();
  } else if constexpr (requires(T value) { value.value(); }) {
    return type_of_column<typename T::Representation>();
  } else {
    return std::is_same_v<T, bool>       ? PointColumn::Type::truth
           : std::is_integral_v<T>       ? PointColumn::Type::whole
           : std::is_floating_point_v<T> ? PointColumn::Type::real
                                         : PointColumn::Type::text;
  }
}

template <class T>
Cell cell_of(const T& value) {
  if constexpr (requires { *value; }) {
    return value ? cell_of(*value) : Cell();
  } else if constexpr (requires { value.value(); }) {
    return cell_of(value.value());
  } else if constexpr (HasWords<T>) {
    return std::string(to_text(value));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return value;
  }
}

using ColumnsByNumber = std::map<int, PointColumn>;

template <class Row, class Has>
void add_column(const Row& row, const Has& has, ColumnsByNumber& columns) {
  if constexpr (requires { row.rows; }) {
    for_each_field(row.rows, [&](const auto& inner) { add_column(inner, row.has, columns); });
  } else if constexpr (requires { row.number; }) {
    using Value = std::remove_cvref_t<decltype(row.get(std::declval<WrittenPoint>()))>;
    const auto cell = [get = row.get, has](const PointOutcome& outcome) {
      const WrittenPoint point{outcome, false};
      return has(point) ? cell_of(get(point)) : Cell();
    };
    columns[row.number] = {row.column, type_of_column<Value>(), cell};
  }
}

}  // namespace

std::span<const PointColumn> point_columns() {
  static const std::vector<PointColumn> columns = [] {
    ColumnsByNumber by_number;
    for_each_field<WrittenPoint>([&](const auto& row) {
      add_column(
          row, [](const WrittenPoint&) { return true; }, by_number);
    });
    std::vector<PointColumn> in_order;
    for (auto& [number, column] : by_number) in_order.push_back(std::move(column));
    return in_order;
  }();
  return columns;
}

}  // namespace paceline
