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
  std::string title = !log.other.empty()   ? log.other + ", which is no collective"
                      : log.collective     ? std::string(to_text(*log.collective))
                      : log.may_be.empty() ? "a collective"
                                           : traces::listed(log.may_be);
  if (log.ranks > 0) title += fmt::format(", {} GPU{}", log.ranks, log.ranks == 1 ? "" : "s");
  if (log.nodes > 0) title += fmt::format(" on {} node{}", log.nodes, log.nodes == 1 ? "" : "s");
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
    const char* plural = lines == 1 ? "" : "s";
    text += kind == "other" ? fmt::format("{} other line{}", lines, plural)
                            : fmt::format("{} line{} of {}", lines, plural, kind);
  }
  return text;
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
  if (const std::string left = left_out_text(log.table); !left.empty()) {
    fmt::print(out, "left out: {}\n", left);
  }
  if (log.table.collective && !log.table.known_by.empty()) {
    fmt::print(out, "{} by {}\n", to_text(*log.table.collective), log.table.known_by);
  }
  if (!log.table.may_be.empty()) {
    fmt::print(out, "{} by its rows: add --collective to calibrate or validate, whichever it is\n",
               traces::listed(log.table.may_be));
  }
  for (const std::string& note : log.table.notes) fmt::print(out, "{}\n", note);
}

std::vector<std::string> names_of(const std::vector<Collective>& collectives) {
  std::vector<std::string> names;
  for (const Collective one : collectives) names.emplace_back(to_text(one));
  return names;
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
         {"may_be", names_of(table.may_be)},
         {"other", table.other},
         {"known_by", table.known_by},
         {"ranks", table.ranks},
         {"nodes", table.nodes},
         {"rows", std::move(rows)},
         {"skipped", std::move(skipped)},
         {"left_out_lines", table.left_out},
         {"notes", table.notes}});
  }
  return all;
}

}  // namespace paceline
