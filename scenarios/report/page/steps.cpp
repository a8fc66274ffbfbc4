#include "scenarios/report/page/steps.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

namespace paceline::page {
namespace {

using nlohmann::ordered_json;

Seconds end_of(const RankClass& members) {
  Seconds end(0);
  for (const training::Interval& interval : members.intervals) end = std::max(end, interval.end);
  return end;
}

// The first class, and of the others those that end last; in the trace's order.
std::vector<const RankClass*> classes_shown(const StepTrace& trace) {
  std::vector<const RankClass*> shown;
  for (const RankClass& members : trace.classes) shown.push_back(&members);
  if (shown.size() <= ranks_shown_max) return shown;
  std::stable_sort(shown.begin() + 1, shown.end(),
                   [](const RankClass* a, const RankClass* b) { return end_of(*a) > end_of(*b); });
  shown.resize(ranks_shown_max);
  std::ranges::sort(shown, {}, [](const RankClass* one) { return one->ranks.front(); });
  return shown;
}

std::size_t spans_shown(const traces::TraceRun& run) {
  return classes_shown(run.trace).size() * run.trace.program.operations.size();
}

ordered_json operation_json(const training::Operation& operation) {
  ordered_json json{
      {"lane", operation.lane}, {"name", operation.name}, {"kind", to_text(operation.kind)}};
  if (const training::CollectiveCall* const call = call_of(operation)) {
    json["bytes"] = call->size().value();
    json["collective"] = to_text(call->collective);
    json["algorithm"] = training::algorithm_of(*call);
  }
  return json;
}

// To a nanosecond: finer nobody can see.
double shown(Seconds time) { return std::round(time.value() * 1e9) / 1e9; }

ordered_json rank_json(const RankClass& members) {
  ordered_json starts = ordered_json::array(), ends = starts, released = starts;
  for (const training::Interval& ran : members.intervals) {
    starts.push_back(shown(ran.start));
    ends.push_back(shown(ran.end));
    released.push_back(ran.released_by ? ordered_json(*ran.released_by) : ordered_json());
  }
  return {{"rank", index(members.ranks.front())},
          {"stands_for", members.ranks.size()},
          {"start_s", std::move(starts)},
          {"end_s", std::move(ends)},
          {"released_by", std::move(released)}};
}

ordered_json step_json(const traces::TraceRun& run) {
  ordered_json lanes = ordered_json::array(), operations = lanes, ranks = lanes;
  for (const training::Lane& lane : run.trace.program.lanes) {
    lanes.push_back({{"name", lane.name}, {"kind", to_text(lane.kind)}});
  }
  for (const training::Operation& operation : run.trace.program.operations) {
    operations.push_back(operation_json(operation));
  }
  for (const RankClass* const members : classes_shown(run.trace)) {
    ranks.push_back(rank_json(*members));
  }
  return {{"point", run.name},
          {"gpus", run.world_size.value_or(rank_count(run.trace))},
          {"origin", to_text(run.origin)},
          {"step_s", totals_of(run.trace).step.value()},
          {"lanes", std::move(lanes)},
          {"operations", std::move(operations)},
          {"ranks", std::move(ranks)}};
}

}  // namespace

void write_steps(std::ostream& out, const std::vector<traces::TraceRun>& runs) {
  ordered_json steps = ordered_json::array();
  std::size_t spans = 0, left_out = 0;
  for (const traces::TraceRun& run : runs) {
    const std::size_t more = spans_shown(run);
    if (spans + more > spans_shown_max) {
      ++left_out;
      continue;
    }
    spans += more;
    steps.push_back(step_json(run));
  }
  const ordered_json all{
      {"schema", "paceline.steps/1"}, {"steps", std::move(steps)}, {"left_out", left_out}};
  out << all.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::page
