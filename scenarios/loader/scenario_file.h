#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario.h"

namespace paceline {

// A scenario file: its sweep, what was measured, and the typed Scenario of each point. All members
// that read throw InputError.
class ScenarioFile {
 public:
  struct Setting {
    std::string path;
    std::string value;  // YAML
  };

  // A grid has at most this many points.
  static constexpr std::size_t points_max = 100'000;

  // `settings` stand in for values of the file; a setting of `sweep.gpus` or of a path that is an
  // axis replaces that axis.
  static ScenarioFile read(const std::string& path, const std::vector<Setting>& settings);
  // The same of a text that was made, not written: messages call it `name` and give no lines. Its
  // relative paths are the working directory's.
  static ScenarioFile of_text(const std::string& name, std::string_view text,
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
  [[nodiscard]] Scenario scenario(std::size_t point) const;

  // What was measured at a point of the grid.
  [[nodiscard]] const std::string& measured_source() const;
  [[nodiscard]] std::optional<MeasuredPoint> measured(std::size_t point) const;
  // Measured points that belong to no point of this grid: a setting replaced the axis, or changed
  // what was measured (any but simulation.* and contention).
  [[nodiscard]] const std::vector<Location>& unmatched() const;

 private:
  struct State;
  explicit ScenarioFile(std::unique_ptr<State> state);
  static ScenarioFile of_state(std::unique_ptr<State> state, const std::vector<Setting>& settings);
  std::unique_ptr<State> state_;
};

}  // namespace paceline
