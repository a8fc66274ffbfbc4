#include "scenarios/report/health_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

std::string shape_text(const cost::CollectiveShape& shape) {
  return fmt::format("{} on {} of {}", to_text(shape.collective), counted(shape.nodes, "node"),
                     counted(shape.ranks_per_node, "GPU"));
}

void write_rows(std::ostream& out, const HealthOfLog& log) {
  TextTable table({"size", "busbw, GB/s", "predicted", "90% interval", ""}, 1);
  for (const LogRow& row : log.rows) {
    const auto busbw = [&](Seconds time) { return log.busbw(row.size, time); };
    const char* side = row.side() > 0 ? "slower" : row.side() < 0 ? "faster" : "";
    table.add({to_text(row.size), fmt::format("{:.4g}", busbw(row.measured)),
               fmt::format("{:.4g}", busbw(row.predicted.time)),
               fmt::format("{:.4g} to {:.4g}", busbw(row.predicted.high), busbw(row.predicted.low)),
               side});
  }
  table.write(out);
}

}  // namespace

void write_text(std::ostream& out, const Health& made) {
  for (const HealthOfLog& one : made.logs) {
    write_headline(out, one.file + ": " + shape_text(one.shape), {one.sentence});
    write_rows(out, one);
    out << '\n';
  }
  if (!made.is_slow()) return;
  if (made.suspects.empty()) {
    return write_line(out, "no change of the description that is looked at explains all rows");
  }
  write_line(out,
             fmt::format(
                 "times are typically {:.2f}x what is described; each of these would explain them:",
                 std::exp(made.off)));
  for (const Suspect& one : made.suspects) {
    write_line(out, fmt::format("  {} (then {:.2f}x); to see it: {}", one.words, std::exp(one.off),
                                one.look_at));
    write_line(out, fmt::format("    --set {}", fmt::join(spelled(one.settings), " --set ")));
  }
}

constexpr auto fields_of(const HealthOfLog*) {
  using Log = HealthOfLog;
  using Shape = cost::CollectiveShape;
  return Fields(field("log", &Log::file), field("collective", at<&Log::shape, &Shape::collective>),
                field("nodes", at<&Log::shape, &Shape::nodes>),
                field("ranks_per_node", at<&Log::shape, &Shape::ranks_per_node>),
                field("verdict", &Log::verdict), field("sentence", &Log::sentence),
                field("rows", &Log::rows));
}

constexpr auto fields_of(const Suspect*) {
  return Fields(field("words", &Suspect::words),
                field("settings", [](const Suspect& one) { return spelled(one.settings); }),
                field("look_at", &Suspect::look_at), field("off", &Suspect::off));
}

constexpr auto fields_of(const Health*) {
  return Fields(constant("schema", "paceline.health/1"), field("logs", &Health::logs),
                field("off", &Health::off), field("suspects", &Health::suspects));
}

void write_json(std::ostream& out, const Health& made) { JsonWriter(out).value(made); }

}  // namespace paceline
