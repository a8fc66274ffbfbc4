#include "traces/perfetto/perfetto.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "models/text/json_writer.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr double microseconds = 1e6;
constexpr std::string_view schema = "paceline.timeline/1";

struct RankRow {
  Rank rank;
  const RankClass* members;
};

std::vector<RankRow> first_ranks(const StepTrace& trace, std::size_t ranks_max) {
  std::vector<RankRow> rows;
  for (const RankClass& members : trace.classes) {
    for (const Rank rank : members.ranks) rows.push_back({rank, &members});
  }
  std::ranges::sort(rows, {}, &RankRow::rank);
  rows.resize(std::min(rows.size(), ranks_max));
  return rows;
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
  explicit Timeline(JsonWriter& out) : out_(out) {}

  void add(const TraceRun& run, const RankRow& row) {
    add_name("process_name", 0,
             run.name + ", " + std::string(to_text(run.origin)) + ", rank " +
                 std::to_string(index(row.rank)));
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

 private:
  // Each event has these.
  template <class Body>
  void add_event(const char* phase, std::string_view name, std::size_t thread, const Body& body) {
    out_.object([&] {
      out_.put("ph", phase);
      out_.put("name", name);
      out_.put("pid", process_);
      out_.put("tid", thread);
      body();
    });
  }

  void add_name(const char* what, std::size_t thread, const std::string& name) {
    add_event("M", what, thread, [&] { out_.put_object("args", [&] { out_.put("name", name); }); });
  }

  // On the fewest tracks on which they do not overlap.
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
        add_name("thread_name", threads_[i], name);
      }
      track_ends[track] = span.end();
      add_slice(span, threads_[i]);
    }
    thread_ += track_ends.size();
  }

  void add_slice(const Span& span, std::size_t thread) {
    add_event("X", span.operation.name, thread, [&] {
      out_.put("cat", span.operation.kind);
      out_.put("ts", span.start().value() * microseconds);
      out_.put("dur", span.duration().value() * microseconds);
      if (span.size() == Bytes(0)) return;
      out_.put_object("args", [&] {
        out_.put("bytes", span.size());
        out_.put("algorithm", span.algorithm());
      });
    });
  }

  // From the last nanosecond of one slice, whose end may be another's, to the start of the other.
  void add_arrow(const std::vector<Span>& spans, const Arrow& of) {
    constexpr double nanosecond = 1e-9;
    for (const std::size_t i : {of.from, of.to}) {
      if (spans[i].duration().value() < 2 * nanosecond) return;
    }
    const auto add_end = [&](const char* phase, std::size_t span, double at_s) {
      add_event(phase, "ready", threads_[span], [&] {
        out_.put("cat", "ready");
        out_.put("id", arrows_);
        // Bound to the slice that encloses it, not to the next one.
        if (span == of.to) out_.put("bp", "e");
        out_.put("ts", at_s * microseconds);
      });
    };
    add_end("s", of.from, spans[of.from].end().value() - nanosecond);
    add_end("f", of.to, spans[of.to].start().value());
    ++arrows_;
  }

  JsonWriter& out_;
  std::size_t process_ = 0, thread_ = 0, arrows_ = 0;
  std::vector<std::size_t> threads_;  // by span, of the rank that is added
};

}  // namespace

void write_perfetto(std::ostream& out, const std::vector<TraceRun>& runs, std::size_t ranks_max) {
  JsonWriter writer(out, JsonWriter::compact);
  writer.object([&] {
    writer.put("displayTimeUnit", "ms");
    writer.put_object("otherData", [&] { writer.put("schema", schema); });
    writer.key("traceEvents");
    writer.begin_list();
    Timeline timeline(writer);
    for (const TraceRun& run : runs) {
      for (const RankRow& row : first_ranks(run.trace, ranks_max)) timeline.add(run, row);
    }
    writer.end_list();
  });
}

bool is_own_timeline(std::string_view text) {
  // Keys are written in their order: the events, whose names may be anything, are last.
  const std::string_view beginning =
      text.substr(0, std::min(text.find("\"traceEvents\""), std::size_t{256}));
  return beginning.starts_with('{') && contains(beginning, schema);
}

}  // namespace paceline::traces
