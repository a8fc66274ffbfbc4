// paceline-sweep: `paceline sweep` on the ranks that mpirun started. Rank 0 is the command, hands
// out the points and alone writes the store.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iostream>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "models/text/json_writer.h"
#include "scenarios/cli/command.h"
#include "scenarios/errors.h"
#include "scenarios/sweep/crew.h"
#include "traces/json/decode.h"

#if defined(__SANITIZE_ADDRESS__)
// Asked by the leak check. Open MPI unloads plugins with what they took: no list can suppress it.
extern "C" int __lsan_is_turned_off() {
  int begun = 0;
  MPI_Initialized(&begun);
  return begun;
}
#endif

namespace paceline {

constexpr auto fields_of(const ScenarioFile::Setting*) {
  using Setting = ScenarioFile::Setting;
  return Fields(field("path", &Setting::path), field("value", &Setting::value),
                field("is_of_several", &Setting::is_of_several),
                field("is_known", &Setting::is_known));
}

namespace sweep {

constexpr auto fields_of(const SweptFile*) {
  return Fields(field("path", &SweptFile::path), field("settings", &SweptFile::settings),
                field("sha256", &SweptFile::sha256), field("part", &SweptFile::part));
}
constexpr auto fields_of(const Job*) {
  return Fields(field("files", &Job::files), field("force", &Job::force));
}
constexpr auto fields_of(const Task*) {
  return Fields(field("file", &Task::file), field("point", &Task::point));
}

}  // namespace sweep
}  // namespace paceline

namespace paceline::mpi {
namespace {

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
constexpr Seconds alive_every{1.0}, rank_is_lost_after{10.0}, rank_0_is_lost_after{120.0};

// What a rank is sent first.
struct JobOfRank {
  sweep::Job job;
  std::size_t jobs = 1;  // points at a time
};

constexpr auto fields_of(const JobOfRank*) {
  return Fields(field("job", &JobOfRank::job), field("jobs", &JobOfRank::jobs));
}

struct RowText {
  sweep::Task task;
  std::string row;
};
constexpr auto fields_of(const RowText*) {
  return Fields(field("task", &RowText::task), field("row", &RowText::row));
}

// MPI from Init to Finalize, for one thread. Sends never wait: a rank that is gone takes nothing.
class Ranks {
 public:
  Ranks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() = default;

  [[nodiscard]] int own() const { return own_; }
  [[nodiscard]] int count() const { return count_; }

  void send(int to, Kind kind, std::string text) {
    forget_sent();
    Sent& sent = sent_.emplace_back(Sent{std::move(text)});
    // To a rank that is gone it fails, or nothing happens: it is found by its silence.
    (void)MPI_Isend(sent.text.data(), static_cast<int>(sent.text.size()), MPI_BYTE, to,
                    static_cast<int>(kind), MPI_COMM_WORLD, &sent.request);
  }

  // The next of any rank that is there as a whole; never waits. A rank that is killed may leave
  // half a message, which MPI_Recv would wait for.
  [[nodiscard]] std::optional<Message> receive() {
    begin_to_receive();
    std::set<int> behind;  // senders of whom an earlier message is not whole
    for (auto next = coming_.begin(); next != coming_.end();) {
      const auto coming = next++;
      const int from = coming->message.from;
      if (behind.contains(from)) continue;
      int is_done = 0;
      if (MPI_Test(&coming->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        coming_.erase(coming);  // its sender is gone
      } else if (is_done != 0) {
        Message message = std::move(coming->message);
        coming_.erase(coming);
        return message;
      } else {
        behind.insert(from);
      }
    }
    return std::nullopt;
  }

  // Ends MPI with all ranks. Where one may be gone that would wait for ever: then the process ends
  // here.
  void end(bool all_are_there, int exit_code) {
    using namespace std::chrono_literals;
    for (int wait = 0; wait < 1000 && !sent_.empty(); ++wait) {
      forget_sent();
      std::this_thread::sleep_for(1ms);
    }
    if (all_are_there) {
      MPI_Finalize();
      return;
    }
    std::cout.flush();
    std::fflush(nullptr);
    std::_Exit(exit_code);
  }

 private:
  struct Sent {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Coming {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void forget_sent() {
    std::erase_if(sent_, [](Sent& one) {
      int is_done = 0;
      return MPI_Test(&one.request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done != 0;
    });
  }

  void begin_to_receive() {
    while (true) {
      int is_there = 0, size = 0;
      MPI_Message handle = MPI_MESSAGE_NULL;
      MPI_Status status{};
      if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &handle, &status) !=
              MPI_SUCCESS ||
          is_there == 0) {
        return;
      }
      MPI_Get_count(&status, MPI_BYTE, &size);
      Coming& coming = coming_.emplace_back();
      coming.message = {status.MPI_SOURCE, static_cast<Kind>(status.MPI_TAG),
                        std::string(static_cast<std::size_t>(size), '\0')};
      if (MPI_Imrecv(coming.message.text.data(), size, MPI_BYTE, &handle, &coming.request) !=
          MPI_SUCCESS) {
        coming_.pop_back();
      }
    }
  }

  int own_ = 0, count_ = 1;
  std::list<Sent> sent_;      // whose text is not taken yet
  std::list<Coming> coming_;  // whose text is not there yet, in the order of their beginning
};

template <class T>
std::string text_of(const T& value) {
  std::string text;
  JsonWriter(text).value(value);
  return text;
}

template <class T>
T read(const std::string& text) {
  return traces::decode<T>(traces::parse_json(text, ""));
}

std::string text_of(const std::vector<sweep::Done>& rows) {
  std::vector<RowText> texts;
  for (const auto& [task, row] : rows) texts.push_back({task, to_text(row)});
  return text_of(texts);
}

std::vector<sweep::Done> rows_from(const std::string& text) {
  std::vector<sweep::Done> rows;
  for (const RowText& one : read<std::vector<RowText>>(text)) {
    rows.push_back({one.task, sweep::row_from(one.row)});
  }
  return rows;
}

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point then) {
  return Seconds(std::chrono::duration<double>(Clock::now() - then).count());
}

// Whether all ranks can end together: none was lost, and none is at work any more.
bool& ends_together() {
  static bool together = true;
  return together;
}

// What rank 0 says of that at the end.
constexpr const char* all_end_together = "all";

// All ranks, of which rank 0, whose it is, predicts as well. Points are handed out as they are
// asked for, about as many at once as a rank does in half a second. What a rank that is lost had is
// given to others; a rank that is heard of again goes on.
class RankCrew : public sweep::Crew {
 public:
  // `ranks` must outlive it.
  RankCrew(Ranks& ranks, const sweep::Job& job, std::size_t jobs)
      : ranks_(ranks),
        own_(sweep::make_threads(job, std::max<std::size_t>(jobs, 1))),
        members_(static_cast<std::size_t>(ranks.count())) {
    for (Member& member : members_) member.heard = member.told = member.since = Clock::now();
    for (int rank = 1; rank < ranks_.count(); ++rank) {
      ranks_.send(rank, Kind::job, text_of(JobOfRank{job, std::max<std::size_t>(jobs, 1)}));
    }
  }

  // Says that there is no more to do.
  ~RankCrew() override {
    ends_together() = std::ranges::all_of(
        members_, [](const Member& member) { return !member.was_lost && member.has.empty(); });
    for (int rank = 1; rank < ranks_.count(); ++rank) {
      ranks_.send(rank, Kind::over, ends_together() ? all_end_together : "");
    }
  }

  std::size_t wanted() override {
    std::size_t all = 0;
    for (const Member& member : members_) {
      if (!member.is_lost) all += member.at_once() - std::min(member.at_once(), member.has.size());
    }
    return all - std::min(all, queue_.size());
  }

  void give(std::span<const sweep::Task> tasks) override {
    queue_.insert(queue_.end(), tasks.begin(), tasks.end());
    hand_out();
  }

  std::vector<sweep::Done> take(Seconds longest) override {
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

 private:
  struct Member {
    std::set<sweep::Task> has;
    Clock::time_point heard, told, since;
    double done = 0;  // since then
    bool is_lost = false, was_lost = false;

    // Above that a message may wait for its receiver: btl_vader_eager_limit of Open MPI 4.1 is 4
    // KiB.
    [[nodiscard]] std::size_t at_once() const {
      constexpr double most = 200;
      constexpr Seconds worth{0.5};
      const double rate = done / std::max(mpi::since(since).value(), 1e-3);
      return static_cast<std::size_t>(std::clamp(rate * worth.value(), 2.0, most));
    }
  };

  // To those that have less than half of what they may have.
  void hand_out() {
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
        ranks_.send(static_cast<int>(rank), Kind::tasks, text_of(tasks));
        member.told = Clock::now();
      }
    }
  }

  void hear(std::vector<sweep::Done>& done) {
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

  void finish(int rank, std::vector<sweep::Done> rows, std::vector<sweep::Done>& done) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    member.done += static_cast<double>(rows.size());
    for (sweep::Done& row : rows) {
      member.has.erase(row.task);
      done.push_back(std::move(row));
    }
  }

  void look_after_ranks() {
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

  Ranks& ranks_;
  std::unique_ptr<sweep::Crew> own_;
  std::vector<Member> members_;  // by rank
  std::deque<sweep::Task> queue_;
};

// What the other ranks do until rank 0 says that it is over. Returns whether all end together.
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
          const JobOfRank made = read<JobOfRank>(message->text);
          crew = sweep::make_threads(made.job, made.jobs);
        } else if (message->kind == Kind::tasks && crew) {
          crew->give(read<std::vector<sweep::Task>>(message->text));
        }
      }
      const auto rows = crew ? crew->take(Seconds(0)) : std::vector<sweep::Done>();
      if (!rows.empty()) tell(Kind::rows, text_of(rows));
    } catch (const std::exception& trouble) {
      tell(Kind::trouble, trouble.what());
      crew.reset();
    }
    if (since(told) >= alive_every) tell(Kind::alive, "");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace
}  // namespace paceline::mpi

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
