#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/cost/library_choice.h"
#include "models/units/units.h"
#include "models/words.h"

// What a host moves through TCP: streams of a library's connections, threads that serve them,
// wires.
namespace paceline::cost {

// Whose hosts they are. own: machines without a hypervisor; the others are virtual machines.
enum class Provider { unknown, own, aws, gcp, azure, other };
constexpr auto words_of(Provider) {
  return words_up_to<Provider::other>("unknown", "own", "aws", "gcp", "azure", "other");
}

// The vendor of a NIC, as NCCL reads it of /sys/class/net/NAME/device/vendor: Amazon (0x1d0f),
// Google (0x1ae0), or another, also of interfaces that have no device: veth of a container, bond,
// bridge.
enum class NicVendor { ena, gvnic, other };
constexpr auto words_of(NicVendor) {
  return words_up_to<NicVendor::other>("ena", "gvnic", "other");
}

using paceline::to_text;

// Of hosts alike; what is left empty follows from the rest.
struct TcpHosts {
  Provider provider = Provider::unknown;
  std::optional<NicVendor> nic = std::nullopt;
  // Of each connection, 1..sockets_max, and the threads that serve them, 1..threads_max.
  std::optional<std::uint32_t> sockets = std::nullopt, threads = std::nullopt;
  // What one stream carries, one way; above 0. As `iperf3 -P 1` measures it.
  std::optional<BytesPerSecond> stream = std::nullopt;
};

// MAX_SOCKETS and MAX_THREADS of NCCL's src/transport/net_socket.cc.
inline constexpr std::uint32_t sockets_max = 64, threads_max = 16;

// Of one connection. `threads` is 1 where the thread that drives all of a rank's connections also
// moves their bytes, as where each has one socket.
struct Sockets {
  std::uint32_t sockets = 1, threads = 1;
  friend bool operator==(const Sockets&, const Sockets&) = default;
};

// As a library opens them. NCCL: NCCL_SOCKET_NTHREADS x NCCL_NSOCKS_PERTHREAD from 2.4.8 on (of 2.4
// the last is taken), by the NIC's vendor: Amazon 2 x 8, Google 4 x 1, others 1 x 1; before, and
// without a NIC that is known, one. (src/transport/net_socket.cc, ncclSocketGetNsockNthread; a
// later 6 x 1 of Google's is not told apart.) Gloo (gloo/transport/tcp/pair.h) and Open MPI
// (btl_tcp_links, 1 by default) have one a pair. `nccl_minor`: 18 of version 2.18.
[[nodiscard]] Sockets sockets_of(const TcpHosts& hosts, Library library, std::uint32_t nccl_minor);

// What is asked to go from a host to others.
struct TcpTraffic {
  Library library = Library::nccl;
  std::uint32_t nccl_minor = 28;
  std::uint32_t nics = 1;         // each with a thread of its own; at least 1
  std::uint32_t connections = 2;  // of all NICs, one way: channels that cross; at least 1
  BytesPerSecond wires;           // of all NICs together, for payload; above 0
};

// What a host moves one way, with its 90 % interval: low <= likely <= high <= wires.
struct TcpRate {
  BytesPerSecond likely, low, high;
  Sockets sockets;  // of each connection
};

// What one thread moves through TCP: the centre of what was found, and between what nine tenths of
// such hosts lie.
struct ThreadRate {
  BytesPerSecond likely, low, high;
};

// By whose hosts they are, from the medians of six sources' rows (tests/bench/tcp_hosts.py, which
// judges each by the others, too):
// - own: 1.98 GB/s, the geometric mean of 2.44 (HKBU, 100 Gb/s Ethernet), 2.18 (Horovod's README of
//   2017, 25 and 40 Gb/s) and 1.46 (Sia's nodes of RTX 2080 Ti, 50 Gb/s);
// - virtual machines: 0.58 GB/s, that of 0.56 (Azure NC24rs_v2, NCCL 2.3), 0.59 (Pollux, AWS g4dn,
//   NCCL in containers) and 0.59 (AWS p3.2xlarge, Gloo). AWS documents 5 Gb/s for one flow outside
//   a placement group (EC2 user guide, instance network bandwidth), about 0.6 GB/s of payload;
// - unknown: the geometric mean of the two, 1.07 GB/s, with an interval over both, taken as equally
//   likely.
// Ends: a factor of 1.6 either way. Logarithms lie apart by 0.191 within classes, with four degrees
// of freedom; what is new lies within 2.132 x 0.191 x sqrt(1 + 1/3) nine times in ten. Of unknown
// hosts half are of each class, so the outer ends of both are those of eight in ten: 1.4, by
// 1.533 in place of 2.132.
[[nodiscard]] ThreadRate thread_rate(Provider provider);

// The least of the wires and of what the threads move: those of a connection where it has several
// sockets, else one a NIC, which serves all of its connections. A measured stream stands in for a
// thread. Not modelled: what a host's memory or kernel lets through with many threads, of which no
// row is at hand beyond 1.1 GB/s; a provider's limits of a flow above what a thread moves; and
// several ranks of a node that cross at once, each by threads of its own (hybrid FSDP, hierarchical
// MPI), which would move more.
[[nodiscard]] TcpRate tcp_rate(const TcpHosts& hosts, const TcpTraffic& traffic);

}  // namespace paceline::cost
