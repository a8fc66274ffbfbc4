#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "real/launch/socket.h"

namespace paceline::real {

// What travels between a rank and rank 0. The values are those on the wire.
enum class FrameKind : std::uint8_t {
  hello = 1,      // to rank 0: who joins
  heard = 2,      // from rank 0: it is rank 0, and the others are waited for
  welcome = 3,    // from rank 0: all are there
  refusal = 4,    // from rank 0: why there will be no group
  heartbeat = 5,  // says nothing
  ping = 6,       // to rank 0
  pong = 7,       // its clock
  broadcast = 8,
  gather = 9,
  failure = 10,    // to rank 0: a message; from rank 0: a whole line
  leave = 11,      // to rank 0
  left = 12,       // from rank 0: all leave
  challenge = 13,  // from rank 0, which shares a secret: its nonce and its proof, a line each
  proof = 14,      // to rank 0: the rank's
};

// The turn of a refusal for how ranks were started, which is their user's to change; else 0.
inline constexpr std::uint32_t refused_usage = 1;

[[nodiscard]] std::string_view name_of(FrameKind kind);

struct Frame {
  FrameKind kind = FrameKind::heartbeat;
  std::uint32_t turn = 0;  // which call of a rank it belongs to
  std::string body;
};

// Frames over a stream that does not block. Header: "PLC", kind, turn and length of the body,
// little end first. Used by one thread at a time.
class Link {
 public:
  explicit Link(Socket socket);

  // Queues a frame; a body that many get is not copied for each.
  void send(FrameKind kind, std::uint32_t turn, std::shared_ptr<const std::string> body);
  void send(FrameKind kind, std::string body);

  // Writes what the stream takes now.
  void write();
  [[nodiscard]] bool has_output() const { return !broken_ && !output_.empty(); }
  // Forgets what has not begun to go out, so that what follows is not behind it.
  void drop_output();
  // What was written has reached the other machine.
  [[nodiscard]] bool is_delivered() const;

  // Reads what there is, up to a megabyte, so that one link does not keep others waiting.
  [[nodiscard]] std::vector<Frame> read();
  // The next read() begins with these.
  void put_back(std::vector<Frame> frames) { put_back_ = std::move(frames); }
  [[nodiscard]] bool heard_something() const { return heard_something_; }  // in the last read()
  // Why nothing more will come: `its connection closed`.
  [[nodiscard]] const std::optional<std::string>& end() const { return end_; }
  void close_output() const;

  void allow_bodies_of(std::uint64_t bytes) { body_max_ = bytes; }
  [[nodiscard]] int file() const { return socket_.file(); }
  [[nodiscard]] const Socket& socket() const { return socket_; }

 private:
  static constexpr std::size_t header_size = 16;
  using Header = std::array<unsigned char, header_size>;

  struct Outgoing {
    Header header;
    std::shared_ptr<const std::string> body;
    std::size_t written = 0;
  };

  void take(std::string_view bytes, std::vector<Frame>& frames);
  void read_header();

  Socket socket_;
  std::deque<Outgoing> output_;
  bool broken_ = false;  // nothing can be written; what was received before may still be read
  Header header_{};
  std::size_t header_bytes_ = 0;
  Frame frame_;
  std::uint64_t body_left_ = 0;
  std::uint64_t body_max_ = 1 << 16;  // of a greeting, by a peer that may not belong to the run
  std::vector<Frame> put_back_;
  bool heard_something_ = false;
  std::optional<std::string> end_;
};

}  // namespace paceline::real
