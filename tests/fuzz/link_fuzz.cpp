// What a stranger sends over a link: any bytes, in pieces of any length, are frames whose bodies
// keep their bound, and the same ones as in one piece, or end the link. The first byte says how
// long bodies may be, the second how long the pieces are.

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "real/launch/link.h"

namespace {

using namespace paceline::real;

// Short; of a stranger, and of a rank that has joined (the bounds in real/launch); none.
constexpr std::uint64_t bounds[] = {100, 1 << 16, 1 << 30, std::uint64_t{1} << 40};

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Heard {
  std::vector<Frame> frames;
  bool has_ended = false;
};

Heard heard(std::string_view bytes, std::size_t piece, std::uint64_t bound) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) find("no pair of sockets");
  const Socket stranger(ends[0]);
  Link link{Socket(ends[1])};
  link.allow_bodies_of(bound);
  Heard all;
  while (!bytes.empty() && !link.end()) {
    const std::string_view now = bytes.substr(0, piece);
    const ssize_t sent = ::send(stranger.file(), now.data(), now.size(), MSG_NOSIGNAL);
    if (sent <= 0) find("a link that is read takes no bytes");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
    link.read();
    while (auto frame = link.take()) all.frames.push_back(std::move(*frame));
  }
  all.has_ended = link.end().has_value();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t settings = 2, size_max = 1 << 16;
  if (size < settings || size > size_max) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + settings, size - settings);
  const std::uint64_t bound = bounds[data[0] % std::size(bounds)];
  const Heard whole = heard(bytes, size_max, bound);
  const Heard pieces = heard(bytes, 1 + data[1], bound);
  std::size_t heard_bytes = 0;
  for (const Frame& frame : whole.frames) {
    if (frame.body.size() > bound) find("a body is longer than its bound");
    heard_bytes += frame.body.size();
  }
  if (heard_bytes > bytes.size()) find("more is heard than was sent");
  const auto is_same = [](const Frame& a, const Frame& b) {
    return a.kind == b.kind && a.turn == b.turn && a.body == b.body;
  };
  if (whole.has_ended != pieces.has_ended ||
      !std::equal(whole.frames.begin(), whole.frames.end(), pieces.frames.begin(),
                  pieces.frames.end(), is_same)) {
    find("pieces are heard as something else than the whole");
  }
  return 0;
}
