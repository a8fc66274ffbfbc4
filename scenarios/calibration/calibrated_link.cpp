#include "scenarios/calibration/calibrated_link.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include "scenarios/calibration/yaml_text.h"
#include "scenarios/errors.h"

namespace paceline {

using cost::LinkPlace;
using loader::Field;
using loader::Overrides;
using loader::Reader;

namespace {

std::string files_of(const CalibratedLink& link, bool with_folders) {
  std::vector<std::string> names;
  for (const auto& source : link.sources) {
    const std::string name =
        with_folders ? source.file : std::filesystem::path(source.file).filename().string();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void write_source(std::ostream& out, const CalibratedLink::Source& source) {
  fmt::print(out, "      - file: {}\n        sha256: {}\n        rows: {}\n", quoted(source.file),
             source.sha256, source.rows);
  if (!source.skipped.empty()) fmt::print(out, "        skipped:\n");
  for (const auto& skipped : source.skipped) {
    fmt::print(out, "          - {}\n",
               quoted(fmt::format("line {}: {}", skipped.line, skipped.why)));
  }
}

void write_fit(std::ostream& out, const cost::LinkFit& fit) {
  const cost::LinkEstimate& estimate = fit.estimate;
  const auto latency = estimate.latency_range();
  const auto bandwidth = estimate.bandwidth_range();
  const auto& covariance = estimate.covariance;
  fmt::print(out, "    latency: {}s\n    bandwidth: {}Bps\n", exact(estimate.latency.value()),
             exact(estimate.bandwidth.value()));
  fmt::print(
      out, "    interval_90: {{latency: [{:.6g}s, {:.6g}s], bandwidth: [{:.6g}Bps, {:.6g}Bps]}}\n",
      latency.first.value(), latency.second.value(), bandwidth.first.value(),
      bandwidth.second.value());
  fmt::print(out, "    # of log latency and log bandwidth\n    covariance:\n");
  for (const auto& row : covariance) {
    fmt::print(out, "      - [{}, {}]\n", exact(row[0]), exact(row[1]));
  }
  fmt::print(out, "    # residual: log(measured / the piece's time)\n    deviation: {:.4g}\n",
             fit.deviation);
  fmt::print(out, "    pieces:\n");
  for (const cost::LinkPiece& piece : fit.pieces) {
    fmt::print(out, "      - {{up_to: {}B, startup: {:.6g}s, seconds_per_byte: {:.6g}}}\n",
               piece.up_to.value(), piece.startup.value(), piece.seconds_per_byte);
  }
  fmt::print(out, "    samples:\n");
  const auto residuals = fit.residuals();
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    fmt::print(out, "      - {{size: {}B, time: {}s, residual: {:.4f}}}\n",
               fit.samples[i].size.value(), exact(fit.samples[i].time.value()), residuals[i]);
  }
}

CalibratedLink::Source read_link_source(Reader reader) {
  CalibratedLink::Source source;
  source.file = reader.require("file", "osu.txt").text();
  source.sha256 = reader.require("sha256", "").text();
  constexpr std::uint64_t most = 100'000'000;
  source.rows = reader.require("rows", "24").count(0, most);
  if (const auto skipped = reader.find("skipped")) {
    for (const Field& row : skipped->list()) source.skipped.push_back({0, row.text()});
  }
  reader.finish();
  return source;
}

void read_covariance(const Field& field, cost::LinkEstimate& estimate) {
  const auto rows = field.list();
  constexpr double most = 100;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto row = rows.size() == 2 ? rows[i].list() : std::vector<Field>();
    if (row.size() != 2) field.fail("is not of two rows and two columns", "");
    for (std::size_t j = 0; j < 2; ++j) {
      estimate.covariance[i][j] = row[j].number(i == j ? 0 : -most, most);
    }
  }
}

CalibratedLink read_link(Reader& reader) {
  CalibratedLink link;
  for (const Field& source : reader.require("sources", "").list()) {
    link.sources.push_back(read_link_source(Reader(source)));
  }
  link.fit.estimate.latency = reader.require("latency", "2us").positive_seconds();
  link.fit.estimate.bandwidth = reader.require("bandwidth", "12GBps").bandwidth();
  read_covariance(reader.require("covariance", ""), link.fit.estimate);
  for (const char* key : {"interval_90", "deviation", "pieces", "samples"}) (void)reader.find(key);
  return link;
}

}  // namespace

std::string CalibratedLink::files() const { return files_of(*this, false); }

std::map<LinkPlace, CalibratedLink> calibrate_links(const std::vector<LinkTable>& tables) {
  std::map<LinkPlace, CalibratedLink> links;
  std::map<LinkPlace, std::vector<cost::LinkSample>> samples;
  for (const LinkTable& table : tables) {
    links[table.place].sources.push_back(
        {table.file, table.sha256, table.samples.size(), table.skipped});
    auto& all = samples[table.place];
    all.insert(all.end(), table.samples.begin(), table.samples.end());
  }
  for (auto& [place, link] : links) {
    auto fitted = cost::fit_link(samples.at(place));
    if (const auto* fault = std::get_if<cost::LinkFault>(&fitted)) {
      throw InputError({files_of(link, true), 0, 0}, fault->what, fault->hint);
    }
    link.fit = std::get<cost::LinkFit>(std::move(fitted));
  }
  return links;
}

void write_links(std::ostream& out, const std::map<LinkPlace, CalibratedLink>& links) {
  if (links.empty()) return;
  fmt::print(out,
             "# one way, between two ranks; of the key of that name in a scenario's cluster\n");
  fmt::print(out, "links:\n");
  for (const auto& [place, link] : links) {
    fmt::print(out, "  - link: {}\n    sources:\n", to_text(place));
    for (const auto& source : link.sources) write_source(out, source);
    write_fit(out, link.fit);
  }
}

std::map<LinkPlace, CalibratedLink> read_links(Reader& calibration) {
  std::map<LinkPlace, CalibratedLink> links;
  const auto list = calibration.find("links");
  if (!list) return links;
  for (const Field& entry : list->list()) {
    Reader reader(entry);
    const Field name = reader.require("link", "network");
    const auto place = name.word<LinkPlace>();
    auto link = read_link(reader);
    reader.finish();
    if (!links.emplace(place, std::move(link)).second) name.fail("is there twice", "");
  }
  return links;
}

}  // namespace paceline
