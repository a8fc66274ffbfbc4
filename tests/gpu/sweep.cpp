// How long collectives take on a backend, as nccl-tests would print it, and whether they are right:
//
//   collective_sweep BACKEND THREADS MAX_BYTES FACTOR WAY...
//
// THREADS: as conformance_rank has it. Sizes go from 8 B to MAX_BYTES by FACTOR. WAYs: native, or
// an algorithm of the registry; each runs every collective that it has of the five that
// data-parallel training uses. Rank 0 prints the table. The status is 1 when a result was wrong, 3
// when a library or another rank failed.
//
// time: of the host, from the call until its end, each call waited for and begun together within
// what the ranks take to say that they are ready; the longest of all ranks, and of these the
// median, least and most over the calls. algbw and busbw are of the median, in nccl-tests' meaning.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "models/collectives/nccl_tests.h"
#include "models/collectives/registry.h"
#include "models/stats/errors.h"
#include "real/clock.h"
#include "real/pattern.h"
#include "real/plan_runner.h"
#include "tests/real/conformance/group.h"

namespace paceline::test {
namespace {

using collectives::Collective;

constexpr Collective collectives_tried[] = {Collective::all_reduce, Collective::reduce_scatter,
                                            Collective::all_gather, Collective::broadcast,
                                            Collective::all_to_all};

struct Sweep {
  std::uint64_t max_bytes;
  std::uint64_t factor;
  std::vector<std::string> ways;
};

class SweepOfRank {
 public:
  SweepOfRank(real::Team& team, real::Communicator& communicator)
      : communicator_(communicator), team_(team), runner_(communicator) {}

  // Returns how many results were wrong on this rank.
  std::size_t run(const Sweep& sweep) {
    print("%-14s %-16s %12s  %12s %12s %12s  %10s %10s  %6s\n", "collective", "way", "bytes",
          "median us", "least us", "most us", "algbw GB/s", "busbw GB/s", "#wrong");
    for (const std::string& way : sweep.ways) {
      for (const Collective collective : collectives_tried) {
        if (!has(way, collective)) continue;
        for (std::uint64_t bytes = 8; bytes <= sweep.max_bytes; bytes *= sweep.factor) {
          try_one(way, collective, bytes);
        }
      }
    }
    return wrong_;
  }

 private:
  template <class... Arguments>
  void print(const char* format, const Arguments&... arguments) const {
    if (communicator_.rank() != Rank(0)) return;
    std::printf(format, arguments...);
    std::fflush(stdout);
  }

  [[nodiscard]] bool has(const std::string& way, Collective collective) const {
    return way == "native" ? communicator_.has_native(collective)
                           : collectives::find_algorithm(collective, way) != nullptr;
  }

  std::function<void()> call_of(const std::string& way, const real::Pattern& pattern,
                                real::Buffer& buffer) {
    if (way == "native") {
      return [this, pattern, &buffer] {
        communicator_.native({pattern.collective, &buffer, pattern.count, pattern.root, 0})->wait();
      };
    }
    const auto plan = collectives::find_algorithm(pattern.collective, way)
                          ->build({pattern.ranks, pattern.count, ElementSize(4), Rank(0), {}, 1});
    return [this, plan, &buffer] { runner_.run(plan, buffer, next_stream()); };
  }

  real::Stream next_stream() { return calls_++ % 1024 * real::streams_a_call; }

  // The longest of all ranks.
  double seconds_of(const std::function<void()>& call) {
    (void)team_.all_gather("");
    const Seconds start = real::steady_now();
    call();
    double most = 0;
    const auto nanoseconds = std::llround((real::steady_now() - start).value() * 1e9);
    for (const auto& text : team_.all_gather(std::to_string(nanoseconds))) {
      most = std::max(most, std::stod(text) * 1e-9);
    }
    return most;
  }

  void try_one(const std::string& way, Collective collective, std::uint64_t bytes) {
    // As nccl-tests has it, an all-to-all's bytes are what a rank sends; its buffer has two halves.
    const real::Pattern pattern{collective, communicator_.size(), ElementCount(bytes / 4), Rank(0),
                                calls_};
    const auto buffer = communicator_.allocate(DataType::float32, real::buffer_size(pattern));
    const auto call = call_of(way, pattern, *buffer);
    real::fill(pattern, communicator_.rank(), *buffer);
    call();
    const auto fault = real::find_fault(pattern, communicator_.rank(), *buffer);
    if (fault) {
      ++wrong_;
      std::fprintf(stderr, "%s %s, %llu bytes: rank %u: %s\n", to_text(collective).data(),
                   way.c_str(), static_cast<unsigned long long>(bytes),
                   communicator_.rank().value(), fault->c_str());
    }
    report(way, pattern, bytes, timed(call), ranks_with(fault.has_value()));
  }

  // Calls for a fifth of a second, 3 to 50 of them; as many on all ranks, which know the same
  // times.
  std::vector<double> timed(const std::function<void()>& call) {
    const double first = seconds_of(call);
    const double wanted = 0.2 / std::max(first, 1e-6);
    std::vector<double> seconds(static_cast<std::size_t>(std::clamp(wanted, 3.0, 50.0)));
    std::ranges::generate(seconds, [&] { return seconds_of(call); });
    return seconds;
  }

  std::size_t ranks_with(bool fault) {
    const auto all = team_.all_gather(fault ? "1" : "");
    return static_cast<std::size_t>(std::ranges::count(all, "1"));
  }

  void report(const std::string& way, const real::Pattern& pattern, std::uint64_t bytes,
              const std::vector<double>& seconds, std::size_t wrong) const {
    const double median = stats::median(seconds);
    const double algbw = static_cast<double>(bytes) / median / 1e9;
    const auto [least, most] = std::ranges::minmax(seconds);
    print("%-14s %-16s %12llu  %12.2f %12.2f %12.2f  %10.3f %10.3f  %6zu\n",
          to_text(pattern.collective).data(), way.c_str(), static_cast<unsigned long long>(bytes),
          median * 1e6, least * 1e6, most * 1e6, algbw,
          algbw * collectives::bus_factor(pattern.collective, pattern.ranks), wrong);
  }

  real::Communicator& communicator_;
  real::Team& team_;
  real::PlanRunner runner_;
  std::uint32_t calls_ = 0;
  std::size_t wrong_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5 || std::stoull(arguments[3]) < 2) {
    std::fprintf(stderr, "collective_sweep BACKEND THREADS MAX_BYTES FACTOR WAY...\n");
    return 2;
  }
  const Sweep sweep{std::stoull(arguments[2]),
                    std::stoull(arguments[3]),
                    {arguments.begin() + 4, arguments.end()}};
  std::atomic<std::size_t> wrong = 0;
  const auto threads = static_cast<std::uint32_t>(std::stoul(arguments[1]));
  const int status =
      on_group(arguments[0], threads, [&](real::Team& team, real::Communicator& communicator) {
        wrong += SweepOfRank(team, communicator).run(sweep);
      });
  return status != 0 ? status : wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace paceline::test

int main(int argc, char** argv) { return paceline::test::run({argv + 1, argv + argc}); }
