#include "traces/perfetto/perfetto.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace paceline::traces {
namespace {

using nlohmann::json;

constexpr double microseconds = 1e6;
constexpr const char* schema = "paceline.timeline/1";

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

struct Arrow {
  std::size_t from, to;  // spans
};

// To each collective from the compute that it came after: of several the one that ended last.
std::vector<Arrow> arrows_of(const std::vector<Span>& spans) {
  std::vector<Arrow> arrows;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].call() == nullptr) continue;
    std::optional<std::size_t> last;
    for (const training::OperationId before : spans[i].operation.after) {
      if (spans[before].call() != nullptr) continue;
      if (!last || spans[before].end() >= spans[*last].end()) last = before;
    }
    if (last) arrows.push_back({*last, i});
  }
  return arrows;
}

// Events of one file. Viewers sort threads by their numbers, which count the tracks of a process.
class Timeline {
 public:
  void add(const TraceRun& run, const RankRow& row) {
    events_.push_back(metadata("process_name", process_, 0,
                               run.name + ", " + std::string(to_text(run.origin)) + ", rank " +
                                   std::to_string(index(row.rank))));
    const std::vector<Span> spans = spans_of(run.trace, *row.members);
    threads_.assign(spans.size(), 0);
    thread_ = 0;
    const auto& lanes = run.trace.program.lanes;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      add_lane(lane, lanes[lane].name, spans);
    }
    for (const Arrow& arrow : arrows_of(spans)) add_arrow(spans, arrow);
    ++process_;
  }

  [[nodiscard]] json events() && { return std::move(events_); }

 private:
  // The spans of one lane on the fewest tracks on which they do not overlap.
  void add_lane(std::size_t lane, const std::string& name, const std::vector<Span>& spans) {
    std::vector<Seconds> track_ends;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Span& span = spans[i];
      if (span.operation.lane != lane) continue;
      std::size_t track = 0;
      while (track < track_ends.size() && span.start() < track_ends[track]) ++track;
      threads_[i] = thread_ + track;
      if (track == track_ends.size()) {
        track_ends.emplace_back();
        events_.push_back(metadata("thread_name", process_, threads_[i], name));
      }
      track_ends[track] = span.end();
      add_slice(span, threads_[i]);
    }
    thread_ += track_ends.size();
  }

  void add_slice(const Span& span, std::size_t thread) {
    json event{{"ph", "X"},
               {"name", span.operation.name},
               {"cat", to_text(span.operation.kind)},
               {"pid", process_},
               {"tid", thread},
               {"ts", span.start().value() * microseconds},
               {"dur", span.duration().value() * microseconds}};
    if (span.size() > Bytes(0)) {
      event["args"] = {{"bytes", span.size().value()}, {"algorithm", span.algorithm()}};
    }
    events_.push_back(std::move(event));
  }

  // From the last nanosecond of one slice, as its end is already another's, to the start of the
  // other.
  void add_arrow(const std::vector<Span>& spans, const Arrow& of) {
    constexpr double nanosecond = 1e-9;
    for (const std::size_t i : {of.from, of.to}) {
      if (spans[i].duration().value() < 2 * nanosecond) return;
    }
    json arrow{{"name", "ready"}, {"cat", "ready"}, {"id", arrows_++}, {"pid", process_}};
    arrow["ph"] = "s";
    arrow["tid"] = threads_[of.from];
    arrow["ts"] = (spans[of.from].end().value() - nanosecond) * microseconds;
    events_.push_back(arrow);
    arrow["ph"] = "f";
    arrow["bp"] = "e";  // bound to the slice that encloses it, not to the next one
    arrow["tid"] = threads_[of.to];
    arrow["ts"] = spans[of.to].start().value() * microseconds;
    events_.push_back(std::move(arrow));
  }

  json events_ = json::array();
  std::size_t process_ = 0, thread_ = 0, arrows_ = 0;
  std::vector<std::size_t> threads_;  // by span, of the rank that is added
};

}  // namespace

void write_perfetto(std::ostream& out, const std::vector<TraceRun>& runs, std::size_t ranks_max) {
  Timeline timeline;
  for (const TraceRun& run : runs) {
    for (const RankRow& row : first_ranks(run.trace, ranks_max)) timeline.add(run, row);
  }
  const json all{{"displayTimeUnit", "ms"},
                 {"otherData", {{"schema", schema}}},
                 {"traceEvents", std::move(timeline).events()}};
  out << all.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
}

bool is_own_timeline(std::string_view text) {
  // Keys are written in their order: the events, whose names may be anything, are last.
  const std::string_view beginning =
      text.substr(0, std::min(text.find("\"traceEvents\""), std::size_t{256}));
  return beginning.starts_with('{') && beginning.find(schema) != std::string_view::npos;
}

}  // namespace paceline::traces
