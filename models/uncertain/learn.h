#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/uncertain/belief.h"

namespace paceline::uncertain {

// Rows of one machine and workload, and all of those that the same people measured.
using Rows = std::vector<KnownRow>;
using Sources = std::map<std::string, std::vector<Rows>>;

// The mean, over sources, of the negative logarithm of the density of their measured rows, a row:
// rows of one machine and workload together are Student's with `freedom` degrees.
// Precondition: a row or more of each source.
[[nodiscard]] double surprise_of(const Priors& priors, const Sources& sources);

// The priors under which that is least, with a weak pull to what was expected before (the logarithm
// of a number weighs 0.03: little beside a source's rows, and what keeps a number that one source
// has rows of near what was expected): found number by number in steps of 1.8, 1.35 and 1.2.
[[nodiscard]] Priors learnt(const Sources& sources, const Priors& start);

// The rows that somebody has who has few: of several GPUs the one with the fewest; and the next
// number of GPUs, on more nodes where there are any, else on as many. Fewer than `count` where
// nothing would be left to predict. Of rows alike the first. Precondition: count is 0, 1 or 2.
[[nodiscard]] std::vector<std::size_t> smallest_rows(std::span<const Place> places,
                                                     std::size_t count);

}  // namespace paceline::uncertain
