#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "real/launch/link.h"
#include "real/launch/rank_identity.h"
#include "real/launch/rendezvous.h"
#include "real/team.h"

namespace paceline::real {

struct Peer {
  Rank rank;
  std::string who;  // rank 3 (pid 4711 on host)
  std::unique_ptr<Link> link;
};

struct Joined {
  std::vector<Peer> peers;  // of rank 0: ranks 1, 2, ...; of another: rank 0
  std::string address;      // of this machine, over which the others are reached
  Seconds clock_offset{0};  // by which rank 0's steady clock is ahead
  Seconds clock_error{0};   // how wrong that may be
};

// Every rank calls it. All return, or all that found rank 0 throw with one line: UsageError for how
// they were started, else BackendError. Rank 0 takes over the rendezvous' listener.
// A rank connects to rank 0: hello; answer, with rank 0's proof of the secret; proof; pings, if it
// has another clock; and once all are there welcome, or else refusal.
[[nodiscard]] Joined join_group(const RankIdentity& identity, const Rendezvous& rendezvous,
                                Seconds connect);

struct ControlSettings {
  Seconds connect;  // for all ranks to come
  Seconds silence;  // a rank that says nothing for so long is lost
  // Called once, from the control's thread, with the line that says which rank is lost or has
  // reported a failure. It returns or ends the process. May be empty.
  std::function<void(const std::string& line)> on_failure = {};
};

// Prints `paceline-worker: LINE` on stderr and ends the process with status 3: for on_failure.
[[noreturn]] void end_process(const std::string& line);

// The control plane: messages between ranks that are processes, apart from the traffic that is
// measured. A star of TCP connections around rank 0, which a thread of its own reads.
// Calls are collective, in the same order on all ranks, from one thread. Once a rank is lost or has
// reported a failure, they throw BackendError with on_failure's line, after on_failure.
class Control : public Team {
 public:
  // Returns when all ranks have come. Otherwise throws within twice `connect` and a second, the
  // same line at all ranks that found rank 0: UsageError where ranks were told different things or
  // have no secret in common, else BackendError. Takes over the rendezvous' listener.
  [[nodiscard]] static std::unique_ptr<Control> join(const RankIdentity& identity,
                                                     const Rendezvous& rendezvous,
                                                     const ControlSettings& settings);
  // Without leave() before, the others lose this rank.
  ~Control() override;

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] RankCount size() const override { return size_; }
  [[nodiscard]] std::string broadcast(std::string text) override;
  std::vector<std::string> gather(std::string text) override;
  void barrier();
  // Exact where ranks share a kernel; else of the quickest of 16 pings at join, without drift.
  [[nodiscard]] Seconds clock_offset() const override { return clock_offset_; }
  [[nodiscard]] Seconds clock_error() const override { return clock_error_; }
  // The address of this machine over which this rank reaches rank 0, or rank 0 is reached.
  [[nodiscard]] std::string address() const override { return address_; }

  // Reports to every other rank, whose on_failure gets `rank 3: LINE`; waits a second at most until
  // it is sent. Of several failures the first that rank 0 hears of counts.
  void report_failure(const std::string& line);

  void leave();

 private:
  struct Watched : Peer {
    std::deque<Frame> inbox = {};  // what it has said and nobody has asked for yet
    std::size_t inbox_bytes = 0;
    Seconds heard = steady_now();
    bool leaves = false;  // its connection may close
    bool gone = false;
  };

  Control(const RankIdentity& identity, Joined joined, const ControlSettings& settings);
  void send_all(FrameKind kind, std::string_view body);
  // Waits for the peer's next message, which must be of this kind and call.
  std::string receive(Watched& peer, FrameKind kind);
  [[noreturn]] void throw_failure() const;

  void watch();  // the thread
  // With the lock:
  void hear(Watched& peer);
  void take(Watched& peer, Frame frame);
  void look_for_silence();
  void fail(const std::string& line);
  void tell_failure(const std::string& line, std::unique_lock<std::mutex>& lock);
  void show_failure();

  const Rank rank_;
  const RankCount size_;
  const std::string address_;
  const Seconds clock_offset_, clock_error_;
  const Seconds silence_, beat_;
  const std::function<void(const std::string&)> on_failure_;
  std::uint32_t turn_ = 0;  // calls so far

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> peers_;  // in the order of ranks
  std::optional<std::string> failure_;
  bool is_shown_ = false;  // the failure is for the callers to see
  bool stop_ = false;      // the thread shall end
  std::thread thread_;
};

}  // namespace paceline::real
