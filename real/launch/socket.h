#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "real/clock.h"

namespace paceline::real {

// Milliseconds until then for poll(), rounded up; 0 when it is past.
[[nodiscard]] int milliseconds_until(Seconds then);

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

// The host is numeric, IPv4 or IPv6.
struct Address {
  std::string host;
  std::uint16_t port = 0;
};

// host:port, with brackets around an IPv6 address. The host may be a name.
[[nodiscard]] std::string to_text(const Address& address);
[[nodiscard]] bool is_numeric(const std::string& host);
[[nodiscard]] bool is_loopback(const std::string& host);

// What a name or a number stands for, in the system's order, at least one; or why there is none. A
// name server is not waited for beyond the limit.
struct Resolved {
  std::vector<std::string> hosts;
  std::string error;
};
[[nodiscard]] Resolved resolve(const std::string& host, Seconds limit);

// A socket that does not block, or errno where there is none.
struct Opened {
  Socket socket;
  int error = 0;
};
[[nodiscard]] Opened listen_on(const Address& address);
[[nodiscard]] Opened listen_everywhere(std::uint16_t port);
[[nodiscard]] Opened connect_to(const Address& address, Seconds until);

[[nodiscard]] Address local_address(const Socket& socket);

// A port that no socket has now, and the kernel gives to none by itself: below
// net.ipv4.ip_local_port_range. Throws std::runtime_error when 100 random ports were taken.
[[nodiscard]] std::uint16_t free_port();

// A host by which others may reach this machine: of an interface whose name begins with one of
// these, else of the machine's name, else of the first interface. Throws UsageError when none of
// the named ones is up.
[[nodiscard]] std::string own_host(const std::vector<std::string>& interfaces);

[[nodiscard]] std::string host_name();

}  // namespace paceline::real
