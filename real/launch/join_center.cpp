#include "real/launch/join_center.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "real/errors.h"
#include "real/launch/greeting.h"
#include "real/launch/join_other.h"
#include "real/launch/secret.h"

namespace paceline::real {
namespace {

// Where rank 0 listens.
struct Post {
  Socket listener;
  std::string address;  // of this machine, without port
  std::uint16_t port = 0;
};

[[noreturn]] void fail_to_listen(const Rendezvous& rendezvous, const std::string& host, int error) {
  if (error == EADDRINUSE) {
    fail_to_join(
        fmt::format("port {} on {} is taken: another run or program listens there; set {} "
                    "to a free port, alike for all ranks",
                    rendezvous.port, host, rendezvous.port_source));
  }
  if (error == EADDRNOTAVAIL) {
    fail_to_join(
        fmt::format("{} is no address of {}, where rank 0 runs; {} must name the machine of "
                    "rank 0",
                    host, host_name(), rendezvous.host_source));
  }
  fail_to_join(fmt::format("rank 0 cannot listen on {}: {}", host_port(host, rendezvous.port),
                           std::strerror(error)));
}

// A name may mean another address here than elsewhere (Debian gives 127.0.1.1 to a machine's own):
// rank 0 then listens on all of its addresses. An address that was written out is meant.
Post listen_at(const Rendezvous& rendezvous, Seconds limit) {
  std::vector<Address> addresses;
  try {
    addresses = resolve(rendezvous.host, rendezvous.port, limit);
  } catch (const ResolveError& error) {
    fail_to_join(fmt::format("{}; {} must name the machine of rank 0", error.what(),
                             rendezvous.host_source));
  }
  const bool exactly = is_numeric(rendezvous.host) || rendezvous.host == "localhost";
  int error = 0;
  for (Address address : addresses) {
    if (!exactly) address.set_port(0);  // is it one of this machine at all?
    Listening listening = listen_on(address);
    if (listening.error == 0 && !exactly) listening = listen_everywhere(rendezvous.port);
    if (listening.error == 0) {
      const bool useful = exactly || !address.is_loopback();
      return {std::move(listening.socket), useful ? address.host() : own_address({}).host(),
              rendezvous.port};
    }
    error = listening.error;
    if (error == EADDRINUSE) break;
  }
  fail_to_listen(rendezvous, rendezvous.host, error);
}

Post take_post(const Rendezvous& rendezvous, Seconds limit) {
  if (rendezvous.listener >= 0) {
    Socket listener(rendezvous.listener);
    prepare_stream(listener);
    const Address local = local_address(listener);
    return {std::move(listener), local.host(), local.port()};
  }
  if (rendezvous.kind == Rendezvous::Kind::address) return listen_at(rendezvous, limit);
  Listening listening = listen_everywhere(0);
  if (listening.error != 0) fail_to_listen(rendezvous, host_name(), listening.error);
  const std::uint16_t port = local_address(listening.socket).port();
  return {std::move(listening.socket), own_address(rendezvous.interfaces).host(), port};
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t shown_max = 8;  // of a line that a person reads
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), shown_max); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  }
  if (ranks.size() > shown_max) text += fmt::format(" and {} more", ranks.size() - shown_max);
  return text;
}

constexpr const char* no_secret_here =
    "this rank has a shared secret, and rank 0 has none; set PACELINE_SECRET_FILE alike everywhere";
constexpr const char* no_secret_there =
    "rank 0 has a shared secret, and this rank has none; set PACELINE_SECRET_FILE alike everywhere";
constexpr const char* another_secret =
    "rank 0 has another secret than this rank; set PACELINE_SECRET_FILE alike everywhere";
constexpr const char* another_version =
    "this rank is of another version of Paceline; install the same everywhere";

class Gathering {
 public:
  Gathering(const RankIdentity& identity, const Rendezvous& rendezvous, Seconds connect)
      : identity_(identity),
        connect_(connect),
        end_(Clock::now() + duration_of(connect)),
        secret_(rendezvous.secret),
        post_(take_post(rendezvous, connect)),
        ranks_told_of_(identity.world_size.value()) {
    if (rendezvous.kind == Rendezvous::Kind::file && rendezvous.listener < 0) {
      nonce_ = fmt::format("{:08x}{:08x}", std::random_device()(), std::random_device()());
      file_ = PublishedFile(rendezvous.file,
                            fmt::format("{} {} {}\n", post_.address, post_.port, nonce_));
    }
  }

  Joined gather() {
    if (!identity_.fault.empty()) {
      refuse(faulty(own_greeting(identity_, nonce_)), refused_usage, end_);
    }
    while (!is_complete()) {
      if (Clock::now() >= end_) miss_ranks();
      wait(end_);
      accept_all();
      read_all();
    }
    return welcome();
  }

 private:
  struct Arrival {
    Link link;
    std::optional<Greeting> greeting;  // of a rank, also of one that is refused
    std::optional<Greeting> unproved;  // of one that has yet to prove that it has the secret
    std::string challenge;             // that it was sent
  };
  using Arrivals = std::list<Arrival>;

  // What ends the run before all have come.
  struct Refusal {
    std::shared_ptr<const std::string> line;
    std::uint32_t why;
  };

  [[nodiscard]] bool is_complete() const {
    return came_.size() + 1 >= identity_.world_size.value();
  }

  void wait(Clock::time_point end) {
    std::vector<pollfd> polled{{post_.listener.file(), POLLIN, 0}};
    for (Arrival& arrival : arrivals_) {
      arrival.link.write();
      const short events = arrival.link.has_output() ? POLLIN | POLLOUT : POLLIN;
      polled.push_back({arrival.link.file(), events, 0});
    }
    ::poll(polled.data(), polled.size(), milliseconds_until(end));
  }

  void accept_all() {
    bool may_drop = true;  // once, and then those that have come are heard first
    while (true) {
      const int file =
          ::accept4(post_.listener.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (file < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
      const bool is_full = file < 0 && (errno == EMFILE || errno == ENFILE);
      if (is_full && std::exchange(may_drop, false) && drop_a_stranger()) continue;
      if (file < 0) return;
      arrivals_.push_back({Link(Socket(file)), std::nullopt, std::nullopt, {}});
    }
  }

  // Makes room for another: the first that came and is no rank yet; a rank tries again. False: all
  // are ranks.
  bool drop_a_stranger() {
    const auto first =
        std::ranges::find_if(arrivals_, [](const Arrival& one) { return !one.greeting; });
    if (first == arrivals_.end()) return false;
    arrivals_.erase(first);
    return true;
  }

  void read_all() {
    for (auto arrival = arrivals_.begin(); arrival != arrivals_.end();) {
      const auto frames = arrival->link.read();
      const bool ended = arrival->link.end().has_value();
      if (ended && arrival->greeting && !refusal_) {
        refuse(fmt::format("{} has died: its connection closed", arrival->greeting->who()), 0);
      }
      if (ended && arrival->unproved && !arrival->greeting) {
        note_turned_away(*arrival->unproved, another_secret);
      }
      // What does not greet as a rank of this run does is none: it may look elsewhere. One that
      // ends with its greeting, as it has heard of a refusal, counts.
      const auto is_heard = [&](const Frame& frame) { return hears(arrival, frame); };
      const bool goes_on = (!ended || refusal_) && std::ranges::all_of(frames, is_heard) && !ended;
      arrival = goes_on ? std::next(arrival) : arrivals_.erase(arrival);
    }
  }

  [[nodiscard]] std::optional<Greeting> greeting_of(const Frame& frame) const {
    if (frame.kind != FrameKind::hello) return std::nullopt;
    auto greeting = parse_greeting(frame.body);
    // Of another version it is not known where the nonce stands.
    const bool another_run = greeting && (greeting->version == control_version
                                              ? greeting->nonce != nonce_
                                              : frame.body.find(nonce_) == std::string::npos);
    return another_run ? std::nullopt : greeting;
  }

  // False for who is no rank of this run: its link is dropped.
  bool hears(Arrivals::iterator arrival, const Frame& frame) {
    if (arrival->greeting) return true;  // what it says later is not for now
    if (arrival->unproved) return is_proved(*arrival, frame) && admit(arrival, *arrival->unproved);
    const auto greeting = greeting_of(frame);
    if (!greeting) return false;
    const bool is_alike = greeting->version == control_version;
    if (is_alike && greeting->challenge.empty() != secret_.empty()) {
      return turn_away(*arrival, *greeting, secret_.empty() ? no_secret_here : no_secret_there);
    }
    if (secret_.empty()) return admit(arrival, *greeting);
    if (!is_alike) {
      return turn_away(*arrival, *greeting, another_version);
    }
    arrival->unproved = greeting;
    arrival->challenge = random_nonce();
    arrival->link.send(FrameKind::challenge,
                       fmt::format("{}\n{}\n", arrival->challenge,
                                   proof_of_center(secret_, greeting->challenge, arrival->challenge,
                                                   to_text(*greeting))));
    arrival->link.write();
    return true;
  }

  [[nodiscard]] bool is_proved(Arrival& arrival, const Frame& frame) {
    const Greeting& greeting = *arrival.unproved;
    const std::string expected =
        proof_of_rank(secret_, greeting.challenge, arrival.challenge, to_text(greeting));
    if (frame.kind == FrameKind::proof && is_same_proof(frame.body, expected)) return true;
    return turn_away(arrival, greeting, another_secret);
  }

  // Only that one: anybody may knock.
  bool turn_away(Arrival& arrival, const Greeting& greeting, const char* why) {
    note_turned_away(greeting, why);
    arrival.link.send(FrameKind::refusal, refused_usage, std::make_shared<const std::string>(why));
    arrival.link.write();
    return false;
  }

  // Of another version only the rank is known.
  void note_turned_away(const Greeting& greeting, const char* why) {
    const std::string who = greeting.version == control_version
                                ? greeting.who()
                                : fmt::format("rank {}", greeting.rank);
    turned_away_ = fmt::format("{} was told: {}", who, why);
  }

  // Ends the run over who cannot be a rank of it. While it ends, tells all.
  bool admit(Arrivals::iterator arrival, const Greeting& greeting) {
    arrival->greeting = greeting;
    if (greeting.rank > 0) told_.insert(greeting.rank);
    ranks_told_of_ = std::max(ranks_told_of_, greeting.world_size);
    if (refusal_) {
      send_refusal(*arrival);
      return true;
    }
    const auto [same, is_new] = came_.try_emplace(greeting.rank, arrival);
    if (const std::string fault = fault_of(greeting); !fault.empty()) {
      refuse(fault, refused_usage, a_moment_from_now());
    }
    if (!is_new || greeting.rank == 0) {
      const Greeting first = is_new ? own_greeting(identity_, nonce_) : *same->second->greeting;
      refuse(fmt::format("two processes say that they are rank {} ({} and {})", greeting.rank,
                         first.process(), greeting.process()),
             refused_usage, a_moment_from_now());
    }
    arrival->link.send(FrameKind::heard, {});
    arrival->link.write();
    return true;
  }

  // Why a rank cannot be one of this run; empty: it can.
  [[nodiscard]] std::string fault_of(const Greeting& greeting) const {
    if (greeting.version != control_version) {
      return fmt::format(
          "rank {} speaks version {} of the control plane, rank 0 version {}; install the same "
          "Paceline everywhere",
          greeting.rank, greeting.version, control_version);
    }
    if (greeting.world_size != identity_.world_size.value()) {
      return fmt::format(
          "rank {} was told a world size of {}, rank 0 of {}; set WORLD_SIZE alike everywhere",
          greeting.rank, greeting.world_size, identity_.world_size.value());
    }
    if (greeting.rank >= greeting.world_size) {
      return fmt::format("{} is outside a world of {} ranks, 0 to {}; set RANK below WORLD_SIZE",
                         greeting.who(), greeting.world_size, greeting.world_size - 1);
    }
    if (!greeting.fault.empty()) return faulty(greeting);
    const std::string difference = find_difference(greeting.told, identity_.told);
    if (difference.empty()) return "";
    return fmt::format("{} {}; start all ranks with the same command and files", greeting.who(),
                       difference);
  }

  static std::string faulty(const Greeting& greeting) {
    return fmt::format("{} cannot take part: {}", greeting.who(), greeting.fault);
  }

  // Where some came and had another secret or none, that is what to look at.
  [[noreturn]] void miss_ranks() {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 1; rank < identity_.world_size.value(); ++rank) {
      if (!came_.contains(rank)) ranks.push_back(rank);
    }
    const std::string line =
        fmt::format("{} did not come within {:.3g} s; ", ranks_text(ranks), connect_.value());
    if (turned_away_) refuse(line + *turned_away_, refused_usage);
    refuse(line + fmt::format("started, and able to reach {}? PACELINE_CONNECT_TIMEOUT sets the "
                              "limit",
                              host_port(post_.address, post_.port)),
           0);
  }

  // Until all ranks are there, of which some begin later than others.
  [[nodiscard]] Clock::time_point a_moment_from_now() const {
    constexpr Seconds moment(2.0);
    return Clock::now() + duration_of(std::min(moment, connect_));
  }

  // Tells all that have come, and those that come until then; then waits until they have it.
  [[noreturn]] void refuse(const std::string& line, std::uint32_t why,
                           Clock::time_point until = Clock::now()) {
    refusal_ = Refusal{std::make_shared<const std::string>(line), why};
    // Where there is a secret, nobody else is told.
    for (Arrival& arrival : arrivals_) {
      if (secret_.empty() || arrival.greeting) send_refusal(arrival);
    }
    while (told_.size() + 1 < ranks_told_of_ && Clock::now() < until) {
      wait(until);
      accept_all();
      read_all();
    }
    constexpr Seconds to_deliver(0.5);
    const auto end = Clock::now() + duration_of(to_deliver);
    const auto has_it = [](const Arrival& arrival) { return arrival.link.is_delivered(); };
    while (!std::all_of(arrivals_.begin(), arrivals_.end(), has_it) && Clock::now() < end) {
      for (Arrival& arrival : arrivals_) arrival.link.write();
      ::poll(nullptr, 0, 1);
    }
    if (why == refused_usage) throw UsageError(line);
    fail_to_join(line);
  }

  void send_refusal(Arrival& arrival) const {
    arrival.link.send(FrameKind::refusal, refusal_->why, refusal_->line);
    arrival.link.write();
  }

  Joined welcome() {
    const Greeting own = own_greeting(identity_, nonce_);
    Joined joined;
    joined.hosts.push_back(own.host);
    for (const auto& [rank, arrival] : came_) joined.hosts.push_back(arrival->greeting->host);
    std::string text = to_text(own);
    for (const std::string& host : joined.hosts) text += host + '\n';
    joined.address = post_.address;
    for (auto& [rank, arrival] : came_) {
      arrival->link.send(FrameKind::welcome, text);
      const Address local = local_address(arrival->link.socket());
      if (!local.is_loopback()) joined.address = local.host();
      joined.peers.push_back({Rank(rank), arrival->greeting->who(), std::move(arrival->link)});
    }
    joined.file = std::move(file_);
    return joined;
  }

  const RankIdentity& identity_;
  Seconds connect_;
  Clock::time_point end_;
  std::string secret_;
  Post post_;
  std::string nonce_;
  PublishedFile file_;
  Arrivals arrivals_;
  std::map<std::uint32_t, Arrivals::iterator> came_;  // not looked at once there is a refusal
  std::set<std::uint32_t> told_;                      // other ranks that hear of one
  std::uint32_t ranks_told_of_;                       // the most of which any was told
  std::optional<std::string> turned_away_;            // who was last, and why
  std::optional<Refusal> refusal_;
};

// A single rank has no peers; its address is that of the rendezvous where it has one.
Joined alone(const Rendezvous& rendezvous) {
  const Socket inherited(rendezvous.listener);
  Joined joined;
  joined.hosts.push_back(host_name());
  const bool numeric = rendezvous.kind == Rendezvous::Kind::address && is_numeric(rendezvous.host);
  joined.address = numeric ? rendezvous.host : own_address(rendezvous.interfaces).host();
  return joined;
}

}  // namespace

Joined join_as_center(const RankIdentity& identity, const Rendezvous& rendezvous, Seconds connect) {
  if (identity.world_size == RankCount(1)) return alone(rendezvous);
  return Gathering(identity, rendezvous, connect).gather();
}

}  // namespace paceline::real
