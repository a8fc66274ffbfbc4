#pragma once

#include <cstdio>
#include <cstdlib>

// A broken contract is a bug of the caller, not bad input: it ends the program with the expression
// and the place, in release builds too.
#define PACELINE_EXPECTS(condition)                                                         \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      std::fprintf(stderr, "%s:%d: contract broken: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)
