#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <vector>

#include "models/topology/cluster.h"
#include "models/units/units.h"

namespace paceline::sim {

inline constexpr double never = std::numeric_limits<double>::infinity();

// What happens within a tenth of a picosecond happens at once: times that are the same but for
// rounding must not count as different sets of flows.
inline constexpr double simultaneous_s = 1e-13;

// A path of flows; each network numbers its own.
using PathId = std::uint32_t;

// A simulated clock, timers on it, and flows. Networks differ in how flows share bandwidth.
//
// A flow waits for its path's latency (with rendezvous, thrice), then for its place in its
// connection, and then moves: it has its share of bandwidth until its bytes have left. Where
// MessageTiming::leaves_first holds, one latency comes at the end, after its tag has been handed
// back. What happens at one time happens in the order of its making: first all that was to happen
// then, and flows that end after it.
class Network {
 public:
  struct Flow;
  // Keeps flows in the order of their sending: one at a time has bandwidth, the latencies of those
  // behind it pass meanwhile. Must outlive its flows.
  struct Connection {
    std::deque<Flow*> flows;  // in order; only the first may move
  };

  // `on_arrival` gets the tag of each flow that has arrived, and may send and schedule more.
  explicit Network(std::function<void(void* tag)> on_arrival)
      : on_arrival_(std::move(on_arrival)) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  [[nodiscard]] Seconds now() const { return Seconds(now_); }
  void at(Seconds time, std::function<void()> action);
  // Precondition: bytes above 0. `tag` is handed back when the flow has arrived. Without a
  // connection a flow waits for no other. `extra` comes on top of the latency before its bytes.
  void send(PathId path, double bytes, Seconds extra, void* tag, Connection* connection);
  // Hands the tag of an arrived flow back once more after that time, in which its receiver handles
  // its bytes. Unlike a timer it repeats with its round.
  void hand_back_after(Seconds delay, void* tag);
  // What decides, beside bandwidth, when flows of a path leave and arrive.
  [[nodiscard]] virtual const topology::MessageTiming& timing(PathId path) const = 0;
  // Called when a round begins that may repeat.
  virtual void round_begins() {}
  // Numbers of events so far, those still to come included, and of flows.
  [[nodiscard]] std::uint64_t events_made() const { return events_made_; }
  [[nodiscard]] std::uint64_t flows_sent() const { return flows_sent_; }
  [[nodiscard]] double next_timer() const;  // infinity where none is set

  enum class Phase : std::uint8_t { latency, waiting, moving, handed_back };
  struct Flow {
    void* tag;
    Connection* connection;
    PathId path;
    Phase phase;
    bool in_use;
    double left;           // bytes
    double phase_end;      // s; of latency or until it is handed back
    std::uint64_t number;  // in the order of sending
  };

 protected:
  // Lets a flow move; ended() follows when its bytes have left.
  virtual void move(Flow* flow) = 0;
  void ended(Flow* flow) { ended_.push_back(flow); }

  // Has complete() called at that time; returns the event's number.
  std::uint64_t complete_at(double time, std::uint32_t subject) {
    return push({time, 0, nullptr, subject, Event::Kind::completion});
  }
  virtual void complete(std::uint32_t /*subject*/, std::uint64_t /*number*/) {}

  // Infinity where nothing is left to happen.
  [[nodiscard]] double next_event() const;
  [[nodiscard]] const std::deque<Flow>& pool() const { return pool_; }
  void set_clock(double now) { now_ = now; }
  // Lets all that happens now happen.
  void happen();
  // Sets the clock forward, and with it all that is to happen but timers.
  void set_forward(double time);

 private:
  struct Event {
    double time;
    std::uint64_t number;   // in the order of making
    Flow* flow;             // whose latency passes, or that is handed back
    std::uint32_t subject;  // of a timer or a completion
    enum class Kind : std::uint8_t { timer, flow, completion } kind;

    [[nodiscard]] bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  // Events a latency after they were made, in the order of their times: there are few latencies.
  struct Latency {
    double seconds;
    std::vector<Event> events = {};
    std::size_t first = 0;  // those before it have happened

    [[nodiscard]] double next() const { return first < events.size() ? events[first].time : never; }
  };

  std::uint64_t push(Event event);
  void push_after(double seconds, Flow* flow);
  void take_due();
  Flow* new_flow();
  void pass_latency(Flow* flow);
  void start(Flow* flow);
  void handle(const Event& event);
  void arrived(Flow* flow);
  void hand_back(Flow* flow);

  std::function<void(void*)> on_arrival_;
  double now_ = 0;
  std::vector<Event> events_;  // a heap: the next one first
  std::vector<Latency> latencies_;
  std::uint64_t events_made_ = 0, flows_sent_ = 0;
  std::vector<std::function<void()>> timers_;
  std::vector<std::uint32_t> free_timers_;
  std::deque<Flow> pool_;  // addresses stay
  std::vector<Flow*> free_;
  std::vector<Event> due_;    // now; kept for its memory, as are the next two
  std::vector<Flow*> ended_;  // whose tags are still to be handed back
  std::vector<Flow*> arrivals_;
};

}  // namespace paceline::sim
