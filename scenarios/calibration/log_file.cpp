#include "scenarios/calibration/log_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "scenarios/loader/input_error.h"
#include "scenarios/loader/sha256.h"
#include "traces/collective_log/comments.h"

namespace paceline {
namespace {

using collectives::Collective;
using traces::CollectiveLog;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  // An empty file sets failbit, and is no log either.
  if (!file.is_open() || file.bad()) {
    throw InputError({path, 0, 0}, std::string("cannot be read: ") + std::strerror(errno), "");
  }
  return text.str();
}

cost::CollectiveSample sample_of(const cost::CollectiveShape& shape,
                                 const CollectiveLog::Row& row) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(row.times.size());
  for (const Seconds time : row.times) sum += time.value();
  const double mean = sum / n;
  for (const Seconds time : row.times) squares += std::pow(time.value() / mean - 1, 2);
  return {shape, row.size, Seconds(mean), n > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

std::size_t first_line(const CollectiveLog& log) {
  return log.rows.empty() ? log.skipped.front().line : log.rows.front().line;
}

cost::CollectiveShape shape_of(const CollectiveLog& log, const LogOptions& options,
                               const Location& where) {
  const auto collective = log.collective ? log.collective : options.collective;
  if (log.collective && options.collective && *log.collective != *options.collective) {
    throw InputError(where, fmt::format("is of {}, as it says", to_text(*log.collective)),
                     "leave out --collective, or take another log");
  }
  if (!collective) {
    throw InputError(where, "does not say which collective was measured",
                     "add --collective all_reduce, or a line \"# collective: all_reduce\"");
  }
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
  if (ranks == 0 || nodes == 0) {
    throw InputError(where, "does not list its GPUs and nodes",
                     "add --gpus 16 --nodes 2, or lines \"# GPUs: 16\" and \"# nodes: 2\"");
  }
  if (ranks > traces::ranks_most) {
    throw InputError(where, fmt::format("has more than {} GPUs", traces::ranks_most), "");
  }
  if (ranks % nodes != 0) {
    throw InputError(where, fmt::format("has {} GPUs on {} nodes", ranks, nodes),
                     "only groups with the same number on each node can be fitted");
  }
  return {*collective, nodes, ranks / nodes};
}

LogTable table_of(const std::string& path, const std::string& sha256, CollectiveLog log,
                  const LogOptions& options) {
  const Location where{path, first_line(log), 0};
  if (log.rows.empty()) {
    throw InputError(where,
                     fmt::format("none of the table's {} rows can be used: {}", log.skipped.size(),
                                 log.skipped.front().why),
                     "take another log");
  }
  LogTable table;
  table.file = path;
  table.sha256 = sha256;
  table.shape = shape_of(log, options, where);
  table.release = std::move(log.release);
  table.devices.assign(log.devices.begin(), log.devices.end());
  table.rows = log.rows.size() + log.skipped.size();
  table.skipped = std::move(log.skipped);
  if (table.shape.ranks() < 2) {
    table.skipped.push_back({where.line, "a table of a single GPU"});
    return table;
  }
  for (const CollectiveLog::Row& row : log.rows) {
    if (row.size >= options.least_size) table.samples.push_back(sample_of(table.shape, row));
  }
  return table;
}

}  // namespace

std::vector<LogTable> read_log_files(const std::vector<std::string>& paths,
                                     const LogOptions& options) {
  std::vector<LogTable> tables;
  for (const std::string& path : paths) {
    const std::string text = text_of(path);
    std::vector<CollectiveLog> logs;
    try {
      logs = traces::read_collective_logs(text);
    } catch (const traces::FormatError& error) {
      throw InputError({path, error.line(), 0}, error.what(), error.hint());
    }
    const std::string sha256 = loader::sha256_of(text);
    for (CollectiveLog& log : logs) {
      tables.push_back(table_of(path, sha256, std::move(log), options));
    }
  }
  return tables;
}

}  // namespace paceline
