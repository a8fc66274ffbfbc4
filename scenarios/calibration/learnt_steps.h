#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "models/topology/cluster.h"
#include "models/uncertain/belief.h"
#include "scenarios/loader/document/reader.h"

namespace paceline {

// What measured steps of one scenario say of its machine: evidence for every scenario of that.
//
// A row is kept as it conditions a belief: what was measured over what was predicted, and how its
// prediction moves with each quantity. Values that were believed would be of no use beside other
// evidence: they have priors in them, which would count twice, and rows of one machine share their
// errors.
struct LearntSteps {
  // What is believed of links or overlap at a row's place, for those who read the file: the most
  // likely, and the ends of a 90 % interval, as Believed::values. Not read again.
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

// Rows of all scenarios in a file: a belief takes the cube of them.
inline constexpr std::size_t learnt_rows_most = 256;

// The quantity of a machine as it is told: "1.25x", and of overlap "12 % less".
[[nodiscard]] std::string told(uncertain::Unknown quantity, double value);

// The section `learnt:` of a calibration; nothing for none.
void write_learnt(std::ostream& out, const std::vector<LearntSteps>& learnt);
[[nodiscard]] std::vector<LearntSteps> read_learnt(loader::Reader& calibration);

}  // namespace paceline
