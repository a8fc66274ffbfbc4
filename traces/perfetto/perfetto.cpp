#include "traces/perfetto/perfetto.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

namespace paceline::traces {
namespace {

using nlohmann::json;

constexpr double microseconds = 1e6;

struct RankRow {
  Rank rank;
  const RankClass* members;
};

std::vector<RankRow> first_ranks(const StepTrace& trace, std::size_t ranks_max) {
  std::vector<RankRow> rows;
  for (const RankClass& members : trace.classes) {
    for (const Rank rank : members.ranks) rows.push_back({rank, &members});
  }
  std::sort(rows.begin(), rows.end(),
            [](const RankRow& a, const RankRow& b) { return a.rank < b.rank; });
  rows.resize(std::min(rows.size(), ranks_max));
  return rows;
}

json metadata(const char* what, std::size_t process, std::size_t thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

// The spans of one lane on as few tracks as keep them apart; track k of lane l is thread 100 l + k.
void write_lane(json& events, std::size_t process, std::size_t lane, const std::string& name,
                const std::vector<Span>& spans) {
  std::vector<Seconds> track_ends;
  for (const Span& span : spans) {
    if (span.lane != lane) continue;
    std::size_t track = 0;
    while (track < track_ends.size() && span.start < track_ends[track]) ++track;
    const std::size_t thread = 100 * lane + track;
    if (track == track_ends.size()) {
      track_ends.emplace_back();
      events.push_back(metadata("thread_name", process, thread, name));
    }
    track_ends[track] = span.end;
    json event{{"ph", "X"},
               {"name", span.name},
               {"cat", to_text(span.kind)},
               {"pid", process},
               {"tid", thread},
               {"ts", span.start.value() * microseconds},
               {"dur", (span.end - span.start).value() * microseconds}};
    if (span.size > Bytes(0)) {
      event["args"] = {{"bytes", span.size.value()}, {"algorithm", span.algorithm}};
    }
    events.push_back(std::move(event));
  }
}

}  // namespace

void write_perfetto(std::ostream& out, const std::vector<NamedTrace>& runs, std::size_t ranks_max) {
  json events = json::array();
  std::size_t process = 0;
  for (const NamedTrace& run : runs) {
    for (const RankRow& row : first_ranks(run.trace, ranks_max)) {
      events.push_back(metadata("process_name", process, 0,
                                run.name + ", rank " + std::to_string(index(row.rank))));
      for (std::size_t lane = 0; lane < run.trace.lanes.size(); ++lane) {
        write_lane(events, process, lane, run.trace.lanes[lane].name, row.members->spans);
      }
      ++process;
    }
  }
  out << json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() << '\n';
}

}  // namespace paceline::traces
