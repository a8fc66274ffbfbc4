#include "scenarios/cli/run_options.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "models/text/plain_text.h"
#include "models/units/parse.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/files/input_file.h"

namespace paceline::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The last column stays free: a terminal may go to the next line from it.
std::size_t width_of_errors() {
  constexpr std::size_t usual = 80;
  winsize window{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return (is_known ? window.ws_col : usual) - 1;
}

constexpr const char* erased = "\r\033[K";

// A line on a terminal's standard error that says where a command is, anew each second.
class ProgressLine {
 public:
  ProgressLine() : since_(Clock::now()), thread_([this] { run(); }) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
    tell({.is_over = true});
  }

  void tell(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (progress.doing != progress_.doing) since_ = Clock::now();
    if (progress.of != progress_.of) begun_ = Clock::now();
    progress_ = progress;
    show();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [&] { return is_over_; })) show();
  }

  void show() {  // with the lock held
    if (!progress_.is_over) {
      const auto from = [](Clock::time_point time) {
        return Seconds(std::chrono::duration<double>(Clock::now() - time).count());
      };
      const std::string text =
          progress_text(progress_, from(since_), from(begun_), width_of_errors());
      std::fputs((erased + text).c_str(), stderr);
    } else if (is_shown_) {
      std::fputs(erased, stderr);
    }
    is_shown_ = !progress_.is_over;
    std::fflush(stderr);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Progress progress_{.of = "", .is_over = true};
  Clock::time_point since_, begun_;
  bool is_shown_ = false, is_over_ = false;
  std::thread thread_;
};

// One of two that set the same would be without effect.
void refuse_same(const std::vector<ScenarioFile::Setting>& settings) {
  std::set<std::string> paths;
  for (const ScenarioFile::Setting& setting : settings) {
    if (paths.insert(setting.path).second) continue;
    throw InputError({setting.as_typed()}, "sets the same path as another option",
                     "leave one of them out");
  }
}

const ShortForm of_simulation[] = {
    {"--seed", "simulation.seed", "The seed of all that is drawn."},
    {"--fidelity", "simulation.fidelity", "folded, or flow: every transfer on SimGrid.", [] {
       return std::vector<std::string>{"folded", "flow"};
     }}};
const ShortForm of_system[] = {
    {"--gpus", "gpus", "The number of GPUs, or several: '[8, 16]'."},
    {"--device", "workload.device", "The GPU (paceline list devices).", shipped_device_names}};

}  // namespace

std::string progress_text(const Progress& progress, Seconds since, Seconds in_all,
                          std::size_t width) {
  const std::string all = progress.all ? fmt::format("/{}", *progress.all) : "";
  std::string text = fmt::format("{}{} {}", progress.done, all, progress.of);
  constexpr Seconds told_after(1);
  if (progress.all && progress.done > progress.known && in_all > told_after) {
    const double rate = static_cast<double>(progress.done - progress.known) / in_all.value();
    if (rate >= 1) text += fmt::format(", {:.0f} a second", rate);
    text +=
        fmt::format(", {:.0f}s left", static_cast<double>(*progress.all - progress.done) / rate);
  }
  if (!progress.doing.empty()) {
    const std::string at = progress.at.empty() ? "" : ", " + progress.at;
    text += fmt::format("; {}{}: {:.0f}s", without_controls(progress.doing), at, since.value());
    if (progress.about) text += fmt::format(" of about {:.0f}s", progress.about->value());
  }
  if (text.size() > width) text.resize(width);
  return text;
}

TellProgress tell_on_terminal() {
  if (::isatty(STDERR_FILENO) != 1) return nullptr;
  const auto line = std::make_shared<ProgressLine>();
  return [line](const Progress& progress) { line->tell(progress); };
}

void tell_reading_on_terminal() {
  files::hear_reading(
      [tell = TellProgress(), done = std::size_t{0}](const std::string& file) mutable {
        if (!tell && !(tell = tell_on_terminal())) return;
        if (file.empty()) return tell({.is_over = true});
        tell({.done = done++, .of = "files read", .doing = "reading " + file});
      });
}

void TimeLimit::add_to(CommandOptions& app) {
  app.in_group("Run").add_option(
      "--time-limit", text,
      "Stop after this time, such as 60s, with the best that was found by then.");
}

std::optional<Seconds> TimeLimit::parsed() const {
  if (text.empty()) return std::nullopt;
  const Seconds limit = quantity("--time-limit", text, parse_seconds);
  if (limit <= Seconds(0)) throw InputError({"--time-limit"}, "is not above zero", "write 60s");
  return limit;
}

void SharedOptions::add_settings_to(CommandOptions& app) {
  CommandOptions values = app.in_group("Scenario values");
  values
      .add_option("--set", settings,
                  "Override a value of the scenario, such as training.bucket_cap=50MiB, sweep it: "
                  "'sweep.gpus=[8, 16]', or leave it out: training.bucket_cap=. May be repeated.")
      .repeatable();
  add_short_forms_to(values, of_simulation);
  app.in_group("Run").add_flag("--force", force, "Simulate, no matter how long that takes.");
}

void SharedOptions::add_short_forms_to(CommandOptions app, std::span<const ShortForm> forms) {
  for (const ShortForm& form : forms) {
    short_ones.push_back({form.path, "", false, false, form.option});
    app.add_option(form.option, short_ones.back().value,
                   fmt::format("{} The same as --set {}=...", form.meaning, form.path))
        .suggests(form.values);
  }
}

void SharedOptions::add_system_to(CommandOptions& app) {
  add_short_forms_to(app.in_group("Scenario values"), of_system);
}

void SharedOptions::add_but_known_to(CommandOptions& app) {
  add_settings_to(app);
  CommandOptions running = app.in_group("Run");
  running
      .add_option("--jobs", jobs,
                  "The number of simulations that run at a time (default: one per core).")
      .in_range(1, 1024);
  running.add_flag("--quiet", quiet, "Show no progress.");
}

void SharedOptions::add_to(CommandOptions& app) {
  add_but_known_to(app);
  app.in_group("Scenario values")
      .add_option("--known", known,
                  "Add a measurement of this scenario that predictions learn from, such as "
                  "\"gpus=2,throughput=350 samples/s\" or \"gpus=2,step=0.2s\"; name further axes "
                  "with path=value. May be repeated.")
      .repeatable();
}

void SharedOptions::refuse_known(const std::string& why) const {
  if (known.empty()) return;
  throw InputError({"--known " + known.front()}, "has no effect: " + why, "leave it out");
}

void SharedOptions::expect_known_of_one(std::size_t scenarios) const {
  if (known.empty() || scenarios == 1) return;
  throw InputError({"--known " + known.front()},
                   fmt::format("describes one scenario, and {} are given", scenarios),
                   "give one, or mark points of each file's measured.points known: true");
}

std::vector<ScenarioFile::Setting> SharedOptions::parsed_settings() const {
  std::vector<ScenarioFile::Setting> parsed;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError({"--set " + setting}, "is not path=value",
                       "write --set cluster.network.latency=5us");
    }
    parsed.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
  }
  std::ranges::copy_if(short_ones, std::back_inserter(parsed),
                       [](const ScenarioFile::Setting& one) { return !one.value.empty(); });
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
