#include "scenarios/mpi/rank_crew.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "scenarios/errors.h"

namespace paceline::mpi {
namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point then) {
  return Seconds(std::chrono::duration<double>(Clock::now() - then).count());
}

}  // namespace

bool& ends_together() {
  static bool together = true;
  return together;
}

// Above that a message may wait for its receiver: btl_vader_eager_limit of Open MPI 4.1 is 4 KiB.
std::size_t RankCrew::Member::at_once() const {
  constexpr double most = 200;
  constexpr Seconds worth{0.5};
  const double rate = done / std::max(mpi::since(since).value(), 1e-3);
  return static_cast<std::size_t>(std::clamp(rate * worth.value(), 2.0, most));
}

RankCrew::RankCrew(Ranks& ranks, const sweep::Job& job, std::size_t jobs)
    : ranks_(ranks),
      own_(sweep::make_threads(job, std::max<std::size_t>(jobs, 1))),
      members_(static_cast<std::size_t>(ranks.count())) {
  for (Member& member : members_) member.heard = member.told = member.since = Clock::now();
  for (int rank = 1; rank < ranks_.count(); ++rank) {
    ranks_.send(rank, Kind::job, to_text(JobOfRank{job, std::max<std::size_t>(jobs, 1)}));
  }
}

RankCrew::~RankCrew() {
  ends_together() = std::ranges::all_of(
      members_, [](const Member& member) { return !member.was_lost && member.has.empty(); });
  for (int rank = 1; rank < ranks_.count(); ++rank) {
    ranks_.send(rank, Kind::over, ends_together() ? all_end_together : "");
  }
}

std::size_t RankCrew::wanted() {
  std::size_t all = 0;
  for (const Member& member : members_) {
    if (!member.is_lost) all += member.at_once() - std::min(member.at_once(), member.has.size());
  }
  return all - std::min(all, queue_.size());
}

void RankCrew::give(std::span<const sweep::Task> tasks) {
  queue_.insert(queue_.end(), tasks.begin(), tasks.end());
  hand_out();
}

// To those that have less than half of what they may have.
void RankCrew::hand_out() {
  for (std::size_t rank = 0; rank < members_.size() && !queue_.empty(); ++rank) {
    Member& member = members_[rank];
    if (member.is_lost || member.has.size() * 2 > member.at_once()) continue;
    const std::size_t most = std::min(queue_.size(), member.at_once() - member.has.size());
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(most);
    const std::vector<sweep::Task> tasks(queue_.begin(), end);
    queue_.erase(queue_.begin(), end);
    member.has.insert(tasks.begin(), tasks.end());
    if (rank == 0) {
      own_->give(tasks);
    } else {
      ranks_.send(static_cast<int>(rank), Kind::tasks, to_text(tasks));
      member.told = Clock::now();
    }
  }
}

std::vector<sweep::Done> RankCrew::take(Seconds longest) {
  std::vector<sweep::Done> done;
  const auto begun = Clock::now();
  do {
    hear(done);
    look_after_ranks();
    hand_out();
    if (done.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (done.empty() && since(begun) < longest);
  return done;
}

void RankCrew::hear(std::vector<sweep::Done>& done) {
  finish(0, own_->take(Seconds(0)), done);
  while (auto message = ranks_.receive()) {
    Member& member = members_[static_cast<std::size_t>(message->from)];
    member.heard = Clock::now();
    member.is_lost = false;
    if (message->kind == Kind::rows) finish(message->from, rows_from(message->text), done);
    if (message->kind == Kind::trouble) {
      throw BackendError(fmt::format("rank {}", message->from), message->text);
    }
  }
}

void RankCrew::finish(int rank, std::vector<sweep::Done> rows, std::vector<sweep::Done>& done) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  member.done += static_cast<double>(rows.size());
  for (sweep::Done& row : rows) {
    member.has.erase(row.task);
    done.push_back(std::move(row));
  }
}

void RankCrew::look_after_ranks() {
  for (std::size_t rank = 1; rank < members_.size(); ++rank) {
    Member& member = members_[rank];
    if (since(member.told) >= alive_every) {
      ranks_.send(static_cast<int>(rank), Kind::alive, "");
      member.told = Clock::now();
    }
    if (member.is_lost || since(member.heard) < rank_is_lost_after) continue;
    member.is_lost = member.was_lost = true;
    queue_.insert(queue_.begin(), member.has.begin(), member.has.end());
    member.has.clear();
  }
}

bool work_for_rank_0(Ranks& ranks) {
  std::unique_ptr<sweep::Crew> crew;
  auto heard = Clock::now(), told = heard;
  const auto tell = [&](Kind kind, std::string text) {
    ranks.send(0, kind, std::move(text));
    told = Clock::now();
  };
  while (since(heard) < rank_0_is_lost_after) {
    try {
      while (auto message = ranks.receive()) {
        heard = Clock::now();
        if (message->kind == Kind::over) {
          const bool together = message->text == all_end_together;
          if (!together) (void)crew.release();  // its threads end with the process
          return together;
        }
        if (message->kind == Kind::job) {
          const JobOfRank made = job_from(message->text);
          crew = sweep::make_threads(made.job, made.jobs);
        } else if (message->kind == Kind::tasks && crew) {
          crew->give(tasks_from(message->text));
        }
      }
      const auto rows = crew ? crew->take(Seconds(0)) : std::vector<sweep::Done>();
      if (!rows.empty()) tell(Kind::rows, to_text(rows));
    } catch (const std::exception& trouble) {
      tell(Kind::trouble, trouble.what());
      crew.reset();
    }
    if (since(told) >= alive_every) tell(Kind::alive, "");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace paceline::mpi
