#include "tests/testbed/packet_switch.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace paceline::testbed {
namespace {

// Above the token bucket's rate by enough that its queue drains, and below what matters: 0.2 %.
constexpr double send_margin = 1.002;
// Above the sender's, so that one flow is limited where it starts and queues nowhere else.
constexpr double receive_margin = 1.005;
// A queue holds 64 MB, 1.3 s at 400 Mbit/s: TCP's windows fill before. The bound on packets keeps
// small ones, which take a whole buffer each, from taking all memory.
constexpr std::uint64_t bytes_queued_most = 64'000'000;
constexpr std::size_t packets_queued_most = 65'536;
// Reads of one device in a turn: 0.6 MB of jumbo packets, under 0.2 ms of work.
constexpr int reads_a_turn = 64;
// A packet may leave so much early, so that neighbours share a wake-up: a tenth of what a jumbo
// packet takes at 400 Mbit/s.
constexpr std::chrono::microseconds early_most(15);

constexpr std::size_t ipv4_header_bytes = 20;

std::chrono::nanoseconds duration_of(std::uint32_t bytes, double ns_a_byte) {
  // At least 1 ns, so that the packets of one sender keep their order.
  return std::chrono::nanoseconds(std::max(1L, std::lround(bytes * ns_a_byte)));
}

// 10.77.0.(host + 1), as host_address() writes it.
std::optional<std::uint32_t> destination_host(const std::byte* packet, std::size_t bytes) {
  if (bytes < ipv4_header_bytes || (packet[0] >> 4) != std::byte{4}) return std::nullopt;
  const std::byte* address = packet + 16;
  if (address[0] != std::byte{10} || address[1] != std::byte{77} || address[2] != std::byte{0} ||
      address[3] == std::byte{0}) {
    return std::nullopt;
  }
  return std::to_integer<std::uint32_t>(address[3]) - 1;
}

}  // namespace

std::uint32_t PacketPool::take() {
  if (free_.empty()) {
    const auto first = static_cast<std::uint32_t>(chunks_.size()) * buffers_a_chunk;
    chunks_.push_back(std::make_unique<std::byte[]>(bytes_ * buffers_a_chunk));
    for (std::uint32_t i = 0; i < buffers_a_chunk; ++i) free_.push_back(first + i);
  }
  const std::uint32_t buffer = free_.back();
  free_.pop_back();
  return buffer;
}

std::byte* PacketPool::at(std::uint32_t buffer) const {
  return chunks_[buffer / buffers_a_chunk].get() + bytes_ * (buffer % buffers_a_chunk);
}

PacketSwitch::PacketSwitch(std::vector<int> devices, const LinkOptions& link,
                           const ControlPage& control)
    : ports_(devices.size()),
      control_(control),
      latency_(std::llround(link.latency.value() * 1e9)),
      send_ns_a_byte_(1e9 / (link.rate.value() * send_margin)),
      receive_ns_a_byte_(1e9 / (link.rate.value() * receive_margin)),
      mtu_(link.mtu),
      pool_(link.mtu) {
  for (std::size_t host = 0; host < devices.size(); ++host) ports_[host].device = devices[host];
}

void PacketSwitch::receive(std::uint32_t host, Clock::time_point now) {
  for (int i = 0; i < reads_a_turn; ++i) {
    const std::uint32_t buffer = pool_.take();
    const ssize_t bytes = ::read(ports_[host].device, pool_.at(buffer), mtu_);
    if (bytes <= 0) {
      pool_.give_back(buffer);
      return;
    }
    forward(host, Queued{{}, buffer, static_cast<std::uint32_t>(bytes)}, now);
  }
}

void PacketSwitch::forward(std::uint32_t from, Queued packet, Clock::time_point now) {
  Port& source = ports_[from];
  ++source.counters.packets_sent;
  source.counters.bytes_sent += packet.bytes;
  const Clock::time_point sent =
      std::max(now, source.sent_before) + duration_of(packet.bytes, send_ns_a_byte_);
  source.sent_before = sent;
  packet.arrived = sent + latency_;
  const auto to = destination_host(pool_.at(packet.buffer), packet.bytes);
  if (!to || *to >= ports_.size()) {
    ++source.counters.packets_refused;
    return pool_.give_back(packet.buffer);
  }
  if (link_is_down(from)) {
    ++source.counters.packets_dropped_by_link;
    return pool_.give_back(packet.buffer);
  }
  Port& port = ports_[*to];
  if (port.bytes_queued + packet.bytes > bytes_queued_most ||
      port.queue.size() == packets_queued_most) {
    ++port.counters.packets_dropped_by_queue;
    return pool_.give_back(packet.buffer);
  }
  port.bytes_queued += packet.bytes;
  port.counters.bytes_queued_max = std::max(port.counters.bytes_queued_max, port.bytes_queued);
  port.queue.push_back(packet);
  std::push_heap(port.queue.begin(), port.queue.end());
}

Clock::time_point PacketSwitch::departure(const Port& port) const {
  const Queued& first = port.queue.front();
  return std::max(first.arrived,
                  port.received_before + duration_of(first.bytes, receive_ns_a_byte_));
}

std::optional<Clock::time_point> PacketSwitch::next_departure() const {
  std::optional<Clock::time_point> next;
  for (const Port& port : ports_) {
    if (port.queue.empty()) continue;
    const Clock::time_point departs = departure(port);
    if (!next || departs < *next) next = departs;
  }
  return next;
}

void PacketSwitch::deliver(Clock::time_point now) {
  for (std::uint32_t host = 0; host < ports_.size(); ++host) {
    Port& port = ports_[host];
    while (!port.queue.empty() && departure(port) <= now + early_most) write_first(host);
  }
}

void PacketSwitch::write_first(std::uint32_t to) {
  Port& port = ports_[to];
  port.received_before = departure(port);
  std::pop_heap(port.queue.begin(), port.queue.end());
  const Queued packet = port.queue.back();
  port.queue.pop_back();
  port.bytes_queued -= packet.bytes;
  if (link_is_down(to)) {
    ++port.counters.packets_dropped_by_link;
  } else if (::write(port.device, pool_.at(packet.buffer), packet.bytes) < 0) {
    ++port.counters.packets_refused;
  } else {
    ++port.counters.packets_received;
    port.counters.bytes_received += packet.bytes;
  }
  pool_.give_back(packet.buffer);
}

}  // namespace paceline::testbed
