#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <type_traits>
#include <variant>

#include "models/run/call_times.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/import/summaries.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using Cell = traces::RunRecord::Cell;
using traces::CollectiveLog;
using traces::NodeTopology;
using traces::RunRecord;
using traces::TraceRun;

void write_totals(std::ostream& out, const std::vector<TraceRun>& runs) {
  TextTable table(
      {"run", "origin", "ranks", "batch", "step", "compute", "communication", "exposed", "calls"},
      2);
  for (const TraceRun& run : runs) {
    const StepTotals totals = totals_of(run.trace);
    table.add({run.name, std::string(to_text(run.origin)), std::to_string(rank_count(run.trace)),
               run.batch_per_gpu ? std::to_string(*run.batch_per_gpu) : "-", to_text(totals.step),
               to_text(totals.compute), to_text(totals.communication),
               to_text(totals.exposed_communication), std::to_string(calls_of(run.trace).size())});
  }
  table.write(out);
}

std::string title_of(const CollectiveLog& log) {
  std::string title = !log.other.empty()   ? log.other + ", which is no collective"
                      : log.collective     ? std::string(to_text(*log.collective))
                      : log.may_be.empty() ? "a collective"
                                           : traces::listed(log.may_be);
  if (log.ranks > 0) title += ", " + counted(log.ranks, "GPU");
  if (log.nodes > 0) title += " on " + counted(log.nodes, "node");
  return title;
}

Seconds mean_of(const CollectiveLog::Row& row) {
  double sum = 0;
  for (const Seconds time : row.times) sum += time.value();
  return Seconds(sum / static_cast<double>(row.times.size()));
}

// "12 lines of NCCL's log, 3 others".
std::string left_out_text(const CollectiveLog& log) {
  std::string text;
  for (const auto& [kind, lines] : log.left_out) {
    if (kind.empty()) continue;
    if (!text.empty()) text += ", ";
    text += kind == "other" ? counted(lines, "other line") : counted(lines, "line") + " of " + kind;
  }
  return text;
}

void write_log(std::ostream& out, const Import::Log& log) {
  fmt::print(out, "\n{}: {}\n", log.file, title_of(log.content));
  TextTable table({"size", "time", "algbw"}, 0);
  for (const CollectiveLog::Row& row : log.content.rows) {
    const Seconds time = mean_of(row);
    table.add({to_text(row.size), to_text(time), to_text(row.size / time)});
  }
  if (!log.content.rows.empty()) table.write(out);
  write_skipped(out, log.file, log.content.skipped);
  if (const std::string left = left_out_text(log.content); !left.empty()) {
    fmt::print(out, "left out: {}\n", left);
  }
  if (log.content.collective && !log.content.known_by.empty()) {
    fmt::print(out, "{} by {}\n", to_text(*log.content.collective), log.content.known_by);
  }
  if (!log.content.may_be.empty()) {
    fmt::print(out, "{} by its rows: add --collective to calibrate or validate, whichever it is\n",
               traces::listed(log.content.may_be));
  }
  for (const std::string& note : log.content.notes) fmt::print(out, "{}\n", note);
}

void write_link(std::ostream& out, const Import::Link& link) {
  const traces::PingPong& table = link.content;
  fmt::print(out, "\n{}: {}, {}\n", link.file,
             table.between ? to_text(*table.between) : "not told what lies between the two ranks",
             counted(table.rows.size(), "size"));
  TextTable text({"size", "time one way", "bandwidth"}, 0);
  for (const traces::PingPong::Row& row : table.rows) {
    text.add({to_text(row.size), to_text(row.time),
              row.size > Bytes(0) ? to_text(row.size / row.time) : "-"});
  }
  text.write(out);
  write_skipped(out, link.file, table.skipped);
}

std::string joined_by(const NodeTopology& node) {
  const GpuPairs pairs = pairs_of(node);
  std::string text;
  if (const auto links = switch_links(node)) {
    text += fmt::format(", {} of each into NVSwitches", counted(links, "NVLink"));
  }
  if (pairs.nvlink > 0) {
    text += fmt::format(", {} of GPUs with {}", counted(pairs.nvlink, "pair"),
                        node.run ? "rings between them" : "NVLinks");
  }
  for (const auto& [path, count] : pairs.pcie) {
    text += fmt::format(", {} by {}", counted(count, "pair"), to_text(path));
  }
  return text;
}

std::string model_of(const NodeTopology& node) {
  return node.run && !node.run->model.empty() ? ", " + node.run->model : "";
}

std::string text_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return value;
        } else if constexpr (std::is_same_v<Value, double>) {
          return fmt::format("{:.3g}", value);
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
          return std::to_string(value);
        } else {
          return to_text(value);
        }
      },
      cell);
}

void write_table(std::ostream& out, const RunRecord::Table& table, Rows rows) {
  const std::size_t all = table.rows.size();
  const std::size_t written = rows == Rows::all ? all : std::min(all, worst_rows);
  fmt::print(out, "\n{}\n", table.title);
  TextTable text(table.columns, 1);
  for (std::size_t row = 0; row < written; ++row) {
    std::vector<std::string> cells;
    for (const Cell& cell : table.rows[row]) cells.push_back(text_of(cell));
    text.add(std::move(cells));
  }
  text.write(out);
  if (written < all) fmt::print(out, "the first {} of {}; --all writes the others\n", written, all);
}

template <class T>
const T* fact_of(const RunRecord& record, std::string_view name) {
  const auto found = std::ranges::find(record.facts, name, &RunRecord::Fact::name);
  return found == record.facts.end() ? nullptr : std::get_if<T>(&found->value);
}

// Which shipped networks have a DDP run's gradients, and so what its buckets should be.
void write_networks(std::ostream& out, const RunRecord& record) {
  const auto* tensors = fact_of<std::uint64_t>(record, "tensors");
  const auto* bytes = fact_of<Bytes>(record, "gradients");
  if (tensors == nullptr || bytes == nullptr) return;
  const auto* cap = fact_of<Bytes>(record, "bucket cap");
  for (const std::string& name : networks_with_gradients(*tensors, *bytes)) {
    fmt::print(out,
               "{0} has as many gradients, of as many bytes; its buckets: paceline buckets {0}",
               name);
    if (cap != nullptr) fmt::print(out, " --bucket-cap {}B", cap->value());
    out << '\n';
  }
}

}  // namespace

void write_skipped(std::ostream& out, const std::string& file,
                   const std::vector<CollectiveLog::Skipped>& all) {
  for (const auto& [line, why] : all) fmt::print(out, "{}:{}: skipped: {}\n", file, line, why);
}

void write_runs(std::ostream& out, const std::vector<TraceRun>& runs) {
  fmt::print(out, "{}\n\n", counted(runs.size(), "run"));
  write_totals(out, runs);
  for (const TraceRun& run : runs) {
    const auto calls = calls_of(run.trace);
    if (calls.empty()) continue;
    fmt::print(out, "\ncollectives of {}, {}\n", run.name, to_text(run.origin));
    TextTable table({"name", "algorithm", "size", "start", "transfer", "skew"}, 2);
    for (const CallTimes& call : calls) {
      table.add({call.name, call.algorithm, to_text(call.size), to_text(call.start),
                 to_text(call.transfer), to_text(call.skew)});
    }
    table.write(out);
  }
}

void write_logs(std::ostream& out, const std::vector<Import::Log>& logs) {
  fmt::print(out, "{} of collectives; paceline calibrate fits them to a cluster\n",
             counted(logs.size(), "table"));
  for (const Import::Log& log : logs) write_log(out, log);
}

void write_links(std::ostream& out, const std::vector<Import::Link>& links) {
  fmt::print(out, "{}; paceline calibrate fits latency and bandwidth to them\n",
             counted(links.size(), "ping-pong"));
  for (const Import::Link& link : links) write_link(out, link);
}

GpuPairs pairs_of(const NodeTopology& node) {
  GpuPairs pairs;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool has_links = i < node.links.size() && node.links[i][j] > 0;
      if (has_links) {
        ++pairs.nvlink;
      } else if (i < node.paths.size() && node.paths[i][j]) {
        ++pairs.pcie[*node.paths[i][j]];
      }
    }
  }
  return pairs;
}

std::uint32_t switch_links(const NodeTopology& node) {
  std::uint32_t most = 0;
  for (const NodeTopology::Gpu& gpu : node.gpus) most = std::max(most, gpu.switch_links);
  return most;
}

void write_topologies(std::ostream& out, const std::vector<Import::Topology>& topologies) {
  for (const auto& [file, found] : topologies) {
    const NodeTopology& node = found.topology;
    fmt::print(out, "{}: {} of a node{}: {}{}, {}\n", file, found.format, model_of(node),
               counted(node.gpus.size(), "GPU"), joined_by(node), counted(node.nics.size(), "NIC"));
  }
}

void write_records(std::ostream& out, const std::vector<Import::Record>& records, Rows rows) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RunRecord& record = records[i].content;
    fmt::print(out, "{}{}: {}\n", i > 0 ? "\n" : "", records[i].file, record.title);
    TextTable facts({"figure", ""}, 1);
    for (const auto& [name, value] : record.facts) facts.add({name, text_of(value)});
    if (!record.facts.empty()) facts.write(out);
    for (const RunRecord::Table& table : record.tables) write_table(out, table, rows);
    if (!record.notes.empty()) out << '\n';
    for (const std::string& note : record.notes) fmt::print(out, "{}\n", note);
    write_networks(out, record);
    if (!record.settings.empty()) fmt::print(out, "\nas keys of a scenario:\n");
    for (const auto& [key, value] : record.settings) fmt::print(out, "  {}: {}\n", key, value);
  }
}

}  // namespace paceline
