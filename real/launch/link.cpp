#include "real/launch/link.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace paceline::real {
namespace {

constexpr char heartbeat = '.';

// Room made on a header's word: for the results of a large run, and no more than a machine has.
constexpr std::uint64_t reserved_max = 256 << 20;

struct Header {
  std::array<char, 3> magic{'P', 'L', 'C'};
  FrameKind kind{};
  std::uint32_t turn = 0;
  std::uint64_t length = 0;
};
static_assert(sizeof(Header) == 16 && std::endian::native == std::endian::little);

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Link::Link(Socket socket) : socket_(std::move(socket)) {
  const int on = 1;  // small frames go out at once
  ::setsockopt(socket_.file(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool Link::send(FrameKind kind, std::uint32_t turn, std::string_view body, Seconds until) {
  // Another frame may be on its way. (gcc 12's thread sanitizer does not know timed mutexes.)
  std::unique_lock lock(sending_, std::defer_lock);
  while (!lock.try_lock() && steady_now() < until) ::poll(nullptr, 0, 1);
  if (!lock) return false;
  const Header header{.kind = kind, .turn = turn, .length = body.size()};
  std::size_t sent = write({reinterpret_cast<const char*>(&header), sizeof header},
                           body.empty() ? 0 : MSG_MORE, until);
  if (sent == sizeof header) sent += write(body, 0, until);
  const bool is_sent = sent == sizeof header + body.size();
  if (sent > 0 && !is_sent) shut_down();
  return is_sent;
}

std::size_t Link::write(std::string_view bytes, int flags, Seconds until) const {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto left = bytes.substr(sent);
    const ssize_t n =
        ::send(socket_.file(), left.data(), left.size(), flags | MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    if (!would_block() || !wait_for(socket_.file(), POLLOUT, until)) break;
  }
  return sent;
}

void Link::beat() {
  const std::unique_lock lock(sending_, std::try_to_lock);
  if (lock) (void)::send(socket_.file(), &heartbeat, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool Link::read() {
  std::array<char, 65536> bytes;
  bool has_heard = false;
  for (int turns = 0; turns < 16 && !end_; ++turns) {
    const ssize_t n = ::recv(socket_.file(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && would_block()) break;
    if (n > 0) {
      hear({bytes.data(), static_cast<std::size_t>(n)});
      has_heard = true;
    } else if (n == 0 || errno == ECONNRESET || errno == EPIPE) {
      end_ = "its connection closed";
    } else {
      end_ = std::string("its connection broke: ") + std::strerror(errno);
    }
  }
  return has_heard;
}

void Link::hear(std::string_view bytes) {
  Header header;
  while (!bytes.empty()) {
    if (header_.empty() && bytes.front() == heartbeat) {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t of_header = std::min(sizeof header - header_.size(), bytes.size());
    header_ += bytes.substr(0, of_header);
    bytes.remove_prefix(of_header);
    if (header_.size() < sizeof header) return;
    std::memcpy(&header, header_.data(), sizeof header);
    if (header.magic != Header().magic || header.length > body_max_) {
      end_ = "its connection carries something else";
      return;
    }
    // Growing by copies would keep the thread from its other links.
    body_.reserve(std::min(header.length, reserved_max));
    const std::size_t of_body = std::min(header.length - body_.size(), bytes.size());
    body_ += bytes.substr(0, of_body);
    bytes.remove_prefix(of_body);
    if (body_.size() < header.length) return;
    frames_.push_back({header.kind, header.turn, std::exchange(body_, {})});
    header_.clear();
  }
}

std::optional<Frame> Link::take() {
  if (frames_.empty()) return std::nullopt;
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

std::optional<Frame> Link::receive(Seconds until) {
  while (steady_now() < until) {
    if (auto frame = take()) return frame;
    if (end_) return std::nullopt;
    wait_for(socket_.file(), POLLIN, until);
    read();
  }
  return std::nullopt;
}

void Link::shut_down() const { ::shutdown(socket_.file(), SHUT_RDWR); }

void wait_for_delivery(const std::vector<Link*>& links, Seconds until) {
  const auto has_all = [](const Link* link) {
    int unacknowledged = 0;
    return ::ioctl(link->socket().file(), SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0;
  };
  while (!std::ranges::all_of(links, has_all) && steady_now() < until) ::poll(nullptr, 0, 1);
}

}  // namespace paceline::real
