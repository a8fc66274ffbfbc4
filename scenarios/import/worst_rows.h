#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline {

// How much of a summary's tables is written.
enum class Rows { worst, all };

inline constexpr std::size_t worst_rows = 10;

// Which of a table's rows are written, in their order: all, or those that weigh most.
[[nodiscard]] inline std::vector<std::size_t> written_rows(const std::vector<Seconds>& weights,
                                                           Rows rows) {
  std::vector<std::size_t> chosen(weights.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (rows == Rows::all || weights.size() <= worst_rows) return chosen;
  std::ranges::stable_sort(chosen, std::ranges::greater{},
                           [&](std::size_t i) { return weights[i]; });
  chosen.resize(worst_rows);
  std::ranges::sort(chosen);
  return chosen;
}

// "" or a line that says what is left out.
[[nodiscard]] inline std::string left_out(std::size_t rows, std::size_t written,
                                          const std::string& worst_by) {
  if (rows == written) return "";
  return "the " + std::to_string(written) + " with the " + worst_by + " of " +
         std::to_string(rows) + "; --all writes the others\n";
}

}  // namespace paceline
