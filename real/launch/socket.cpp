#include "real/launch/socket.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <fstream>
#include <future>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "models/contract.h"
#include "models/text/number.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

struct LookUp {
  AddressList list{nullptr, ::freeaddrinfo};
  int error = 0;  // as gai_strerror() takes it
};

LookUp look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  LookUp found;
  found.error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (found.error == 0) found.list.reset(list);
  return found;
}

Address address_of(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  ::getnameinfo(address, length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  // An IPv4 address may have come over a socket of IPv6.
  const std::string text = host, mapped = "::ffff:";
  const bool is_mapped = text.starts_with(mapped) && text.find('.') != std::string::npos;
  return {is_mapped ? text.substr(mapped.size()) : text,
          number_of<std::uint16_t>(port).value_or(0)};
}

Socket open_stream(const addrinfo& address) {
  return Socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

struct Interface {
  std::string name, host;
};

// Clusters use IPv4 where there is both; a link-local IPv6 address means nothing elsewhere.
std::vector<Interface> interfaces_up() {
  ifaddrs* list = nullptr;
  std::vector<Interface> all;
  if (::getifaddrs(&list) != 0) return all;
  for (const auto& [family, length] :
       {std::pair(AF_INET, sizeof(sockaddr_in)), {AF_INET6, sizeof(sockaddr_in6)}}) {
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      const bool is_up = one->ifa_addr != nullptr && (one->ifa_flags & IFF_UP) != 0;
      if (!is_up || one->ifa_addr->sa_family != family) continue;
      const std::string host = address_of(one->ifa_addr, static_cast<socklen_t>(length)).host;
      if (!host.starts_with("fe80:")) all.push_back({one->ifa_name, host});
    }
  }
  ::freeifaddrs(list);
  return all;
}

}  // namespace

int milliseconds_until(Seconds then) {
  const double left_ms = std::ceil((then - steady_now()).value() * 1e3);
  return static_cast<int>(std::clamp(left_ms, 0.0, double{INT_MAX}));
}

Socket::Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Socket::~Socket() {
  if (file_ >= 0) ::close(file_);
}

bool wait_for(int file, short events, Seconds until) {
  pollfd polled{file, events, 0};
  while (::poll(&polled, 1, milliseconds_until(until)) < 0 && errno == EINTR) {
  }
  return polled.revents != 0;
}

std::string to_text(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}:{}", is_v6 ? '[' + address.host + ']' : address.host, address.port);
}

bool is_numeric(const std::string& host) { return look_up(host, 0, AI_NUMERICHOST).error == 0; }

bool is_loopback(const std::string& host) { return host == "::1" || host.starts_with("127."); }

// getaddrinfo() has no time limit; a look-up that is too late is left to end by itself.
Resolved resolve(const std::string& host, Seconds limit) {
  if (is_numeric(host)) return {{host}, ""};
  std::promise<LookUp> promise;
  auto future = promise.get_future();
  std::thread([promise = std::move(promise), host]() mutable {
    promise.set_value(look_up(host, 0, AI_ADDRCONFIG));
  }).detach();
  if (future.wait_for(as_duration(limit)) != std::future_status::ready) {
    return {{}, fmt::format("the name {} was not resolved within {:.3g} s", host, limit.value())};
  }
  const LookUp found = future.get();
  if (found.error != 0) {
    return {{}, fmt::format("the name {} has no address: {}", host, ::gai_strerror(found.error))};
  }
  Resolved resolved;
  for (const addrinfo* one = found.list.get(); one != nullptr; one = one->ai_next) {
    resolved.hosts.push_back(address_of(one->ai_addr, one->ai_addrlen).host);
  }
  return resolved;
}

Opened listen_on(const Address& address) {
  const auto at = look_up(address.host, address.port, AI_NUMERICHOST).list;
  PACELINE_EXPECTS(at != nullptr);
  Socket socket = open_stream(*at);
  if (!socket) return {Socket(), errno};
  // A run right after another may have its port: the kernel still refuses one that is listened on.
  const int on = 1, off = 0;
  ::setsockopt(socket.file(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.file(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // :: takes IPv4, too
  const bool listens = ::bind(socket.file(), at->ai_addr, at->ai_addrlen) == 0 &&
                       ::listen(socket.file(), SOMAXCONN) == 0;
  if (!listens) return {Socket(), errno};
  return {std::move(socket), 0};
}

Opened listen_everywhere(std::uint16_t port) {
  Opened opened = listen_on({"::", port});
  if (opened.error == 0 || opened.error == EADDRINUSE) return opened;
  return listen_on({"0.0.0.0", port});  // a machine without IPv6
}

Opened connect_to(const Address& address, Seconds until) {
  const auto to = look_up(address.host, address.port, AI_NUMERICHOST).list;
  PACELINE_EXPECTS(to != nullptr);
  Socket socket = open_stream(*to);
  if (!socket) return {Socket(), errno};
  int error = ::connect(socket.file(), to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (wait_for(socket.file(), POLLOUT, until)) {
      ::getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
  }
  // A port of this machine that no process listens on can be met by a connection to itself.
  if (error == 0 && to_text(local_address(socket)) == to_text(address)) error = ECONNREFUSED;
  if (error != 0) return {Socket(), error};
  return {std::move(socket), 0};
}

Address local_address(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* const address = static_cast<sockaddr*>(static_cast<void*>(&storage));
  ::getsockname(socket.file(), address, &length);
  return address_of(address, length);
}

std::uint16_t free_port() {
  constexpr std::uint32_t lowest = 10'000;       // below are ports of well-known services
  std::uint32_t first_given_by_kernel = 32'768;  // Linux' default
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_given_by_kernel;
  const std::uint32_t end = first_given_by_kernel > lowest + 1000 ? first_given_by_kernel : 65'536;
  std::random_device device;
  std::uniform_int_distribution<std::uint32_t> any(lowest, end - 1);
  for (int tries = 0; tries < 100; ++tries) {
    const auto port = static_cast<std::uint16_t>(any(device));
    if (listen_everywhere(port).error == 0) return port;
  }
  throw std::runtime_error("no free port was found in 100 tries from " + std::to_string(lowest));
}

std::string own_host(const std::vector<std::string>& interfaces) {
  const auto up = interfaces_up();
  for (const std::string& name : interfaces) {
    for (const Interface& one : up) {
      if (one.name.starts_with(name)) return one.host;
    }
  }
  if (!interfaces.empty()) {
    throw UsageError(
        fmt::format("no interface {} with an address is up on {}; GLOO_SOCKET_IFNAME or "
                    "NCCL_SOCKET_IFNAME names one",
                    interfaces.front(), host_name()));
  }
  // A machine knows its own name at once or not at all. Debian's is that of 127.0.1.1.
  for (const std::string& host : resolve(host_name(), Seconds(1.0)).hosts) {
    if (!is_loopback(host) && std::ranges::count(up, host, &Interface::host) > 0) return host;
  }
  for (const Interface& one : up) {
    if (!is_loopback(one.host)) return one.host;
  }
  return "127.0.0.1";
}

std::string host_name() {
  char name[256] = "";  // HOST_NAME_MAX is 64 on Linux
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace paceline::real
