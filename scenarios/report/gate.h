#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/words.h"
#include "scenarios/judge/left_out.h"

namespace paceline {

// What measured steps have to keep to: a check in CI.
struct Gate {
  enum class Side { both, slow, fast };

  // So many percent from the prediction; nullopt: its 90 % interval.
  std::optional<double> percent;
  Side side = Side::both;

  // "a step of 9.2ms was measured, longer than the 8.4ms that are allowed"; nullopt: it keeps to
  // it.
  [[nodiscard]] std::optional<std::string> broken_by(const ValidationRow& row) const;
};
constexpr auto words_of(Gate::Side) {
  return words_up_to<Gate::Side::fast>("both", "slow", "fast");
}

// "interval" or "15%". Throws InputError.
[[nodiscard]] Gate parse_gate(const std::string& within, const std::string& side);

// JUnit's XML, a case a row, as CI servers read it. A row fails where the gate is broken.
void write_junit(std::ostream& out, const std::vector<ValidationRow>& rows, const Gate& gate);

// OpenMetrics text (openmetrics.io, 1.0), as the textfile collector of node_exporter reads it:
// gauges of steps, predicted with their interval and measured.
void write_open_metrics(std::ostream& out, const std::vector<ValidationRow>& rows);

}  // namespace paceline
