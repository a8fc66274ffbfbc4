#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/real/conformance/suite.h"

namespace paceline::test {

// Why a backend cannot be tried here; empty when it can.
inline std::string gpu_missing() {
  for (const real::Backend& row : real::backends()) {
    if (row.name == "cuda-local") return row.missing;
  }
  return "not built";
}

// What a lone rank's connect() is asked.
inline std::vector<std::string> alone(
    const std::function<std::vector<std::string>(const real::ConnectRequest&)>& run) {
  return with_threads(RankCount(1), [&](Rank rank, real::Meeting& meeting) {
    real::ConnectRequest request;
    request.rank = rank;
    request.size = RankCount(1);
    request.timeout = Seconds(60);
    request.meeting = &meeting;
    return run(request);
  });
}

// The one line of the error with which a lone rank is refused, or what it said instead.
inline std::string refusal_of(
    std::unique_ptr<real::Communicator> (*connect)(const real::ConnectRequest&)) {
  const auto said = alone([&](const real::ConnectRequest& request) {
    (void)connect(request);
    return std::vector<std::string>{"connected"};
  });
  return said.front();
}

}  // namespace paceline::test
