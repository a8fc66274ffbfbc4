#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "scenarios/mpi/messages.h"
#include "scenarios/sweep/crew.h"

namespace paceline::mpi {

// All ranks, of which rank 0, whose it is, predicts as well. Points are handed out as they are
// asked for, about as many at once as a rank does in half a second. What a rank that is lost had is
// given to others; a rank that is heard of again goes on.
class RankCrew : public sweep::Crew {
 public:
  // `ranks` must outlive it.
  RankCrew(Ranks& ranks, const sweep::Job& job, std::size_t jobs);
  // Says that there is no more to do.
  ~RankCrew() override;

  std::size_t wanted() override;
  void give(std::span<const sweep::Task> tasks) override;
  std::vector<sweep::Done> take(Seconds longest) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Member {
    std::set<sweep::Task> has;
    Clock::time_point heard, told, since;
    double done = 0;  // since then
    bool is_lost = false, was_lost = false;

    [[nodiscard]] std::size_t at_once() const;
  };

  void hand_out();
  void hear(std::vector<sweep::Done>& done);
  void finish(int rank, std::vector<sweep::Done> rows, std::vector<sweep::Done>& done);
  void look_after_ranks();

  Ranks& ranks_;
  std::unique_ptr<sweep::Crew> own_;
  std::vector<Member> members_;  // by rank
  std::deque<sweep::Task> queue_;
};

// Whether all ranks can end together: none was lost, and none is at work any more.
[[nodiscard]] bool& ends_together();
// What rank 0 says of that at the end.
inline constexpr const char* all_end_together = "all";

// What the other ranks do until rank 0 says that it is over. Returns whether all end together.
[[nodiscard]] bool work_for_rank_0(Ranks& ranks);

}  // namespace paceline::mpi
