#include "real/launch/control.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "models/contract.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

// Long enough for a line to cross any network that works; a rank that has failed waits no longer.
constexpr Seconds telling_max(0.5);
// Results of a run are megabytes of JSON; a header that says more is none.
constexpr std::uint64_t body_size_max = std::uint64_t{1} << 30;
// Ranks are a call ahead at most: one that says more than this unasked runs something else.
constexpr std::size_t inbox_size_max = std::size_t{64} << 20;
constexpr Seconds forever(1e8);

std::size_t size_of(const Frame& frame) { return sizeof frame + frame.body.size(); }

const char* name_of(FrameKind kind) {
  if (kind == FrameKind::leave) return "leave";
  return kind == FrameKind::broadcast ? "broadcast" : "gather";
}

}  // namespace

void end_process(const std::string& line) {
  std::fputs(("paceline-worker: " + line + "\n").c_str(), stderr);
  std::fflush(stderr);
  // Not exit(): other threads are at work, and may never return from a library's call.
  std::_Exit(environment_status);
}

std::unique_ptr<Control> Control::join(const RankIdentity& identity, const Rendezvous& rendezvous,
                                       const ControlSettings& settings) {
  PACELINE_EXPECTS(identity.rank.value() < identity.world_size.value());
  PACELINE_EXPECTS(settings.connect > Seconds(0) && settings.silence > Seconds(0));
  return std::unique_ptr<Control>(
      new Control(identity, join_group(identity, rendezvous, settings.connect), settings));
}

Control::Control(const RankIdentity& identity, Joined joined, const ControlSettings& settings)
    : rank_(identity.rank),
      size_(identity.world_size),
      address_(std::move(joined.address)),
      clock_offset_(joined.clock_offset),
      clock_error_(joined.clock_error),
      silence_(settings.silence),
      beat_(std::min(silence_ / 5, Seconds(1))),
      on_failure_(settings.on_failure) {
  for (Peer& peer : joined.peers) {
    peer.link->allow_bodies_of(body_size_max);
    peers_.push_back({std::move(peer)});
  }
  thread_ = std::thread([this] { watch(); });
}

Control::~Control() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  for (const Watched& peer : peers_) peer.link->shut_down();
  changed_.notify_all();
  thread_.join();
}

std::string Control::broadcast(std::string text) {
  ++turn_;
  if (rank_ != Rank(0)) return receive(peers_[0], FrameKind::broadcast);
  send_all(FrameKind::broadcast, text);
  return text;
}

std::vector<std::string> Control::gather(std::string text) {
  ++turn_;
  std::vector<std::string> texts;
  if (rank_ != Rank(0)) {
    send_all(FrameKind::gather, text);
    return texts;
  }
  texts.push_back(std::move(text));
  for (Watched& peer : peers_) texts.push_back(receive(peer, FrameKind::gather));
  return texts;
}

void Control::barrier() {
  gather({});
  (void)broadcast({});
}

void Control::leave() {
  ++turn_;
  if (rank_ != Rank(0)) {
    send_all(FrameKind::leave, {});
    (void)receive(peers_[0], FrameKind::leave);
    return peers_[0].link->shut_down();
  }
  for (Watched& peer : peers_) (void)receive(peer, FrameKind::leave);
  std::unique_lock lock(mutex_);
  for (Watched& peer : peers_) peer.leaves = true;
  lock.unlock();
  send_all(FrameKind::leave, {});
  lock.lock();
  // They close when they have it. One that was stopped right here holds up no rank.
  changed_.wait_for(lock, as_duration(silence_),
                    [&] { return std::ranges::all_of(peers_, &Watched::gone); });
}

void Control::send_all(FrameKind kind, std::string_view body) {
  {
    const std::lock_guard lock(mutex_);
    if (is_shown_) throw_failure();
  }
  // The thread finds a rank that is lost meanwhile, and ends the wait for it.
  for (const Watched& peer : peers_) peer.link->send(kind, turn_, body, steady_now() + forever);
}

std::string Control::receive(Watched& peer, FrameKind kind) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !peer.inbox.empty() || is_shown_; });
  if (peer.inbox.empty()) throw_failure();
  Frame frame = std::move(peer.inbox.front());
  peer.inbox.pop_front();
  peer.inbox_bytes -= size_of(frame);
  lock.unlock();
  if (frame.kind == kind && frame.turn == turn_) return std::move(frame.body);
  report_failure(
      fmt::format("{} is at call {} of the control plane, {}, rank {} at call {}, {}: "
                  "they do not run the same program",
                  peer.who, frame.turn, name_of(frame.kind), rank_.value(), turn_, name_of(kind)));
  throw_failure();
}

void Control::throw_failure() const { throw BackendError(*failure_); }

void Control::report_failure(const std::string& line) {
  std::unique_lock lock(mutex_);
  if (failure_) {
    changed_.wait_for(lock, as_duration(2 * telling_max), [&] { return is_shown_; });
    return;
  }
  fail(line);
  stop_ = true;
  tell_failure(rank_ == Rank(0) ? "rank 0: " + line : line, lock);
  show_failure();
}

// Gives up the lock meanwhile. Who reported the failure hears of it, too, and knows.
void Control::tell_failure(const std::string& line, std::unique_lock<std::mutex>& lock) {
  std::vector<Link*> links;
  for (const Watched& peer : peers_) {
    if (!peer.gone) links.push_back(peer.link.get());
  }
  lock.unlock();
  const Seconds now = steady_now(), end = now + telling_max;
  // Those that have room first: none waits for another that has not.
  const auto tell = [&line](Link* link, Seconds until) {
    return link->send(FrameKind::failure, 0, line, until);
  };
  for (Link* link : std::ranges::partition(links, [&](Link* one) { return tell(one, now); })) {
    tell(link, end);
  }
  wait_for_delivery(links, end);
  lock.lock();
}

void Control::watch() {
  std::unique_lock lock(mutex_);
  auto last_turn = steady_now(), last_beat = last_turn - beat_;
  while (!stop_) {
    // What came together with the welcome is there already.
    for (Watched& peer : peers_) hear(peer);
    const auto now = steady_now();
    // This process itself was stopped or starved: what others said may not have arrived yet.
    if (now - last_turn > silence_ / 2) {
      for (Watched& peer : peers_) peer.heard = now;
    }
    last_turn = now;
    look_for_silence();
    if (failure_ || std::ranges::all_of(peers_, &Watched::gone)) break;
    if (now - last_beat >= beat_ / 2) {
      for (const Watched& peer : peers_) peer.link->beat();
      last_beat = now;
    }
    std::vector<pollfd> polled;
    for (const Watched& peer : peers_) {
      polled.push_back({peer.gone ? -1 : peer.link->socket().file(), POLLIN, 0});
    }
    lock.unlock();
    ::poll(polled.data(), polled.size(), milliseconds_until(now + beat_));
    lock.lock();
  }
  if (!failure_ || stop_) return;
  if (rank_ == Rank(0)) tell_failure(*failure_, lock);
  lock.unlock();
  // First what may end the process with the right line, then those who wait.
  if (on_failure_) on_failure_(*failure_);
  lock.lock();
  show_failure();
}

void Control::hear(Watched& peer) {
  if (peer.gone) return;
  if (peer.link->read()) peer.heard = steady_now();
  while (auto frame = peer.link->take()) take(peer, std::move(*frame));
  if (!peer.link->end()) return;
  peer.gone = true;
  changed_.notify_all();
  if (!peer.leaves) fail(fmt::format("{} has died: {}", peer.who, *peer.link->end()));
}

void Control::take(Watched& peer, Frame frame) {
  if (frame.kind == FrameKind::failure) {
    const bool is_from_rank_0 = peer.rank == Rank(0);
    const std::string who = is_from_rank_0 ? "" : fmt::format("rank {}: ", peer.rank.value());
    return fail(who + frame.body);
  }
  if (frame.kind < FrameKind::broadcast || frame.kind > FrameKind::leave) return;
  if (peer.inbox_bytes > inbox_size_max) {
    return fail(fmt::format("{} says more than it is asked for", peer.who));
  }
  if (frame.kind == FrameKind::leave && rank_ != Rank(0)) peer.leaves = true;
  peer.inbox_bytes += size_of(frame);
  peer.inbox.push_back(std::move(frame));
  changed_.notify_all();
}

void Control::look_for_silence() {
  const auto is_silent = [now = steady_now()](Seconds time) {
    return [now, time](const Watched& peer) {
      return !peer.gone && !peer.leaves && now - peer.heard > time;
    };
  };
  const auto silent = std::ranges::find_if(peers_, is_silent(silence_));
  if (silent == peers_.end()) return;
  std::string who = silent->who + " has been silent for";
  // When several ranks fall silent together, rank 0 itself is cut off. Heartbeats come every beat_,
  // so the times of their last messages differ by up to that.
  if (peers_.size() > 1 && std::ranges::all_of(peers_, is_silent(silence_ - 2 * beat_))) {
    who = "rank 0, whose network may be down, has heard from no rank for";
  }
  fail(fmt::format("{} {:.3g} s", who, silence_.value()));
}

void Control::fail(const std::string& line) {
  if (!failure_) failure_ = line;
}

// Also wakes who sends.
void Control::show_failure() {
  is_shown_ = true;
  for (const Watched& peer : peers_) peer.link->shut_down();
  changed_.notify_all();
}

}  // namespace paceline::real
