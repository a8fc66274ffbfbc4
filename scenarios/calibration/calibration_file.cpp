#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <limits>
#include <ostream>

#include "models/cost/nccl_tuning.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/calibration/yaml_text.h"
#include "scenarios/loader/document/document.h"
#include "scenarios/loader/document/reader.h"
#include "traces/collective_log/collective_log.h"

namespace paceline {
namespace {

using collectives::Collective;
using loader::Field;
using loader::Overrides;
using loader::Reader;

constexpr std::string_view schema = "paceline.calibration/1";

// In the order of StructureParameters::Index.
constexpr std::array<std::string_view, cost::StructureParameters::count> parameter_names{
    "base_ll",       "base_ll128",      "base_simple",      "local_ll",
    "local_ll128",   "local_simple",    "remote_ll",        "remote_ll128",
    "remote_simple", "local_bandwidth", "remote_bandwidth", "ll_part",
    "ll128_part",    "crossing_us",     "ring_stall",       "ramp"};

std::string switch_text(double bytes) {
  if (bytes == cost::the_quicker) return "the_quicker";
  return std::isinf(bytes) ? "never" : exact(bytes);
}

void write_source(std::ostream& out, const Calibration::Source& source) {
  fmt::print(out, "  - file: {}\n    sha256: {}\n    collective: {}\n", quoted(source.file),
             source.sha256, to_text(source.shape.collective));
  fmt::print(out, "    nodes: {}\n    ranks_per_node: {}\n    rows: {}\n    used: {}\n",
             source.shape.nodes, source.shape.ranks_per_node, source.rows, source.used);
  if (!source.release.empty()) {
    fmt::print(out, "    nccl: {}\n", quoted(source.release));
  }
  if (!source.devices.empty()) {
    fmt::print(out, "    devices:\n");
    for (const std::string& device : source.devices)
      fmt::print(out, "      - {}\n", quoted(device));
  }
  if (!source.skipped.empty()) fmt::print(out, "    skipped:\n");
  for (const auto& skipped : source.skipped) {
    fmt::print(out, "      - {}\n", quoted(fmt::format("line {}: {}", skipped.line, skipped.why)));
  }
}

void write_hypothesis(std::ostream& out, const cost::CollectiveHypothesis& hypothesis) {
  fmt::print(out, "      - weight: {}\n        local_switch: {}\n        remote_switch: {}\n",
             exact(hypothesis.weight), switch_text(hypothesis.local_switch),
             switch_text(hypothesis.remote_switch));
  fmt::print(out, "        parameters:\n");
  for (std::size_t i = 0; i < parameter_names.size(); ++i) {
    fmt::print(out, "          {}: {}\n", parameter_names[i], exact(hypothesis.parameters[i]));
  }
}

void write_fit(std::ostream& out, Collective collective, const cost::CollectiveFit& fit) {
  const cost::ResidualScale scale = fit.scale();
  fmt::print(out, "  - collective: {}\n", to_text(collective));
  fmt::print(out, "    residual: {{shared: {}, own: {}, group_octaves: {}}}\n", exact(scale.shared),
             exact(scale.own), exact(scale.group_octaves));
  fmt::print(out, "    hypotheses:\n");
  for (const auto& hypothesis : fit.hypotheses()) write_hypothesis(out, hypothesis);
  fmt::print(out, "    # of the first hypothesis' parameters, in their order\n    covariance:\n");
  for (const auto& row : fit.covariance()) {
    fmt::print(out, "      - [{:.3g}]\n", fmt::join(row, ", "));
  }
  fmt::print(out,
             "    # residual: log(measured / structure); noise: what a sample is taken to be "
             "off by\n    samples:\n");
  const auto residuals = fit.residuals();
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const cost::CollectiveSample& sample = fit.samples()[i];
    fmt::print(out,
               "      - {{nodes: {}, ranks_per_node: {}, size: {}B, time: {}s, spread: {}, "
               "noise: {}, residual: {:.4f}}}\n",
               sample.shape.nodes, sample.shape.ranks_per_node, sample.size.value(),
               exact(sample.time.value()), exact(sample.spread), exact(fit.noise()[i]),
               residuals[i]);
  }
}

Collective collective_of(const Field& field) {
  const auto found = from_text<Collective>(field.text());
  if (!found) field.fail("is not a collective", "write collective: all_reduce");
  return *found;
}

cost::CollectiveShape shape_of(Reader& reader, Collective collective) {
  const auto nodes = reader.require("nodes", "2").count(1, traces::ranks_most);
  const Field each = reader.require("ranks_per_node", "8");
  const auto ranks = each.count(1, traces::ranks_most);
  if (nodes * ranks > traces::ranks_most)
    each.fail(fmt::format("makes more than {} GPUs", traces::ranks_most), "");
  return {collective, static_cast<std::uint32_t>(nodes), static_cast<std::uint32_t>(ranks)};
}

Calibration::Source read_source(Reader reader) {
  Calibration::Source source;
  source.file = reader.require("file", "log.txt").text();
  source.sha256 = reader.require("sha256", "").text();
  const Field collective = reader.require("collective", "all_reduce");
  source.shape = shape_of(reader, collective_of(collective));
  constexpr std::uint64_t most = 100'000'000;
  source.rows = reader.require("rows", "24").count(0, most);
  source.used = reader.require("used", "24").count(0, most);
  if (const auto version = reader.find("nccl")) source.release = version->text();
  if (const auto devices = reader.find("devices")) {
    for (const Field& device : devices->list()) source.devices.push_back(device.text());
  }
  if (const auto skipped = reader.find("skipped")) {
    for (const Field& row : skipped->list()) source.skipped.push_back({0, row.text()});
  }
  reader.finish();
  return source;
}

double switch_of(const Field& field) {
  if (field.text() == "the_quicker") return cost::the_quicker;
  return field.text() == "never" ? std::numeric_limits<double>::infinity() : field.number(0, 1e18);
}

cost::CollectiveHypothesis read_hypothesis(Reader reader) {
  cost::CollectiveHypothesis hypothesis;
  hypothesis.weight = reader.require("weight", "1").number(0, 1);
  hypothesis.local_switch = switch_of(reader.require("local_switch", "never"));
  hypothesis.remote_switch = switch_of(reader.require("remote_switch", "never"));
  Reader parameters = reader.map("parameters");
  for (std::size_t i = 0; i < parameter_names.size(); ++i) {
    constexpr double most = 30;  // e to that is beyond every machine
    const std::string name(parameter_names[i]);
    const bool is_missing = i == cost::StructureParameters::ramp && !parameters.has(name);
    // Files of before there was a ramp have none.
    hypothesis.parameters[i] =
        is_missing ? -most : parameters.require(name, "0").number(-most, most);
  }
  parameters.finish();
  reader.finish();
  return hypothesis;
}

cost::CollectiveFit read_fit(Reader& reader, Collective collective,
                             const std::optional<CalibratedMachine>& machine) {
  static const Overrides none;
  Reader residual = reader.map("residual");
  cost::ResidualScale scale;
  scale.shared = residual.require("shared", "0.15").number(1e-4, 10);
  scale.own = residual.require("own", "0.03").number(1e-4, 10);
  scale.group_octaves = residual.require("group_octaves", "4").number(1e-2, 1e4);
  residual.finish();
  std::vector<cost::CollectiveHypothesis> hypotheses;
  const Field explanations = reader.require("hypotheses", "");
  double sum = 0;
  for (const Field& entry : explanations.list()) {
    hypotheses.push_back(read_hypothesis(Reader(entry, none)));
    sum += hypotheses.back().weight;
  }
  constexpr double rounding = 1e-6;
  if (std::abs(sum - 1) > rounding) explanations.fail("have weights that do not add up to 1", "");
  (void)reader.find("covariance");
  std::vector<cost::CollectiveSample> samples;
  std::vector<double> noise;
  const Field list = reader.require("samples", "");
  for (const Field& entry : list.list()) {
    Reader sample(entry, none);
    const auto shape = shape_of(sample, collective);
    samples.push_back({shape, sample.require("size", "1KiB").bytes(),
                       sample.require("time", "20us").positive_seconds(),
                       sample.require("spread", "0").number(0, 1e3)});
    noise.push_back(sample.require("noise", "0.03").number(1e-4, 1e3));
    (void)sample.find("residual");
    sample.finish();
    if (shape.ranks() < 2) list.fail("has a sample of one rank", "take that sample out");
    if (const auto fault = fault_of(machine, shape.ranks_per_node)) {
      entry.fail(*fault, "calibrate again with --cluster of that machine");
    }
  }
  if (samples.size() > samples_most) {
    list.fail(fmt::format("has more than {} samples", samples_most), "");
  }
  return {std::move(samples), std::move(noise), scale, std::move(hypotheses),
          machine ? machine->rings : cost::RingParts()};
}

void read_fits(const Field& list, Calibration& calibration) {
  static const Overrides none;
  for (const Field& entry : list.list()) {
    Reader fit(entry, none);
    const Field name = fit.require("collective", "all_reduce");
    const Collective collective = collective_of(name);
    if (!cost::nccl::has_algorithms(collective)) name.fail("is not one that is fitted", "");
    auto read = read_fit(fit, collective, calibration.machine);
    fit.finish();
    if (!calibration.fits.emplace(collective, std::move(read)).second) {
      name.fail("is there twice", "");
    }
  }
}

}  // namespace

void write_calibration(std::ostream& out, const Calibration& calibration) {
  out << "# Written by paceline calibrate.";
  if (!calibration.fits.empty()) {
    out << " Latencies are factors of NCCL's own constants, as natural\n# logarithms; switches are "
           "bytes a rank from which rings take over from trees.";
  }
  out << '\n';
  fmt::print(out, "schema: {}\n", schema);
  if (!calibration.sources.empty()) out << "sources:\n";
  for (const auto& source : calibration.sources) write_source(out, source);
  if (!calibration.fits.empty()) out << "collectives:\n";
  for (const auto& [collective, fit] : calibration.fits) write_fit(out, collective, fit);
  write_machine(out, calibration.machine);
  write_links(out, calibration.links);
  write_learnt(out, calibration.learnt);
}

Calibration read_calibration(const std::string& path) {
  static const Overrides none;
  const auto document = loader::read_document(path);
  Reader reader(document, document->root, "", none);
  const Field kind = reader.require("schema", schema);
  if (kind.text() != schema) kind.fail(fmt::format("is not {}", schema), "");
  Calibration calibration;
  calibration.links = read_links(reader);
  calibration.machine = read_machine(reader);
  calibration.learnt = read_learnt(reader);
  const bool has_others = !calibration.links.empty() || !calibration.learnt.empty();
  const bool has_fits = reader.has("collectives") || !has_others;
  if (has_fits || reader.has("sources")) {
    for (const Field& source : reader.require("sources", "").list()) {
      calibration.sources.push_back(read_source(Reader(source, none)));
    }
  }
  if (has_fits) read_fits(reader.require("collectives", ""), calibration);
  reader.finish();
  return calibration;
}

}  // namespace paceline
