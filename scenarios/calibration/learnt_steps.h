#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "models/topology/cluster.h"
#include "models/uncertain/belief.h"
#include "scenarios/document/reader.h"

namespace paceline {

// Evidence that measured steps of one scenario give about its machine, for every scenario of that.
//
// A row is kept as a belief uses it: measured over predicted, and how the prediction moves with
// each quantity. Believed values would not combine with other evidence: their priors would count
// twice, and rows of one machine share their errors.
struct LearntSteps {
  // A believed quantity at a row's place, for people who read the file: the most likely value and
  // the ends of its 90 % interval, as in Believed::values. It is not read again.
  struct Said {
    uncertain::Unknown quantity = uncertain::Unknown::network;
    double value = 0, low = 0, high = 0;
  };
  struct Row {
    std::uint32_t gpus_per_node = 1, nodes = 1;
    topology::IntraNodeKind intra_node = topology::IntraNodeKind::nvswitch;
    topology::Transport transport = topology::Transport::rdma;
    uncertain::KnownRow known;  // its place is as described (described_place_of)
    std::vector<Said> said = {};
  };

  std::string scenario;   // its file, without folders
  std::string sha256;     // of its text
  std::string settings;   // that stood in for values of it, in words; empty: none
  bool had_logs = false;  // calls took what logs say: rows say nothing of links as described
  std::vector<Row> rows;
};

// Limit for all scenarios in a file: a belief's cost grows with the cube of the rows.
inline constexpr std::size_t learnt_rows_most = 256;

// A quantity in words: "1.25x", or "12 % less" for overlap.
[[nodiscard]] std::string told(uncertain::Unknown quantity, double value);

// Write and read the section `learnt:` of a calibration, which is left out where there is none.
void write_learnt(std::ostream& out, const std::vector<LearntSteps>& learnt);
[[nodiscard]] std::vector<LearntSteps> read_learnt(loader::Reader& calibration);

}  // namespace paceline
