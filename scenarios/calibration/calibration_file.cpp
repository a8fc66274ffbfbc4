#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <limits>
#include <ostream>

#include "models/cost/nccl_tuning.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/document/document.h"
#include "scenarios/document/reader.h"
#include "traces/collective_log/collective_log.h"

namespace paceline {
namespace {

using collectives::Collective;
using cost::LinkPlace;
using loader::Field;
using loader::Reader;
using loader::yaml_quoted;

constexpr std::string_view schema = "paceline.calibration/1";

// In the order of StructureParameters::Index.
constexpr std::array<std::string_view, cost::StructureParameters::count> parameter_names{
    "base_ll",       "base_ll128",      "base_simple",      "local_ll",
    "local_ll128",   "local_simple",    "remote_ll",        "remote_ll128",
    "remote_simple", "local_bandwidth", "remote_bandwidth", "ll_part",
    "ll128_part",    "crossing_us",     "ring_stall",       "ramp"};

std::string switch_text(double bytes) {
  if (bytes == cost::the_quicker) return "the_quicker";
  return std::isinf(bytes) ? "never" : fmt::format("{}", bytes);
}

void write_skipped(std::ostream& out, const auto& rows, const char* indent) {
  if (!rows.empty()) fmt::print(out, "{}skipped:\n", indent);
  for (const auto& [line, why] : rows) {
    fmt::print(out, "{}  - {}\n", indent, yaml_quoted(fmt::format("line {}: {}", line, why)));
  }
}

void write_source(std::ostream& out, const Calibration::Source& source) {
  fmt::print(out, "  - file: {}\n    sha256: {}\n    collective: {}\n", yaml_quoted(source.file),
             source.sha256, to_text(source.shape.collective));
  fmt::print(out, "    nodes: {}\n    ranks_per_node: {}\n    rows: {}\n    used: {}\n",
             source.shape.nodes, source.shape.ranks_per_node, source.rows, source.used);
  if (!source.release.empty()) {
    fmt::print(out, "    nccl: {}\n", yaml_quoted(source.release));
  }
  if (!source.devices.empty()) {
    fmt::print(out, "    devices:\n");
    for (const std::string& device : source.devices)
      fmt::print(out, "      - {}\n", yaml_quoted(device));
  }
  write_skipped(out, source.skipped, "    ");
}

void write_hypothesis(std::ostream& out, const cost::CollectiveHypothesis& hypothesis) {
  fmt::print(out, "      - weight: {}\n        local_switch: {}\n        remote_switch: {}\n",
             hypothesis.weight, switch_text(hypothesis.local_switch),
             switch_text(hypothesis.remote_switch));
  fmt::print(out, "        parameters:\n");
  for (std::size_t i = 0; i < parameter_names.size(); ++i) {
    fmt::print(out, "          {}: {}\n", parameter_names[i], hypothesis.parameters[i]);
  }
}

void write_fit(std::ostream& out, Collective collective, const cost::CollectiveFit& fit) {
  const cost::ResidualScale scale = fit.scale();
  fmt::print(out, "  - collective: {}\n", to_text(collective));
  fmt::print(out, "    residual: {{shared: {}, own: {}, group_octaves: {}}}\n", scale.shared,
             scale.own, scale.group_octaves);
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
               sample.time.value(), sample.spread, fit.noise()[i], residuals[i]);
  }
}

void write_link_source(std::ostream& out, const CalibratedLink::Source& source) {
  fmt::print(out, "      - file: {}\n        sha256: {}\n        rows: {}\n",
             yaml_quoted(source.file), source.sha256, source.rows);
  write_skipped(out, source.skipped, "        ");
}

void write_link_fit(std::ostream& out, const cost::LinkFit& fit) {
  const cost::LinkEstimate& estimate = fit.estimate;
  const auto latency = estimate.latency_range();
  const auto bandwidth = estimate.bandwidth_range();
  const auto& covariance = estimate.covariance;
  fmt::print(out, "    latency: {}s\n    bandwidth: {}Bps\n", estimate.latency.value(),
             estimate.bandwidth.value());
  fmt::print(
      out, "    interval_90: {{latency: [{:.6g}s, {:.6g}s], bandwidth: [{:.6g}Bps, {:.6g}Bps]}}\n",
      latency.first.value(), latency.second.value(), bandwidth.first.value(),
      bandwidth.second.value());
  fmt::print(out, "    # of log latency and log bandwidth\n    covariance:\n");
  for (const auto& row : covariance) {
    fmt::print(out, "      - [{}, {}]\n", row[0], row[1]);
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
               fit.samples[i].size.value(), fit.samples[i].time.value(), residuals[i]);
  }
}

void write_links(std::ostream& out, const std::map<LinkPlace, CalibratedLink>& links) {
  if (links.empty()) return;
  fmt::print(out,
             "# one way, between two ranks; of the key of that name in a scenario's cluster\n");
  fmt::print(out, "links:\n");
  for (const auto& [place, link] : links) {
    fmt::print(out, "  - link: {}\n    sources:\n", to_text(place));
    for (const auto& source : link.sources) write_link_source(out, source);
    write_link_fit(out, link.fit);
  }
}

void write_machine(std::ostream& out, const std::optional<CalibratedMachine>& machine) {
  if (!machine) return;
  fmt::print(out, "machine:\n  cluster: {}\n", yaml_quoted(machine->cluster));
  fmt::print(out,
             "  # what rings of so many ranks carry in a node and between nodes, over what those "
             "of all its GPUs do;\n  # and what they cross in a node where it is not NVLink of "
             "the two\n  rings:\n");
  const auto between_nodes = machine->rings.between_nodes();
  std::size_t ranks = 0;
  for (const cost::RingPart& part : machine->rings.by_ranks()) {
    fmt::print(
        out, "    - {{ranks_per_node: {}, local: {}, remote: {}{}}}\n", ++ranks, part.local,
        part.remote,
        part.way == topology::RingWay::nvlink ? "" : fmt::format(", over: {}", to_text(part.way)));
  }
  if (!between_nodes) return;
  fmt::print(out,
             "  # what rings of all GPUs carry between two nodes, as described: for collectives "
             "without a log of several\n  between_nodes: {}Bps\n",
             between_nodes->value());
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

constexpr std::uint64_t rows_most = 100'000'000;

void read_skipped(Reader& reader, auto& rows) {
  if (const auto skipped = reader.find("skipped")) {
    for (const Field& row : skipped->list()) rows.push_back({0, row.text()});
  }
}

Calibration::Source read_source(Reader reader) {
  Calibration::Source source;
  source.file = reader.require("file", "log.txt").text();
  source.sha256 = reader.require("sha256", "").text();
  const Field collective = reader.require("collective", "all_reduce");
  source.shape = shape_of(reader, collective_of(collective));
  source.rows = reader.require("rows", "24").count(0, rows_most);
  source.used = reader.require("used", "24").count(0, rows_most);
  if (const auto version = reader.find("nccl")) source.release = version->text();
  if (const auto devices = reader.find("devices")) {
    for (const Field& device : devices->list()) source.devices.push_back(device.text());
  }
  read_skipped(reader, source.skipped);
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
    hypothesis.parameters[i] =
        parameters.require(std::string(parameter_names[i]), "0").number(-most, most);
  }
  parameters.finish();
  reader.finish();
  return hypothesis;
}

cost::CollectiveFit read_fit(Reader& reader, Collective collective,
                             const std::optional<CalibratedMachine>& machine) {
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
    hypotheses.push_back(read_hypothesis(Reader(entry)));
    sum += hypotheses.back().weight;
  }
  constexpr double rounding = 1e-6;
  if (std::abs(sum - 1) > rounding) explanations.fail("have weights that do not add up to 1", "");
  (void)reader.find("covariance");
  std::vector<cost::CollectiveSample> samples;
  std::vector<double> noise;
  const Field list = reader.require("samples", "");
  for (const Field& entry : list.list()) {
    Reader sample(entry);
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
  for (const Field& entry : list.list()) {
    Reader fit(entry);
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

CalibratedLink::Source read_link_source(Reader reader) {
  CalibratedLink::Source source;
  source.file = reader.require("file", "osu.txt").text();
  source.sha256 = reader.require("sha256", "").text();
  source.rows = reader.require("rows", "24").count(0, rows_most);
  read_skipped(reader, source.skipped);
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

// `ranks`: that the entry has to be of.
cost::RingPart read_part(const Field& entry, std::uint64_t ranks) {
  constexpr double least = 1e-6, most = 1e6;
  Reader reader(entry);
  const Field name = reader.require("ranks_per_node", "2");
  if (name.count(1, 1'000'000) != ranks) {
    name.fail(fmt::format("is where {} belongs", ranks),
              "list 1, 2, 3, ... ranks a node, in this order");
  }
  cost::RingPart part{reader.require("local", "0.5").number(least, most),
                      reader.require("remote", "0.25").number(least, most)};
  if (const auto way = reader.find("over")) {
    const auto known = from_text<topology::RingWay>(way->text());
    if (!known) way->fail("is no way of rings", "write nvlink, neighbours or hosts");
    part.way = *known;
  }
  reader.finish();
  return part;
}

std::optional<CalibratedMachine> read_machine(Reader& calibration) {
  if (!calibration.has("machine")) return std::nullopt;
  Reader reader = calibration.map("machine");
  CalibratedMachine machine;
  machine.cluster = reader.require("cluster", "dgx1-v100").text();
  std::vector<cost::RingPart> parts;
  for (const Field& entry : reader.require("rings", "").list()) {
    parts.push_back(read_part(entry, parts.size() + 1));
  }
  std::optional<BytesPerSecond> between_nodes;
  if (reader.has("between_nodes")) {
    between_nodes = reader.require("between_nodes", "92GBps").bandwidth();
  }
  reader.finish();
  machine.rings = cost::RingParts(std::move(parts), between_nodes);
  return machine;
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
  const auto document = loader::read_document(path);
  Reader reader(document);
  reader.expect_schema(schema);
  Calibration calibration;
  calibration.links = read_links(reader);
  calibration.machine = read_machine(reader);
  calibration.learnt = read_learnt(reader);
  const bool has_others = !calibration.links.empty() || !calibration.learnt.empty();
  const bool has_fits = reader.has("collectives") || !has_others;
  if (has_fits || reader.has("sources")) {
    for (const Field& source : reader.require("sources", "").list()) {
      calibration.sources.push_back(read_source(Reader(source)));
    }
  }
  if (has_fits) read_fits(reader.require("collectives", ""), calibration);
  reader.finish();
  return calibration;
}

}  // namespace paceline
