#include "scenarios/cli/outcome_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <ostream>

#include "models/contract.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/report/page/page.h"
#include "scenarios/report/report.h"
#include "traces/chakra/write_chakra.h"

namespace paceline::cli {
namespace {

constexpr std::size_t chakra_ranks_max = 64;
// Points whose steps a page shows: of more nobody looks at each.
constexpr std::size_t steps_on_page_max = 64;

std::vector<traces::TraceRun> runs_of(const std::vector<PointOutcome>& outcomes) {
  std::vector<traces::TraceRun> runs;
  for (const PointOutcome& outcome : outcomes) {
    // With gradient accumulation, of all passes.
    const auto batch =
        static_cast<std::uint32_t>(std::lround(outcome.samples_per_step / outcome.gpus));
    if (outcome.predicted) {
      runs.push_back({outcome.name(), traces::Origin::predicted, outcome.predicted->trace, batch});
    }
    if (outcome.measurement) {
      runs.push_back({outcome.name(), traces::Origin::measured, outcome.measurement->trace, batch});
    }
  }
  return runs;
}

std::vector<Rank> first_ranks(const StepTrace& trace) {
  std::vector<Rank> ranks;
  for (const RankClass& members : trace.classes) {
    ranks.insert(ranks.end(), members.ranks.begin(), members.ranks.end());
  }
  std::ranges::sort(ranks);
  ranks.resize(std::min(ranks.size(), chakra_ranks_max));
  return ranks;
}

// 2-16-GPUs-measured: a number that nothing else has, and what of the name a path can have.
std::string folder_name(std::size_t number, const std::string& name) {
  std::string folder = std::to_string(number);
  bool is_gap = true;
  for (const char c : name) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '.' || c == '_';
    if (is_plain && is_gap) folder += '-';
    if (is_plain) folder += c;
    is_gap = !is_plain;
  }
  constexpr std::size_t most = 100;  // below what file systems take
  return folder.substr(0, most);
}

void write_chakra_files(const std::string& path, const std::vector<PointOutcome>& outcomes) {
  namespace fs = std::filesystem;
  const auto runs = runs_of(outcomes);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const fs::path folder =
        runs.size() == 1 ? fs::path(path) : fs::path(path) / folder_name(i + 1, runs[i].name);
    for (const Rank rank : first_ranks(runs[i].trace)) {
      files::OutputFolder::write(
          folder.string(), fmt::format("step.{}.et", rank.value()),
          [&](std::ostream& out) { traces::write_chakra(out, runs[i].trace, rank); });
    }
  }
}

// In one line, where SimGrid found something else; returns the exit code.
int say_check(const std::vector<PointOutcome>& outcomes) {
  for (const PointOutcome& one : outcomes) {
    if (!one.check || !one.check->is_done() || one.check->agrees()) continue;
    complain(one.check->sentence() + "; a fault of paceline");
    return exit_internal;
  }
  return exit_done;
}

// Says which point has no result and why, and what became of the others; returns the exit code.
int say_failure(const std::vector<PointOutcome>& outcomes) {
  std::vector<const PointOutcome*> failed;
  for (const PointOutcome& one : outcomes) {
    if (one.missing() != nullptr) failed.push_back(&one);
  }
  if (failed.empty()) return exit_done;
  // Trouble of the machine before a refusal, which may be of another point.
  const auto trouble = std::ranges::find_if(failed, [](const PointOutcome* one) {
    return one->missing()->cause == FailureCause::failed;
  });
  const PointOutcome& first = trouble == failed.end() ? *failed.front() : **trouble;
  std::string line = fmt::format("{}: {}", first.name(), first.missing()->why);
  if (outcomes.size() > 1) {
    line +=
        fmt::format("; done: {} of {} points", outcomes.size() - failed.size(), outcomes.size());
  }
  complain(line);
  switch (first.missing()->cause) {
    case FailureCause::failed: return exit_environment;
    case FailureCause::refused: return exit_bad_input;
    case FailureCause::stopped: return exit_signal + StopRequest::signal();
  }
  PACELINE_UNREACHABLE("a cause outside the enumeration");
}

}  // namespace

std::vector<Option> OutcomeOutput::add_to(CommandOptions& app) {
  CommandOptions output = app.in_group("Output");
  report.add_assumptions_to(app);
  const Option to_markdown = report.add_markdown_to(app);
  const Option to_json = add_json(app, json, "the result");
  const Option to_csv = output.add_output("--csv", csv, "Write the result as CSV to this file.");
  const Option to_html = page.add_to(app);
  const Option to_timeline = output.add_output(
      "--timeline", timeline, "Write a timeline of every point for Perfetto or Chrome.");
  output
      .add_option("--beside", beside,
                  "Show these runs too in the timeline, files that --trace or import -o wrote. May "
                  "be repeated.")
      .repeatable()
      .needs(to_timeline)
      .reads_files("");
  const Option to_trace = output.add_output(
      "--trace", trace, "Write the step of every point as a trace that import and replay read.");
  const Option to_chakra =
      output.add_option("--chakra", chakra.path,
                        "Write Chakra execution traces for other simulators into this folder, "
                        "step.RANK.et of the first 64 ranks; with several points, one folder per "
                        "point.");
  to_chakra.reads_files("");
  output
      .add_flag("--calls", all_calls,
                "Write every collective call into the JSON, for compare, no matter how many there "
                "are.")
      .needs(to_json);
  return {to_markdown, to_json, to_csv, to_html, to_timeline, to_trace, to_chakra};
}

void OutcomeOutput::check() {
  if (chakra.path == "-") {
    throw InputError({"-"}, "standard output takes no folder of --chakra", "name a folder");
  }
  if (chakra.is_asked()) chakra.check();
  if (!beside.empty()) runs_beside_ = import_runs(beside);
}

bool OutcomeOutput::keeps_traces(std::size_t points) const {
  return timeline.is_asked() || trace.is_asked() || chakra.is_asked() ||
         (page.is_asked() && points <= steps_on_page_max);
}

std::vector<page::Document> OutcomeOutput::documents_of(
    const ScenarioFile& file, const std::vector<PointOutcome>& outcomes) const {
  const auto calls = all_calls ? CallsInJson::all : CallsInJson::unless_many;
  std::vector<page::Document> all{
      document_of("result", [&](std::ostream& out) { write_json(out, file, outcomes, calls); })};
  if (outcomes.size() > steps_on_page_max) return all;
  auto runs = runs_of(outcomes);
  runs.insert(runs.end(), runs_beside_.begin(), runs_beside_.end());
  all.push_back(document_of("steps", [&](std::ostream& out) { page::write_steps(out, runs); }));
  return all;
}

bool OutcomeOutput::takes_standard_output() const {
  return json.is_standard_output() || csv.is_standard_output() || page.html.is_standard_output() ||
         timeline.is_standard_output() || trace.is_standard_output();
}

int OutcomeOutput::write(const ScenarioFile& file, const std::vector<PointOutcome>& outcomes) {
  std::exception_ptr first_trouble;
  const auto write_if = [&](bool is_asked, auto write_one) {
    try {
      if (is_asked) write_one();
    } catch (...) {  // what was measured may be in the others yet
      if (!first_trouble) first_trouble = std::current_exception();
    }
  };
  write_if(true, [&] {
    report.write(takes_standard_output(),
                 [&](std::ostream& out) { write_table(out, file, outcomes); });
  });
  write_if(json.is_asked(), [&] {
    const auto calls = all_calls ? CallsInJson::all : CallsInJson::unless_many;
    json.write([&](std::ostream& out) { write_json(out, file, outcomes, calls); });
  });
  write_if(csv.is_asked(),
           [&] { csv.write([&](std::ostream& out) { write_csv(out, outcomes); }); });
  write_if(page.is_asked(), [&] {
    page.write_if_asked(file.name(), file.text(), [&] { return documents_of(file, outcomes); });
  });
  write_if(timeline.is_asked(), [&] {
    auto runs = runs_of(outcomes);
    runs.insert(runs.end(), runs_beside_.begin(), runs_beside_.end());
    write_timeline(timeline, runs);
  });
  write_if(trace.is_asked(), [&] { write_runs(trace, runs_of(outcomes)); });
  write_if(chakra.is_asked(), [&] { write_chakra_files(chakra.path, outcomes); });
  if (first_trouble) std::rethrow_exception(first_trouble);
  const int failed = say_failure(outcomes);
  return failed == exit_done ? say_check(outcomes) : failed;
}

}  // namespace paceline::cli
