// The conformance suite on any backend, as one rank of a launcher's or on threads:
//
//   conformance_rank BACKEND [THREADS [LARGE COUNT...]]
//
// THREADS: so many ranks in this process, for backends whose ranks can be threads; 0, the default:
// the rank that torchrun's variables say. LARGE and COUNTs: elements, as a Suite has them. Faults
// go to stderr, a line each. The status is 0 without any, 1 with some, 3 when a library or another
// rank failed.

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "real/clock.h"
#include "tests/real/conformance/group.h"
#include "tests/real/conformance/suite.h"

namespace paceline::test {
namespace {

Suite suite_of(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) {
    return {all_data_types(),
            {ElementCount(0), ElementCount(1), ElementCount(7), ElementCount(30'011)},
            ElementCount(1 << 22)};
  }
  Suite suite{all_data_types(), {}, ElementCount(std::stoull(arguments[2]))};
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    suite.counts.emplace_back(std::stoull(arguments[i]));
  }
  return suite;
}

// A type at a time, so that one sees how far it came; the large buffer with the first alone.
std::size_t faults_of_rank(const Suite& whole, real::Communicator& communicator) {
  std::size_t found = 0;
  Suite suite = whole;
  for (const DataType type : whole.types) {
    const Seconds start = real::steady_now();
    suite.types = {type};
    const auto faults = conformance_faults(communicator, suite);
    suite.large = ElementCount(0);
    for (const std::string& fault : faults) std::fprintf(stderr, "%s\n", fault.c_str());
    found += faults.size();
    if (communicator.rank() != Rank(0)) continue;
    std::printf("%u ranks, %s: %zu faults, %.3f s\n", communicator.size().value(),
                std::string(to_text(type)).c_str(), faults.size(),
                (real::steady_now() - start).value());
    std::fflush(stdout);
  }
  return found;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fprintf(stderr, "conformance_rank BACKEND [THREADS [LARGE COUNT...]]\n");
    return 2;
  }
  const unsigned long threads = arguments.size() > 1 ? std::stoul(arguments[1]) : 0;
  const Suite suite = suite_of(arguments);
  std::atomic<std::size_t> faults = 0;
  const int status = on_group(arguments[0], static_cast<std::uint32_t>(threads),
                              [&](real::Team&, real::Communicator& communicator) {
                                faults += faults_of_rank(suite, communicator);
                              });
  return status != 0 ? status : faults > 0 ? 1 : 0;
}

}  // namespace
}  // namespace paceline::test

int main(int argc, char** argv) { return paceline::test::run({argv + 1, argv + argc}); }
