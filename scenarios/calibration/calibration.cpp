#include "scenarios/calibration/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "models/collectives/nccl_tests.h"
#include "models/cost/nccl_tuning.h"
#include "scenarios/errors.h"

namespace paceline {

using collectives::Collective;

std::optional<std::string> fault_of(const std::optional<CalibratedMachine>& machine,
                                    std::uint32_t ranks_per_node) {
  if (!machine || machine->rings.reach(ranks_per_node)) return std::nullopt;
  return fmt::format("has {} ranks a node, and {} {}", ranks_per_node, machine->cluster,
                     machine->rings.by_ranks().size());
}

const cost::CollectiveFit* Calibration::find(Collective collective) const {
  const auto found = fits.find(collective);
  return found == fits.end() ? nullptr : &found->second;
}

bool Calibration::is_fitted(const cost::CollectiveShape& shape) const {
  const cost::CollectiveFit* fit = find(shape.collective);
  return fit != nullptr && std::ranges::any_of(fit->samples(), [&](const auto& sample) {
           return sample.shape == shape;
         });
}

bool Calibration::is_fitted(Collective collective, std::uint32_t ranks_per_node) const {
  const cost::CollectiveFit* fit = find(collective);
  return fit != nullptr && std::ranges::any_of(fit->samples(), [&](const auto& sample) {
           return sample.shape.ranks_per_node == ranks_per_node;
         });
}

namespace {

// Of a group's rows on one node: bytes/s on the bus (nccl-tests' meaning), by size.
using BusBandwidths = std::map<Bytes, double>;

// By ranks, of samples on one node.
std::map<std::uint32_t, BusBandwidths> bus_bandwidths(const cost::CollectiveFit& fit) {
  std::map<std::uint32_t, BusBandwidths> groups;
  for (const cost::CollectiveSample& sample : fit.samples()) {
    const cost::CollectiveShape& shape = sample.shape;
    if (shape.nodes > 1 || shape.ranks_per_node < 2) continue;
    const double factor = collectives::bus_factor(shape.collective, RankCount(shape.ranks()));
    groups[shape.ranks()][sample.size] = factor * (sample.size / sample.time).value();
  }
  return groups;
}

// What the quickest group on a node has on the bus over what the slowest has, at the largest size
// of both where that is 16 MiB or more: smaller ones say more of latencies. 1 of a single group.
double spread_of_groups(const cost::CollectiveFit& fit) {
  constexpr Bytes large(16 << 20);
  double spread = 1;
  const auto groups = bus_bandwidths(fit);
  for (const auto& [ranks, one] : groups) {
    for (const auto& [others, other] : groups) {
      for (auto at = one.rbegin(); at != one.rend() && at->first >= large; ++at) {
        const auto same = other.find(at->first);
        if (same == other.end()) continue;
        spread = std::max(spread, at->second / same->second);
        break;
      }
    }
  }
  return spread;
}

// GPUs of this form are joined by lanes, four or eight a node (P100 and V100); NVSwitches came with
// SXM3. (NVIDIA's DGX-1 and DGX-2 system architecture whitepapers.)
bool is_of_mesh(const std::string& device) { return device.find("SXM2") != std::string::npos; }

void require_one_release(const std::vector<LogTable>& tables) {
  const LogTable* known = nullptr;
  for (const LogTable& table : tables) {
    if (table.release.empty()) continue;
    if (known != nullptr && known->release != table.release) {
      throw InputError(
          {table.file},
          fmt::format("is of NCCL {}, {} of {}", table.release, known->file, known->release),
          "calibrate one release at a time");
    }
    known = &table;
  }
}

void require_reach(const std::vector<LogTable>& tables,
                   const std::optional<CalibratedMachine>& machine) {
  for (const LogTable& table : tables) {
    const auto fault = fault_of(machine, table.shape.ranks_per_node);
    if (!fault) continue;
    throw InputError({table.file}, *fault, "name the machine that the logs are of");
  }
}

std::string files_of(const std::vector<LogTable>& tables, Collective collective) {
  std::string files;
  for (const LogTable& table : tables) {
    if (table.shape.collective == collective) files += (files.empty() ? "" : ", ") + table.file;
  }
  return files;
}

std::string files_of(const CalibratedLink& link, bool with_folders) {
  std::vector<std::string> names;
  for (const auto& source : link.sources) {
    const std::string name =
        with_folders ? source.file : std::filesystem::path(source.file).filename().string();
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::optional<std::string> Calibration::unknown(const cost::CollectiveShape& shape) const {
  const cost::CollectiveFit* fit = find(shape.collective);
  if (machine || fit == nullptr || shape.ranks_per_node < 2) return std::nullopt;
  if (is_fitted(shape.collective, shape.ranks_per_node)) return std::nullopt;
  const bool has_lanes = std::ranges::any_of(sources, [&](const Source& source) {
    return source.shape.collective == shape.collective &&
           std::ranges::any_of(source.devices, is_of_mesh);
  });
  if (has_lanes) {
    return fmt::format(
        "no log has {} ranks a node, and lanes of SXM2 have other rings for each number",
        shape.ranks_per_node);
  }
  // Between 1.16 (vTrain's A100, 2 to 8 GPUs on NVSwitches) and 1.5 (its V100, 7 and 8 GPUs: three
  // rings for two).
  constexpr double of_one_bandwidth = 1.4;
  const double spread = spread_of_groups(*fit);
  if (spread <= of_one_bandwidth) return std::nullopt;
  return fmt::format(
      "no log has {} ranks a node, and what groups carry that have one differs {:.1f} "
      "times, as in a mesh",
      shape.ranks_per_node, spread);
}

Calibration calibrate(const std::vector<LogTable>& tables,
                      std::optional<CalibratedMachine> machine) {
  require_one_release(tables);
  require_reach(tables, machine);
  Calibration calibration;
  const cost::RingParts rings = machine ? machine->rings : cost::RingParts();
  std::map<Collective, std::vector<cost::CollectiveSample>> samples;
  for (const LogTable& table : tables) {
    const bool fits = cost::nccl::has_algorithms(table.shape.collective) && table.shape.ranks() > 1;
    calibration.sources.push_back({table.file, table.sha256, table.shape, table.release,
                                   table.devices, table.rows, fits ? table.samples.size() : 0,
                                   table.skipped});
    if (!fits) continue;
    auto& all = samples[table.shape.collective];
    all.insert(all.end(), table.samples.begin(), table.samples.end());
  }
  for (auto& [collective, all] : samples) {
    if (!cost::are_enough(all)) {
      throw InputError({files_of(tables, collective)},
                       fmt::format("{} has too few rows to fit", to_text(collective)),
                       fmt::format("it takes at least {} sizes, the largest {} times the least",
                                   cost::samples_least, cost::span_least));
    }
    auto fit = cost::fit_collectives(std::move(all), rings);
    if (fit.samples().size() > samples_most) {
      throw InputError({files_of(tables, collective)},
                       fmt::format("{} has more than {} sizes", to_text(collective), samples_most),
                       "calibrate fewer groups");
    }
    calibration.fits.emplace(collective, std::move(fit));
  }
  calibration.machine = std::move(machine);
  return calibration;
}

std::string CalibratedLink::files() const { return files_of(*this, false); }

std::map<cost::LinkPlace, CalibratedLink> calibrate_links(const std::vector<LinkTable>& tables) {
  std::map<cost::LinkPlace, CalibratedLink> links;
  std::map<cost::LinkPlace, std::vector<cost::LinkSample>> samples;
  for (const LinkTable& table : tables) {
    links[table.place].sources.push_back(
        {table.file, table.sha256, table.samples.size(), table.skipped});
    auto& all = samples[table.place];
    all.insert(all.end(), table.samples.begin(), table.samples.end());
  }
  for (auto& [place, link] : links) {
    auto fitted = cost::fit_link(samples.at(place));
    if (const auto* fault = std::get_if<cost::LinkFault>(&fitted)) {
      throw InputError({files_of(link, true)}, fault->what, fault->hint);
    }
    link.fit = std::get<cost::LinkFit>(std::move(fitted));
  }
  return links;
}

namespace {

std::vector<cost::CollectiveSample> largest_group(const cost::CollectiveFit& fit) {
  std::vector<cost::CollectiveSample> largest;
  for (const auto& sample : fit.samples()) {
    const auto ranks = largest.empty() ? 0 : largest.front().shape.ranks();
    if (sample.shape.ranks() < ranks) continue;
    if (sample.shape.ranks() > ranks) largest.clear();
    largest.push_back(sample);
  }
  return largest;
}

// Summarises the logarithms of predicted over measured times.
RatioSummary summarise_ratios(std::vector<double> logs) {
  RatioSummary summary;
  summary.points = logs.size();
  if (logs.empty()) return summary;
  const auto percent = [](double log_ratio) { return 100 * std::expm1(log_ratio); };
  double sum = 0, sum_absolute = 0;
  for (double& ratio : logs) {
    sum += ratio;
    ratio = std::abs(ratio);
    sum_absolute += ratio;
  }
  const auto n = static_cast<double>(logs.size());
  summary.geometric_mean = percent(sum_absolute / n);
  summary.median = percent(stats::median(logs));
  summary.largest = percent(std::ranges::max(logs));
  summary.bias = percent(sum / n);
  return summary;
}

}  // namespace

std::vector<ValidatedLog> validate_logs(const Calibration& calibration,
                                        const std::vector<LogTable>& tables) {
  std::vector<ValidatedLog> validated;
  for (const LogTable& table : tables) {
    const cost::CollectiveFit* fit = calibration.find(table.shape.collective);
    if (fit == nullptr) continue;
    if (const auto fault = fault_of(calibration.machine, table.shape.ranks_per_node)) {
      throw InputError({table.file}, *fault,
                       "take a calibration of the machine that the log is of");
    }
    if (const auto why = calibration.unknown(table.shape)) {
      throw InputError({table.file}, "cannot be predicted: " + *why,
                       "calibrate with --cluster NAME, such as dgx1-v100, or with such a log");
    }
    ValidatedLog& log = validated.emplace_back();
    log.file = table.file;
    log.shape = table.shape;
    log.is_fitted = calibration.is_fitted(table.shape);
    const auto largest = largest_group(*fit);
    for (const cost::CollectiveSample& sample : table.samples) {
      LogRow& row = log.rows.emplace_back();
      row.size = sample.size;
      row.measured = sample.time;
      row.predicted = fit->predict(sample.shape, sample.size);
      const auto same =
          std::ranges::find_if(largest, [&](const auto& one) { return one.size == sample.size; });
      if (same != largest.end()) row.copied = same->time;
    }
  }
  return validated;
}

LogSummary summarise(std::span<const ValidatedLog> logs) {
  std::vector<double> predicted, copied;
  double covered = 0;
  for (const ValidatedLog& log : logs) {
    for (const LogRow& row : log.rows) {
      predicted.push_back(std::log(row.predicted.time / row.measured));
      if (row.copied) copied.push_back(std::log(*row.copied / row.measured));
      covered += row.side() == 0 ? 1 : 0;
    }
  }
  LogSummary summary;
  summary.coverage_percent =
      predicted.empty() ? 0 : 100 * covered / static_cast<double>(predicted.size());
  summary.predicted = summarise_ratios(std::move(predicted));
  summary.copied = summarise_ratios(std::move(copied));
  return summary;
}

}  // namespace paceline
