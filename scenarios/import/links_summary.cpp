#include "scenarios/import/links_summary.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

void write_link(std::ostream& out, const Import::Link& link) {
  const traces::PingPong& table = link.table;
  fmt::print(out, "\n{}: {}, {} size{}\n", link.file,
             table.between ? to_text(*table.between) : "not told what lies between the two ranks",
             table.rows.size(), table.rows.size() == 1 ? "" : "s");
  TextTable text({"size", "time one way", "bandwidth"}, 0);
  for (const traces::PingPong::Row& row : table.rows) {
    text.add({to_text(row.size), to_text(row.time),
              row.size > Bytes(0) ? to_text(row.size / row.time) : "-"});
  }
  text.write(out);
  for (const auto& [line, why] : table.skipped) {
    fmt::print(out, "{}:{}: skipped: {}\n", link.file, line, why);
  }
}

}  // namespace

void write_links(std::ostream& out, const std::vector<Import::Link>& links) {
  fmt::print(out, "{} ping-pong{}; paceline calibrate fits latency and bandwidth to them\n",
             links.size(), links.size() == 1 ? "" : "s");
  for (const Import::Link& link : links) write_link(out, link);
}

nlohmann::ordered_json json_of(const std::vector<Import::Link>& links) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [file, table] : links) {
    auto rows = nlohmann::ordered_json::array();
    for (const traces::PingPong::Row& row : table.rows) {
      rows.push_back(
          {{"line", row.line}, {"size_bytes", row.size.value()}, {"time_s", row.time.value()}});
    }
    auto skipped = nlohmann::ordered_json::array();
    for (const auto& [line, why] : table.skipped) skipped.push_back({{"line", line}, {"why", why}});
    all.push_back({{"file", file},
                   {"between", table.between ? nlohmann::ordered_json(to_text(*table.between))
                                             : nlohmann::ordered_json(nullptr)},
                   {"rows", std::move(rows)},
                   {"skipped", std::move(skipped)}});
  }
  return all;
}

}  // namespace paceline
