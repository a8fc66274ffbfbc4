#include "real/launch/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "real/errors.h"

namespace paceline::real {
namespace {

// sockaddr_storage is made to be seen as the others; memcpy keeps to the letter of the language.
template <class Kind>
Kind seen_as(const Address& address) {
  Kind kind{};
  std::memcpy(&kind, &address.storage, sizeof kind);
  return kind;
}

Address address_of(const sockaddr* from, socklen_t length) {
  Address address;
  std::memcpy(&address.storage, from, length);
  address.length = length;
  return address;
}

sockaddr* pointer_to(Address& address) {
  return static_cast<sockaddr*>(static_cast<void*>(&address.storage));
}

const sockaddr* pointer_to(const Address& address) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address.storage));
}

struct Found {
  int error = 0;
  std::vector<Address> addresses;
};

Found look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  Found found;
  found.error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (found.error != 0) return found;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    found.addresses.push_back(address_of(one->ai_addr, one->ai_addrlen));
  }
  ::freeaddrinfo(list);
  return found;
}

// getaddrinfo() has no time limit; a look-up that is too late is left to end by itself.
struct LookUp {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Found> found;
};

std::optional<Found> look_up_within(const std::string& host, std::uint16_t port, Seconds limit) {
  const auto shared = std::make_shared<LookUp>();
  std::thread([shared, host, port] {
    Found found = look_up(host, port, AI_ADDRCONFIG);
    const std::lock_guard lock(shared->mutex);
    shared->found = std::move(found);
    shared->done.notify_all();
  }).detach();
  std::unique_lock lock(shared->mutex);
  const auto end = Clock::now() + duration_of(limit);
  shared->done.wait_until(lock, end, [&] { return shared->found.has_value(); });
  return shared->found;
}

Listening listen_with(const Address& address, bool both_families) {
  Listening listening;
  listening.socket =
      Socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int file = listening.socket.file();
  const int on = 1;
  const int only_v6 = both_families ? 0 : 1;
  // A run right after another may have its port: the kernel still refuses one that is listened on.
  bool made = file >= 0 && ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
  if (made && address.storage.ss_family == AF_INET6) {
    made = ::setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) == 0;
  }
  made = made && ::bind(file, pointer_to(address), address.length) == 0;
  made = made && ::listen(file, SOMAXCONN) == 0;
  if (!made) listening.error = errno;
  return listening;
}

struct Interface {
  std::string name;
  Address address;
};

std::vector<Interface> interfaces_up() {
  ifaddrs* list = nullptr;
  std::vector<Interface> all;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family == AF_INET) {
      all.push_back({one->ifa_name, address_of(one->ifa_addr, sizeof(sockaddr_in))});
    } else if (family == AF_INET6) {
      all.push_back({one->ifa_name, address_of(one->ifa_addr, sizeof(sockaddr_in6))});
    }
  }
  ::freeifaddrs(list);
  // A link-local IPv6 address means nothing elsewhere; of others, IPv4 is what clusters use.
  std::erase_if(all, [](const Interface& one) {
    const auto v6 = seen_as<sockaddr_in6>(one.address);
    return one.address.storage.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
  });
  std::stable_partition(all.begin(), all.end(), [](const Interface& one) {
    return one.address.storage.ss_family == AF_INET;
  });
  return all;
}

std::optional<Address> address_of_name(const std::vector<Interface>& interfaces) {
  // A machine knows its own name at once or not at all.
  constexpr Seconds limit(1.0);
  const auto found = look_up_within(host_name(), 0, limit);
  if (!found) return std::nullopt;
  for (const Address& address : found->addresses) {
    if (address.is_loopback()) continue;  // Debian's 127.0.1.1
    for (const Interface& own : interfaces) {
      if (own.address.host() == address.host()) return address;
    }
  }
  return std::nullopt;
}

}  // namespace

Clock::duration duration_of(Seconds time) {
  constexpr Seconds longest(1e8);  // 3 years; the clock counts 64 bits of nanoseconds
  const std::chrono::duration<double> limited(std::min(time, longest).value());
  return std::chrono::duration_cast<Clock::duration>(limited);
}

int milliseconds_until(Clock::time_point then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

Socket::Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Socket::~Socket() {
  if (file_ >= 0) ::close(file_);
}

std::string Address::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto v4 = seen_as<sockaddr_in>(*this);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  } else {
    const auto v6 = seen_as<sockaddr_in6>(*this);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  }
  const std::string host = text;
  return host.starts_with("::ffff:") && host.find('.') != std::string::npos ? host.substr(7) : host;
}

std::uint16_t Address::port() const {
  return storage.ss_family == AF_INET ? ntohs(seen_as<sockaddr_in>(*this).sin_port)
                                      : ntohs(seen_as<sockaddr_in6>(*this).sin6_port);
}

bool Address::is_loopback() const {
  const std::string text = host();
  return text == "::1" || text.starts_with("127.");
}

void Address::set_port(std::uint16_t port) {
  // Both families have it in the same place.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const std::uint16_t in_network_order = htons(port);
  std::memcpy(static_cast<char*>(static_cast<void*>(&storage)) + offsetof(sockaddr_in, sin_port),
              &in_network_order, sizeof in_network_order);
}

std::string host_port(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

bool is_numeric(const std::string& host) { return look_up(host, 0, AI_NUMERICHOST).error == 0; }

std::vector<Address> resolve(const std::string& host, std::uint16_t port, Seconds limit) {
  Found numeric = look_up(host, port, AI_NUMERICHOST);
  if (numeric.error == 0) return numeric.addresses;
  auto found = look_up_within(host, port, limit);
  if (!found) {
    throw ResolveError(
        fmt::format("the name {} was not resolved within {:.3g} s", host, limit.value()));
  }
  if (found->error != 0) {
    throw ResolveError(
        fmt::format("the name {} has no address: {}", host, ::gai_strerror(found->error)));
  }
  return std::move(found->addresses);
}

Listening listen_on(const Address& address) { return listen_with(address, false); }

Listening listen_everywhere(std::uint16_t port) {
  Address any;
  any.storage.ss_family = AF_INET6;  // all zeros is ::, which takes IPv4 too
  any.length = sizeof(sockaddr_in6);
  any.set_port(port);
  Listening listening = listen_with(any, true);
  if (listening.error == 0 || listening.error == EADDRINUSE) return listening;
  any.storage.ss_family = AF_INET;  // a machine without IPv6
  any.length = sizeof(sockaddr_in);
  return listen_with(any, false);
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

Connected connect_to(const Address& address, Clock::time_point until) {
  Connected connected;
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int made = socket ? ::connect(socket.file(), pointer_to(address), address.length) : -1;
  connected.error = made == 0 ? 0 : errno;
  if (connected.error == EINPROGRESS) {
    pollfd polled{socket.file(), POLLOUT, 0};
    while (::poll(&polled, 1, milliseconds_until(until)) < 0 && errno == EINTR) {
    }
    connected.error = ETIMEDOUT;
    socklen_t length = sizeof connected.error;
    if (polled.revents != 0) {
      ::getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &connected.error, &length);
    }
  }
  // A port of this machine that no process listens on can be met by a connection to itself.
  if (connected.error == 0 && local_address(socket).port() == address.port() &&
      local_address(socket).host() == address.host()) {
    connected.error = ECONNREFUSED;
  }
  if (connected.error == 0) connected.socket = std::move(socket);
  return connected;
}

void prepare_stream(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.file(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket.file(), F_SETFL, ::fcntl(socket.file(), F_GETFL) | O_NONBLOCK);
}

Address local_address(const Socket& socket) {
  Address address;
  address.length = sizeof address.storage;
  ::getsockname(socket.file(), pointer_to(address), &address.length);
  return address;
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
  if (const auto named = address_of_name(up)) return *named;
  for (const Interface& one : up) {
    if (!one.address.is_loopback()) return one.address;
  }
  return look_up("127.0.0.1", 0, AI_NUMERICHOST).addresses.at(0);
}

std::string host_name() {
  char name[256] = "";  // HOST_NAME_MAX is 64 on Linux
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace paceline::real
