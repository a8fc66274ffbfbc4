#pragma once

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/crew.h"

namespace paceline::mpi {

// What ranks say to each other; a byte for each kind is MPI's tag. Rank 0 speaks to each other
// rank, and they to it.
enum class Kind {
  job = 1,  // from rank 0, once: what all points have in common
  tasks,    // from rank 0
  rows,     // of tasks
  trouble,  // what ended a rank, as a text
  alive,    // nothing else was said for a while
  over      // from rank 0: there is no more to do
};

struct Message {
  int from = 0;
  Kind kind = Kind::alive;
  std::string text;
};

// How often each rank is heard of at least, and after how long it is taken for lost. Rank 0 may be
// busy with its store.
inline constexpr Seconds alive_every{1.0}, rank_is_lost_after{10.0}, rank_0_is_lost_after{120.0};

// MPI from Init to Finalize, for one thread. Sends never wait: a rank that is gone takes nothing.
class Ranks {
 public:
  Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();

  [[nodiscard]] int own() const { return own_; }
  [[nodiscard]] int count() const { return count_; }
  void send(int to, Kind kind, std::string text);
  // The next of any rank that is there as a whole; never waits. A rank that is killed may leave
  // half a message, which MPI_Recv would wait for.
  [[nodiscard]] std::optional<Message> receive();
  // Ends MPI with all ranks. Where one may be gone that would wait for ever: then the process ends
  // here.
  void end(bool all_are_there, int exit_code);

 private:
  struct Sent;
  struct Coming;
  void forget_sent();
  void begin_to_receive();

  int own_ = 0, count_ = 1;
  std::list<Sent> sent_;      // whose text is not taken yet
  std::list<Coming> coming_;  // whose text is not there yet, in the order of their beginning
};

struct JobOfRank {
  sweep::Job job;
  std::size_t jobs = 1;  // points at a time
};
[[nodiscard]] std::string to_text(const JobOfRank& job);
[[nodiscard]] JobOfRank job_from(const std::string& text);
[[nodiscard]] std::string to_text(const std::vector<sweep::Task>& tasks);
[[nodiscard]] std::vector<sweep::Task> tasks_from(const std::string& text);
[[nodiscard]] std::string to_text(const std::vector<sweep::Done>& rows);
[[nodiscard]] std::vector<sweep::Done> rows_from(const std::string& text);

}  // namespace paceline::mpi
