#include "real/launch/socket.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstring>
#include <fstream>
#include <future>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "models/text/number.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

Address address_of(const sockaddr* from, socklen_t length) {
  Address address;
  std::memcpy(&address.storage, from, length);
  address.length = length;
  return address;
}

// sockaddr_storage is made to be seen as the others.
const sockaddr* pointer_to(const Address& address) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address.storage));
}

Resolved look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  Resolved found;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    found.error = fmt::format("the name {} has no address: {}", host, ::gai_strerror(error));
    return found;
  }
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    found.addresses.push_back(address_of(one->ai_addr, one->ai_addrlen));
  }
  ::freeaddrinfo(list);
  return found;
}

Socket open_stream(const Address& address) {
  return Socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

struct Interface {
  std::string name;
  Address address;
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
      const Address address = address_of(one->ifa_addr, static_cast<socklen_t>(length));
      if (!address.host().starts_with("fe80:")) all.push_back({one->ifa_name, address});
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

std::string Address::host() const {
  char text[NI_MAXHOST] = "";
  ::getnameinfo(pointer_to(*this), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  const std::string host = text, mapped = "::ffff:";
  const bool is_mapped = host.starts_with(mapped) && host.find('.') != std::string::npos;
  return is_mapped ? host.substr(mapped.size()) : host;
}

std::uint16_t Address::port() const {
  char text[NI_MAXSERV] = "";
  ::getnameinfo(pointer_to(*this), length, nullptr, 0, text, sizeof text, NI_NUMERICSERV);
  return number_of<std::uint16_t>(text).value_or(0);
}

bool Address::is_loopback() const {
  const std::string text = host();
  return text == "::1" || text.starts_with("127.");
}

std::string host_port(const std::string& host, std::uint16_t port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}:{}", is_v6 ? '[' + host + ']' : host, port);
}

std::optional<Address> numeric_address(const std::string& host, std::uint16_t port) {
  const Resolved found = look_up(host, port, AI_NUMERICHOST);
  return found.error.empty() ? std::optional(found.addresses.front()) : std::nullopt;
}

// getaddrinfo() has no time limit; a look-up that is too late is left to end by itself.
Resolved resolve(const std::string& host, std::uint16_t port, Seconds limit) {
  if (const auto numeric = numeric_address(host, port)) return {{*numeric}, ""};
  std::promise<Resolved> promise;
  auto found = promise.get_future();
  std::thread([promise = std::move(promise), host, port]() mutable {
    promise.set_value(look_up(host, port, AI_ADDRCONFIG));
  }).detach();
  if (found.wait_for(as_duration(limit)) == std::future_status::ready) return found.get();
  return {{}, fmt::format("the name {} was not resolved within {:.3g} s", host, limit.value())};
}

Opened listen_on(const Address& address) {
  Socket socket = open_stream(address);
  if (!socket) return {Socket(), errno};
  // A run right after another may have its port: the kernel still refuses one that is listened on.
  const int on = 1, off = 0;
  ::setsockopt(socket.file(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.file(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // :: takes IPv4, too
  const bool listens = ::bind(socket.file(), pointer_to(address), address.length) == 0 &&
                       ::listen(socket.file(), SOMAXCONN) == 0;
  if (!listens) return {Socket(), errno};
  return {std::move(socket), 0};
}

Opened listen_on_loopback(std::uint16_t port) {
  return listen_on(numeric_address("127.0.0.1", port).value());
}

Opened listen_everywhere(std::uint16_t port) {
  Opened opened = listen_on(numeric_address("::", port).value());
  if (opened.error == 0 || opened.error == EADDRINUSE) return opened;
  return listen_on(numeric_address("0.0.0.0", port).value());  // a machine without IPv6
}

Opened connect_to(const Address& address, Seconds until) {
  Socket socket = open_stream(address);
  if (!socket) return {Socket(), errno};
  int error = 0;
  if (::connect(socket.file(), pointer_to(address), address.length) != 0) error = errno;
  if (error == EINPROGRESS) {
    error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (wait_for(socket.file(), POLLOUT, until)) {
      ::getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
  }
  // A port of this machine that no process listens on can be met by a connection to itself.
  const Address local = local_address(socket);
  const bool is_itself = local.port() == address.port() && local.host() == address.host();
  if (error == 0 && is_itself) error = ECONNREFUSED;
  if (error != 0) return {Socket(), error};
  return {std::move(socket), 0};
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

Address local_address(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  ::getsockname(socket.file(), static_cast<sockaddr*>(static_cast<void*>(&storage)), &length);
  return {storage, length};
}

Address own_address(const std::vector<std::string>& interfaces) {
  const auto up = interfaces_up();
  for (const std::string& name : interfaces) {
    for (const Interface& one : up) {
      if (one.name.starts_with(name)) return one.address;
    }
  }
  if (!interfaces.empty()) {
    throw UsageError(
        fmt::format("no interface {} with an address is up on {}; GLOO_SOCKET_IFNAME or "
                    "NCCL_SOCKET_IFNAME names one",
                    interfaces.front(), host_name()));
  }
  // A machine knows its own name at once or not at all. Debian's is that of 127.0.1.1.
  for (const Address& address : resolve(host_name(), 0, Seconds(1.0)).addresses) {
    for (const Interface& one : up) {
      if (one.address.host() == address.host() && !address.is_loopback()) return address;
    }
  }
  for (const Interface& one : up) {
    if (!one.address.is_loopback()) return one.address;
  }
  return numeric_address("127.0.0.1", 0).value();
}

std::string host_name() {
  char name[256] = "";  // HOST_NAME_MAX is 64 on Linux
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace paceline::real
