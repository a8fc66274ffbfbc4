#include "scenarios/cli/run_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>

#include "scenarios/cli/progress_line.h"

namespace paceline::cli {

namespace {

// One of two that set the same would be without effect.
void refuse_same(const std::vector<ScenarioFile::Setting>& settings) {
  std::set<std::string> paths;
  for (const ScenarioFile::Setting& setting : settings) {
    if (paths.insert(setting.path).second) continue;
    throw InputError({fmt::format("--set {}={}", setting.path, setting.value), 0, 0},
                     "sets the same path as another option", "leave one of them out");
  }
}

}  // namespace

TellProgress tell_on_terminal() {
  if (::isatty(STDERR_FILENO) != 1) return nullptr;
  const auto line = std::make_shared<ProgressLine>();
  return [line](const Progress& progress) { line->tell(progress); };
}

void SharedOptions::add_settings_to(CommandOptions& app) {
  app.add_option("--set", settings,
                 "path=value: stands in for a value of the file; sweep.path=[a, b] for an axis")
      .repeatable();
  app.add_option("--seed", seed, "the same as --set simulation.seed=N");
  app.add_flag("--force", force, "simulate however long it takes");
}

void SharedOptions::add_to(CommandOptions& app) {
  add_settings_to(app);
  app.add_option("--jobs", jobs, "simulations at a time; default: one a core").in_range(1, 1024);
  app.add_flag("--quiet", quiet, "no progress");
}

void SharedOptions::add_known_to(CommandOptions& app) {
  app.add_option("--known", known,
                 "\"gpus=2,throughput=350 samples/s\" or step=0.2s: what was measured of the "
                 "scenario as it is set; with path=value of further axes")
      .repeatable();
}

void SharedOptions::refuse_known(const std::string& why) const {
  if (known.empty()) return;
  throw InputError({"--known " + known.front(), 0, 0}, "has no effect: " + why, "leave it out");
}

void SharedOptions::expect_known_of_one(std::size_t scenarios) const {
  if (known.empty() || scenarios == 1) return;
  throw InputError({"--known " + known.front(), 0, 0},
                   fmt::format("describes one scenario, and {} are given", scenarios),
                   "give one, or mark points of each file's measured.points known: true");
}

std::vector<ScenarioFile::Setting> SharedOptions::parsed_settings(
    const std::vector<ScenarioFile::Setting>& more) const {
  std::vector<ScenarioFile::Setting> parsed;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError({"--set " + setting, 0, 0}, "is not path=value",
                       "write --set cluster.network.latency=5us");
    }
    parsed.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
  }
  if (!seed.empty()) parsed.push_back({"simulation.seed", seed});
  parsed.insert(parsed.end(), more.begin(), more.end());
  refuse_same(parsed);
  for (const std::string& row : known) {
    parsed.push_back({.path = ScenarioFile::known_path, .value = row, .is_known = true});
  }
  return parsed;
}

RunOptions SharedOptions::run_options() const {
  RunOptions options;
  options.jobs =
      jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
  options.force = force;
  if (!quiet) options.progress = tell_on_terminal();
  return options;
}

}  // namespace paceline::cli
