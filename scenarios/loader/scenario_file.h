#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/loader/scenario.h"
#include "scenarios/loader/scenario_values.h"

namespace paceline {

// A scenario file: its sweep, what was measured, and the typed Scenario of each point. All members
// that read throw InputError.
class ScenarioFile {
 public:
  struct Setting {
    std::string path;
    std::string value;           // YAML
    bool is_of_several = false;  // one of several that are compared, as an axis's values are
  };

  // A grid has at most this many points.
  static constexpr std::size_t points_max = 100'000;

  // `settings` stand in for values of the file; a setting of `sweep.gpus` or of a path that is an
  // axis replaces that axis.
  static ScenarioFile read(const std::string& path, const std::vector<Setting>& settings);
  // The same of values that a command makes: messages call them `name` and give no lines. Relative
  // paths are the working directory's, and the hash is of the values.
  static ScenarioFile of_values(const std::string& name, const ScenarioValues& values,
                                const std::vector<Setting>& settings);

  ScenarioFile(ScenarioFile&&) noexcept;
  ScenarioFile& operator=(ScenarioFile&&) noexcept;
  ~ScenarioFile();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::uint64_t seed() const;  // of the first point
  [[nodiscard]] std::string sha256() const;
  [[nodiscard]] const std::vector<Setting>& settings() const;

  // The grid: the product of the axes in file order, the last one fastest. One point without axes
  // when there is no sweep.
  [[nodiscard]] const std::vector<std::vector<AxisValue>>& points() const;
  // How many values each axis has.
  [[nodiscard]] std::vector<std::size_t> axis_sizes() const;
  [[nodiscard]] Scenario scenario(std::size_t point) const;

  // What was measured at a point of the grid.
  [[nodiscard]] const std::string& measured_source() const;
  [[nodiscard]] const std::string& measured_by() const;  // may be empty
  // As the file says; unless it does, measured where it has a calibration or a fitted point.
  [[nodiscard]] NetworkKnowledge network() const;
  [[nodiscard]] std::optional<MeasuredPoint> measured(std::size_t point) const;
  // Measured points that belong to no point of this grid: a setting replaced the axis, or changed
  // what was measured (any but simulation.*, contention, call_contention and
  // ranks.spread).
  [[nodiscard]] const std::vector<Location>& unmatched() const;

 private:
  struct State;
  explicit ScenarioFile(std::unique_ptr<State> state);
  static ScenarioFile of_state(std::unique_ptr<State> state, const std::vector<Setting>& settings);
  std::unique_ptr<State> state_;
};

// "gpus=8 bucket_cap=25MiB": settings by the ends of their paths.
[[nodiscard]] std::string in_words(const std::vector<ScenarioFile::Setting>& settings);

// scenarios/library
[[nodiscard]] std::span<const ShippedFile> shipped_scenarios();

// The one scenario of a command's options. Throws InputError, also where a setting makes a sweep.
[[nodiscard]] Scenario scenario_of_options(const ScenarioValues& values,
                                           const std::vector<ScenarioFile::Setting>& settings);

}  // namespace paceline
