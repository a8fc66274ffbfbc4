#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/loader/scenario.h"
#include "scenarios/loader/scenario_values.h"

namespace paceline {

namespace loader {
class Field;
}

// A scenario file: its sweep, what was measured, and the typed Scenario of each point. All members
// that read throw InputError.
class ScenarioFile {
 public:
  struct Setting {
    std::string path;
    std::string value;           // YAML
    bool is_of_several = false;  // one of several that are compared, as an axis's values are
    // No setting, but a measured point that is known, of the system that all settings describe:
    // "gpus=2,throughput=350 samples/s", with path known_path.
    bool is_known = false;
  };
  static constexpr const char* known_path = "known";

  // An axis of the sweep, all of whose values one text has: relative paths among them start at its
  // folder.
  struct Axis {
    std::string path;
    std::vector<AxisValue> values;
    std::string folder;
  };

  // A single value of the file, or what is empty in it.
  struct Value {
    std::string text;    // as it is spelled; "\1null", "\1{}" and "\1[]", which no value has
    std::string folder;  // where it starts if it is a relative path
  };

  // A grid whose points are all held has at most so many; others are read point by point.
  static constexpr std::size_t points_max = 100'000;
  static constexpr std::size_t points_max_one_by_one = 1'000'000'000'000'000;

  // `settings` stand in for values of the file; a setting of `sweep.gpus` or of a path that is an
  // axis replaces that axis. A known point takes the place of the file's; where the grid has none
  // of its gpus, these are added to that axis, which there is then. A grid of more than points_max
  // points is refused, or of `most`.
  static ScenarioFile read(const std::string& path, const std::vector<Setting>& settings);
  static ScenarioFile read(const std::string& path, const std::vector<Setting>& settings,
                           std::size_t most);
  // The same of values that a command makes: messages call them `name` and give no lines. Relative
  // paths are the working directory's, and the hash is of the values.
  static ScenarioFile of_values(const std::string& name, const ScenarioValues& values,
                                const std::vector<Setting>& settings);

  // The same of sections that have texts of their own, by the paths of a file's keys ("cluster",
  // "workload.device"), but for `schema`; one of a path below another one's stands in for what that
  // has there. Messages about a section show its text, relative paths start at its folder. Messages
  // about what no section has call the file `name`. The hash is of the values. No sweep, nothing
  // measured, but by settings.
  static ScenarioFile of_sections(const std::string& name,
                                  const std::map<std::string, loader::Field>& sections,
                                  const std::vector<Setting>& settings);

  ScenarioFile(ScenarioFile&&) noexcept;
  ScenarioFile& operator=(ScenarioFile&&) noexcept;
  ~ScenarioFile();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::uint64_t seed() const;  // of the first point
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] std::string sha256() const;  // of the text
  [[nodiscard]] const std::vector<Setting>& settings() const;

  // The grid: the product of the axes in file order, the last one fastest. One point without axes
  // when there is no sweep. A point is found from its number: nothing is held for it.
  [[nodiscard]] const std::vector<Axis>& axes() const;
  [[nodiscard]] std::size_t point_count() const;
  [[nodiscard]] std::vector<std::size_t> indices_of(std::size_t point) const;  // by axis
  [[nodiscard]] std::vector<AxisValue> axes_of(std::size_t point) const;
  [[nodiscard]] Scenario scenario(std::size_t point) const;

  // The number of the grid's point with these values of axes, "gpus=32,training.bucket_cap=25MiB";
  // of an axis that is not among them the last value.
  [[nodiscard]] std::size_t point_named(const std::string& values) const;

  // Where the file itself gives a value, or a part of one, by path; nullopt: it does not.
  [[nodiscard]] std::optional<Location> place_of(const std::string& path) const;

  // All that the points have in common, by path, numbers of lists among them ("layers.0.forward"):
  // what the file and the settings say, but for its name, its sweep and what was measured. What an
  // axis gives is not among it.
  [[nodiscard]] std::map<std::string, Value> values() const;

  // What was measured at a point of the grid.
  [[nodiscard]] const std::string& measured_source() const;
  [[nodiscard]] const std::string& measured_by() const;  // may be empty
  // As the file says; unless it does, measured where it has a calibration or a known point, of
  // several nodes where the grid's last point has several.
  [[nodiscard]] NetworkKnowledge network() const;
  [[nodiscard]] std::optional<MeasuredPoint> measured(std::size_t point) const;
  // The numbers of the grid's points whose measured one is known, ascending.
  [[nodiscard]] std::vector<std::size_t> known_points() const;
  // Measured points that belong to no point of this grid: a setting replaced the axis, or changed
  // what was measured (any but simulation.*, contention, call_contention,
  // ranks.spread and cluster.calibration).
  [[nodiscard]] const std::vector<Location>& unmatched() const;

 private:
  struct State;
  explicit ScenarioFile(std::unique_ptr<State> state);
  static ScenarioFile of_state(std::unique_ptr<State> state, const std::vector<Setting>& settings,
                               std::size_t most);
  std::unique_ptr<State> state_;
};

// Without the known points among them.
[[nodiscard]] std::vector<ScenarioFile::Setting> without_known(
    std::vector<ScenarioFile::Setting> settings);

// "path=value" of each.
[[nodiscard]] std::vector<std::string> spelled(const std::vector<ScenarioFile::Setting>& settings);

// "gpus=8 bucket_cap=25MiB": settings by the ends of their paths.
[[nodiscard]] std::string in_words(const std::vector<ScenarioFile::Setting>& settings);

// scenarios/library
[[nodiscard]] std::span<const ShippedFile> shipped_scenarios();

// The one scenario of a command's options. Throws InputError, also where a setting makes a sweep.
[[nodiscard]] Scenario scenario_of_options(const ScenarioValues& values,
                                           const std::vector<ScenarioFile::Setting>& settings);

}  // namespace paceline
