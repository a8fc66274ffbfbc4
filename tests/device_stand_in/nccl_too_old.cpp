// An NCCL that starts a program and has nothing else: what is called of it is a missing symbol. It
// says that it is 2.7.8, or what PACELINE_STAND_IN_NCCL_VERSION has.

#include <nccl.h>

#include <cstdlib>

extern "C" ncclResult_t ncclGetVersion(int* version) {
  const char* said = std::getenv("PACELINE_STAND_IN_NCCL_VERSION");
  *version = said == nullptr ? 2708 : std::atoi(said);
  return ncclSuccess;
}
