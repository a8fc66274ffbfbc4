// Joining as a rank other than 0.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <optional>
#include <utility>

#include "models/text/number.h"
#include "real/errors.h"
#include "real/launch/greeting.h"
#include "real/launch/join.h"

namespace paceline::real {
namespace {

// How soon a refused connection is tried again: rank 0 is often a few milliseconds later.
constexpr Seconds pause_between_attempts(0.02);

// How long rank 0 may take to answer at an address from a file, before the file is looked at again.
constexpr Seconds stale_answer_max(2.0);
// What rank 0 decides may take as long to get here.
constexpr Seconds moment(1.0);

// What rank 0 writes into the file of a rendezvous: where it listens, and a number of its own.
struct Published {
  Address address;
  std::string number;
};

std::optional<Published> read_published(const std::string& path) {
  refuse_special_file(path);
  std::ifstream file(path);
  std::string host, number;
  std::uint16_t port = 0;
  constexpr int longest = 256;  // of a name; rank 0 writes less
  if (!(file >> std::setw(longest) >> host >> port >> std::setw(longest) >> number)) {
    return std::nullopt;
  }
  return is_numeric(host) ? std::optional(Published{{host, port}, number}) : std::nullopt;
}

class Joining {
 public:
  Joining(const RankIdentity& identity, const Rendezvous& rendezvous, Seconds connect)
      : identity_(identity),
        rendezvous_(rendezvous),
        connect_(connect),
        end_(steady_now() + connect) {}

  Joined join() {
    if (rendezvous_.file.empty()) resolve_host();
    while (true) {
      look_at_file();
      for (const Address& address : addresses_) {
        if (auto joined = join_at(address)) return std::move(*joined);
      }
      if (steady_now() >= end_) give_up();
      sleep_until(steady_now() + pause_between_attempts);
    }
  }

 private:
  void resolve_host() {
    const Resolved found = resolve(rendezvous_.host, connect_);
    for (const std::string& host : found.hosts) addresses_.push_back({host, rendezvous_.port});
    place_ = to_text({rendezvous_.host, rendezvous_.port});
    if (found.error.empty()) return;
    fail_to_join(fmt::format("rank 0 cannot be found: {}; {} must name the machine of rank 0",
                             found.error, rendezvous_.host_source));
  }

  void look_at_file() {
    if (rendezvous_.file.empty()) return;
    addresses_.clear();
    const auto published = read_published(rendezvous_.file);
    trouble_ = "no such file, or none that rank 0 wrote";
    if (!published) return;
    addresses_ = {published->address};
    meeting_ = published->number;
    place_ = to_text(published->address);
  }

  // One attempt; nullopt where nobody answers as rank 0 does.
  std::optional<Joined> join_at(const Address& address) {
    Opened connected = connect_to(address, end_);
    if (connected.error != 0) {
      trouble_ = std::strerror(connected.error);
      return std::nullopt;
    }
    trouble_ = "something answers there, but not as rank 0 of Paceline does";
    auto link = std::make_unique<Link>(std::move(connected.socket));
    const Greeting own = own_greeting(identity_, meeting_, !rendezvous_.secret.empty());
    const std::string hello = to_text(own);
    say(*link, FrameKind::hello, hello);
    const auto answer = answer_on(*link);
    if (!answer) return std::nullopt;
    // Rank 0 began to wait before it heard of this rank. What it says may take a moment.
    decided_by_ = steady_now() + connect_ + moment;
    const auto proof_at = answer->rfind('\n') + 1;  // behind the greeting; no line break: 0
    const std::string text = answer->substr(0, proof_at), proof = answer->substr(proof_at);
    const auto rank_0 = parse_greeting(text);
    if (!rank_0) return std::nullopt;
    const std::string& secret = rendezvous_.secret;
    if (!is_same_proof(proof, proof_of("rank 0", secret, hello, text))) {
      throw UsageError(fmt::format("rank 0 at {} has another secret than this rank", place_));
    }
    say(*link, FrameKind::proof, proof_of("other rank", secret, hello, text));
    Joined joined;
    joined.address = local_address(link->socket()).host;
    if (rank_0->machine != own.machine) compare_clocks(*link, joined);
    (void)await(*link, FrameKind::welcome);
    joined.peers.push_back({Rank(0), rank_0->who(), std::move(link)});
    return joined;
  }

  void say(Link& link, FrameKind kind, std::string_view body) const {
    link.send(kind, 0, body, end_);
  }

  // nullopt when rank 0 does not answer: the file may be of an earlier run.
  std::optional<std::string> answer_on(Link& link) const {
    const auto soon = steady_now() + stale_answer_max;
    const auto frame = link.receive(rendezvous_.file.empty() ? end_ : std::min(end_, soon));
    if (frame && frame->kind == FrameKind::refusal) be_refused(*frame);
    if (!frame || frame->kind != FrameKind::answer) return std::nullopt;
    return frame->body;
  }

  [[noreturn]] static void be_refused(const Frame& refusal) {
    if (refusal.turn == refused_usage) throw UsageError(refusal.body);
    fail_to_join(refusal.body);
  }

  [[nodiscard]] Frame await(Link& link, FrameKind kind) const {
    while (auto frame = link.receive(decided_by_)) {
      if (frame->kind == FrameKind::refusal) be_refused(*frame);
      if (frame->kind == kind) return std::move(*frame);
    }
    if (link.end()) {
      fail_to_join(fmt::format("rank 0 at {} has ended before all ranks had come", place_));
    }
    fail_to_join(fmt::format("rank 0 at {} has not said within {:.3g} s that all ranks had come",
                             place_, (connect_ + moment).value()));
  }

  // The clock of rank 0 was read between two moments here: in their middle, give or take half.
  void compare_clocks(Link& link, Joined& joined) const {
    for (int i = 0; i < clock_pings; ++i) {
      const Seconds asked = steady_now();
      say(link, FrameKind::ping, "");
      const auto there = number_of<double>(await(link, FrameKind::pong).body);
      const Seconds here = steady_now(), error = (here - asked) / 2;
      if (!there || !std::isfinite(*there) || (i > 0 && error >= joined.clock_error)) continue;
      joined.clock_error = error;
      joined.clock_offset = Seconds(*there) - (asked + error);
    }
  }

  [[noreturn]] void give_up() const {
    const char* const hint =
        "is rank 0 started, and is this its address? PACELINE_CONNECT_TIMEOUT sets the limit";
    if (place_.empty()) {
      fail_to_join(fmt::format("rank 0 has not written {} within {:.3g} s: {}; {}",
                               rendezvous_.file, connect_.value(), trouble_, hint));
    }
    fail_to_join(fmt::format("rank 0 at {} cannot be reached within {:.3g} s: {}; {}", place_,
                             connect_.value(), trouble_, hint));
  }

  const RankIdentity& identity_;
  const Rendezvous& rendezvous_;
  Seconds connect_;
  Seconds end_, decided_by_;
  std::vector<Address> addresses_;
  std::string place_;    // where rank 0 should be: host:port
  std::string meeting_;  // the number in the file
  std::string trouble_;
};

}  // namespace

Joined join_rank_0(const RankIdentity& identity, const Rendezvous& rendezvous, Seconds connect) {
  return Joining(identity, rendezvous, connect).join();
}

}  // namespace paceline::real
