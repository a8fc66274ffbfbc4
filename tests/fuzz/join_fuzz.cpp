// What strangers say to a rank that joins, and to one that has joined: whatever it is, the rank's
// part ends within its limits, throws what control.h says and leaves no thread and no socket.
//
// The first line is about the rank: `c` for rank 0, whom ranks join, `o` for rank 1, which joins a
// rank 0; 2 or 3 ranks; `s` with a secret, `-` without, `f` where it takes no part; then a letter
// for each call that it makes once it has joined. Each further line is an act of a stranger
// (Stranger::act): a digit for which one of them, a letter, and a digit for the turn of a frame or
// the line of a greeting, a text in which `|` ends a line.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "real/errors.h"
#include "real/launch/control.h"
#include "real/launch/greeting.h"
#include "real/launch/link.h"

namespace {

using namespace paceline;
using namespace paceline::real;

const ControlSettings limits{Seconds(0.05), Seconds(0.1), [](const std::string&) {}};
constexpr std::size_t acts_max = 64, calls_max = 6, strangers = 3;
constexpr const char* secret = "0123456789abcdef";

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Setting {
  bool is_center = true;
  std::uint32_t ranks = 2;
  std::string secret;
  std::string fault;
  std::string calls;
};

Setting setting_of(const std::string& line) {
  const auto is = [&](std::size_t place, char c) {
    return line.size() > place && line[place] == c;
  };
  Setting setting{
      !is(0, 'o'), is(1, '3') ? 3U : 2U, is(2, 's') ? secret : "", is(2, 'f') ? "no file" : "", {}};
  if (line.size() > 3) setting.calls = line.substr(3, calls_max);
  return setting;
}

RankIdentity identity_of(std::uint32_t rank, std::uint32_t ranks) {
  return {Rank(rank), RankCount(ranks), rank, ranks, "torchrun"};
}

// Speaks for a rank, or for rank 0, as one that knows the protocol does, but for what it is told.
class Stranger {
 public:
  Stranger(const Setting& setting, std::uint32_t rank, const std::atomic<bool>& is_over)
      : setting_(setting), rank_(rank), is_over_(is_over) {}

  [[nodiscard]] bool is_connected() const { return link_ != nullptr; }
  void connect(Socket socket) { link_ = std::make_unique<Link>(std::move(socket)); }

  void act(char what, std::uint32_t number, std::string text) {
    std::ranges::replace(text, '|', '\n');
    switch (what) {
      case 'G': greet(number, text); break;
      case 'P': prove(); break;
      case 'W': wait(); break;
      case 'R': send_bytes(text); break;
      case 'X': link_.reset(); break;
      default: send(static_cast<FrameKind>(what - 'a' + 1), number, text);  // a is hello
    }
  }

 private:
  void send(FrameKind kind, std::uint32_t turn, const std::string& body) {
    link_->send(kind, turn, body, steady_now());
  }

  void send_bytes(std::string_view bytes) const {
    (void)::send(link_->socket().file(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  // Its greeting with one line changed, where there is a text. Rank 0 also proves, over what it
  // heard last, which is the other rank's.
  void greet(std::uint32_t changed, const std::string& text) {
    auto lines = split_lines(
        to_text(own_greeting(identity_of(rank_, setting_.ranks), "", !setting_.secret.empty())));
    if (!text.empty()) lines.at(changed % lines.size()) = text;
    greeting_.clear();
    for (const std::string& line : lines) greeting_ += line + '\n';
    if (rank_ > 0) return send(FrameKind::hello, 0, greeting_);
    const std::string proof = proof_of("rank 0", setting_.secret, heard_, greeting_);
    send(FrameKind::answer, 0, greeting_ + proof);
  }

  // By what it heard last: rank 0's answer.
  void prove() {
    const std::string rank_0 = heard_.substr(0, heard_.rfind('\n') + 1);
    send(FrameKind::proof, 0, proof_of("other rank", setting_.secret, greeting_, rank_0));
  }

  // For the next frame, as long as the rank may take.
  void wait() {
    const auto end = steady_now() + limits.connect;
    while (!is_over_ && !link_->end() && steady_now() < end) {
      if (const auto frame = link_->receive(steady_now() + Seconds(0.001))) {
        heard_ = frame->body;
        return;
      }
    }
  }

  const Setting& setting_;
  std::uint32_t rank_;
  const std::atomic<bool>& is_over_;
  std::unique_ptr<Link> link_;
  std::string greeting_, heard_;
};

// To the rank, or from it.
Socket connection(const Setting& setting, const Socket& listener) {
  const auto end = steady_now() + limits.connect;
  if (setting.is_center) return connect_to(local_address(listener), end).socket;
  pollfd polled{listener.file(), POLLIN, 0};
  ::poll(&polled, 1, milliseconds_until(end));
  return Socket(::accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void act(const Setting& setting, const std::vector<std::string>& lines, const Socket& listener,
         const std::atomic<bool>& is_over) {
  std::vector<Stranger> all;
  for (std::uint32_t i = 0; i < strangers; ++i) {
    all.emplace_back(setting, setting.is_center ? i + 1 : 0, is_over);
  }
  for (std::size_t i = 1; i < std::min(lines.size(), acts_max) && !is_over; ++i) {
    const std::string& line = lines[i];
    constexpr std::size_t text_at = 3;
    if (line.size() < text_at) continue;
    const auto digit = [&](std::size_t at) { return static_cast<unsigned char>(line[at] - '0'); };
    Stranger& one = all[digit(0) % strangers];
    if (!one.is_connected()) {
      Socket socket = connection(setting, listener);
      if (!socket) continue;
      one.connect(std::move(socket));
    }
    one.act(line[1], digit(2), line.substr(text_at));
  }
}

void call(Control& control, char what) {
  switch (what) {
    case 'b': (void)control.broadcast("text"); break;
    case 'g': (void)control.gather("text"); break;
    case 'a': (void)control.all_gather("text"); break;
    case 'r': control.report_failure("reported"); break;
    case 'l': control.leave(); break;
    default: control.barrier();
  }
}

void take_part(const Setting& setting, const Socket& listener) {
  RankIdentity identity = identity_of(setting.is_center ? 0 : 1, setting.ranks);
  identity.told = "scenario#a steps=3";
  identity.fault = setting.fault;
  Rendezvous where;
  where.host = "127.0.0.1";
  where.port = local_address(listener).port;
  where.secret = setting.secret;
  if (setting.is_center) where.listener = ::dup(listener.file());
  try {
    const auto control = Control::join(identity, where, limits);
    for (const char what : setting.calls) call(*control, what);
  } catch (const BackendError&) {
  } catch (const UsageError&) {
  }
}

struct Left {
  std::ptrdiff_t threads, files;

  friend bool operator==(const Left&, const Left&) = default;
};

Left what_is_left() {
  const auto entries = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  };
  return {entries("/proc/self/task"), entries("/proc/self/fd")};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = std::string(reinterpret_cast<const char*>(data), size) + '\n';
  const auto lines = split_lines(text);
  const Setting setting = setting_of(lines.front());
  const Left before = what_is_left();
  const auto begin = steady_now();
  {
    const Opened listening = listen_on({"127.0.0.1", 0});
    std::atomic<bool> is_over = false;
    std::thread others([&] { act(setting, lines, listening.socket, is_over); });
    take_part(setting, listening.socket);
    is_over = true;
    others.join();
  }
  constexpr Seconds patience(60);  // with a busy machine
  if (steady_now() - begin > patience) find("a rank takes longer than its limits");
  // The kernel lists a thread for a moment after it was joined.
  while (what_is_left() != before) {
    if (steady_now() - begin > patience) find("threads or sockets are left");
    std::this_thread::yield();
  }
  return 0;
}
