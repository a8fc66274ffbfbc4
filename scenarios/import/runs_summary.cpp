#include "scenarios/import/runs_summary.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>

#include "models/run/call_times.h"
#include "models/units/parse.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using traces::TraceRun;

void write_totals(std::ostream& out, const std::vector<TraceRun>& runs) {
  TextTable table(
      {"run", "origin", "ranks", "batch", "step", "compute", "communication", "exposed", "calls"},
      2);
  for (const TraceRun& run : runs) {
    const StepTotals totals = totals_of(run.trace);
    table.add({run.name, std::string(to_text(run.origin)), std::to_string(rank_count(run.trace)),
               run.batch_per_gpu ? std::to_string(*run.batch_per_gpu) : "-", to_text(totals.step),
               to_text(totals.compute), to_text(totals.communication),
               to_text(totals.exposed_communication), std::to_string(calls_of(run.trace).size())});
  }
  table.write(out);
}

}  // namespace

void write_runs(std::ostream& out, const std::vector<TraceRun>& runs) {
  fmt::print(out, "{} run{}\n\n", runs.size(), runs.size() == 1 ? "" : "s");
  write_totals(out, runs);
  for (const TraceRun& run : runs) {
    const auto calls = calls_of(run.trace);
    if (calls.empty()) continue;
    fmt::print(out, "\ncollectives of {}, {}\n", run.name, to_text(run.origin));
    TextTable table({"name", "algorithm", "size", "start", "transfer", "skew"}, 2);
    for (const CallTimes& call : calls) {
      table.add({call.name, call.algorithm, to_text(call.size), to_text(call.start),
                 to_text(call.transfer), to_text(call.skew)});
    }
    table.write(out);
  }
}

nlohmann::ordered_json json_of(const std::vector<TraceRun>& runs) {
  auto all = nlohmann::ordered_json::array();
  for (const TraceRun& run : runs) {
    const StepTotals totals = totals_of(run.trace);
    auto calls = nlohmann::ordered_json::array();
    for (const CallTimes& call : calls_of(run.trace)) {
      calls.push_back({{"name", call.name},
                       {"algorithm", call.algorithm},
                       {"size_bytes", call.size.value()},
                       {"start_s", call.start.value()},
                       {"end_s", call.end.value()},
                       {"transfer_s", call.transfer.value()},
                       {"skew_s", call.skew.value()}});
    }
    all.push_back({{"name", run.name},
                   {"origin", to_text(run.origin)},
                   {"ranks", rank_count(run.trace)},
                   {"batch_per_gpu",
                    run.batch_per_gpu ? nlohmann::ordered_json(*run.batch_per_gpu) : nullptr},
                   {"step_s", totals.step.value()},
                   {"compute_s", totals.compute.value()},
                   {"communication_s", totals.communication.value()},
                   {"exposed_communication_s", totals.exposed_communication.value()},
                   {"calls", std::move(calls)}});
  }
  return all;
}

}  // namespace paceline
