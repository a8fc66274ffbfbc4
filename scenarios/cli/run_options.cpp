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
  CommandOptions values = app.in_group("Scenario values");
  values
      .add_option("--set", settings,
                  "Override a value of the scenario, such as training.bucket_cap=50MiB, or sweep "
                  "it: 'sweep.gpus=[8, 16]'. May be repeated.")
      .repeatable();
  values.add_option("--seed", seed, "The same as --set simulation.seed=N.");
  values
      .add_option(
          "--fidelity", fidelity,
          "The same as --set simulation.fidelity=folded, or flow: every transfer on SimGrid.")
      .suggests({"folded", "flow"});
  app.in_group("Run").add_flag("--force", force, "Simulate, no matter how long that takes.");
}

void SharedOptions::add_to(CommandOptions& app) {
  add_settings_to(app);
  CommandOptions running = app.in_group("Run");
  running
      .add_option("--jobs", jobs,
                  "The number of simulations that run at a time (default: one per core).")
      .in_range(1, 1024);
  running.add_flag("--quiet", quiet, "Show no progress.");
}

void SharedOptions::add_known_to(CommandOptions& app) {
  app.in_group("Scenario values")
      .add_option("--known", known,
                  "Add a measurement of this scenario that predictions learn from, such as "
                  "\"gpus=2,throughput=350 samples/s\" or \"gpus=2,step=0.2s\"; name further axes "
                  "with path=value. May be repeated.")
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
  if (!fidelity.empty()) parsed.push_back({"simulation.fidelity", fidelity});
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
