#include "tests/testbed/host_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <string_view>

#include "tests/testbed/host_entry.h"

namespace paceline::testbed {
namespace {

constexpr const char* device_name = "eth0";

// What a late timer may cost: a bucket that fills up loses rate, and the timers of a shared virtual
// machine are late by a millisecond. Receivers do not see the burst: the switch's clock spreads it.
constexpr double burst_seconds = 2e-3;
// tbf never sends a packet that is larger than the bucket; two keep it from running dry.
constexpr double burst_packets = 2;
// Larger than all socket buffers that feed it, so that the bucket delays and never drops.
constexpr std::uint64_t token_bucket_bytes_most = 256'000'000;
// Packets in a TUN device until the switch reads them: 90 MB of jumbo packets.
constexpr int device_packets_most = 10'000;

struct Setting {
  const char* path;  // below /proc/sys/net
  const char* value;
};

// A buffer gives a window of half of it or more: 2 MB carry 400 Mbit/s over 20 ms of round trip at
// once, and grow to Linux's usual 6 MB. Seven senders to one host fill 42 MB of the switch's 64 MB.
// Reno: of what every namespace may choose it is the one whose slow start no jitter ends early, and
// without losses its window only grows. Connections of an earlier phase start a later one at full
// speed.
constexpr Setting settings[] = {
    {"ipv4/tcp_slow_start_after_idle", "0"},   {"ipv4/tcp_no_metrics_save", "1"},
    {"ipv4/tcp_congestion_control", "reno"},   {"ipv4/tcp_rmem", "4096 2097152 6291456"},
    {"ipv4/tcp_wmem", "4096 2097152 6291456"}, {"ipv6/conf/eth0/disable_ipv6", "1"},
};

void set(const Setting& setting) {
  const std::string path = std::string("/proc/sys/net/") + setting.path;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0 && errno == ENOENT) return;  // a kernel without IPv6
  require(file.number(), path);
  const std::string_view value = setting.value;
  require(static_cast<int>(::write(file.number(), value.data(), value.size())), path);
}

ifreq request_for(const char* name) {
  ifreq request{};
  std::string_view(name).copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

Descriptor make_device() {
  Descriptor device =
      opened(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq request = request_for(device_name);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  require(::ioctl(device.number(), TUNSETIFF, &request), "a TUN device");
  return device;
}

void set_address(ifreq& request, const std::string& address) {
  sockaddr_in internet{};
  internet.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.c_str(), &internet.sin_addr);
  std::memcpy(&request.ifr_addr, &internet, sizeof(internet));
}

void bring_up(int socket, const char* name) {
  ifreq request = request_for(name);
  require(::ioctl(socket, SIOCGIFFLAGS, &request), "SIOCGIFFLAGS");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  require(::ioctl(socket, SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
}

void configure_device(std::uint32_t host, std::uint32_t mtu) {
  const Descriptor socket = opened(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
  ifreq request = request_for(device_name);
  request.ifr_mtu = static_cast<int>(mtu);
  require(::ioctl(socket.number(), SIOCSIFMTU, &request), "SIOCSIFMTU");
  request.ifr_qlen = device_packets_most;
  require(::ioctl(socket.number(), SIOCSIFTXQLEN, &request), "SIOCSIFTXQLEN");
  set_address(request, host_address(host));
  require(::ioctl(socket.number(), SIOCSIFADDR, &request), "SIOCSIFADDR");
  set_address(request, "255.255.255.0");
  require(::ioctl(socket.number(), SIOCSIFNETMASK, &request), "SIOCSIFNETMASK");
  bring_up(socket.number(), "lo");
  bring_up(socket.number(), device_name);
}

// Standard output of iproute2's tc, run in the present namespace.
std::string run_tc(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tc");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC), "pipe");
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to.number(), STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, "tc", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw SetupError(std::string("tc (Debian: iproute2): ") + std::strerror(error));
  to = Descriptor();
  std::string output;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(from.number(), part, sizeof(part))) > 0;) {
    output.append(part, static_cast<std::size_t>(n));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw SetupError("tc failed: " + arguments.at(1) + " " + arguments.at(2));
  return output;
}

void add_token_bucket(const LinkOptions& link) {
  const double burst = std::max(link.rate.value() * burst_seconds, burst_packets * link.mtu);
  const auto whole = [](double value) { return std::to_string(std::llround(value)); };
  // tc takes "bps" as bytes a second and "b" as bytes.
  run_tc({"qdisc", "add", "dev", device_name, "root", "tbf", "rate",
          whole(link.rate.value()) + "bps", "burst", whole(burst) + "b", "limit",
          std::to_string(token_bucket_bytes_most) + "b"});
}

// Runs `action` in the network namespace of `descriptor`, then comes back.
void in_network(int descriptor, const std::function<void()>& action) {
  const Descriptor own = opened(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "own network");
  require(::setns(descriptor, CLONE_NEWNET), "setns");
  try {
    action();
  } catch (...) {
    ::setns(own.number(), CLONE_NEWNET);
    throw;
  }
  require(::setns(own.number(), CLONE_NEWNET), "setns back");
}

Descriptor make_host(std::uint32_t host, const LinkOptions& link) {
  Descriptor device = make_device();
  for (const Setting& setting : settings) set(setting);
  configure_device(host, link.mtu);
  add_token_bucket(link);
  return device;
}

std::uint64_t packets_dropped_by_device() {
  ifaddrs* all = nullptr;
  require(::getifaddrs(&all), "getifaddrs");
  std::uint64_t dropped = 0;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool is_counters = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_PACKET;
    if (!is_counters || std::string_view(one->ifa_name) != device_name) continue;
    dropped = static_cast<const rtnl_link_stats*>(one->ifa_data)->tx_dropped;
  }
  ::freeifaddrs(all);
  return dropped;
}

std::uint64_t packets_dropped_by_token_bucket() {
  const std::string json = run_tc({"-s", "-j", "qdisc", "show", "dev", device_name});
  const std::string_view key = "\"drops\":";
  const auto at = json.find(key);
  std::uint64_t dropped = 0;
  if (at != std::string::npos) {
    std::from_chars(json.data() + at + key.size(), json.data() + json.size(), dropped);
  }
  return dropped;
}

}  // namespace

HostNetworks::HostNetworks(std::uint32_t hosts, const LinkOptions& link) {
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const Descriptor own = opened(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "own network");
    require(::unshare(CLONE_NEWNET), "a network namespace");
    Descriptor network =
        opened(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "a host's network");
    require(::setns(own.number(), CLONE_NEWNET), "setns back");
    in_network(network.number(), [&] { devices_.push_back(make_host(host, link)); });
    move_descriptor(std::move(network), first_host_descriptor + static_cast<int>(host));
  }
}

std::vector<int> HostNetworks::devices() const {
  std::vector<int> numbers;
  for (const Descriptor& device : devices_) numbers.push_back(device.number());
  return numbers;
}

DeviceDrops HostNetworks::drops(std::uint32_t host) const {
  DeviceDrops drops;
  in_network(first_host_descriptor + static_cast<int>(host), [&] {
    drops = {packets_dropped_by_token_bucket(), packets_dropped_by_device()};
  });
  return drops;
}

}  // namespace paceline::testbed
