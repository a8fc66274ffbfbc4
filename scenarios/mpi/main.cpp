// paceline-sweep: `paceline sweep` on the ranks that mpirun started. Rank 0 is the command, hands
// out the points and alone writes the store.

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/mpi/rank_crew.h"

namespace {

using namespace paceline;

int run_command(mpi::Ranks& ranks, int argc, char** argv) {
  bool has_crew = false;
  sweep::crew_maker() = [&](const sweep::Job& job, std::size_t jobs) {
    has_crew = true;
    return std::make_unique<mpi::RankCrew>(ranks, job, jobs);
  };
  std::vector<const char*> words{argv[0], "sweep"};
  words.insert(words.end(), argv + 1, argv + argc);
  const bool starts_ranks = std::ranges::any_of(
      words, [](const char* word) { return std::string_view(word).starts_with("--mpi"); });
  if (starts_ranks) cli::complain("paceline-sweep runs on ranks already; leave --mpi out");
  const int exit_code = starts_ranks ? cli::exit_bad_input
                                     : cli::run_main(static_cast<int>(words.size()), words.data());
  for (int rank = 1; rank < ranks.count() && !has_crew; ++rank) {
    ranks.send(rank, mpi::Kind::over, mpi::all_end_together);
  }
  ranks.end(mpi::ends_together(), exit_code);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  mpi::Ranks ranks;
  if (ranks.own() == 0) return run_command(ranks, argc, argv);
  ranks.end(mpi::work_for_rank_0(ranks), cli::exit_environment);
  return cli::exit_done;
}
