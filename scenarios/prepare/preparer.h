#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "scenarios/calibration/calibration.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {

struct PredictionOptions {
  bool as_measured = false;  // algorithms that are to be chosen: as for a measurement
  // cluster.network or cluster.intra_node, if fitted to calls of this machine; else empty.
  std::string measured_links = {};
  // Of all points that are kept, about: 100 MB.
  std::size_t operations_kept = 250'000;
};

// Makes the points of a scenario file ready: the one way from its text to what an executor is
// given. Reads each calibration once, and keeps points until they are asked for again: up to
// `operations_kept` operations of theirs in all, beyond which those not asked for the longest are
// left out and made again when asked for. One thread at a time; the file must outlive it. Members
// that make something throw InputError.
class Preparer {
 public:
  explicit Preparer(const ScenarioFile& file, const PredictionOptions& options = {})
      : file_(file), options_(options) {}

  [[nodiscard]] const ScenarioFile& file() const { return file_; }
  [[nodiscard]] const PredictionOptions& options() const { return options_; }

  // As loaded, with the links of its calibration.
  [[nodiscard]] std::shared_ptr<const Scenario> scenario(std::size_t point);

  // The point to predict: a calibration gives calls their times. Contention is not in it.
  [[nodiscard]] std::shared_ptr<const PreparedPoint> prediction(std::size_t point);

  // The point to run on hardware, which carries out all calls: by a calibration's links automatic
  // algorithms are chosen, as in predictions beside measurements. Only the length of compute is
  // assumed.
  [[nodiscard]] std::shared_ptr<const PreparedPoint> measurement(std::size_t point);

  // What a calibration learnt about the machine; null: nothing. All points share it.
  [[nodiscard]] std::shared_ptr<const Calibration> learnt();

  [[nodiscard]] std::size_t scenarios_loaded() const { return scenarios_loaded_; }

 private:
  struct Kept {
    std::size_t point;
    std::shared_ptr<const Scenario> scenario;
    std::shared_ptr<const PreparedPoint> prediction, measurement;
    std::size_t operations = 0;
  };

  Kept& kept(std::size_t point);
  void count(std::size_t operations);
  [[nodiscard]] PreparedPoint measured(const Scenario& scenario, std::size_t point);
  // That what was learnt is of the scenario's machine, and of all points.
  void check_learnt(const Scenario& scenario);
  // Null where the path is empty.
  std::shared_ptr<const Calibration> calibration(const std::string& path);

  const ScenarioFile& file_;
  PredictionOptions options_;
  std::list<Kept> kept_;  // the one asked for last first
  std::map<std::size_t, std::list<Kept>::iterator> by_point_;
  std::size_t operations_ = 0;  // of all that is kept
  std::size_t scenarios_loaded_ = 0;
  std::map<std::string, std::shared_ptr<const Calibration>> calibrations_;  // by path
  std::optional<std::string> learnt_path_;  // of the first point; nullopt: not looked up
};

}  // namespace paceline
