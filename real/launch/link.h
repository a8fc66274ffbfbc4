#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "real/launch/socket.h"

namespace paceline::real {

// What travels between a rank and rank 0, with the values on the wire.
enum class FrameKind : std::uint8_t {
  hello = 1,    // to rank 0: the greeting of who joins
  answer = 2,   // from rank 0: its greeting, and the proof that it has the secret
  proof = 3,    // to rank 0: the rank's
  ping = 4,     // to rank 0
  pong = 5,     // its clock
  welcome = 6,  // from rank 0: all ranks are there
  refusal = 7,  // from rank 0: why there will be no group
  broadcast = 8,
  gather = 9,
  leave = 10,    // to rank 0: this rank is done; from it: all are
  failure = 11,  // to rank 0: a message; from rank 0: a whole line
};

// The turn of a refusal for how ranks were started, which is their user's to change; else 0.
inline constexpr std::uint32_t refused_usage = 1;

struct Frame {
  FrameKind kind{};
  std::uint32_t turn = 0;  // which call of a rank it belongs to
  std::string body;
};

// Frames over a connection: "PLC", kind, turn, length of the body, body; little-endian. One thread
// reads, any may send.
class Link {
 public:
  explicit Link(Socket socket);

  // Waits for room. False when the time is over or the connection is, which a part of a frame ends.
  bool send(FrameKind kind, std::uint32_t turn, std::string_view body, Seconds until);
  // Sends a byte that is no frame and says that this side is alive, unless a frame is on its way.
  void beat();

  // Reads what there is, up to a megabyte, so that other links need not wait. False: nothing.
  bool read();
  [[nodiscard]] std::optional<Frame> take();
  // nullopt when the time is over or the connection is.
  [[nodiscard]] std::optional<Frame> receive(Seconds until);
  // Why nothing more will come: `its connection closed`.
  [[nodiscard]] const std::optional<std::string>& end() const { return end_; }

  // Ends the connection for both sides; wakes who sends or polls.
  void shut_down() const;
  // Of larger ones the connection ends. 64 KiB at first: who greets may not belong to the run.
  void allow_bodies_of(std::uint64_t bytes) { body_max_ = bytes; }
  [[nodiscard]] const Socket& socket() const { return socket_; }

 private:
  std::size_t write(std::string_view bytes, int flags, Seconds until) const;
  void hear(std::string_view bytes);

  Socket socket_;
  std::mutex sending_;
  std::string header_, body_;  // of a frame that is not all there
  std::deque<Frame> frames_;
  std::uint64_t body_max_ = 1 << 16;
  std::optional<std::string> end_;
};

// Waits until the other sides have all that was sent, or the time is over.
void wait_for_delivery(const std::vector<Link*>& links, Seconds until);

}  // namespace paceline::real
