#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/units/units.h"
#include "scenarios/loader/job/catalogue.h"
#include "scenarios/loader/job/input.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline {

// What has to be reached: all that are given.
struct Targets {
  std::optional<Seconds> deadline;  // from start to finish
  std::optional<SamplesPerSecond> throughput;
  std::optional<Money> budget;
};

// What training tolerates; at least one is given.
struct Batches {
  std::optional<std::uint64_t> global_exactly, global_at_most;    // samples a step
  std::optional<std::uint32_t> per_gpu_exactly, per_gpu_at_most;  // of a pass
  std::uint32_t accumulation_at_most = 1;  // passes a step, where the global batch is not exact
};

struct Checkpoints {
  std::optional<Seconds> every;  // nullopt: as often as loses least
  Seconds takes;
};

// What is not told is a risk (scenarios/capacity/finish.h).
struct Overheads {
  std::optional<Seconds> start;  // until the first step, and again after each failure
  std::optional<Checkpoints> checkpoint;
  std::optional<Seconds> mtbf_per_node;  // mean time between failures
};

// A job that somebody wants done, and the machines that it could be done on.
class PlannedJob {
 public:
  // A strategy with a bucket cap of its own, as files spell them.
  struct Strategy {
    std::string name;
    std::string bucket_cap;  // empty: the strategy has none, or its own default
  };

  std::string path, name, text;  // of the file
  double samples = 0;            // all of it
  std::string amount;            // in words of the file: "90 epochs of 1281167 samples"
  std::string network;           // that is trained: a model's name, or "layers"
  JobInput input;
  Targets targets;
  double probability = 0.9;  // from 0.5 to 0.999
  Batches batches;
  std::vector<Strategy> strategies;
  std::vector<Pricing> pricings;  // to consider; on demand unless the file says more
  std::uint32_t nodes_at_most = 32;
  std::optional<std::uint32_t> nodes_exactly;  // in place of that
  std::optional<std::uint32_t> gpus_at_most;
  std::vector<Machine> machines;       // of all catalogues, in allowed regions, in file order
  std::size_t machines_elsewhere = 0;  // of the catalogues, in no allowed region
  Overheads overheads;
  std::string currency = "USD";
  std::vector<std::uint32_t> measured_batches(const Machine& machine) const;  // of its device

  // The job on so many nodes of a machine, as a scenario of one point that `settings` complete:
  // batch, passes, strategy, bucket cap. Messages about the workload show its place in the job's
  // file. Several threads may ask at once. Throws InputError.
  [[nodiscard]] ScenarioFile scenario(const Machine& machine, std::uint32_t nodes,
                                      const std::vector<ScenarioFile::Setting>& settings) const;

  // Of its text: sections of scenarios, by path; settings of these; and devices (as
  // loader::device_named_by has them) and batches with which one GPU was measured.
  std::map<std::string, loader::Field> sections;
  std::vector<ScenarioFile::Setting> settings;
  std::set<std::pair<std::string, std::uint32_t>> measured;
};

// Schema paceline.job/1. `settings` replace values of the file, as --set does. Throws InputError.
[[nodiscard]] PlannedJob load_job(const std::string& path,
                                  const std::vector<ScenarioFile::Setting>& settings);

}  // namespace paceline
