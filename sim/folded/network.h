#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "models/topology/cluster.h"
#include "models/units/units.h"

namespace paceline::sim {

// A path of flows; each network numbers its own.
using PathId = std::uint32_t;

// A simulated clock, timers on it, and flows: what running a step needs.
//
// A flow waits for its path's latency (with rendezvous, thrice), then for its place in its
// connection, and then has its share of bandwidth until its bytes have left. Where
// MessageTiming::leaves_first holds, one latency comes at the end, after its tag has been handed
// back.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  // Keeps flows in the order of their sending: one at a time has bandwidth, the latencies of those
  // behind it pass meanwhile. Must outlive its flows.
  struct Connection {
    std::deque<void*> flows;  // in order; only the first may have bandwidth
  };

  [[nodiscard]] virtual Seconds now() const = 0;
  virtual void at(Seconds time, std::function<void()> action) = 0;
  // Precondition: bytes above 0. `tag` is handed back when the flow has arrived. Without a
  // connection a flow waits for no other. `extra` comes on top of the latency before its bytes.
  virtual void send(PathId path, double bytes, Seconds extra, void* tag,
                    Connection* connection) = 0;
  // What decides, beside bandwidth, when flows of a path leave and arrive.
  [[nodiscard]] virtual const topology::MessageTiming& timing(PathId path) const = 0;
  // Hands the tag of an arrived flow back once more after that time, in which its receiver handles
  // its bytes. Unlike a timer it repeats with its round.
  virtual void hand_back_after(Seconds delay, void* tag) = 0;
  // Called when a round begins that may repeat.
  virtual void round_begins() {}
};

}  // namespace paceline::sim
