#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "real/launch/join.h"

namespace paceline::real {

// The thread behind a Control: moves frames between queues and links, sends heartbeats, and watches
// those of other ranks. Peers are counted as in Joined: rank r is peer r - 1 of rank 0.
class ControlLoop {
 public:
  ControlLoop(Joined joined, Rank self, Seconds silence);
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;
  ~ControlLoop();

  // Throws BackendError when rank 0 does not tell its clock within the limit.
  void wait_for_clock(Seconds limit);
  [[nodiscard]] Seconds clock_offset() const { return clock_offset_; }
  [[nodiscard]] Seconds clock_error() const { return clock_error_; }

  void send_all(FrameKind kind, std::uint32_t turn, const std::shared_ptr<const std::string>& body);
  // Waits for the next message of a peer, which must be this one. Throws BackendError.
  [[nodiscard]] std::string receive(std::size_t peer, FrameKind kind, std::uint32_t turn);

  void on_failure(std::function<void(const std::string&)> handler);
  void report(const std::string& line);
  // Reports what another rank has said wrongly, and throws it as a BackendError.
  [[noreturn]] void end_with(const std::string& line);
  void leave();

 private:
  struct Order {
    FrameKind kind;
    std::uint32_t turn;
    std::shared_ptr<const std::string> body;
  };
  // What the thread knows of a peer.
  struct Pulse {
    Clock::time_point heard, said;
    int pings = 0;        // that were answered
    bool leaves = false;  // its connection may close; written under the lock, for receive()
    bool gone = false;
  };

  [[nodiscard]] bool is_center() const { return self_ == Rank(0); }
  void wake() const;
  void throw_if_failed(std::unique_lock<std::mutex>& lock);

  // In the thread:
  void run();
  [[nodiscard]] bool take_orders();  // false: it shall end
  void wait_for_traffic();
  void read_all();
  void take(std::size_t peer, Frame frame);
  void take_pong(const Frame& pong);
  void close_ended(std::size_t peer);
  void look_for_silence();
  [[nodiscard]] bool hears_no_rank(Clock::time_point now) const;
  void beat_and_write();
  void fail(const std::string& line, std::optional<std::size_t> except);
  void tell_failure(const std::string& line, std::optional<std::size_t> except);
  void end_with_failure();

  const Rank self_;
  const Clock::duration silence_, beat_;
  const double silence_s_;
  std::vector<Peer> peers_;
  PublishedFile file_;
  Socket wake_;
  std::vector<Pulse> pulses_;
  Clock::time_point last_turn_;
  bool failed_ = false;  // as the thread knows
  bool own_failure_ = false;

  int pings_left_ = 0;
  Clock::time_point pinged_;
  Seconds clock_offset_{0}, clock_error_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Order> orders_;
  std::vector<std::deque<Frame>> inbox_;
  std::vector<std::size_t> inbox_size_;  // of each in bytes
  std::function<void(const std::string&)> handler_;
  std::optional<std::string> report_, failure_;
  bool told_ = false;     // a report has gone out
  bool visible_ = false;  // the failure is for the callers to see
  bool clock_known_ = false;
  std::size_t leaving_ = 0, gone_ = 0;  // how many peers have said so, and have closed
  bool left_ = false;                   // rank 0 allows leaving
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace paceline::real
