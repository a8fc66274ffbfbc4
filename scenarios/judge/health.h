#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/calibration/calibration.h"
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

enum class Verdict { healthy, slow, fast, unjudged };
constexpr auto words_of(Verdict) {
  return words_up_to<Verdict::unjudged>("healthy", "slower than described", "faster than described",
                                        "not judged: no row of 1 MiB or more");
}

struct HealthOfLog {
  std::string file;
  std::optional<cost::CollectiveShape> shape;   // one of the two
  std::optional<traces::TestedLink> link = {};  // each row is of one, alone
  std::vector<LogRow> rows = {};                // predicted by the machine's description alone
  Verdict verdict{};
  // "slower than described: 183 GB/s of busbw at 1GiB; such nodes give 400 to 460"
  std::string sentence = {};

  // As nccl-tests counts it, in GB/s; of a link its rate.
  [[nodiscard]] double busbw(Bytes size, Seconds time) const;
};

struct Health {
  std::vector<HealthOfLog> logs;
  double off = 0;  // root of the mean square of the logarithms of measured over predicted times
  std::vector<Suspect> suspects;  // of slow logs, the likeliest first: at most three

  [[nodiscard]] bool is_slow() const;
};

// Rows below are limited by latencies of hosts and switches, not by what links carry.
inline constexpr Bytes health_from{1 << 20};

// By NCCL of the version that a log says, else of the scenario's default one, in elements of four
// bytes, whatever the log's were. A log is slow where more than a third of its rows of a MiB and
// more take longer than their 90 % intervals, else fast where as many take less. Suspects are parts
// of each log's own NICs and rates; their settings are of the log with the most nodes. Throws
// InputError for groups and links that the machine does not have, and where no row is left to
// judge.
//
// Links are as sure as the quantity of uncertain::Priors that calls over them have; tests of them
// are slow where one link is.
[[nodiscard]] Health health_of(const DescribedMachine& machine, const MeasuredFiles& files);

}  // namespace paceline
