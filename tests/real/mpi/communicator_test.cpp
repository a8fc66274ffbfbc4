#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "real/backend.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

Backend mpi() {
  for (const Backend& backend : backends()) {
    if (backend.name == "mpi") return backend;
  }
  throw std::logic_error("no row for mpi");
}

TEST(MpiBackend, KnowsItsLibraryBeforeItIsConnected) {
  const Backend backend = mpi();
  if (backend.connect == nullptr) GTEST_SKIP() << backend.missing;
  EXPECT_EQ(backend.missing, "");
  EXPECT_NE(backend.version.find("MPI"), std::string::npos) << backend.version;
}

TEST(MpiBackend, SaysAtOnceThatMpirunDidNotStartIt) {
  const Backend backend = mpi();
  if (backend.connect == nullptr) GTEST_SKIP() << backend.missing;
  ConnectRequest request;
  request.rank = Rank(1);
  request.size = RankCount(2);
  request.timeout = Seconds(300);
  const Seconds start = steady_now();
  try {
    (void)backend.connect(request);
    FAIL() << "it found others";
  } catch (const BackendError& error) {
    const std::string said = error.what();
    EXPECT_EQ(said.find("mpi: rank 1: "), 0U) << said;
    EXPECT_NE(said.find("start it with mpirun -n 2"), std::string::npos) << said;
  }
  EXPECT_LT(steady_now() - start, Seconds(60));
}

}  // namespace
}  // namespace paceline::real
