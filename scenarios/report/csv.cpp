#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "scenarios/report/report.h"

namespace paceline {
namespace {

// RFC 4180: quoted where a comma, a quote or a line break would mislead. A text that a spreadsheet
// would take for a formula gets an apostrophe in front (OWASP, "CSV Injection").
std::string cell(const std::string& text) {
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

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// What a run on hardware knows beyond the throughput.
void write_measurement(std::ostream& out, const PointOutcome& outcome) {
  if (!outcome.measurement) {
    out << ",,,";
    return;
  }
  const StepTotals& totals = outcome.measurement->totals;
  const Measurement& measurement = *outcome.measurement->measurement;
  fmt::print(out, "{},{},{},{}", totals.step.value(), measurement.mad.value(),
             totals.exposed_communication.value(), measurement.cpu_busy);
}

// How sure the prediction is, or why there is none.
void write_trust(std::ostream& out, const PointOutcome& outcome) {
  std::optional<double> low, high;
  if (outcome.predicted) {
    low = outcome.predicted->interval.low.value();
    high = outcome.predicted->interval.high.value();
  }
  const PointFailure* missing = outcome.missing();
  fmt::print(out, ",{},{},{}\n", number(low), number(high),
             cell(missing == nullptr ? "" : missing->why));
}

}  // namespace

void write_csv(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  for (const AxisValue& axis : outcomes.front().axes) {
    const std::string unit = axis.unit.size() > 0 && axis.unit != "1" ? " (" + axis.unit + ")" : "";
    out << cell("axis " + axis.path + unit) << ',';
  }
  out << "gpus,nodes,predicted_step_s,compute_s,communication_s,exposed_communication_s,"
         "predicted_throughput_per_s,predicted_speedup,measured_throughput_per_s,measured_speedup,"
         "fitted,error_percent,transfers,simgrid_solves,fidelity,measured_step_s,mad_s,"
         "measured_exposed_communication_s,cpu_busy,step_s_low,step_s_high,failure\n";
  for (const PointOutcome& outcome : outcomes) {
    for (const AxisValue& axis : outcome.axes) {
      const auto* value = std::get_if<double>(&axis.value);
      out << (value ? fmt::format("{}", *value) : cell(std::get<std::string>(axis.value))) << ',';
    }
    fmt::print(out, "{},{},", outcome.gpus, outcome.nodes);
    if (outcome.predicted) {
      const StepTotals& totals = outcome.predicted->totals;
      fmt::print(out, "{},{},{},{},{},{},", totals.step.value(), totals.compute.value(),
                 totals.communication.value(), totals.exposed_communication.value(),
                 outcome.predicted_throughput().value(), outcome.predicted_speedup());
    } else {
      out << ",,,,,,";
    }
    std::optional<double> measured;
    if (outcome.measured) measured = outcome.measured->throughput.value();
    fmt::print(
        out, "{},{},{},{},{},{},{},", number(measured), number(outcome.measured_speedup()),
        outcome.measured ? (outcome.measured->fitted ? "true" : "false") : "",
        number(outcome.error_percent()), outcome.predicted ? outcome.predicted->transfers : 0,
        outcome.predicted ? outcome.predicted->simgrid_solves : 0, to_text(outcome.fidelity));
    write_measurement(out, outcome);
    write_trust(out, outcome);
  }
}

}  // namespace paceline
