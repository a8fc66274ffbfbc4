#include "real/launch/join_other.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "real/errors.h"
#include "real/launch/greeting.h"
#include "real/launch/secret.h"

namespace paceline::real {
namespace {

using namespace std::chrono_literals;

// How soon a refused connection is tried again: rank 0 is often a few milliseconds later.
constexpr auto pause_between_attempts = 20ms;

// The host names of a million ranks.
constexpr std::uint64_t welcome_size_max = 1 << 26;

// The address at which rank 0 should be.
struct Target {
  std::string host;
  std::uint16_t port = 0;
  std::string nonce;

  friend bool operator==(const Target&, const Target&) = default;
};

// Opens no pipe or device for good: a pipe would wait for a writer, a device may never end.
std::optional<Target> read_target(const std::string& path) {
  const Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.file() < 0) return std::nullopt;
  struct stat status {};
  if (::fstat(file.file(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) {
    fail_to_join(
        fmt::format("the rendezvous file {} is no regular file; name one that rank 0 may "
                    "write",
                    path));
  }
  std::array<char, 4096> bytes{};  // an address, a port and a nonce are some 300 at most
  const auto size = ::read(file.file(), bytes.data(), bytes.size());
  if (size <= 0) return std::nullopt;
  std::istringstream text(std::string(bytes.data(), static_cast<std::size_t>(size)));
  Target target;
  if (!(text >> target.host >> target.port >> target.nonce)) return std::nullopt;
  return target;
}

class Joining {
 public:
  Joining(const RankIdentity& identity, const Rendezvous& rendezvous, Seconds connect)
      : identity_(identity),
        rendezvous_(rendezvous),
        connect_(connect),
        end_(Clock::now() + duration_of(connect)) {}

  Joined join() {
    auto link = find_center();
    while (!link) {
      if (Clock::now() >= end_) give_up();
      std::this_thread::sleep_for(pause_between_attempts);
      link = find_center();
    }
    return wait_for_all(std::move(*link));
  }

 private:
  std::optional<Target> target() {
    if (rendezvous_.kind == Rendezvous::Kind::address) {
      return Target{rendezvous_.host, rendezvous_.port, {}};
    }
    auto target = read_target(rendezvous_.file);
    if (!target) trouble_ = "no such file, or none that rank 0 wrote";
    return target;
  }

  // One attempt: a link to a peer that has answered as rank 0 does, or nullopt.
  std::optional<Link> find_center() {
    const auto found = target();
    if (!found) return std::nullopt;
    target_ = *found;
    for (const Address& address : addresses()) {
      Connected connected = connect_to(address, end_);
      if (connected.error != 0) {
        trouble_ = std::strerror(connected.error);
        continue;
      }
      trouble_ = "something answers there, but not as rank 0 of Paceline does";
      Link link(std::move(connected.socket));
      link.allow_bodies_of(welcome_size_max);  // which may come right behind what is heard first
      waiting_.clear();
      Greeting greeting = own_greeting(identity_, target_.nonce);
      if (!rendezvous_.secret.empty()) greeting.challenge = random_nonce();
      link.send(FrameKind::hello, to_text(greeting));
      if (is_heard(link, greeting)) return link;
    }
    return std::nullopt;
  }

  // A name that does not resolve stays so: it ends the attempt early.
  const std::vector<Address>& addresses() {
    if (resolved_ == target_) return addresses_;
    const Seconds left(std::chrono::duration<double>(end_ - Clock::now()).count());
    try {
      addresses_ = resolve(target_.host, target_.port, std::max(left, Seconds(0.01)));
    } catch (const ResolveError& error) {
      fail_to_join(fmt::format(
          "rank 0 cannot be found: {}; {} must name the machine of rank 0", error.what(),
          rendezvous_.host_source.empty() ? "the file" : rendezvous_.host_source));
    }
    resolved_ = target_;
    return addresses_;
  }

  bool is_heard(Link& link, const Greeting& greeting) {
    bool is_proved = greeting.challenge.empty();
    while (Clock::now() < end_) {
      if (const auto frame = next_frame(link, end_)) {
        if (frame->kind == FrameKind::heard) {
          if (is_proved) return true;
          throw UsageError(
              "rank 0 has no shared secret, and this rank has one; "
              "set PACELINE_SECRET_FILE alike everywhere");
        }
        if (frame->kind == FrameKind::challenge && !is_proved) {
          answer(link, greeting, frame->body);
          is_proved = true;
        }
        if (frame->kind == FrameKind::refusal) be_refused(*frame);
      } else if (link.end()) {
        return false;
      }
      // Rank 0 of this run may come only now, and be elsewhere than an earlier one.
      if (rendezvous_.kind == Rendezvous::Kind::file && target() != target_) return false;
    }
    return false;
  }

  // Writes what is left and takes one frame, waiting a little for it. No more is read before those
  // behind it are taken: who sends many of them is not heard faster than that.
  std::optional<Frame> next_frame(Link& link, Clock::time_point end) {
    link.write();
    if (waiting_.empty()) read(link);
    if (waiting_.empty()) {
      const short events = link.has_output() ? POLLIN | POLLOUT : POLLIN;
      pollfd polled{link.file(), events, 0};
      ::poll(&polled, 1, std::min(50, milliseconds_until(end)));
      read(link);
    }
    if (waiting_.empty()) return std::nullopt;
    Frame first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

  void read(Link& link) {
    for (Frame& frame : link.read()) waiting_.push_back(std::move(frame));
  }

  // Rank 0 proves that it has the secret before this rank does.
  void answer(Link& link, const Greeting& greeting, const std::string& challenge) const {
    const auto lines = split_lines(challenge);
    const std::string text = to_text(greeting);
    if (lines.size() != 2 ||
        !is_same_proof(lines[1],
                       proof_of_center(rendezvous_.secret, greeting.challenge, lines[0], text))) {
      throw UsageError(fmt::format("rank 0 at {} has another secret than this rank",
                                   host_port(target_.host, target_.port)));
    }
    link.send(FrameKind::proof,
              proof_of_rank(rendezvous_.secret, greeting.challenge, lines[0], text));
  }

  [[noreturn]] static void be_refused(const Frame& refusal) {
    if (refusal.turn == refused_usage) throw UsageError(refusal.body);
    fail_to_join(refusal.body);
  }

  Joined wait_for_all(Link link) {
    // Rank 0 began to wait before it heard of this one. What it says may take a moment.
    constexpr Seconds moment(1.0);
    const auto end = Clock::now() + duration_of(connect_ + moment);
    while (Clock::now() < end) {
      if (const auto frame = next_frame(link, end)) {
        if (frame->kind == FrameKind::refusal) be_refused(*frame);
        if (frame->kind == FrameKind::welcome) return joined(std::move(link), frame->body);
      } else if (link.end()) {
        fail_to_join(fmt::format("rank 0 at {} has ended before all ranks had come",
                                 host_port(target_.host, target_.port)));
      }
    }
    fail_to_join(fmt::format("rank 0 at {} has not said within {:.3g} s that all ranks had come",
                             host_port(target_.host, target_.port), (connect_ + moment).value()));
  }

  // Welcome: the greeting of rank 0, then the host of every rank.
  Joined joined(Link link, const std::string& welcome) {
    const auto lines = split_lines(welcome);
    constexpr std::size_t of_greeting = greeting_lines;
    if (lines.size() != of_greeting + identity_.world_size.value()) {
      fail_to_join("rank 0 welcomes another number of ranks");
    }
    std::string head;
    for (std::size_t i = 0; i < of_greeting; ++i) head += lines[i] + '\n';
    const auto center = parse_greeting(head);
    if (!center) fail_to_join("rank 0 greets in another way");
    Joined all;
    all.hosts.assign(lines.begin() + of_greeting, lines.end());
    all.address = local_address(link.socket()).host();
    all.same_machine = center->machine == own_greeting(identity_, {}).machine;
    link.put_back(
        {std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end())});
    all.peers.push_back({Rank(0), center->who(), std::move(link)});
    return all;
  }

  [[noreturn]] void give_up() const {
    const char* const hint =
        "is rank 0 started, and is this its address? PACELINE_CONNECT_TIMEOUT sets the limit";
    if (target_.host.empty()) {
      fail_to_join(fmt::format("rank 0 has not written {} within {:.3g} s: {}; {}",
                               rendezvous_.file, connect_.value(), trouble_, hint));
    }
    fail_to_join(fmt::format("rank 0 at {} cannot be reached within {:.3g} s: {}; {}",
                             host_port(target_.host, target_.port), connect_.value(), trouble_,
                             hint));
  }

  const RankIdentity& identity_;
  const Rendezvous& rendezvous_;
  Seconds connect_;
  Clock::time_point end_;
  Target target_;
  std::string trouble_;
  std::optional<Target> resolved_;
  std::vector<Address> addresses_;
  std::deque<Frame> waiting_;  // that were read and not yet taken
};

}  // namespace

Joined join_center(const RankIdentity& identity, const Rendezvous& rendezvous, Seconds connect) {
  return Joining(identity, rendezvous, connect).join();
}

}  // namespace paceline::real
