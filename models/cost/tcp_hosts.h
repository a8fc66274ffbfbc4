#pragma once

#include <cstdint>
#include <optional>

#include "models/cost/library_choice.h"
#include "models/units/units.h"
#include "models/words.h"

// How fast a host moves data through TCP: by a library's streams, their threads, and the wires.
namespace paceline::cost {

// Who runs the hosts. own: machines without a hypervisor; the others run virtual machines.
enum class Provider { unknown, own, aws, gcp, azure, other };
constexpr auto words_of(Provider) {
  return words_up_to<Provider::other>("unknown", "own", "aws", "gcp", "azure", "other");
}

// The vendor of a NIC, which NCCL reads from /sys/class/net/NAME/device/vendor: Amazon (0x1d0f),
// Google (0x1ae0), or other, which includes interfaces without a device (veth, bond, bridge).
enum class NicVendor { ena, gvnic, other };
constexpr auto words_of(NicVendor) {
  return words_up_to<NicVendor::other>("ena", "gvnic", "other");
}

using paceline::to_text;

// Hosts that are all alike; what is left empty follows from the rest.
struct TcpHosts {
  Provider provider = Provider::unknown;
  std::optional<NicVendor> nic = std::nullopt;
  // Per connection: 1..sockets_max sockets, served by 1..threads_max threads.
  std::optional<std::uint32_t> sockets = std::nullopt, threads = std::nullopt;
  // Rate of one stream, one way, as `iperf3 -P 1` measures it; above 0.
  std::optional<BytesPerSecond> stream = std::nullopt;

  // Whether the stream's rate is a thread's: virtual machines' carry more than NCCL's sockets.
  [[nodiscard]] bool is_measured() const { return stream && provider == Provider::own; }
};

// MAX_SOCKETS and MAX_THREADS of NCCL's src/transport/net_socket.cc.
inline constexpr std::uint32_t sockets_max = 64, threads_max = 16;

// Sockets of one connection. `threads` is 1 where the thread that drives all of a rank's
// connections also moves their bytes, which it does where each has one socket.
struct Sockets {
  std::uint32_t sockets = 1, threads = 1;
  friend bool operator==(const Sockets&, const Sockets&) = default;
};

// The sockets that a library opens. NCCL from 2.4.8 on (2.4 is taken as 2.4.8):
// NCCL_SOCKET_NTHREADS x NCCL_NSOCKS_PERTHREAD by the NIC's vendor, Amazon 2 x 8, Google 4 x 1,
// others 1 x 1 (src/transport/net_socket.cc, ncclSocketGetNsockNthread; a later 6 x 1 for Google is
// ignored); one before that and where the NIC is unknown. Gloo (gloo/transport/tcp/pair.h) and Open
// MPI (btl_tcp_links, 1 by default): one per pair of ranks. `nccl_minor`: 18 for version 2.18.
[[nodiscard]] Sockets sockets_of(const TcpHosts& hosts, Library library, std::uint32_t nccl_minor);

// The traffic from one host to others.
struct TcpTraffic {
  Library library = Library::nccl;
  std::uint32_t nccl_minor = 28;
  // NICs, or of servers connections, each with a thread of its own; at least 1.
  std::uint32_t nics = 1;
  std::uint32_t connections = 2;  // of all NICs, one way: channels that cross; at least 1
  BytesPerSecond wires;           // of all NICs together, for payload; above 0
};

// The rate of a host, one way, with its 90 % interval: low <= likely <= high <= wires.
struct TcpRate {
  BytesPerSecond likely, low, high;
  Sockets sockets;  // of each connection
};

// The rate of one thread through TCP: the centre, and the interval that holds nine tenths of hosts.
struct ThreadRate {
  BytesPerSecond likely, low, high;
};

// By provider, from the medians of six sources' rows (tests/bench/tcp_hosts.py, which also predicts
// each source from the others):
// - own: 1.98 GB/s, the geometric mean of 2.44 (HKBU, 100 Gb/s Ethernet), 2.18 (Horovod's README of
//   2017, 25 and 40 Gb/s) and 1.46 (Sia's nodes of RTX 2080 Ti, 50 Gb/s);
// - virtual machines: 0.58 GB/s, that of 0.56 (Azure NC24rs_v2, NCCL 2.3), 0.59 (Pollux, AWS g4dn,
//   NCCL in containers) and 0.59 (AWS p3.2xlarge, Gloo). AWS documents 5 Gb/s for one flow outside
//   a placement group (EC2 user guide, instance network bandwidth), about 0.6 GB/s of payload;
// - unknown: the geometric mean of the two, 1.07 GB/s, with an interval over both, taken as equally
//   likely.
// The ends are a factor of 1.6 away: logarithms deviate by 0.191 within a class, with four degrees
// of freedom, so a new source lies within 2.132 x 0.191 x sqrt(1 + 1/3) nine times in ten. Unknown
// hosts are of either class with equal probability, so the outer ends of both classes are those of
// eight in ten: 1.4, with 1.533 in place of 2.132.
[[nodiscard]] ThreadRate thread_rate(Provider provider);

// The lesser of the rate of the wires and that of the threads: each connection's own where it has
// several sockets, else one per NIC, which serves all its connections. A measured stream replaces
// the rate of a thread on hosts of one's own; on others it is the most that a thread moves. Not
// modelled: limits of a host's memory or kernel with many threads (no row at hand is above 1.1
// GB/s); a provider's limit per flow, where it is above a thread's rate; and ranks of a node that
// send at once (hybrid FSDP, hierarchical MPI), which would be faster.
[[nodiscard]] TcpRate tcp_rate(const TcpHosts& hosts, const TcpTraffic& traffic);

}  // namespace paceline::cost
