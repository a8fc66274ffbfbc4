#include <algorithm>
#include <cmath>

#include "models/text/json_writer.h"
#include "scenarios/report/page/page.h"

namespace paceline::page {
namespace {

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

// To a nanosecond: finer nobody can see.
double shown(Seconds time) { return std::round(time.value() * 1e9) / 1e9; }

void write_operation(JsonWriter& json, const training::Operation& operation) {
  json.object([&] {
    json.put("lane", operation.lane);
    json.put("name", operation.name);
    json.put("kind", operation.kind);
    const training::CollectiveCall* const call = call_of(operation);
    if (call == nullptr) return;
    json.put("bytes", call->size());
    json.put("collective", call->collective);
    json.put("algorithm", training::algorithm_of(*call));
  });
}

void write_rank(JsonWriter& json, const RankClass& members) {
  using training::Interval;
  const auto& ran = members.intervals;
  json.object([&] {
    json.put("rank", index(members.ranks.front()));
    json.put("stands_for", members.ranks.size());
    json.put_list("start_s", ran, [&](const Interval& one) { json.value(shown(one.start)); });
    json.put_list("end_s", ran, [&](const Interval& one) { json.value(shown(one.end)); });
    json.put_list("released_by", ran, [&](const Interval& one) { json.value(one.released_by); });
  });
}

void write_step(JsonWriter& json, const traces::TraceRun& run) {
  const training::StepProgram& program = run.trace.program;
  json.object([&] {
    json.put("point", run.name);
    json.put("gpus", run.world_size.value_or(rank_count(run.trace)));
    json.put("origin", run.origin);
    json.put("step_s", totals_of(run.trace).step);
    json.put_list("lanes", program.lanes, [&](const training::Lane& lane) {
      json.object([&] {
        json.put("name", lane.name);
        json.put("kind", lane.kind);
      });
    });
    json.put_list("operations", program.operations,
                  [&](const training::Operation& one) { write_operation(json, one); });
    json.put_list("ranks", classes_shown(run.trace),
                  [&](const RankClass* members) { write_rank(json, *members); });
  });
}

}  // namespace

void write_steps(std::ostream& out, const std::vector<traces::TraceRun>& runs) {
  std::size_t spans = 0, left_out = 0;
  JsonWriter json(out, JsonWriter::compact);
  json.object([&] {
    json.put("schema", "paceline.steps/1");
    json.put_list("steps", [&] {
      for (const traces::TraceRun& run : runs) {
        const std::size_t more = spans_shown(run);
        if (spans + more > spans_shown_max) {
          ++left_out;
          continue;
        }
        spans += more;
        write_step(json, run);
      }
    });
    json.put("left_out", left_out);
  });
}

}  // namespace paceline::page
