#pragma once

#include <cstdio>
#include <cstdlib>

// A broken contract is the caller's bug: it ends the program, in release builds too, saying where.
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
