#include "scenarios/import/logs_summary.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using collectives::Collective;
using traces::CollectiveLog;

std::string title_of(const CollectiveLog& log) {
  std::string title = log.collective ? std::string(to_text(*log.collective)) : "a collective";
  if (log.ranks > 0) title += fmt::format(", {} GPUs", log.ranks);
  if (log.nodes > 0) title += fmt::format(" on {} node{}", log.nodes, log.nodes == 1 ? "" : "s");
  return title;
}

Seconds mean_of(const CollectiveLog::Row& row) {
  double sum = 0;
  for (const Seconds time : row.times) sum += time.value();
  return Seconds(sum / static_cast<double>(row.times.size()));
}

void write_log(std::ostream& out, const Import::Log& log) {
  fmt::print(out, "\n{}: {}\n", log.file, title_of(log.table));
  TextTable table({"size", "time", "algbw"}, 0);
  for (const CollectiveLog::Row& row : log.table.rows) {
    const Seconds time = mean_of(row);
    table.add({to_text(row.size), to_text(time), to_text(row.size / time)});
  }
  if (!log.table.rows.empty()) table.write(out);
  for (const auto& [line, why] : log.table.skipped) {
    fmt::print(out, "{}:{}: skipped: {}\n", log.file, line, why);
  }
  for (const std::string& note : log.table.notes) fmt::print(out, "{}\n", note);
}

}  // namespace

void write_logs(std::ostream& out, const std::vector<Import::Log>& logs) {
  fmt::print(out, "{} table{} of collectives; paceline calibrate fits them to a cluster\n",
             logs.size(), logs.size() == 1 ? "" : "s");
  for (const Import::Log& log : logs) write_log(out, log);
}

nlohmann::ordered_json json_of(const std::vector<Import::Log>& logs) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [file, table] : logs) {
    auto rows = nlohmann::ordered_json::array();
    for (const CollectiveLog::Row& row : table.rows) {
      auto times = nlohmann::ordered_json::array();
      for (const Seconds time : row.times) times.push_back(time.value());
      rows.push_back(
          {{"line", row.line}, {"size_bytes", row.size.value()}, {"times_s", std::move(times)}});
    }
    auto skipped = nlohmann::ordered_json::array();
    for (const auto& [line, why] : table.skipped) skipped.push_back({{"line", line}, {"why", why}});
    all.push_back(
        {{"file", file},
         {"collective",
          table.collective ? nlohmann::ordered_json(to_text(*table.collective)) : nullptr},
         {"ranks", table.ranks},
         {"nodes", table.nodes},
         {"rows", std::move(rows)},
         {"skipped", std::move(skipped)},
         {"notes", table.notes}});
  }
  return all;
}

}  // namespace paceline
