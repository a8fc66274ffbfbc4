#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/calibration/log_file.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline {

// A machine as its preset or cluster file describes it, with what a user says otherwise.
struct DescribedMachine {
  std::string preset, device;  // device: empty: the cluster's own
  std::vector<ScenarioFile::Setting> settings;
};

// Another machine than was described, by which the logs would be as they are.
struct Suspect {
  std::string words;                            // "TCP in place of RDMA"
  std::vector<ScenarioFile::Setting> settings;  // that describe it
  std::string look_at;                          // what tells it from others
  double off = 0;                               // as Health's, by it
};

enum class Verdict { healthy, slow, fast };
constexpr auto words_of(Verdict) {
  return words_up_to<Verdict::fast>("healthy", "slower than described", "faster than described");
}

struct HealthRow {
  Bytes size;
  Seconds measured;
  cost::Prediction predicted;  // by the machine's description alone
};

struct HealthOfLog {
  std::string file;
  cost::CollectiveShape shape;
  std::vector<HealthRow> rows;
  Verdict verdict{};
  // "slower than described: 183 GB/s of busbw at 1GiB; such nodes give 400 to 460"
  std::string sentence;
};

struct Health {
  std::vector<HealthOfLog> logs;
  double off = 0;  // root of the mean square of the logarithms of measured over predicted times
  std::vector<Suspect> suspects;  // of slow logs, the likeliest first: at most three

  [[nodiscard]] bool is_slow() const;
};

// Rows below are limited by latencies of hosts and switches, not by what links carry.
inline constexpr Bytes health_from{1 << 20};

// By NCCL, of each log's version where that is modelled. A log is healthy where two thirds of its
// rows of a MiB and more lie within their 90 % intervals or above half of them. Throws InputError
// for groups that the machine does not hold.
[[nodiscard]] Health health_of(const DescribedMachine& machine,
                               const std::vector<LogTable>& tables);

}  // namespace paceline
