#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <random>

#include "sim/flow/flow_step.h"
#include "sim/folded/folded_step.h"
#include "sim/folded/predicted_point.h"
#include "tests/sim/isolated.h"

// Of a step by each fidelity, for tests that hold one to the other.
namespace paceline::sim {

inline constexpr std::size_t ranks_max = 64, operations_max = 16;

// When each rank starts and ends each operation, as plain data to cross from a child process.
struct Times {
  std::array<std::array<std::array<double, 2>, operations_max>, ranks_max> of_rank{};
  std::uint64_t transfers = 0;
  bool folded = true;
  bool noted = false;
};

inline Times times_of(const Result& result) {
  Times times;
  for (const RankClass& members : result.trace.classes) {
    for (const Rank rank : members.ranks) {
      for (std::size_t i = 0; i < members.intervals.size(); ++i) {
        times.of_rank[index(rank)][i] = {members.intervals[i].start.value(),
                                         members.intervals[i].end.value()};
      }
    }
  }
  times.transfers = result.transfers;
  times.noted = !result.notes.empty();
  return times;
}

inline Times flow(const ResolvedPoint& point) {
  return isolated([&] { return times_of(simulate_flow(point)); });
}

inline Times folded(const ResolvedPoint& point, Chunks chunks) {
  return isolated([&] {
    try {
      return times_of(simulate_folded(point, chunks));
    } catch (const NotFolded& reason) {
      std::printf("not folded: %s\n", reason.what());
      std::fflush(stdout);
      Times times;
      times.folded = false;
      return times;
    }
  });
}

inline double largest_difference(const Times& a, const Times& b) {
  double end = 0, difference = 0;
  for (std::size_t r = 0; r < ranks_max; ++r) {
    for (std::size_t i = 0; i < operations_max; ++i) {
      for (const std::size_t side : {0U, 1U}) {
        end = std::max(end, b.of_rank[r][i][side]);
        difference = std::max(difference, std::abs(a.of_rank[r][i][side] - b.of_rank[r][i][side]));
      }
    }
  }
  return end > 0 ? difference / end : 0;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + below(choices.size()));
  }

 private:
  std::mt19937_64 engine_;  // the same numbers everywhere, unlike the standard's distributions
};

}  // namespace paceline::sim
