#include "real/launch/control_loop.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "real/errors.h"

namespace paceline::real {
namespace {

constexpr int pings = 16;
// Long enough for a line to cross any network that works; a rank that has failed waits no longer.
constexpr Seconds telling_max(0.5);
// Results of a run are megabytes of JSON; a header that says more is none.
constexpr std::uint64_t body_size_max = std::uint64_t{1} << 30;
// Of what a rank has said and nobody has asked for yet: more is a rank that runs something else, as
// ranks are a call ahead at most.
constexpr std::size_t inbox_size_max = std::size_t{64} << 20;

std::size_t size_of(const Frame& frame) { return sizeof frame + frame.body.size(); }

std::shared_ptr<const std::string> nothing() {
  static const auto empty = std::make_shared<const std::string>();
  return empty;
}

std::string nanoseconds_now() {
  const auto now = Clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

Clock::duration heartbeat_interval(Seconds silence) {
  return duration_of(std::min(silence / 5, Seconds(1)));
}

}  // namespace

ControlLoop::ControlLoop(Joined joined, Rank self, Seconds silence)
    : self_(self),
      silence_(duration_of(silence)),
      beat_(heartbeat_interval(silence)),
      silence_s_(silence.value()),
      peers_(std::move(joined.peers)),
      file_(std::move(joined.file)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      pulses_(peers_.size()),
      last_turn_(Clock::now()),
      inbox_(peers_.size()),
      inbox_size_(peers_.size()) {
  for (Peer& peer : peers_) peer.link.allow_bodies_of(body_size_max);
  for (Pulse& pulse : pulses_) pulse.heard = pulse.said = last_turn_;
  pings_left_ = joined.same_machine ? 0 : pings;
  clock_known_ = joined.same_machine;
  thread_ = std::thread([this] { run(); });
}

ControlLoop::~ControlLoop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  wake();
  thread_.join();
}

void ControlLoop::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.file(), &one, sizeof one);
}

void ControlLoop::throw_if_failed(std::unique_lock<std::mutex>& lock) {
  if (!visible_) return;
  const std::string line = *failure_;
  lock.unlock();
  throw BackendError("", std::nullopt, "", line);
}

void ControlLoop::wait_for_clock(Seconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, duration_of(limit), [&] { return clock_known_ || visible_; });
  if (clock_known_) return;
  throw_if_failed(lock);
  lock.unlock();
  end_with(fmt::format("{} has not told its clock within {:.3g} s", peers_[0].who, limit.value()));
}

void ControlLoop::send_all(FrameKind kind, std::uint32_t turn,
                           const std::shared_ptr<const std::string>& body) {
  std::unique_lock lock(mutex_);
  throw_if_failed(lock);
  orders_.push_back({kind, turn, body});
  lock.unlock();
  wake();
}

std::string ControlLoop::receive(std::size_t peer, FrameKind kind, std::uint32_t turn) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !inbox_[peer].empty() || visible_ || pulses_[peer].leaves; });
  if (inbox_[peer].empty()) {
    throw_if_failed(lock);
    lock.unlock();
    end_with(
        fmt::format("{} leaves, rank {} is at call {} of the control plane, {}: they do not "
                    "run the same program",
                    peers_[peer].who, self_.value(), turn, name_of(kind)));
  }
  Frame frame = std::move(inbox_[peer].front());
  inbox_[peer].pop_front();
  inbox_size_[peer] -= size_of(frame);
  lock.unlock();
  if (frame.kind == kind && frame.turn == turn) return std::move(frame.body);
  end_with(fmt::format(
      "{} is at call {} of the control plane, {}, rank {} at call {}, {}: they do not "
      "run the same program",
      peers_[peer].who, frame.turn, name_of(frame.kind), self_.value(), turn, name_of(kind)));
}

void ControlLoop::end_with(const std::string& line) {
  report(line);
  throw BackendError("", std::nullopt, "", line);
}

void ControlLoop::on_failure(std::function<void(const std::string&)> handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
  changed_.notify_all();
}

void ControlLoop::report(const std::string& line) {
  std::unique_lock lock(mutex_);
  if (!failure_ && !report_) report_ = line;
  wake();
  changed_.wait_for(lock, duration_of(2 * telling_max), [&] { return told_; });
}

void ControlLoop::leave() {
  send_all(is_center() ? FrameKind::heartbeat : FrameKind::leave, 0, nothing());
  std::unique_lock lock(mutex_);
  if (!is_center()) {
    changed_.wait(lock, [&] { return left_ || visible_; });
    if (!left_) throw_if_failed(lock);
    return;
  }
  changed_.wait(lock, [&] { return leaving_ == peers_.size() || visible_; });
  throw_if_failed(lock);
  orders_.push_back({FrameKind::left, 0, nothing()});
  lock.unlock();
  wake();
  lock.lock();
  // They close when they have it. One that was stopped right here holds up no rank.
  changed_.wait_for(lock, silence_, [&] { return gone_ == peers_.size(); });
  left_ = true;
}

void ControlLoop::run() {
  read_all();  // what came together with the welcome
  if (failed_) return end_with_failure();
  while (take_orders()) {
    wait_for_traffic();
    if (!failed_) read_all();
    if (!failed_) look_for_silence();
    if (!failed_) beat_and_write();
    if (failed_) return end_with_failure();
  }
}

bool ControlLoop::take_orders() {
  std::vector<Order> orders;
  std::optional<std::string> report;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return false;
    orders.swap(orders_);
    report = report_;
  }
  for (const Order& order : orders) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (!pulses_[i].gone) peers_[i].link.send(order.kind, order.turn, order.body);
    }
    // Once rank 0 lets go, ranks close when they like.
    if (order.kind == FrameKind::left) {
      const std::lock_guard lock(mutex_);
      for (Pulse& pulse : pulses_) pulse.leaves = true;
    }
  }
  if (report) {
    own_failure_ = true;
    fail(is_center() ? fmt::format("rank 0: {}", *report) : *report, std::nullopt);
    return true;
  }
  if (pings_left_ == pings) {
    pinged_ = Clock::now();
    peers_[0].link.send(FrameKind::ping, {});
    --pings_left_;
  }
  for (Peer& peer : peers_) peer.link.write();
  return true;
}

void ControlLoop::wait_for_traffic() {
  if (failed_) return;
  std::vector<pollfd> polled{{wake_.file(), POLLIN, 0}};
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const short events = peers_[i].link.has_output() ? POLLIN | POLLOUT : POLLIN;
    polled.push_back({pulses_[i].gone ? -1 : peers_[i].link.file(), events, 0});
  }
  ::poll(polled.data(), polled.size(), milliseconds_until(Clock::now() + beat_));
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(wake_.file(), &count, sizeof count);
}

void ControlLoop::read_all() {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (pulses_[i].gone) continue;
    auto frames = peers_[i].link.read();
    if (peers_[i].link.heard_something()) pulses_[i].heard = Clock::now();
    for (Frame& frame : frames) {
      take(i, std::move(frame));
      if (failed_) return;
    }
    if (peers_[i].link.end()) close_ended(i);
    if (failed_) return;
  }
}

void ControlLoop::take(std::size_t peer, Frame frame) {
  switch (frame.kind) {
    case FrameKind::ping: {
      // Who asks more often than ranks do may not read the answers: they would pile up.
      if (pulses_[peer].pings == pings) return;
      ++pulses_[peer].pings;
      return peers_[peer].link.send(FrameKind::pong, nanoseconds_now());
    }
    case FrameKind::pong: return take_pong(frame);
    case FrameKind::failure: {
      if (!is_center()) return fail(frame.body, peer);
      return fail(fmt::format("rank {}: {}", peers_[peer].rank.value(), frame.body), peer);
    }
    case FrameKind::leave: {
      const std::lock_guard lock(mutex_);
      if (!is_center() || pulses_[peer].leaves) return;
      pulses_[peer].leaves = true;
      ++leaving_;
      break;
    }
    case FrameKind::left: {
      const std::lock_guard lock(mutex_);
      if (is_center()) return;
      pulses_[peer].leaves = left_ = true;
      peers_[peer].link.close_output();
      break;
    }
    case FrameKind::broadcast:
    case FrameKind::gather: {
      std::unique_lock lock(mutex_);
      if (inbox_size_[peer] > inbox_size_max) {
        lock.unlock();
        return fail(fmt::format("{} says more than it is asked for", peers_[peer].who),
                    std::nullopt);
      }
      inbox_size_[peer] += size_of(frame);
      inbox_[peer].push_back(std::move(frame));
      break;
    }
    default: return;  // heartbeats; reading them was enough
  }
  changed_.notify_all();
}

// The clock of rank 0 was read between two moments here: in their middle, give or take half.
void ControlLoop::take_pong(const Frame& pong) {
  const auto now = Clock::now();
  const Seconds trip(std::chrono::duration<double>(now - pinged_).count());
  const auto here = std::chrono::duration_cast<std::chrono::nanoseconds>(
      (pinged_ + (now - pinged_) / 2).time_since_epoch());
  // A steady clock is not below 0.
  const auto there = std::max<std::int64_t>(std::strtoll(pong.body.c_str(), nullptr, 10), 0);
  const std::lock_guard lock(mutex_);
  if (pings_left_ == pings - 1 || trip / 2 < clock_error_) {
    clock_error_ = trip / 2;
    clock_offset_ = Seconds(static_cast<double>(there - here.count()) * 1e-9);
  }
  if (pings_left_ > 0) {
    --pings_left_;
    pinged_ = Clock::now();
    peers_[0].link.send(FrameKind::ping, {});
    peers_[0].link.write();
  } else {
    clock_known_ = true;
    changed_.notify_all();
  }
}

void ControlLoop::close_ended(std::size_t peer) {
  pulses_[peer].gone = true;
  {
    const std::lock_guard lock(mutex_);
    ++gone_;
  }
  changed_.notify_all();
  if (pulses_[peer].leaves) return;
  fail(fmt::format("{} has died: {}", peers_[peer].who, *peers_[peer].link.end()), peer);
}

void ControlLoop::look_for_silence() {
  const auto now = Clock::now();
  // This process itself was stopped or starved: what others said may not have arrived yet.
  const bool slept = now - last_turn_ > silence_ / 2;
  last_turn_ = now;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (slept) pulses_[i].heard = now;
    if (pulses_[i].gone || pulses_[i].leaves || now - pulses_[i].heard <= silence_) continue;
    if (hears_no_rank(now)) {
      return fail(fmt::format("rank 0 has heard from no rank for {:.3g} s; is its network down?",
                              silence_s_),
                  std::nullopt);
    }
    return fail(fmt::format("{} has been silent for {:.3g} s", peers_[i].who, silence_s_), i);
  }
}

// When several ranks fall silent together, rank 0 itself is cut off. Heartbeats come every beat_,
// so the times of their last messages differ by up to that.
bool ControlLoop::hears_no_rank(Clock::time_point now) const {
  const auto is_silent = [&](const Pulse& pulse) {
    return !pulse.gone && !pulse.leaves && now - pulse.heard > silence_ - 2 * beat_;
  };
  return pulses_.size() > 1 && std::all_of(pulses_.begin(), pulses_.end(), is_silent);
}

void ControlLoop::beat_and_write() {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Link& link = peers_[i].link;
    // A queue that is not empty says as much, as fast as it can.
    if (now - pulses_[i].said >= beat_ / 2 && !pulses_[i].gone && !link.has_output()) {
      link.send(FrameKind::heartbeat, 0, nothing());
      pulses_[i].said = now;
    }
    link.write();
  }
}

// The first failure counts.
void ControlLoop::fail(const std::string& line, std::optional<std::size_t> except) {
  if (failed_) return;
  failed_ = true;
  if (is_center() || own_failure_) tell_failure(line, except);
  const std::lock_guard lock(mutex_);
  failure_ = line;
  told_ = true;
  changed_.notify_all();
}

void ControlLoop::tell_failure(const std::string& line, std::optional<std::size_t> except) {
  const auto end = Clock::now() + duration_of(telling_max);
  const auto body = std::make_shared<const std::string>(line);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (pulses_[i].gone || i == except) continue;
    peers_[i].link.drop_output();
    peers_[i].link.send(FrameKind::failure, 0, body);
  }
  const auto told = [&](const Peer& peer) {
    const auto i = static_cast<std::size_t>(&peer - peers_.data());
    return pulses_[i].gone || i == except || peer.link.is_delivered();
  };
  while (!std::all_of(peers_.begin(), peers_.end(), told) && Clock::now() < end) {
    for (Peer& peer : peers_) {
      peer.link.write();
      // What is not read when the connection closes takes along what was written.
      (void)peer.link.read();
    }
    ::poll(nullptr, 0, 1);
  }
}

// The handler first, which often ends the process with the right line, then those who wait.
void ControlLoop::end_with_failure() {
  std::unique_lock lock(mutex_);
  if (own_failure_ || !handler_) {
    visible_ = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return stop_ || (handler_ && !own_failure_); });
  if (stop_) return;
  const auto handler = handler_;
  const std::string line = *failure_;
  lock.unlock();
  handler(line);
  lock.lock();
  visible_ = true;
  changed_.notify_all();
}

}  // namespace paceline::real
