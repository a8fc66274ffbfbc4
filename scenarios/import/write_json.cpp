#include <algorithm>
#include <ranges>
#include <string>

#include "models/run/call_times.h"
#include "models/text/json_writer.h"
#include "scenarios/import/summaries.h"
#include "traces/learn/seen_steps.h"

namespace paceline {
namespace traces {

constexpr auto fields_of(const TracedCollective*) {
  using Call = TracedCollective;
  return Fields(field("kind", &Call::kind), field("elements", &Call::count),
                field("element_size_bytes", &Call::element_size),
                field("group_size", &Call::group_size), field("algorithm", &Call::algorithm));
}

constexpr auto fields_of(const ProfiledCall*) {
  return Fields(field("called_s", &ProfiledCall::called), field("ready_s", &ProfiledCall::ready),
                field("start_s", &ProfiledCall::start), field("end_s", &ProfiledCall::end));
}

constexpr auto fields_of(const StepProfile*) {
  return Fields(field("name", &StepProfile::name), field("length_s", &StepProfile::length),
                field("compute_s", &StepProfile::compute),
                field("communication_s", &StepProfile::communication),
                field("exposed_communication_s", &StepProfile::exposed),
                field("gradients", &StepProfile::gradients));
}

constexpr auto fields_of(const DeviceTrace*) {
  return Fields(field("rank", &DeviceTrace::rank), field("world_size", &DeviceTrace::world_size),
                field("device", &DeviceTrace::device), field("events", &DeviceTrace::events),
                field("skipped_events", &DeviceTrace::skipped),
                field("is_cut_off", &DeviceTrace::is_cut),
                field("is_forward_only", is_forward_only));
}

constexpr auto fields_of(const MatchedCall::OnRank*) {
  using OnRank = MatchedCall::OnRank;
  return Fields(field("trace", &OnRank::trace), field("waited_s", &OnRank::waited),
                field("late_s", &OnRank::late));
}
constexpr auto fields_of(const MatchedCall*) {
  return Fields(field("transfer_s", &MatchedCall::transfer), field("skew_s", &MatchedCall::skew),
                field("ranks", &MatchedCall::ranks));
}

template <auto ranks>
constexpr auto traces_of = [](const UnfinishedCall& call) {
  std::vector<std::size_t> numbers;
  for (const UnfinishedCall::OnRank& at : call.*ranks) numbers.push_back(at.trace);
  return numbers;
};
constexpr auto fields_of(const UnfinishedCall*) {
  using Call = UnfinishedCall;
  return Fields(field("group", &Call::group), field("sequence", &Call::sequence),
                field("waiting_traces", traces_of<&Call::waiting>),
                field("ended_traces", traces_of<&Call::ended>),
                field("lacking_traces", &Call::lacking), field("ranks_not_given", &Call::not_given),
                field("later", &Call::later));
}

constexpr auto fields_of(const CalledLate*) {
  return Fields(field("trace", &CalledLate::trace), field("was_last", &CalledLate::last),
                field("behind_median_s", &CalledLate::median),
                field("behind_most_s", &CalledLate::most));
}

constexpr auto fields_of(const CollectiveLog::Skipped*) {
  return Fields(field("line", &CollectiveLog::Skipped::line),
                field("why", &CollectiveLog::Skipped::why));
}
constexpr auto fields_of(const CollectiveLog::Row*) {
  using Row = CollectiveLog::Row;
  return Fields(field("line", &Row::line), field("size_bytes", &Row::size),
                field("times_s", &Row::times));
}
constexpr auto fields_of(const CollectiveLog*) {
  using Log = CollectiveLog;
  return Fields(field("collective", &Log::collective), field("may_be", &Log::may_be),
                field("other", &Log::other), field("known_by", &Log::known_by),
                field("ranks", &Log::ranks), field("nodes", &Log::nodes), field("rows", &Log::rows),
                field("skipped", &Log::skipped), field("left_out_lines", &Log::left_out),
                field("notes", &Log::notes));
}

constexpr auto fields_of(const PingPong::Row*) {
  using Row = PingPong::Row;
  return Fields(field("line", &Row::line), field("size_bytes", &Row::size),
                field("time_s", &Row::time));
}
constexpr auto fields_of(const PingPong*) {
  return Fields(field("between", &PingPong::between), field("rows", &PingPong::rows),
                field("skipped", &PingPong::skipped));
}

}  // namespace traces

constexpr auto fields_of(const Import::Topology*) {
  using Of = Import::Topology;
  using traces::NamedTopology, traces::NodeTopology;
  constexpr auto node = [](const Of& one) -> const NodeTopology& { return one.content.topology; };
  constexpr auto gpus = [=](const Of& one) { return node(one).gpus.size(); };
  constexpr auto nics = [=](const Of& one) { return node(one).nics.size(); };
  constexpr auto nvlink = [=](const Of& one) { return pairs_of(node(one)).nvlink; };
  constexpr auto switched = [=](const Of& one) { return switch_links(node(one)); };
  constexpr auto pcie = [=](const Of& one) {
    std::vector<std::pair<std::string_view, std::size_t>> by_path;
    for (const auto& [path, count] : pairs_of(node(one)).pcie) {
      by_path.emplace_back(to_text(path), count);
    }
    return by_path;
  };
  return Fields(field("file", &Of::file), field("format", at<&Of::content, &NamedTopology::format>),
                field("gpus", gpus), field("nics", nics), field("nvlink_pairs", nvlink),
                field("nvswitch_links", switched), field("pcie_pairs", pcie));
}

constexpr auto fields_of(const Import::Note*) {
  return Fields(field("file", &Import::Note::file), field("note", &Import::Note::text));
}
constexpr auto fields_of(const Import::Refused*) {
  return Fields(field("file", &Import::Refused::file), field("why", &Import::Refused::why));
}

namespace {

using traces::DeviceTrace, traces::RunRecord, traces::TracedCollective;

// "step time" of seconds is step_time_s.
std::string key_of(std::string name, const RunRecord::Cell& cell) {
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '/' || c == ','; }, '_');
  if (std::holds_alternative<Seconds>(cell)) return name + "_s";
  if (std::holds_alternative<Bytes>(cell)) return name + "_bytes";
  if (std::holds_alternative<BytesPerSecond>(cell)) return name + "_bytes_per_s";
  return name;
}

class JsonOfImport {
 public:
  JsonOfImport(std::ostream& out, const Import& import) : json_(out), import_(import) {}

  void write() {
    json_.object([&] {
      json_.put("schema", "paceline.import/1");
      write_traces();
      json_.put_list("matched", import_.matched.calls, [&](const traces::MatchedCall& call) {
        const auto& [trace, collective, waited, late] = call.ranks.front();
        write_with("kind", import_.traces[trace].collectives[collective].kind, call);
      });
      json_.put_list("unfinished", traces::unfinished_calls(import_.traces),
                     [&](const traces::UnfinishedCall& call) {
                       write_with("kind", traced(import_, call).kind, call);
                     });
      json_.put("called_late", traces::calls_by_clock(import_.traces));
      json_.put_list("runs", import_.runs, [&](const auto& run) { write_run(run); });
      json_.put_list("logs", import_.logs,
                     [&](const Import::Log& log) { write_with("file", log.file, log.content); });
      json_.put_list("ping_pongs", import_.links, [&](const Import::Link& link) {
        write_with("file", link.file, link.content);
      });
      json_.put("topologies", import_.topologies);
      json_.put_list("records", import_.records, [&](const auto& one) { write_record(one); });
      json_.put("notes", import_.notes);
      json_.put("refused", import_.refused);
    });
  }

 private:
  // An object's fields behind another one.
  template <class T>
  void write_with(std::string_view key, const std::string& first, const T& object) {
    json_.object([&] {
      json_.put(key, first);
      json_.put_fields(object);
    });
  }

  void write_traces() {
    const auto numbers = std::views::iota(std::size_t{0}, import_.traces.size());
    json_.put_list("traces", numbers, [&](std::size_t t) {
      const DeviceTrace& trace = import_.traces[t];
      json_.object([&] {
        json_.put("file", import_.files[t]);
        json_.put_fields(trace);
        json_.put_list("steps", import_.steps[t],
                       [&](const traces::StepProfile& step) { write_step(trace, step); });
        if (!import_.steps[t].empty()) return;
        json_.put_list("calls", trace.collectives,
                       [&](const TracedCollective& call) { write_call(call, trace.has_times); });
      });
    });
  }

  void write_step(const DeviceTrace& trace, const traces::StepProfile& step) {
    json_.object([&] {
      json_.put_fields(step);
      json_.put_list("calls", step.calls, [&](const traces::ProfiledCall& call) {
        json_.object([&] {
          json_.put_fields(trace.collectives[call.collective]);
          json_.put_fields(call);
        });
      });
    });
  }

  // Times from the first event of the trace.
  void write_call(const TracedCollective& call, bool has_times) {
    const auto on_device = [&](auto end) {
      return call.device ? std::optional(traces::seconds_of(*call.device.*end)) : std::nullopt;
    };
    json_.object([&] {
      json_.put_fields(call);
      if (!has_times) return;
      json_.put("called_s", traces::seconds_of(call.called));
      json_.put("start_s", on_device(&TracedCollective::OnDevice::start));
      json_.put("end_s", on_device(&TracedCollective::OnDevice::end));
    });
  }

  void write_run(const traces::TraceRun& run) {
    const StepTotals totals = totals_of(run.trace);
    json_.object([&] {
      json_.put("name", run.name);
      json_.put("origin", run.origin);
      json_.put("ranks", rank_count(run.trace));
      json_.put("batch_per_gpu", run.batch_per_gpu);
      json_.put("step_s", totals.step);
      json_.put("compute_s", totals.compute);
      json_.put("communication_s", totals.communication);
      json_.put("exposed_communication_s", totals.exposed_communication);
      json_.put("calls", calls_of(run.trace));
    });
  }

  void write_record(const Import::Record& one) {
    const auto& [file, record] = one;
    json_.object([&, &record = record, &file = file] {
      json_.put("file", file);
      json_.put("title", record.title);
      json_.put_object("facts", [&] {
        for (const auto& [name, value] : record.facts) json_.put(key_of(name, value), value);
      });
      json_.put_list("tables", record.tables, [&](const RunRecord::Table& table) {
        json_.object([&] {
          json_.put("title", table.title);
          json_.put_list("rows", table.rows, [&](const std::vector<RunRecord::Cell>& cells) {
            json_.object([&] {
              for (std::size_t c = 0; c < cells.size(); ++c) {
                json_.put(key_of(table.columns[c], cells[c]), cells[c]);
              }
            });
          });
        });
      });
      json_.put("notes", record.notes);
      json_.put("settings", record.settings);
    });
  }

  JsonWriter json_;
  const Import& import_;
};

}  // namespace

void write_json(std::ostream& out, const Import& import) { JsonOfImport(out, import).write(); }

}  // namespace paceline
