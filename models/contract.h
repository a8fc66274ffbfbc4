#pragma once

#include <cstdio>
#include <cstdlib>

// A broken contract is a bug of the caller, not bad input: it ends the program with what was broken
// and the place, in release builds too.
#define PACELINE_BREAKS(text)                                                         \
  do {                                                                                \
    std::fprintf(stderr, "%s:%d: contract broken: %s\n", __FILE__, __LINE__, (text)); \
    std::abort();                                                                     \
  } while (false)

#define PACELINE_EXPECTS(condition)                \
  do {                                             \
    if (!(condition)) PACELINE_BREAKS(#condition); \
  } while (false)

// For a place that no legal value leads to; the text says which value would.
#define PACELINE_UNREACHABLE(text) PACELINE_BREAKS(text)
