#include "scenarios/calibration/log_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/document/document.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "traces/archive/input.h"
#include "traces/collective_log/collective_log.h"
#include "traces/formats/formats.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline {
namespace {

using collectives::Collective;
using traces::CollectiveLog;

cost::CollectiveSample sample_of(const cost::CollectiveShape& shape,
                                 const CollectiveLog::Row& row) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(row.times.size());
  for (const Seconds time : row.times) sum += time.value();
  const double mean = sum / n;
  for (const Seconds time : row.times) squares += std::pow(time.value() / mean - 1, 2);
  return {shape, row.size, Seconds(mean), n > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

std::size_t first_line(const auto& log) {
  return log.rows.empty() ? log.skipped.front().line : log.rows.front().line;
}

void expect_rows(const auto& log, const Location& where, const char* hint) {
  if (!log.rows.empty()) return;
  throw InputError(where,
                   fmt::format("none of the table's {} rows can be used: {}", log.skipped.size(),
                               log.skipped.front().why),
                   hint);
}

// Throws InputError where no one says which, or what is said contradicts the rows.
Collective collective_of(const CollectiveLog& log, const LogOptions& options,
                         const Location& where) {
  const auto said = options.collective;
  if (log.collective && said && *log.collective != *said) {
    throw InputError(where, fmt::format("is of {}, as it says", to_text(*log.collective)),
                     "leave out --collective, or take another log");
  }
  if (log.collective) return *log.collective;
  const std::string which = log.may_be.empty() ? "all_reduce" : traces::listed(log.may_be);
  if (!said) {
    const bool is_known = !log.may_be.empty();
    throw InputError(
        where,
        is_known ? "does not say which collective was measured: by its rows " + which
                 : "does not say which collective was measured",
        is_known ? fmt::format("add --collective {}, whichever it is", which)
                 : "add --collective all_reduce, or a line \"# collective: all_reduce\", or "
                   "\"# ping_pong: network\" where it is one");
  }
  return *said;
}

// The collective, and the group of an even number of GPUs a node.
cost::CollectiveShape shape_of(const CollectiveLog& log, const LogOptions& options,
                               const Location& where) {
  const Collective collective = collective_of(log, options, where);
  const auto differ = [](std::uint32_t said, std::uint32_t found) {
    return said > 0 && found > 0 && said != found;
  };
  if (differ(options.gpus, log.ranks) || differ(options.nodes, log.nodes)) {
    throw InputError(where,
                     fmt::format("is of {} GPUs on {} nodes, as it says", log.ranks, log.nodes),
                     "leave out --gpus and --nodes, or take another log");
  }
  const std::uint32_t ranks = log.ranks > 0 ? log.ranks : options.gpus;
  const std::uint32_t nodes = log.nodes > 0 ? log.nodes : options.nodes;
  if (!traces::allows(log.evidence, collective, ranks)) {
    throw InputError(where,
                     "contradicts its rows: " + traces::why_not(log.evidence, collective, ranks),
                     log.may_be.empty() ? "take another log, or say what it is of"
                                        : "by its rows it is " + traces::listed(log.may_be));
  }
  if (ranks == 0 || nodes == 0) {
    const std::string why = log.notes.empty() ? "" : ": " + log.notes.front();
    throw InputError(
        where, (ranks == 0 ? "does not list its GPUs and nodes" : "does not say its nodes") + why,
        ranks == 0 ? "add --gpus 16 --nodes 2, or lines \"# GPUs: 16\" and \"# nodes: 2\""
                   : "add --nodes 2, or a line \"# nodes: 2\"");
  }
  if (ranks > traces::ranks_most) {
    throw InputError(where, fmt::format("has more than {} GPUs", traces::ranks_most), "");
  }
  if (ranks % nodes != 0) {
    throw InputError(where, fmt::format("has {} GPUs on {} nodes", ranks, nodes),
                     "only groups with the same number on each node can be fitted");
  }
  return {collective, nodes, ranks / nodes};
}

LogTable table_of(const std::string& path, const std::string& sha256, CollectiveLog log,
                  const LogOptions& options) {
  const Location where{path, first_line(log), 0};
  expect_rows(log, where, "take another log");
  LogTable table;
  table.file = path;
  table.sha256 = sha256;
  table.shape = shape_of(log, options, where);
  table.release = std::move(log.release);
  table.devices.assign(log.devices.begin(), log.devices.end());
  table.rows = log.rows.size() + log.skipped.size();
  table.skipped = std::move(log.skipped);
  table.notes = std::move(log.notes);
  if (table.shape.ranks() < 2) {
    table.skipped.push_back({where.line, "a table of a single GPU"});
    return table;
  }
  for (const CollectiveLog::Row& row : log.rows) {
    if (row.size >= options.least_size) table.samples.push_back(sample_of(table.shape, row));
  }
  return table;
}

LinkTable link_table_of(const std::string& path, const std::string& sha256,
                        traces::PingPong ping_pong, const LogOptions& options) {
  const Location where{path, first_line(ping_pong), 0};
  expect_rows(ping_pong, where, "take another table");
  const auto place = ping_pong.between ? ping_pong.between : options.between;
  if (!place) {
    throw InputError(where, "does not say what lies between the two ranks",
                     "add --between nodes or gpus, or a line \"# ping_pong: network\" or "
                     "\"# ping_pong: intra_node\"");
  }
  if (options.between && *options.between != *place) {
    throw InputError(where, fmt::format("is of {}, as it says", to_text(*place)),
                     "leave out --between, or take another table");
  }
  LinkTable table{path, sha256, *place, {}, std::move(ping_pong.skipped)};
  for (const auto& row : ping_pong.rows) table.samples.push_back({row.size, row.time});
  return table;
}

struct LogFiles {
  struct Origin {
    std::string path, sha256;
  };
  traces::CollectiveLogFiles files;
  std::vector<Origin> taken;

  [[nodiscard]] Origin origin_of(const std::vector<std::size_t>& together) const {
    Origin first = taken[together.front()];
    if (together.size() == 1) return first;
    std::string hashes;
    for (const std::size_t file : together) hashes += taken[file].sha256;
    return {fmt::format("{} and {} more", first.path, together.size() - 1),
            loader::sha256_of(hashes)};
  }
};

// Whatever it holds. Throws FormatError.
void take_text(const std::string& name, const std::string& text, const LogOptions& options,
               LogFiles& logs, MeasuredFiles& measured) {
  if (options.takes_link_tests && traces::is_link_test(text)) {
    measured.tests.emplace_back(name, traces::read_link_tests(text));
    return;
  }
  const std::string sha256 = loader::sha256_of(text);
  const bool is_ping_pong = traces::is_ping_pong(traces::plain_text(text));
  if (is_ping_pong) {
    for (traces::PingPong& one : traces::read_ping_pongs(text)) {
      measured.links.push_back(link_table_of(name, sha256, std::move(one), options));
    }
    if (!traces::is_log_beside_ping_pongs(text)) return;
  }
  logs.taken.push_back({name, sha256});
  std::vector<CollectiveLog> tables = logs.files.take(text);
  // Of a file that names the collectives of some tables the option tells the others'.
  const bool some_are_open = std::ranges::any_of(
      tables, [](const CollectiveLog& log) { return !log.collective && log.other.empty(); });
  LogOptions of_named = options;
  if (some_are_open) of_named.collective.reset();
  for (CollectiveLog& log : tables) {
    if (!log.other.empty()) {
      warn({name, first_line(log), 0}, "is of " + log.other + ", and left out", "");
      continue;
    }
    measured.logs.push_back(
        table_of(name, sha256, std::move(log), log.collective ? of_named : options));
  }
}

bool is_of_a_log(std::string_view text, const LogOptions& options) {
  return traces::may_begin_text(text) &&
         (traces::is_ping_pong(text) || traces::is_collective_log(text) ||
          (options.takes_link_tests && traces::is_link_test(text)));
}

// A file, or all logs of a folder or an archive: what else lies there is named and passed over.
void take_path(const std::string& path, const LogOptions& options, LogFiles& logs,
               MeasuredFiles& measured) {
  const std::string given = traces::name_of_input(path);
  bool is_empty = true, has_log = false;
  files::for_each_input(
      path, traces::may_begin_text,
      [&](const traces::UnpackedFile& file) {
        is_empty = false;
        if (file.name != given && !is_of_a_log(file.text, options)) {
          return warn({file.name}, "is not a log of collectives, and is skipped", "");
        }
        has_log = true;
        if (!file.cut.empty()) {
          warn({file.name}, "cut off, or damaged (" + file.cut + "): read up to there", "");
        }
        try {
          take_text(file.name, file.text, options, logs, measured);
        } catch (const traces::FormatError& error) {
          throw InputError({file.name, error.line(), 0}, error.what(), error.hint());
        }
      },
      [](const std::string& file, const std::string& why) {
        throw InputError({file}, "cannot be read: " + why, "");
      });
  if (is_empty) throw InputError({given}, "has no files", "");
  if (!has_log) {
    throw InputError({given}, "has no log of collectives in it",
                     "give the output of nccl-tests, or of osu_latency");
  }
}

}  // namespace

MeasuredFiles read_measured_files(const std::vector<std::string>& paths,
                                  const LogOptions& options) {
  MeasuredFiles files;
  LogFiles logs;
  for (const std::string& path : paths) take_path(path, options, logs, files);
  for (auto& joined : logs.files.joined()) {
    const LogFiles::Origin origin = logs.origin_of(joined.files);
    for (CollectiveLog& log : joined.tables) {
      files.logs.push_back(table_of(origin.path, origin.sha256, std::move(log), options));
    }
  }
  return files;
}

std::vector<LogTable> read_log_files(const std::vector<std::string>& paths,
                                     const LogOptions& options) {
  MeasuredFiles files = read_measured_files(paths, options);
  if (!files.links.empty()) {
    throw InputError({files.links.front().file}, "is a ping-pong, not a log of collectives",
                     "paceline calibrate takes it");
  }
  return std::move(files.logs);
}

}  // namespace paceline
