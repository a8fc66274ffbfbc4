#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "models/training/step_program.h"

namespace paceline::training {

inline CollectiveCall known_call(Seconds time) {
  return {collectives::Collective::all_reduce, ElementCount(1), ElementSize(4), Rank(0),
          KnownCall{time, "known"}};
}

// Calls of 100, 10 and 10 ms.
inline StepProgram three_calls_in_two_slots() {
  StepProgram program;
  const LaneId lane = program.add_lane({"communication", LaneKind::communication, 2});
  for (const double time : {0.1, 0.01, 0.01}) {
    program.add({"call", OperationKind::collective, lane, {}, known_call(Seconds(time))});
  }
  return program;
}

enum class CallsAre { known, compute };

// A program of one to three lanes of either kind, with one to four slots each, and up to sixteen
// operations: compute of random times, of each rank its own part, and calls of known times; each
// comes after up to three earlier ones. Times are multiples of a millisecond, so that ends coincide
// often, and some are 0.
inline StepProgram random_program(std::mt19937_64& random, RankCount ranks,
                                  CallsAre calls = CallsAre::known) {
  const auto draw = [&](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
  };
  StepProgram program;
  const auto lanes = static_cast<LaneId>(draw(1, 3));
  for (LaneId lane = 0; lane < lanes; ++lane) {
    program.add_lane({"lane " + std::to_string(lane),
                      draw(0, 1) == 0 ? LaneKind::compute : LaneKind::communication,
                      static_cast<std::uint32_t>(draw(1, 4))});
  }
  const auto operations = static_cast<OperationId>(draw(1, 16));
  for (OperationId id = 0; id < operations; ++id) {
    const auto lane = static_cast<LaneId>(draw(0, lanes - 1));
    std::vector<OperationId> after;
    for (std::uint64_t n = id == 0 ? 0 : draw(0, 3); n > 0; --n) {
      after.push_back(static_cast<OperationId>(draw(0, id - 1)));
    }
    const Seconds time(1e-3 * static_cast<double>(draw(0, 20)));
    const bool is_call =
        calls == CallsAre::known && program.lanes[lane].kind == LaneKind::communication;
    if (is_call) {
      program.add({"call", OperationKind::collective, lane, std::move(after), known_call(time)});
      continue;
    }
    Operation compute{"compute", OperationKind::forward, lane, std::move(after), time};
    if (ranks > RankCount(1) && draw(0, 1) == 1) {
      for (std::uint32_t r = 0; r < ranks.value(); ++r) {
        compute.rank_parts.push_back(0.25 * static_cast<double>(draw(0, 8)));
      }
    }
    program.add(std::move(compute));
  }
  return program;
}

}  // namespace paceline::training
