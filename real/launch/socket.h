#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "real/clock.h"

namespace paceline::real {

// Milliseconds until then for poll(), rounded up; 0 when it is past.
[[nodiscard]] int milliseconds_until(Seconds then);

// Owns an open file, and closes it at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) : file_(file) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int file() const { return file_; }
  explicit operator bool() const { return file_ >= 0; }

 private:
  int file_ = -1;
};

// Waits until the file can be read (POLLIN) or written (POLLOUT). False when the time is over.
bool wait_for(int file, short events, Seconds until);

// An IPv4 or IPv6 address with a port.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] std::string host() const;  // 10.0.0.1; an IPv4 address also when mapped into IPv6
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] bool is_loopback() const;
};

// host:port, with brackets around an IPv6 address.
[[nodiscard]] std::string host_port(const std::string& host, std::uint16_t port);

// nullopt for a name.
[[nodiscard]] std::optional<Address> numeric_address(const std::string& host, std::uint16_t port);

// The addresses of a name or a number in the order that the system prefers, at least one; or why
// there is none. A name server that does not answer is not waited for beyond the limit.
struct Resolved {
  std::vector<Address> addresses;
  std::string error;
};
[[nodiscard]] Resolved resolve(const std::string& host, std::uint16_t port, Seconds limit);

// A socket that does not block, or errno where there is none.
struct Opened {
  Socket socket;
  int error = 0;
};
[[nodiscard]] Opened listen_on(const Address& address);
[[nodiscard]] Opened listen_on_loopback(std::uint16_t port);
[[nodiscard]] Opened listen_everywhere(std::uint16_t port);
// Connects before the time is over.
[[nodiscard]] Opened connect_to(const Address& address, Seconds until);

// A port that no socket of this machine has now, and that the kernel gives to none by itself: it
// lies below net.ipv4.ip_local_port_range, so that it is still free when the listener comes. Throws
// std::runtime_error when 100 random ports were all taken.
[[nodiscard]] std::uint16_t free_port();

[[nodiscard]] Address local_address(const Socket& socket);

// An address by which others may reach this machine: of an interface whose name begins with one of
// these, or else of the machine's name, or else of the first interface that is up. Throws
// UsageError when interfaces are named and none is there.
[[nodiscard]] Address own_address(const std::vector<std::string>& interfaces);

[[nodiscard]] std::string host_name();

}  // namespace paceline::real
