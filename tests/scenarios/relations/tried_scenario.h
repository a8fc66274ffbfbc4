#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/errors.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/run_scenario.h"
#include "scenarios/prepare/preparer.h"
#include "tests/scenarios/process.h"

namespace paceline::test {

// PACELINE_RELATION_*: which seeds a relation is tried of (many_seeds.sh).
inline std::uint64_t tried_number(const char* variable, std::uint64_t unless_set) {
  const char* text = std::getenv(variable);
  return text == nullptr ? unless_set : std::strtoull(text, nullptr, 10);
}

// A scenario of a file, ready to be run, with what makes its points.
class TriedScenario {
 public:
  using Settings = std::vector<ScenarioFile::Setting>;

  // nullopt where the file, or one of its points, is refused, or a simulation fails.
  static std::unique_ptr<TriedScenario> run(const std::string& path, const Settings& settings,
                                            const RunOptions& options) {
    try {
      std::unique_ptr<TriedScenario> tried(new TriedScenario(path, settings));
      tried->outcomes_ = run_scenario(tried->points_, options);
      return tried;
    } catch (const InputError&) {
      return nullptr;
    }
  }

  [[nodiscard]] const std::vector<PointOutcome>& outcomes() const { return outcomes_; }
  [[nodiscard]] std::shared_ptr<const Scenario> scenario(std::size_t point) {
    return points_.scenario(point);
  }
  [[nodiscard]] std::shared_ptr<const PreparedPoint> prepared(std::size_t point) {
    return points_.prediction(point);
  }
  [[nodiscard]] const ScenarioFile& file() const { return file_; }

 private:
  TriedScenario(const std::string& path, const Settings& settings)
      : file_(ScenarioFile::read(path, settings)), points_(file_) {}

  ScenarioFile file_;
  Preparer points_;
  std::vector<PointOutcome> outcomes_;
};

inline std::string library_file(const ShippedFile& shipped) {
  return fmt::format(PACELINE_SOURCE_DIR "/scenarios/library/{}.yaml", shipped.name);
}

// Scenarios of which a relation is tried, by seed, and those that break it.
class TriedRelation : public testing::Test {
 protected:
  explicit TriedRelation(std::uint64_t seeds)
      : end_(first_ + tried_number("PACELINE_RELATION_SEEDS", seeds)) {}

  void TearDown() override {
    RecordProperty("tried", tried_);
    RecordProperty("violated", violated_);
    RecordProperty("anomalies", 0);
    if (!may_try_none_) {
      EXPECT_GT(tried_, 0);
    }
  }
  void count(const std::string& name, const std::string& why, const std::string& path) {
    ++tried_;
    if (why.empty()) return;
    ++violated_;
    ADD_FAILURE() << "seed " << name << ": " << why << "\n" << text_of(path);
  }
  // Of shipped scenarios one in so many, or those whose numbers are asked for as seeds.
  template <class LookAt>
  void each_shipped(std::uint64_t in_so_many, const LookAt& look_at) {
    may_try_none_ = true;
    const bool tries_all = std::getenv("PACELINE_RELATION_SHIPPED") != nullptr;
    std::uint64_t number = 0;
    for (const ShippedFile& shipped : shipped_scenarios()) {
      ++number;
      const bool is_asked_for =
          tries_all ? number >= first_ && number < end_ : number % in_so_many == 1;
      if (is_asked_for) look_at(std::string(shipped.name), library_file(shipped), number);
    }
  }

  int tried_ = 0, violated_ = 0;
  const std::uint64_t first_ = tried_number("PACELINE_RELATION_FIRST_SEED", 1);
  const std::uint64_t end_;

 private:
  bool may_try_none_ = false;
};

// A known step of a point.
inline ScenarioFile::Setting known_step(const PointOutcome& of, Seconds step) {
  std::string values;
  for (const AxisValue& axis : of.axes) {
    values += fmt::format("{}{}={}", values.empty() ? "" : ",", axis.path, axis.text);
  }
  if (values.empty()) values = fmt::format("gpus={}", of.gpus);
  return {.path = ScenarioFile::known_path,
          .value = fmt::format("{},step={:.12g}s", values, step.value()),
          .is_known = true};
}

}  // namespace paceline::test
