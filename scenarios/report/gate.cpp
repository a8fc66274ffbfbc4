#include "scenarios/report/gate.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/text_form.h"

namespace paceline {
namespace {

// A label's value.
std::string in_quotes(std::string_view text) {
  std::string escaped = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped + '"';
}

}  // namespace

std::optional<std::string> Gate::broken_by(const ValidationRow& row) const {
  const Seconds low = percent ? row.predicted_step * (1 - *percent / 100) : row.low;
  const Seconds high = percent ? row.predicted_step * (1 + *percent / 100) : row.high;
  const bool is_slow = row.measured_step > high && side != Side::fast;
  const bool is_fast = row.measured_step < low && side != Side::slow;
  if (!is_slow && !is_fast) return std::nullopt;
  return fmt::format("a step of {} was measured, {} than the {} that are allowed",
                     to_text(row.measured_step), is_slow ? "longer" : "shorter",
                     is_slow ? to_text(high) : to_text(low));
}

Gate parse_gate(const std::string& within, const std::string& side) {
  Gate gate;
  const auto known = from_text<Gate::Side>(side);
  if (!known) {
    throw InputError({"--side"}, "\"" + side + "\" is not known", "known: both, slow, fast");
  }
  gate.side = *known;
  if (within == "interval") return gate;
  if (!within.empty() && within.back() == '%') {
    gate.percent = number_of<double>(std::string_view(within).substr(0, within.size() - 1));
  }
  if (!gate.percent || !(*gate.percent >= 0 && *gate.percent < 1e6)) {
    throw InputError({"--measured-within"}, "\"" + within + "\" is no limit",
                     "write interval, or 15%");
  }
  return gate;
}

void write_junit(std::ostream& out, const std::vector<ValidationRow>& rows, const Gate& gate) {
  const auto failures =
      std::ranges::count_if(rows, [&](const auto& row) { return gate.broken_by(row).has_value(); });
  fmt::print(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  fmt::print(out, "<testsuite name=\"paceline\" tests=\"{}\" failures=\"{}\">\n", rows.size(),
             failures);
  for (const ValidationRow& row : rows) {
    fmt::print(out, "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.9g}\"",
               in_markup(row.scenario), in_markup(row.point), row.measured_step.value());
    if (const auto why = gate.broken_by(row)) {
      fmt::print(out, ">\n    <failure message=\"{}\"/>\n  </testcase>\n", in_markup(*why));
    } else {
      fmt::print(out, "/>\n");
    }
  }
  fmt::print(out, "</testsuite>\n");
}

void write_open_metrics(std::ostream& out, const std::vector<ValidationRow>& rows) {
  const auto gauge = [&](const char* name, Seconds ValidationRow::*step) {
    fmt::print(out,
               "# TYPE paceline_{0}_step_seconds gauge\n# UNIT paceline_{0}_step_seconds seconds\n",
               name);
    for (const ValidationRow& row : rows) {
      fmt::print(out, "paceline_{}_step_seconds{{scenario={},point={}}} {:.9g}\n", name,
                 in_quotes(row.scenario), in_quotes(row.point), (row.*step).value());
    }
  };
  gauge("measured", &ValidationRow::measured_step);
  gauge("predicted", &ValidationRow::predicted_step);
  gauge("predicted_low", &ValidationRow::low);
  gauge("predicted_high", &ValidationRow::high);
  fmt::print(out, "# EOF\n");
}

}  // namespace paceline
