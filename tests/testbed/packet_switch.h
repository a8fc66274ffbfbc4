#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/testbed/host_entry.h"
#include "tests/testbed/testbed_options.h"

namespace paceline::testbed {

using Clock = std::chrono::steady_clock;

// Buffers of one size that are used again and again; index by index, so that they can move in
// heaps.
class PacketPool {
 public:
  explicit PacketPool(std::size_t bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint32_t take();
  void give_back(std::uint32_t buffer) { free_.push_back(buffer); }
  [[nodiscard]] std::byte* at(std::uint32_t buffer) const;

 private:
  static constexpr std::uint32_t buffers_a_chunk = 64;  // half a megabyte of jumbo packets

  std::size_t bytes_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<std::uint32_t> free_;
};

// Of one host; "sent" is what the host sent, "received" what reached it.
struct PortCounters {
  std::uint64_t packets_sent = 0, bytes_sent = 0;
  std::uint64_t packets_received = 0, bytes_received = 0;
  std::uint64_t packets_dropped_by_queue = 0;  // on the way to it: the queue was full
  std::uint64_t packets_dropped_by_link = 0;   // to or from it: its link was down
  std::uint64_t packets_refused = 0;           // neither IPv4 nor to a host, or its device said no
  std::uint64_t bytes_queued_max = 0;          // on the way to it, those in flight counted
};

// Forwards IPv4 packets between TUN devices by destination address.
//
// Times of a packet of S bytes, for links of rate R and latency L:
//   sent     = max(read, sent before by this host) + S/R: its last byte is on the wire
//   arrived  = sent + L
//   received = max(arrived, received before by that host + S/R'), R' slightly above R
// so that S bytes take L + S/R on idle links, whatever the bursts in which the devices were filled,
// and several senders to one host share its rate. Long flows are held to R by the device's token
// bucket, which TCP feels; the clock here is slightly faster, so that it never builds a queue.
class PacketSwitch {
 public:
  PacketSwitch(std::vector<int> devices, const LinkOptions& link, const ControlPage& control);

  // Reads packets that wait in a host's device: some, so that others have their turn. Times do not
  // go back from one call to the next.
  void receive(std::uint32_t host, Clock::time_point now);
  // Writes all that are due.
  void deliver(Clock::time_point now);
  // When deliver() next has something to do.
  [[nodiscard]] std::optional<Clock::time_point> next_departure() const;

  [[nodiscard]] const PortCounters& counters(std::uint32_t host) const {
    return ports_[host].counters;
  }

 private:
  struct Queued {
    Clock::time_point arrived;
    std::uint32_t buffer, bytes;

    friend bool operator<(const Queued& a, const Queued& b) { return a.arrived > b.arrived; }
  };
  struct Port {
    int device = -1;
    Clock::time_point sent_before{}, received_before{};
    std::vector<Queued> queue;  // a heap: the first to arrive is in front
    std::uint64_t bytes_queued = 0;
    PortCounters counters;
  };

  [[nodiscard]] Clock::time_point departure(const Port& port) const;
  [[nodiscard]] bool link_is_down(std::uint32_t host) const {
    return control_.link_is_down[host].load(std::memory_order_relaxed) != 0;
  }
  void forward(std::uint32_t from, Queued packet, Clock::time_point now);
  void write_first(std::uint32_t to);

  std::vector<Port> ports_;
  const ControlPage& control_;
  std::chrono::nanoseconds latency_;
  double send_ns_a_byte_, receive_ns_a_byte_;
  std::uint32_t mtu_;
  PacketPool pool_;
};

}  // namespace paceline::testbed
