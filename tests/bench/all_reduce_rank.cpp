// One rank of a comparison: the ring plan against the library's own all-reduce, in turns, on the
// same buffers and connections. Started by ring_against_library.sh:
//
//   all_reduce_rank BACKEND RENDEZVOUS MIB REPEATS
//
// Rank 0 prints the median and the spread of each.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#ifdef PACELINE_HAS_MPI
#include <mpi.h>
#endif

#include "models/collectives/registry.h"
#include "models/stats/errors.h"
#include "real/backend.h"
#include "real/launch/control.h"
#include "real/plan_runner.h"
#include "real/team_meeting.h"

namespace paceline {
namespace {

struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds;  // each the longest of all ranks
};

// All ranks begin together, at a time that they agree on.
double longest(real::Team& team, real::Meeting& meeting, const std::function<void()>& run) {
  const Seconds soon = real::steady_now() + Seconds(0.02);
  const Seconds start_of_rank_0(std::stod(team.broadcast(std::to_string(soon.value()))));
  const Seconds start = start_of_rank_0 - team.clock_offset();
  real::sleep_until(start);
  run();
  double most = 0;
  const Seconds took = real::steady_now() - start;
  for (const auto& text : meeting.all_gather(std::to_string(took.value()))) {
    most = std::max(most, std::stod(text));
  }
  return most;
}

void report(const std::string& backend, std::uint64_t mib, const std::vector<Contender>& all) {
  const double reference = stats::median(all.back().seconds);
  for (const Contender& one : all) {
    const double median = stats::median(one.seconds);
    std::printf("%-5s %2llu MiB  %-20s median %9.3f ms, MAD %7.3f ms, %5.1f %% of %s\n",
                backend.c_str(), static_cast<unsigned long long>(mib), one.name.c_str(),
                median * 1e3, stats::median_absolute_deviation(one.seconds) * 1e3,
                100 * median / reference, all.back().name.c_str());
  }
}

int compare(const std::string& backend, const std::string& rendezvous, std::uint64_t mib,
            std::size_t repeats) {
  const auto identity = real::find_rank_identity(real::process_environment);
  if (!identity) return 2;
  const auto control =
      real::Control::join(*identity, real::parse_rendezvous(rendezvous, real::process_environment),
                          {Seconds(20), Seconds(30), real::end_process});
  real::TeamMeeting meeting(*control);
  const auto rows = real::backends();
  const auto row = std::ranges::find(rows, backend, &real::Backend::name);
  if (row == rows.end() || !row->missing.empty()) return 3;
  {
    const auto communicator =
        row->connect({identity->rank, identity->world_size, identity->local_rank, Seconds(60),
                      control->address(), &meeting});
    const ElementCount count(mib * (1 << 20) / 4);
    const auto buffer = communicator->allocate(DataType::float32, count);
    const auto* ring = collectives::find_algorithm(collectives::Collective::all_reduce, "ring");
    const auto plan =
        ring->build({identity->world_size, count, ElementSize(4), Rank(0), {}, 1, {}});
    real::PlanRunner runner(*communicator);
    std::vector<Contender> all;
    all.push_back({"ring plan", [&] { runner.run(plan, *buffer, 0); }, {}});
    all.push_back(
        {"native, non-blocking",
         [&] {
           communicator
               ->native({collectives::Collective::all_reduce, buffer.get(), count, Rank(0), 256})
               ->wait();
         },
         {}});
#ifdef PACELINE_HAS_MPI
    std::vector<float> mine(count.value()), sum(count.value());
    if (backend == "mpi") {
      all.push_back({"MPI_Allreduce",
                     [&] {
                       MPI_Allreduce(mine.data(), sum.data(), static_cast<int>(count.value()),
                                     MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                     },
                     {}});
    }
#endif
    for (std::size_t i = 0; i < repeats + 2; ++i) {
      for (Contender& one : all) {
        const double seconds = longest(*control, meeting, one.run);
        if (i >= 2) one.seconds.push_back(seconds);  // connections are made in the first
      }
    }
    if (identity->rank == Rank(0)) report(backend, mib, all);
    control->barrier();
  }
  control->leave();
  return 0;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "all_reduce_rank BACKEND RENDEZVOUS MIB REPEATS\n");
    return 2;
  }
  return paceline::compare(argv[1], argv[2], std::stoull(argv[3]), std::stoul(argv[4]));
}
