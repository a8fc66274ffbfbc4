#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/cost/collective_fit.h"
#include "models/cost/collective_structure.h"
#include "models/cost/link_fit.h"
#include "models/stats/errors.h"
#include "scenarios/calibration/learnt_steps.h"
#include "scenarios/calibration/log_file.h"

namespace paceline {

// Of a collective in one calibration: a fit takes the cube of them.
inline constexpr std::size_t samples_most = 2000;

struct CalibratedLink {
  struct Source {
    std::string file, sha256;
    std::size_t rows = 0;  // used; a fit takes the median of each size
    std::vector<traces::PingPong::Skipped> skipped;
  };

  std::vector<Source> sources;
  cost::LinkFit fit;  // of one that was read: the estimate only

  [[nodiscard]] std::string files() const;  // their names, without folders
};

// What a description of the machine adds to logs.
struct CalibratedMachine {
  std::string cluster;  // the preset or file that it came from
  cost::RingParts rings;
};

// Returns "has 9 ranks a node, and dgx1-v100 8" where the described machine has fewer; nullopt
// where it has enough, or nothing is described.
[[nodiscard]] std::optional<std::string> fault_of(const std::optional<CalibratedMachine>& machine,
                                                  std::uint32_t ranks_per_node);

// Everything that was fitted for a cluster, with its sources.
struct Calibration {
  // A table of a log. The fit used `used` of its rows: merged, eight sizes per octave.
  struct Source {
    std::string file, sha256;
    cost::CollectiveShape shape;
    std::string release;
    std::vector<std::string> devices;
    std::size_t rows = 0, used = 0;
    std::vector<traces::CollectiveLog::Skipped> skipped;
  };

  std::vector<Source> sources;
  std::map<collectives::Collective, cost::CollectiveFit> fits;
  std::map<cost::LinkPlace, CalibratedLink> links;
  std::optional<CalibratedMachine> machine;  // that the fits know of; nullopt: not described
  std::vector<LearntSteps> learnt;           // by scenario: evidence, which gives no times

  [[nodiscard]] const cost::CollectiveFit* find(collectives::Collective collective) const;
  // Whether samples of exactly this group were fitted.
  [[nodiscard]] bool is_fitted(const cost::CollectiveShape& shape) const;
  // Whether samples with that many ranks a node were fitted, on any number of nodes.
  [[nodiscard]] bool is_fitted(collectives::Collective collective,
                               std::uint32_t ranks_per_node) const;
  // Says why logs without a described machine cannot predict a group that was not fitted; nullopt
  // where they can. (In a mesh each number of GPUs has its own rings.)
  [[nodiscard]] std::optional<std::string> unknown(const cost::CollectiveShape& shape) const;
};

// Fits the tables, each collective by itself. All-to-alls and single GPUs are passed over
// (Source::used is 0). Throws InputError where a collective has too few rows, saying how many it
// takes, and for a log with more ranks a node than the machine has.
[[nodiscard]] Calibration calibrate(const std::vector<LogTable>& tables,
                                    std::optional<CalibratedMachine> machine);

// Fits all tables of a place together. Throws InputError where they give no latency or bandwidth.
[[nodiscard]] std::map<cost::LinkPlace, CalibratedLink> calibrate_links(
    const std::vector<LinkTable>& tables);

// As YAML, schema paceline.calibration/1: sources with hashes, samples with residuals and their
// noise, hypotheses with parameters and weights, covariance of the likeliest; the machine; links
// with their own sources; what steps said.
void write_calibration(std::ostream& out, const Calibration& calibration);

// Reads what write_calibration wrote, but for covariances, which follow from the rest, and how
// links were fitted. Throws InputError, with file, line and column.
[[nodiscard]] Calibration read_calibration(const std::string& path);

// A row of a log with its prediction and with a null model: the time that the largest fitted group
// of the same collective took for the same size.
struct LogRow {
  Bytes size;
  Seconds measured;
  cost::Prediction predicted;
  std::optional<Seconds> copied = std::nullopt;
  std::string link = {};  // of one that was measured alone; else empty

  // -1: shorter than its interval; 1: longer.
  [[nodiscard]] int side() const {
    return measured > predicted.high ? 1 : measured < predicted.low ? -1 : 0;
  }
};

struct ValidatedLog {
  std::string file;
  cost::CollectiveShape shape;
  bool is_fitted = false;  // rows of this group were: no prediction
  std::vector<LogRow> rows;
};

// Compares the tables whose collective the calibration has. Throws InputError for more ranks a node
// than the machine has, and for groups that cannot be predicted (Calibration::unknown).
[[nodiscard]] std::vector<ValidatedLog> validate_logs(const Calibration& calibration,
                                                      const std::vector<LogTable>& tables);

// Errors of times, where twice and half are equally wrong: max(p / m, m / p) - 1, in percent.
struct RatioSummary {
  std::size_t points = 0;
  double geometric_mean = 0, median = 0, largest = 0;
  double bias = 0;  // above 0: predicted too long
};

struct LogSummary {
  RatioSummary predicted, copied;  // copied: of the rows whose size the largest fitted group has
  double coverage_percent = 0;     // of 90 % intervals
};

[[nodiscard]] LogSummary summarise(std::span<const ValidatedLog> logs);

}  // namespace paceline
