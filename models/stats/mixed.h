#pragma once

#include <cstdint>

namespace paceline::stats {

// Mixes the bits of a number, the same on every machine: for hashes, and for the n-th of a seed's
// random numbers as mixed(seed + n * golden_step) (splitmix64; Steele, Lea and Flood, OOPSLA 2014).
inline constexpr std::uint64_t golden_step = 0x9e3779b97f4a7c15ULL;

constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits += golden_step;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

}  // namespace paceline::stats
