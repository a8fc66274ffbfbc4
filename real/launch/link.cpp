#include "real/launch/link.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace paceline::real {
namespace {

// Room made on a header's word: for the results of a large run, and no more than a machine has.
constexpr std::uint64_t reserved_max = 256 << 20;

constexpr std::array<unsigned char, 3> magic{'P', 'L', 'C'};

template <class Number>
void put(unsigned char* place, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    place[i] = static_cast<unsigned char>(number >> (8 * i));
  }
}

template <class Number>
Number get(const unsigned char* place) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number = static_cast<Number>(number | (static_cast<Number>(place[i]) << (8 * i)));
  }
  return number;
}

}  // namespace

std::string_view name_of(FrameKind kind) {
  switch (kind) {
    case FrameKind::hello: return "hello";
    case FrameKind::heard: return "heard";
    case FrameKind::welcome: return "welcome";
    case FrameKind::refusal: return "refusal";
    case FrameKind::heartbeat: return "heartbeat";
    case FrameKind::ping: return "ping";
    case FrameKind::pong: return "pong";
    case FrameKind::broadcast: return "broadcast";
    case FrameKind::gather: return "gather";
    case FrameKind::failure: return "failure";
    case FrameKind::leave: return "leave";
    case FrameKind::left: return "left";
    case FrameKind::challenge: return "challenge";
    case FrameKind::proof: return "proof";
  }
  return "unknown";
}

Link::Link(Socket socket) : socket_(std::move(socket)) { prepare_stream(socket_); }

void Link::send(FrameKind kind, std::uint32_t turn, std::shared_ptr<const std::string> body) {
  Outgoing frame{{}, std::move(body)};
  std::copy(magic.begin(), magic.end(), frame.header.begin());
  frame.header[3] = static_cast<unsigned char>(kind);
  put(&frame.header[4], turn);
  put(&frame.header[8], static_cast<std::uint64_t>(frame.body->size()));
  output_.push_back(std::move(frame));
}

void Link::send(FrameKind kind, std::string body) {
  send(kind, 0, std::make_shared<const std::string>(std::move(body)));
}

void Link::write() {
  while (has_output()) {
    Outgoing& frame = output_.front();
    const std::size_t body_written = frame.written < header_size ? 0 : frame.written - header_size;
    const std::size_t header_written = std::min(frame.written, header_size);
    iovec parts[2] = {
        {frame.header.data() + header_written, header_size - header_written},
        {const_cast<char*>(frame.body->data()) + body_written, frame.body->size() - body_written}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(socket_.file(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n < 0) {
      broken_ = true;
      return;
    }
    frame.written += static_cast<std::size_t>(n);
    if (frame.written == header_size + frame.body->size()) output_.pop_front();
  }
}

void Link::drop_output() {
  const bool under_way = !output_.empty() && output_.front().written > 0;
  output_.resize(under_way ? 1 : 0);
}

bool Link::is_delivered() const {
  if (broken_ || end_) return true;
  int unacknowledged = 0;
  if (::ioctl(socket_.file(), SIOCOUTQ, &unacknowledged) != 0) return output_.empty();
  return output_.empty() && unacknowledged == 0;
}

std::vector<Frame> Link::read() {
  std::vector<Frame> frames = std::exchange(put_back_, {});
  heard_something_ = false;
  char bytes[65536];
  for (int turns = 0; turns < 16 && !end_; ++turns) {
    const ssize_t n = ::recv(socket_.file(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n > 0) {
      heard_something_ = true;
      take(std::string_view(bytes, static_cast<std::size_t>(n)), frames);
    } else if (n == 0 || errno == ECONNRESET || errno == EPIPE) {
      end_ = "its connection closed";
    } else {
      end_ = std::string("its connection broke: ") + std::strerror(errno);
    }
  }
  return frames;
}

void Link::take(std::string_view bytes, std::vector<Frame>& frames) {
  while (!bytes.empty() && !end_) {
    if (header_bytes_ < header_size) {
      const std::size_t n = std::min(header_size - header_bytes_, bytes.size());
      std::memcpy(header_.data() + header_bytes_, bytes.data(), n);
      header_bytes_ += n;
      bytes.remove_prefix(n);
      if (header_bytes_ == header_size) read_header();
    }
    if (header_bytes_ < header_size || end_) continue;
    const std::size_t n = std::min<std::uint64_t>(body_left_, bytes.size());
    frame_.body.append(bytes.substr(0, n));
    body_left_ -= n;
    bytes.remove_prefix(n);
    if (body_left_ > 0) continue;
    frames.push_back(std::exchange(frame_, Frame{}));
    header_bytes_ = 0;
  }
}

void Link::read_header() {
  const auto length = get<std::uint64_t>(&header_[8]);
  const bool known = std::equal(magic.begin(), magic.end(), header_.begin());
  if (!known || length > body_max_) {
    end_ = "its connection carries something else";
    return;
  }
  frame_.kind = static_cast<FrameKind>(header_[3]);
  frame_.turn = get<std::uint32_t>(&header_[4]);
  body_left_ = length;
  // A body that grew by copies would keep the thread from its other links.
  frame_.body.reserve(std::min(length, reserved_max));
}

void Link::close_output() const { ::shutdown(socket_.file(), SHUT_WR); }

}  // namespace paceline::real
