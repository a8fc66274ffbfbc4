#include "scenarios/calibration/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/cost/nccl_tuning.h"
#include "scenarios/errors.h"

namespace paceline {

using collectives::Collective;

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

void require_one_release(const std::vector<LogTable>& tables) {
  const LogTable* known = nullptr;
  for (const LogTable& table : tables) {
    if (table.release.empty()) continue;
    if (known != nullptr && known->release != table.release) {
      throw InputError(
          {table.file, 0, 0},
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
    throw InputError({table.file, 0, 0}, *fault, "name the machine that the logs are of");
  }
}

std::string files_of(const std::vector<LogTable>& tables, Collective collective) {
  std::string files;
  for (const LogTable& table : tables) {
    if (table.shape.collective == collective) files += (files.empty() ? "" : ", ") + table.file;
  }
  return files;
}

}  // namespace

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
      throw InputError({files_of(tables, collective), 0, 0},
                       fmt::format("{} has too few rows to fit", to_text(collective)),
                       fmt::format("it takes at least {} sizes, the largest {} times the least",
                                   cost::samples_least, cost::span_least));
    }
    auto fit = cost::fit_collectives(std::move(all), rings);
    if (fit.samples().size() > samples_most) {
      throw InputError({files_of(tables, collective), 0, 0},
                       fmt::format("{} has more than {} sizes", to_text(collective), samples_most),
                       "calibrate fewer groups");
    }
    calibration.fits.emplace(collective, std::move(fit));
  }
  calibration.machine = std::move(machine);
  return calibration;
}

}  // namespace paceline
