#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline::real {

using Clock = std::chrono::steady_clock;

[[nodiscard]] Clock::duration duration_of(Seconds time);

// Milliseconds until then for poll(), rounded up, 0 when it is over.
[[nodiscard]] int milliseconds_until(Clock::time_point then);

// An open file, closed at the end.
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

// An IPv4 or IPv6 address with a port.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] std::string host() const;  // 10.0.0.1; an IPv4 address also when mapped into IPv6
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] bool is_loopback() const;
  void set_port(std::uint16_t port);
};

// host:port, with brackets about an IPv6 address.
[[nodiscard]] std::string host_port(const std::string& host, std::uint16_t port);

// A name that has no address, or none within the limit.
class ResolveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The addresses of a name, in the order of the system's preference; at least one. A name server
// that does not answer is not waited for beyond the limit.
[[nodiscard]] std::vector<Address> resolve(const std::string& host, std::uint16_t port,
                                           Seconds limit);

[[nodiscard]] bool is_numeric(const std::string& host);

// A listening socket that does not block, or errno in `error` where there can be none.
struct Listening {
  Socket socket;
  int error = 0;
};
[[nodiscard]] Listening listen_on(const Address& address);
[[nodiscard]] Listening listen_everywhere(std::uint16_t port);

// A port that no socket of this machine has now, and that the kernel gives to none by itself: it
// lies below net.ipv4.ip_local_port_range, so that it is still free when the listener comes. Throws
// std::runtime_error when 100 ports at random were all taken.
[[nodiscard]] std::uint16_t free_port();

// Connects before the time is over; errno in `error` otherwise.
struct Connected {
  Socket socket;
  int error = 0;
};
[[nodiscard]] Connected connect_to(const Address& address, Clock::time_point until);

// Small messages go out at once, and the socket does not block.
void prepare_stream(const Socket& socket);

[[nodiscard]] Address local_address(const Socket& socket);

// An address of this machine by which others may reach it: of an interface whose name begins as one
// of these, or else of the machine's name, or else of the first interface that is up. Throws
// UsageError when interfaces are named and none is there.
[[nodiscard]] Address own_address(const std::vector<std::string>& interfaces);

[[nodiscard]] std::string host_name();

}  // namespace paceline::real
