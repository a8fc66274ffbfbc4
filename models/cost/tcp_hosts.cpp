#include "models/cost/tcp_hosts.h"

#include <algorithm>
#include <cmath>

#include "models/contract.h"

namespace paceline::cost {
namespace {

constexpr std::uint32_t first_minor_with_threads = 4;

NicVendor vendor_of(const TcpHosts& hosts) {
  if (hosts.nic) return *hosts.nic;
  if (hosts.provider == Provider::aws) return NicVendor::ena;
  return hosts.provider == Provider::gcp ? NicVendor::gvnic : NicVendor::other;
}

Sockets by_default(NicVendor vendor) {
  if (vendor == NicVendor::ena) return {2 * 8, 2};
  return vendor == NicVendor::gvnic ? Sockets{4, 4} : Sockets{1, 1};
}

// tcp_hosts.h has where they are from.
constexpr BytesPerSecond of_own_hosts{1.98e9}, of_virtual_machines{0.58e9};
constexpr double either_way = 1.6, either_way_of_unknown = 1.4;

ThreadRate within(BytesPerSecond likely, double factor) {
  return {likely, likely / factor, likely * factor};
}

ThreadRate thread_rate(const TcpHosts& hosts) {
  if (hosts.is_measured()) return within(*hosts.stream, 1);
  const ThreadRate rate = thread_rate(hosts.provider);
  const BytesPerSecond most = hosts.stream.value_or(rate.high);
  return {std::min(rate.likely, most), std::min(rate.low, most), std::min(rate.high, most)};
}

}  // namespace

Sockets sockets_of(const TcpHosts& hosts, Library library, std::uint32_t nccl_minor) {
  if (library != Library::nccl || nccl_minor < first_minor_with_threads) return {1, 1};
  const Sockets automatic = by_default(vendor_of(hosts));
  const std::uint32_t each = automatic.sockets / automatic.threads;
  const std::uint32_t sockets =
      hosts.sockets.value_or(hosts.threads.value_or(automatic.threads) * each);
  return {sockets, std::min(sockets, hosts.threads.value_or(automatic.threads))};
}

ThreadRate thread_rate(Provider provider) {
  if (provider == Provider::own) return within(of_own_hosts, either_way);
  if (provider != Provider::unknown) return within(of_virtual_machines, either_way);
  return {of_virtual_machines * std::sqrt(of_own_hosts / of_virtual_machines),
          of_virtual_machines / either_way_of_unknown, of_own_hosts * either_way_of_unknown};
}

TcpRate tcp_rate(const TcpHosts& hosts, const TcpTraffic& traffic) {
  PACELINE_EXPECTS(traffic.nics > 0 && traffic.connections > 0);
  PACELINE_EXPECTS(traffic.wires > BytesPerSecond(0));
  const Sockets sockets = sockets_of(hosts, traffic.library, traffic.nccl_minor);
  const bool has_helpers = sockets.sockets > 1;
  const double threads = has_helpers ? static_cast<double>(traffic.connections) * sockets.threads
                                     : static_cast<double>(traffic.nics);
  const ThreadRate thread = thread_rate(hosts);
  const auto carried = [&](BytesPerSecond rate) { return std::min(traffic.wires, rate * threads); };
  return {carried(thread.likely), carried(thread.low), carried(thread.high), sockets};
}

}  // namespace paceline::cost
