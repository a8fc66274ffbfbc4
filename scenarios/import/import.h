#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/import/worst_rows.h"
#include "traces/collective_log/collective_log.h"
#include "traces/learn/matched_calls.h"
#include "traces/learn/step_profile.h"
#include "traces/run_record/run_record.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline {

// The contents of files of training runs: profilers' traces, a file a rank; runs as paceline keeps
// them; logs of collectives, which paceline calibrate fits.
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
  // What else files tell of a run (traces/formats/run_records.h).
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
  std::vector<Refused> refused;
};

// Reads files, archives and folders of them, in the formats that their contents show. Files that
// cannot be read are refused with a reason; when nothing is left, or two files are of one rank,
// throws InputError.
[[nodiscard]] Import import_traces(const std::vector<std::string>& paths);

// Steps of each rank, the collectives of a step, how much of them is waiting for other ranks, and
// the step that replay takes (step_summary.h); of runs the totals of their steps and their calls;
// of logs their rows. Of long tables the worst rows, unless all are asked for; then what to do next
// with the files that were given as `paths`, as a shell takes them.
void write_summary(std::ostream& out, const Import& import, const std::string& paths, Rows rows);
void write_json(std::ostream& out, const Import& import);

}  // namespace paceline
