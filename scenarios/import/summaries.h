#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "scenarios/import/import.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/text_table.h"
#include "traces/learn/unfinished_calls.h"

// The parts of write_summary() (import.h).
namespace paceline {

// Those of `all` that are to be written (written_rows), as `add` puts one into the table, and what
// is left out.
template <class Row, class Weight, class Add>
void write_heaviest(std::ostream& out, TextTable table, const std::vector<Row>& all, Weight weight,
                    const std::string& worst_by, Rows rows, const Add& add) {
  std::vector<Seconds> weights;
  for (const Row& row : all) weights.push_back(std::invoke(weight, row));
  const auto written = written_rows(weights, rows);
  for (const std::size_t row : written) add(table, all[row]);
  table.write(out);
  out << left_out(all.size(), written.size(), worst_by);
}

// What a run that hangs hangs in: the first collective of each group that some rank had not ended,
// or not come to, when the traces were written. Nothing where all have ended.
void write_unfinished(std::ostream& out, const Import& import);
// The call as the first rank that has it called it.
[[nodiscard]] const traces::TracedCollective& traced(const Import& import,
                                                     const traces::UnfinishedCall& call);

// Which ranks called collectives late, by their hosts' clocks, where traces tell these.
void write_called_late(std::ostream& out, const Import& import, Rows rows);

// What is worth a line in the steps that were traced.
void write_seen_steps(std::ostream& out, const Import& import);

// The step that replay takes: what makes its buckets ready, stragglers, the critical path.
void write_step(std::ostream& out, const TracedRun& traced, Rows rows);

void write_runs(std::ostream& out, const std::vector<traces::TraceRun>& runs);

// The rows of each table, with their bandwidths, and what was left out.
void write_logs(std::ostream& out, const std::vector<Import::Log>& logs);
void write_links(std::ostream& out, const std::vector<Import::Link>& links);

// What joins the GPUs of a node, and what kinds of pairs there are.
void write_topologies(std::ostream& out, const std::vector<Import::Topology>& topologies);
struct GpuPairs {
  std::size_t nvlink = 0;
  std::map<topology::PciePath, std::size_t> pcie;
};
[[nodiscard]] GpuPairs pairs_of(const traces::NodeTopology& node);
// Of each GPU; 0 where there are none.
[[nodiscard]] std::uint32_t switch_links(const traces::NodeTopology& node);

void write_records(std::ostream& out, const std::vector<Import::Record>& records, Rows rows);

// A command to type next, and what stands in it for something that the files do not tell.
struct NextCommand {
  std::string command;  // works as it is, typed in the folder where import was; empty: a note alone
  std::string note;     // may be empty
};

// For each kind of content, in the order in which import prints them. `profiled` is the step of the
// profilers' traces that replay takes; null where there is none.
[[nodiscard]] std::vector<NextCommand> next_commands(const Import& import,
                                                     const TracedRun* profiled);

}  // namespace paceline
