#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "models/text/number.h"
#include "real/errors.h"
#include "real/launch/control.h"
#include "real/launch/greeting.h"

namespace paceline::real {
namespace {

// How many times a rank on another machine asks for rank 0's clock.
constexpr int clock_pings = 16;

[[noreturn]] void fail_to_join(const std::string& line) { throw BackendError(line); }

// A pipe would keep whoever opens it waiting, and no device is to be written over.
void refuse_special_file(const std::string& path) {
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there)) return;
  fail_to_join(fmt::format(
      "the rendezvous file {} is no regular file; name one that rank 0 may write", path));
}

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

// Joining as a rank other than 0. Tries for as long as `connect` allows: rank 0 may start last, and
// a file be of an earlier run.
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

// A name may mean another address here than elsewhere (Debian gives 127.0.1.1 to a machine's own):
// rank 0 then listens on all of its addresses. An address that was written out is meant.
Opened listen_at(const Rendezvous& where, Seconds limit) {
  const Resolved found = resolve(where.host, limit);
  if (!found.error.empty()) {
    fail_to_join(
        fmt::format("{}; {} must name the machine of rank 0", found.error, where.host_source));
  }
  const bool is_name = where.host != "localhost" && !is_numeric(where.host);
  Opened listening{Socket(), EADDRNOTAVAIL};
  for (const std::string& host : found.hosts) {
    listening = listen_on({host, is_name ? std::uint16_t{0} : where.port});
    if (listening.error == 0 && is_name) listening = listen_everywhere(where.port);
    if (listening.error == 0 || listening.error == EADDRINUSE) break;
  }
  return listening;
}

Socket listen_for_ranks(const Rendezvous& where, Seconds limit) {
  if (where.listener >= 0) {
    ::fcntl(where.listener, F_SETFL, O_NONBLOCK);
    return Socket(where.listener);
  }
  Opened listening = where.file.empty() ? listen_at(where, limit) : listen_everywhere(0);
  if (listening.error == 0) return std::move(listening.socket);
  if (listening.error == EADDRINUSE) {
    fail_to_join(
        fmt::format("port {} on {} is taken by another run or program; set {} to a free "
                    "port, alike for all ranks",
                    where.port, where.host, where.port_source));
  }
  if (listening.error == EADDRNOTAVAIL) {
    fail_to_join(fmt::format("{} is no address of {}, where rank 0 runs; {} must name it",
                             where.host, host_name(), where.host_source));
  }
  fail_to_join(fmt::format("rank 0 cannot listen on {}: {}", to_text({where.host, where.port}),
                           std::strerror(listening.error)));
}

// The file in which rank 0 publishes its address; removed at the end if it is still this one.
class PublishedFile {
 public:
  PublishedFile(std::string path, std::string text)
      : path_(std::move(path)), text_(std::move(text)) {
    refuse_special_file(path_);
    // Written aside and renamed, so that no reader sees half of it.
    const std::string aside = fmt::format("{}.{}", path_, ::getpid());
    std::ofstream file(aside);
    if (file << text_ << std::flush && std::rename(aside.c_str(), path_.c_str()) == 0) return;
    const std::string why = std::strerror(errno);
    ::unlink(aside.c_str());
    fail_to_join(
        fmt::format("the rendezvous file {} cannot be written: {}; name one that rank 0 "
                    "can write and all ranks can read",
                    path_, why));
  }
  PublishedFile(const PublishedFile&) = delete;
  PublishedFile& operator=(const PublishedFile&) = delete;
  ~PublishedFile() {
    std::ostringstream now;
    now << std::ifstream(path_).rdbuf();
    if (now.str() == text_) ::unlink(path_.c_str());
  }

 private:
  std::string path_, text_;
};

constexpr const char* another_secret =
    "rank 0 has another secret than this rank; set PACELINE_SECRET_FILE alike everywhere";

// Joining as rank 0: waits until all other ranks have come, and tells them so or why there will be
// no group.
class Gathering {
 public:
  Gathering(const RankIdentity& identity, const Rendezvous& where, Seconds connect)
      : identity_(identity),
        secret_(where.secret),
        connect_(connect),
        end_(steady_now() + connect),
        listener_(listen_for_ranks(where, connect)),
        place_(to_text({where.host, where.port})),
        world_size_heard_of_(identity.world_size.value()) {
    if (where.file.empty()) return;
    const Address published{own_host(where.interfaces), local_address(listener_).port};
    place_ = to_text(published);
    meeting_ = random_nonce();
    file_.emplace(where.file, fmt::format("{} {} {}\n", published.host, published.port, meeting_));
  }

  Joined gather() {
    const Greeting own = own_greeting(identity_, meeting_, false);
    if (!own.fault.empty()) refuse(faulty(own), true, end_);
    while (!is_done() && steady_now() < end_) {
      wait();
      accept_all();
      hear_all();
    }
    if (refusal_.empty() && !is_complete()) miss_ranks();
    if (!refusal_.empty()) end_with_refusal();
    return welcome();
  }

 private:
  // A connection: a stranger's at first, admitted once it has proved to be of a rank of this run.
  struct Arrival {
    std::unique_ptr<Link> link;
    std::optional<Greeting> greeting = {};
    std::string proof = {};  // that it has to give
    bool is_admitted = false;
    int pings_left = 0;  // that are yet to come of a rank with another clock
  };

  [[nodiscard]] bool is_complete() const {
    return came_.size() + 1 >= identity_.world_size.value() &&
           std::ranges::all_of(came_, [](const auto& one) { return one.second->pings_left == 0; });
  }
  [[nodiscard]] bool is_done() const {
    return refusal_.empty() ? is_complete() : came_.size() + 1 >= world_size_heard_of_;
  }

  void wait() {
    std::vector<pollfd> polled{{listener_.file(), POLLIN, 0}};
    for (const Arrival& arrival : arrivals_) {
      polled.push_back({arrival.link->socket().file(), POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), milliseconds_until(end_));
  }

  void accept_all() {
    constexpr int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
    while (Socket socket{::accept4(listener_.file(), nullptr, nullptr, flags)}) {
      arrivals_.push_back({std::make_unique<Link>(std::move(socket))});
    }
    if (errno != EMFILE && errno != ENFILE) return;
    // The first that came and is no rank yet makes room for another; a rank tries again.
    const auto stranger = std::ranges::find(arrivals_, false, &Arrival::is_admitted);
    if (stranger != arrivals_.end()) arrivals_.erase(stranger);
  }

  // Who does not speak as a rank of this run does is none, and is dropped: it may look elsewhere.
  void hear_all() {
    for (auto arrival = arrivals_.begin(); arrival != arrivals_.end();) {
      arrival->link->read();
      bool stays = true;
      while (const auto frame = stays ? arrival->link->take() : std::nullopt) {
        stays = hears(*arrival, *frame);
      }
      if (stays && arrival->link->end()) {
        stays = false;
        note_end(*arrival);
      }
      arrival = stays ? std::next(arrival) : arrivals_.erase(arrival);
    }
  }

  void note_end(const Arrival& arrival) {
    if (arrival.is_admitted) {
      refuse(arrival.greeting->who() + " has died: its connection closed", false, steady_now());
    } else if (arrival.greeting && !secret_.empty()) {
      note_turned_away(*arrival.greeting, another_secret);
    }
  }

  bool hears(Arrival& arrival, const Frame& frame) {
    if (!arrival.greeting) return frame.kind == FrameKind::hello && answers(arrival, frame.body);
    if (!arrival.is_admitted) {
      const bool is_proved =
          frame.kind == FrameKind::proof && is_same_proof(frame.body, arrival.proof);
      return is_proved ? admit(arrival) : turn_away(arrival, another_secret);
    }
    if (frame.kind == FrameKind::ping && arrival.pings_left > 0) {
      --arrival.pings_left;
      say(arrival, FrameKind::pong, fmt::format("{}", steady_now().value()));
    }
    return true;
  }

  bool answers(Arrival& arrival, const std::string& hello) {
    arrival.greeting = parse_greeting(hello);
    if (!arrival.greeting) return false;
    const Greeting& greeting = *arrival.greeting;
    if (greeting.version != control_version && hello.find(meeting_) != std::string::npos) {
      return turn_away(arrival, "this rank is of another version; install the same everywhere");
    }
    if (greeting.meeting != meeting_) return false;
    const bool has_secret = !secret_.empty();
    if (has_secret != (greeting.has_secret != 0)) {
      return turn_away(arrival,
                       fmt::format("rank 0 has {} shared secret, and this rank has {}; set "
                                   "PACELINE_SECRET_FILE alike everywhere",
                                   has_secret ? "a" : "no", has_secret ? "none" : "one"));
    }
    const Greeting own = own_greeting(identity_, meeting_, has_secret);
    const std::string answer = to_text(own);
    arrival.proof = proof_of("other rank", secret_, hello, answer);
    arrival.pings_left = greeting.machine == own.machine ? 0 : clock_pings;
    say(arrival, FrameKind::answer, answer + proof_of("rank 0", secret_, hello, answer));
    return true;
  }

  // All that is said meanwhile is short: who has no room for it does not read.
  static void say(Arrival& arrival, FrameKind kind, std::string_view body, bool is_usage = false) {
    arrival.link->send(kind, is_usage ? refused_usage : 0, body, steady_now());
  }

  // Only that one: anybody may knock.
  bool turn_away(Arrival& arrival, const std::string& why) {
    note_turned_away(*arrival.greeting, why);
    say(arrival, FrameKind::refusal, why, true);
    return false;
  }

  void note_turned_away(const Greeting& greeting, const std::string& why) {
    turned_away_ = fmt::format("{} was told: {}", greeting.who(), why);
  }

  // Ends the run over who cannot be a rank of it. While it ends, tells all.
  bool admit(Arrival& arrival) {
    const Greeting& greeting = *arrival.greeting;
    arrival.is_admitted = true;
    world_size_heard_of_ = std::max(world_size_heard_of_, greeting.world_size);
    const std::string fault = refusal_.empty() ? fault_of(greeting) : "";
    if (greeting.rank > 0) came_.try_emplace(greeting.rank, &arrival);
    constexpr Seconds for_late_ranks(2.0);
    if (!refusal_.empty()) tell_refusal(arrival);
    if (!fault.empty()) refuse(fault, true, steady_now() + std::min(for_late_ranks, connect_));
    return true;
  }

  [[nodiscard]] std::string fault_of(const Greeting& greeting) const {
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
    if (!difference.empty()) {
      return fmt::format("{} {}; start all ranks with the same command and files", greeting.who(),
                         difference);
    }
    const auto same = came_.find(greeting.rank);
    if (greeting.rank > 0 && same == came_.end()) return "";
    return fmt::format("two processes say that they are rank {} ({} and {})", greeting.rank,
                       greeting.rank > 0 ? same->second->greeting->process()
                                         : own_greeting(identity_, "", false).process(),
                       greeting.process());
  }

  static std::string faulty(const Greeting& greeting) {
    return fmt::format("{} cannot take part: {}", greeting.who(), greeting.fault);
  }

  // Where some came and had another secret or none, that is what to look at.
  void miss_ranks() {
    constexpr std::size_t shown_max = 8;  // in a line that a person reads
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 1; rank < identity_.world_size.value(); ++rank) {
      if (!came_.contains(rank)) ranks.push_back(rank);
    }
    const std::size_t shown = std::min(ranks.size(), shown_max), more = ranks.size() - shown;
    const std::string hint = fmt::format(
        "started, and able to reach {}? PACELINE_CONNECT_TIMEOUT sets the limit", place_);
    const std::string line =
        fmt::format("rank{} {}{} did not come within {:.3g} s; {}", ranks.size() == 1 ? "" : "s",
                    fmt::join(std::span(ranks).first(shown), ", "),
                    more > 0 ? fmt::format(" and {} more", more) : "", connect_.value(),
                    turned_away_.value_or(hint));
    refuse(line, turned_away_.has_value(), steady_now());
  }

  // Tells all ranks that have come, and those that come until then. The first refusal counts.
  void refuse(const std::string& line, bool is_usage, Seconds until) {
    if (!refusal_.empty()) return;
    refusal_ = line;
    is_usage_ = is_usage;
    end_ = until;
    for (Arrival& arrival : arrivals_) {
      if (arrival.is_admitted) tell_refusal(arrival);
    }
  }

  void tell_refusal(Arrival& arrival) const {
    say(arrival, FrameKind::refusal, refusal_, is_usage_);
  }

  [[noreturn]] void end_with_refusal() const {
    constexpr Seconds to_deliver(0.5);
    std::vector<Link*> links;
    for (const Arrival& arrival : arrivals_) links.push_back(arrival.link.get());
    wait_for_delivery(links, steady_now() + to_deliver);
    if (is_usage_) throw UsageError(refusal_);
    fail_to_join(refusal_);
  }

  Joined welcome() {
    Joined joined;
    for (auto& [rank, arrival] : came_) {
      say(*arrival, FrameKind::welcome, "");
      const std::string host = local_address(arrival->link->socket()).host;
      if (joined.address.empty() || !is_loopback(host)) joined.address = host;
      joined.peers.push_back({Rank(rank), arrival->greeting->who(), std::move(arrival->link)});
    }
    return joined;
  }

  const RankIdentity& identity_;
  const std::string& secret_;
  Seconds connect_, end_;
  Socket listener_;
  std::string place_;    // where it listens: host:port
  std::string meeting_;  // a number that ranks have from the file; empty: they meet at an address
  std::optional<PublishedFile> file_;
  std::list<Arrival> arrivals_;
  std::map<std::uint32_t, Arrival*> came_;  // pointers hold until there is a refusal
  std::uint32_t world_size_heard_of_;       // the largest that any rank was told
  std::optional<std::string> turned_away_;  // who was last, and why
  std::string refusal_;                     // why the run ends before all have come; empty: goes on
  bool is_usage_ = false;                   // it is for how ranks were started
};

// A single rank has no peers; its address is that of the rendezvous where it has one.
Joined join_alone(const Rendezvous& where) {
  const Socket inherited(where.listener);
  const bool is_address = where.file.empty() && is_numeric(where.host);
  return {{}, is_address ? where.host : own_host(where.interfaces)};
}

}  // namespace

Joined join_group(const RankIdentity& identity, const Rendezvous& where, Seconds connect) {
  if (identity.rank != Rank(0)) return Joining(identity, where, connect).join();
  if (identity.world_size == RankCount(1)) return join_alone(where);
  return Gathering(identity, where, connect).gather();
}

}  // namespace paceline::real
