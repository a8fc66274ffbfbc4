#pragma once

#include <algorithm>
#include <cstddef>
#include <iosfwd>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/units/units.h"
#include "traces/collective_log/collective_log.h"
#include "traces/learn/matched_calls.h"
#include "traces/learn/step_profile.h"
#include "traces/ping_pong/ping_pong.h"
#include "traces/run_record/run_record.h"
#include "traces/step_trace_file/step_trace_file.h"
#include "traces/topology/node_topology.h"

namespace paceline {

enum class Rows { worst, all };

inline constexpr std::size_t worst_rows = 10;

// Which of a table's rows are written, in their order: all, or those that weigh most.
[[nodiscard]] inline std::vector<std::size_t> written_rows(const std::vector<Seconds>& weights,
                                                           Rows rows) {
  std::vector<std::size_t> chosen(weights.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (rows == Rows::all || weights.size() <= worst_rows) return chosen;
  std::ranges::stable_sort(chosen, std::ranges::greater{},
                           [&](std::size_t i) { return weights[i]; });
  chosen.resize(worst_rows);
  std::ranges::sort(chosen);
  return chosen;
}

// "" or a line that says what is left out.
[[nodiscard]] inline std::string left_out(std::size_t rows, std::size_t written,
                                          const std::string& worst_by) {
  if (rows == written) return "";
  return "the " + std::to_string(written) + " with the " + worst_by + " of " +
         std::to_string(rows) + "; --all writes the others\n";
}

// A file of Paceline that is neither a run nor a log of collectives, or a test of links, and the
// command that reads it.
struct OwnFile {
  std::string what;  // completes "is ...": "a scenario"
  std::string
      command;      // with {} for the file, as "paceline run {}"; empty where none takes it alone
  std::string use;  // where no command does: "a scenario takes it as cluster.calibration"
};

// Recognizes Paceline's by its schema: in YAML a key at the beginning of a line, in JSON the first.
[[nodiscard]] std::optional<OwnFile> own_file_of(std::string_view text);

[[nodiscard]] std::string sentence_of(const OwnFile& own, const std::string& file);

// The contents of files of training runs: profilers' traces, a file a rank; runs as paceline keeps
// them; logs of collectives and ping-pongs, which paceline calibrate fits; topologies of nodes.
struct Import {
  template <class Content>
  struct Of {
    std::string file;
    Content content;
  };
  struct Refused {
    std::string file, why;
  };

  std::vector<std::string> files;                       // by trace
  std::vector<traces::DeviceTrace> traces;              // by rank, those that name none last
  std::vector<std::vector<traces::StepProfile>> steps;  // by trace
  traces::MatchedCalls matched;
  std::vector<traces::TraceRun> runs;  // of files of step traces, in the order given
  // Tables of logs of collectives. Of files that are one log together the first is named.
  using Log = Of<traces::CollectiveLog>;
  std::vector<Log> logs;
  // What else files tell of a run (traces/formats/formats.h).
  using Record = Of<traces::RunRecord>;
  std::vector<Record> records;
  // What was read, though not all of it: where it ends, and why.
  struct Note {
    std::string file, text;
  };
  std::vector<Note> notes;
  using Link = Of<traces::PingPong>;
  std::vector<Link> links;  // ping-pongs
  using Topology = Of<traces::NamedTopology>;
  std::vector<Topology> topologies;
  // What other commands take: no part of a run, and none that is missing.
  std::vector<Of<OwnFile>> own;
  std::vector<Refused> refused;
  // A file that was taken, as it is called here, and the path under which it was given.
  struct Origin {
    enum class Kind { trace, run, log, other } kind;
    std::string file, path;
  };
  std::vector<Origin> origins;  // in the order in which they were read
};

// Rows that could not be used, a line each.
void write_skipped(std::ostream& out, const std::string& file,
                   const std::vector<traces::CollectiveLog::Skipped>& all);

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
