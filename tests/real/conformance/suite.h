#pragma once

#include <string>
#include <vector>

#include "real/backend.h"

namespace paceline::test {

// What one rank of a group is told to do; alike on all ranks.
struct Suite {
  std::vector<DataType> types;
  std::vector<ElementCount> counts;  // every algorithm and native collective, with every type
  ElementCount large;                // ring and native all-reduce of float32 only; 0: none
};

[[nodiscard]] std::vector<DataType> all_data_types();

// Runs every algorithm of the registry and every collective of the library's own on inputs whose
// sums are exact, and two plans and two native all-reduces at a time; returns what was wrong with
// this rank's results. All ranks of the group call it.
[[nodiscard]] std::vector<std::string> conformance_faults(real::Communicator& communicator,
                                                          const Suite& suite);

// For ranks in threads of one process: calls `run` in one thread a rank, with a meeting of theirs,
// and returns what all of them say.
[[nodiscard]] std::vector<std::string> with_threads(
    RankCount ranks, const std::function<std::vector<std::string>(Rank, real::Meeting&)>& run);

// The suite on a backend whose ranks can be threads of one process, on that many of them.
[[nodiscard]] std::vector<std::string> conformance_faults_in_threads(
    std::unique_ptr<real::Communicator> (*connect)(const real::ConnectRequest&), RankCount ranks,
    const Suite& suite);

}  // namespace paceline::test
