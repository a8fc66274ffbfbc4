#include "scenarios/calibration/learnt_steps.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <ostream>
#include <utility>

namespace paceline {

using loader::Field;
using loader::Reader;
using loader::yaml_quoted;
using uncertain::Curve;
using uncertain::LinkClass;
using uncertain::Unknown;

namespace {

// In the order of Unknown.
constexpr std::array<std::string_view, uncertain::quantities> quantity_keys{
    "compute", "wrapper", "node_links", "network", "host", "overlap"};

constexpr double log_most = 5;  // more than 100 times as long is a slip
constexpr std::uint64_t gpus_most = 1'000'000;

void write_curves(std::ostream& out, const uncertain::Response& response) {
  for (std::size_t q = 0; q < uncertain::quantities; ++q) {
    const auto& places = response.curves[q].places();
    if (places.empty()) continue;
    std::string pairs;
    for (const auto& [at, moved] : places) {
      if (at == 0) continue;
      pairs += fmt::format("{}[{}, {}]", pairs.empty() ? "" : ", ", at, moved);
    }
    fmt::print(out, "          {}: [{}]\n", quantity_keys[q], pairs);
  }
}

void write_row(std::ostream& out, const LearntSteps::Row& row) {
  const uncertain::Place& place = row.known.response.place;
  fmt::print(out, "      - gpus_per_node: {}\n        nodes: {}\n        intra_node: {}\n",
             row.gpus_per_node, row.nodes, to_text(row.intra_node));
  fmt::print(out, "        transport: {}\n        measured: {}\n", to_text(row.transport),
             row.known.measured);
  fmt::print(out, "        node: {}\n        network: {}\n", yaml_quoted(to_text(place.node)),
             yaml_quoted(to_text(place.network)));
  fmt::print(out, "        hides_behind_slow: {}\n        box: {}\n        compute: {}\n",
             place.hides_behind_slow, place.box, place.compute);
  fmt::print(out, "        moves:\n");
  write_curves(out, row.known.response);
  if (!row.said.empty()) fmt::print(out, "        believed:\n");
  for (const LearntSteps::Said& one : row.said) {
    fmt::print(out, "          {}: {}\n", quantity_keys[static_cast<std::size_t>(one.quantity)],
               yaml_quoted(fmt::format("{} ({} to {})", told(one.quantity, one.value),
                                       told(one.quantity, one.low), told(one.quantity, one.high))));
  }
}

struct Limits {
  double least, most;
};
Limits limits_of(Unknown quantity) {
  constexpr double host_most = 1000;  // of 10 us a gradient
  if (quantity == Unknown::overlap) return {0, 1};
  if (quantity == Unknown::host) return {-host_most, host_most};
  return {-log_most, log_most};
}

// [[-0.3, -0.02], [0.3, 0.05]]
Curve read_curve(const Field& field, const Limits& limits) {
  std::vector<std::pair<double, double>> places;
  constexpr std::size_t places_most = 32;
  for (const Field& entry : field.list()) {
    const auto pair = entry.list();
    if (pair.size() != 2) entry.fail("is not two numbers", "write [0.3, 0.05]");
    const double at = pair[0].number(limits.least, limits.most);
    if (at == 0 || (!places.empty() && at <= places.back().first)) {
      pair[0].fail("does not come after the one before", "list them in ascending order, without 0");
    }
    places.emplace_back(at, pair[1].number(-log_most, log_most));
  }
  if (places.size() > places_most) field.fail("has more than 32 places", "");
  return Curve(std::move(places));
}

std::uint32_t read_gpus(Reader& row, const char* key, std::string_view example) {
  return static_cast<std::uint32_t>(row.require(key, example).count(1, gpus_most));
}

LearntSteps::Row read_row(const Field& field) {
  Reader reader(field);
  constexpr std::string_view keys[] = {
      "gpus_per_node", "intra_node",        "transport", "nodes",   "measured", "node",
      "network",       "hides_behind_slow", "box",       "compute", "moves",    "believed"};
  reader.expect_only(keys);
  LearntSteps::Row row;
  row.gpus_per_node = read_gpus(reader, "gpus_per_node", "8");
  row.nodes = read_gpus(reader, "nodes", "2");
  const auto gpus = std::uint64_t{row.gpus_per_node} * row.nodes;
  if (gpus < 2) field.fail("is of one GPU", "take that row out");
  if (gpus > gpus_most) field.fail("has more than 1,000,000 GPUs", "");
  row.intra_node = reader.require("intra_node", "nvswitch").word<topology::IntraNodeKind>();
  row.transport = reader.require("transport", "rdma").word<topology::Transport>();
  row.known.measured = reader.require("measured", "0.05").number(-log_most, log_most);
  uncertain::Place& place = row.known.response.place;
  place.log2_ranks = std::log2(static_cast<double>(gpus));
  place.log2_gpus_per_node = std::log2(row.gpus_per_node);
  place.log2_nodes = std::log2(row.nodes);
  place.node = reader.require("node", "NVLink").word<LinkClass>();
  place.network = reader.require("network", "RDMA").word<LinkClass>();
  place.hides_behind_slow = reader.require("hides_behind_slow", "false").boolean();
  place.box = reader.require("box", "0").number(0, log_most);
  place.compute = reader.require("compute", "0.014").number(0, log_most);
  Reader moves(reader.require("moves", "{network: [[-0.3, -0.02], [0.3, 0.05]]}"));
  for (std::size_t q = 0; q < uncertain::quantities; ++q) {
    if (const auto curve = moves.find(std::string(quantity_keys[q]))) {
      row.known.response.curves[q] = read_curve(*curve, limits_of(static_cast<Unknown>(q)));
    }
  }
  moves.finish();
  row.known.response.rare = uncertain::rare_overhead;
  (void)reader.find("believed");
  reader.finish();
  return row;
}

LearntSteps read_steps(const Field& field) {
  Reader reader(field);
  constexpr std::string_view keys[] = {"scenario", "sha256", "settings", "had_logs", "rows"};
  reader.expect_only(keys);
  LearntSteps steps;
  steps.scenario = reader.require("scenario", "scenario.yaml").text();
  steps.sha256 = reader.require("sha256", "").text();
  if (const auto settings = reader.find("settings")) steps.settings = settings->text();
  if (const auto logs = reader.find("had_logs")) steps.had_logs = logs->boolean();
  for (const Field& row : reader.require("rows", "").list()) steps.rows.push_back(read_row(row));
  reader.finish();
  return steps;
}

void write_steps(std::ostream& out, const LearntSteps& steps) {
  fmt::print(out, "  - scenario: {}\n    sha256: {}\n", yaml_quoted(steps.scenario), steps.sha256);
  if (!steps.settings.empty()) fmt::print(out, "    settings: {}\n", yaml_quoted(steps.settings));
  if (steps.had_logs) fmt::print(out, "    had_logs: true\n");
  fmt::print(out,
             "    # the logarithm of each step over that predicted, and how it moves with the "
             "logarithm of what\n    # each quantity takes, and with the part of overlap that is "
             "lost; what they all say, with 90 %\n    # intervals\n    rows:\n");
  for (const LearntSteps::Row& row : steps.rows) write_row(out, row);
}

}  // namespace

std::string told(Unknown quantity, double value) {
  if (quantity == Unknown::overlap) return fmt::format("{:.0f} % less", 100 * value);
  if (quantity == Unknown::host) return fmt::format("{:.0f} us a gradient", 10 * value);
  return fmt::format("{:.2f}x", std::exp(value));
}

void write_learnt(std::ostream& out, const std::vector<LearntSteps>& learnt) {
  if (learnt.empty()) return;
  fmt::print(out, "learnt:\n");
  for (const LearntSteps& steps : learnt) write_steps(out, steps);
}

std::vector<LearntSteps> read_learnt(Reader& calibration) {
  std::vector<LearntSteps> learnt;
  const auto list = calibration.find("learnt");
  if (!list) return learnt;
  std::size_t rows = 0;
  for (const Field& entry : list->list()) {
    learnt.push_back(read_steps(entry));
    rows += learnt.back().rows.size();
  }
  if (rows > learnt_rows_most) {
    list->fail(fmt::format("has more than {} rows", learnt_rows_most), "learn from fewer");
  }
  return learnt;
}

}  // namespace paceline
