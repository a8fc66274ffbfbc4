#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/import/own_file.h"
#include "scenarios/import/worst_rows.h"
#include "traces/collective_log/collective_log.h"
#include "traces/learn/matched_calls.h"
#include "traces/learn/step_profile.h"
#include "traces/ping_pong/ping_pong.h"
#include "traces/run_record/run_record.h"
#include "traces/step_trace_file/step_trace_file.h"
#include "traces/topology/node_topology.h"

namespace paceline {

// The contents of files of training runs: profilers' traces, a file a rank; runs as paceline keeps
// them; logs of collectives and ping-pongs, which paceline calibrate fits; topologies of nodes.
struct Import {
  struct Refused {
    std::string file, why;
  };

  std::vector<std::string> files;                       // by trace
  std::vector<traces::DeviceTrace> traces;              // by rank, those that name none last
  std::vector<std::vector<traces::StepProfile>> steps;  // by trace
  traces::MatchedCalls matched;
  std::vector<traces::TraceRun> runs;  // of files of step traces, in the order given
  // Tables of logs of collectives. Of files that are one log together the first is named.
  struct Log {
    std::string file;
    traces::CollectiveLog table;
  };
  std::vector<Log> logs;
  // What else files tell of a run (traces/formats/formats.h).
  struct Record {
    std::string file;
    traces::RunRecord record;
  };
  std::vector<Record> records;
  // What was read, though not all of it: where it ends, and why.
  struct Note {
    std::string file, text;
  };
  std::vector<Note> notes;
  struct Link {
    std::string file;
    traces::PingPong table;
  };
  std::vector<Link> links;  // ping-pongs
  struct Topology {
    std::string file;
    traces::NamedTopology found;
  };
  std::vector<Topology> topologies;
  // What other commands take: no part of a run, and none that is missing.
  struct Own {
    std::string file;
    OwnFile kind;
  };
  std::vector<Own> own;
  std::vector<Refused> refused;
  // A file that was taken, as it is called here, and the path under which it was given.
  struct Origin {
    enum class Kind { trace, run, log, other } kind;
    std::string file, path;
  };
  std::vector<Origin> origins;  // in the order in which they were read
};

// Reads files, archives and folders of them, in the formats that their contents show. Files that
// cannot be read are refused with a reason; when nothing is left, or two files are of one rank,
// throws InputError.
[[nodiscard]] Import import_traces(const std::vector<std::string>& paths);

// Steps of each rank, the collectives of a step, how much of them is waiting for other ranks, and
// the step that replay takes (write_step); of runs the totals of their steps and their calls;
// of logs and ping-pongs their rows; what joins the GPUs of a topology. Of long tables the worst
// rows, unless all are asked for; then what to do next (summaries.h).
void write_summary(std::ostream& out, const Import& import, Rows rows);
void write_json(std::ostream& out, const Import& import);

}  // namespace paceline
