#include "sim/folded/network.h"

#include <algorithm>
#include <utility>

namespace paceline::sim {
namespace {

// Mostly it is so.
template <class Things, class Number>
void put_in_order(Things& things, Number number) {
  if (!std::ranges::is_sorted(things, {}, number)) std::ranges::sort(things, {}, number);
}

}  // namespace

std::uint64_t Network::push(Event event) {
  event.number = events_made_++;
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
  return event.number;
}

void Network::push_after(double seconds, Flow* flow) {
  constexpr std::size_t few = 8;
  Event event{now_ + seconds, 0, flow, 0, Event::Kind::flow};
  auto found = std::ranges::find(latencies_, seconds, &Latency::seconds);
  if (found == latencies_.end()) {
    if (latencies_.size() == few) {
      push(event);
      return;
    }
    found = latencies_.insert(found, {seconds});
  }
  auto& [of_all, events, first] = *found;
  if (2 * first > events.size()) {
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(first));
    first = 0;
  }
  event.number = events_made_++;
  events.push_back(event);
}

double Network::next_event() const {
  double next = events_.empty() ? never : events_.front().time;
  for (const Latency& latency : latencies_) next = std::min(next, latency.next());
  return next;
}

double Network::next_timer() const {
  double next = never;
  for (const Event& event : events_) {
    if (event.kind == Event::Kind::timer) next = std::min(next, event.time);
  }
  return next;
}

void Network::set_forward(double time) {
  now_ += time;
  for (Event& event : events_) {
    if (event.kind != Event::Kind::timer) event.time += time;
  }
  std::ranges::make_heap(events_, std::greater<>());
  for (Latency& latency : latencies_) {
    for (Event& event : latency.events) event.time += time;
  }
  for (Flow& flow : pool_) flow.phase_end += time;
}

void Network::at(Seconds time, std::function<void()> action) {
  if (free_timers_.empty()) {
    free_timers_.push_back(static_cast<std::uint32_t>(timers_.size()));
    timers_.emplace_back();
  }
  const std::uint32_t timer = free_timers_.back();
  free_timers_.pop_back();
  timers_[timer] = std::move(action);
  push({time.value(), 0, nullptr, timer, Event::Kind::timer});
}

Network::Flow* Network::new_flow() {
  if (free_.empty()) free_.push_back(&pool_.emplace_back());
  Flow* flow = free_.back();
  free_.pop_back();
  return flow;
}

void Network::send(PathId path, double bytes, Seconds extra, void* tag, Connection* connection) {
  Flow* flow = new_flow();
  const topology::MessageTiming& timing = this->timing(path);
  const double latency = (timing.latency_of(bytes) - timing.latency_after() + extra).value();
  *flow = {tag, connection, path, Phase::latency, true, bytes, now_ + latency, flows_sent_++};
  if (connection != nullptr) connection->flows.push_back(flow);
  if (latency > 0) {
    push_after(latency, flow);
  } else {
    pass_latency(flow);
  }
}

void Network::hand_back_after(Seconds delay, void* tag) {
  Flow* flow = new_flow();
  *flow = {tag, nullptr, 0, Phase::handed_back, true, 0, now_ + delay.value(), 0};
  push_after(delay.value(), flow);
}

void Network::pass_latency(Flow* flow) {
  flow->phase = Phase::waiting;
  if (flow->connection == nullptr || flow->connection->flows.front() == flow) start(flow);
}

void Network::start(Flow* flow) {
  flow->phase = Phase::moving;
  move(flow);
}

void Network::take_due() {
  const double end = now_ + simultaneous_s;
  due_.clear();
  while (!events_.empty() && events_.front().time <= end) {
    due_.push_back(events_.front());
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    events_.pop_back();
  }
  for (Latency& latency : latencies_) {
    while (latency.next() <= end) due_.push_back(latency.events[latency.first++]);
  }
  put_in_order(due_, &Event::number);
}

void Network::happen() {
  for (take_due(); !due_.empty() || !ended_.empty(); take_due()) {
    for (const Event& event : due_) handle(event);
    arrivals_.swap(ended_);
    put_in_order(arrivals_, &Flow::number);
    for (Flow* flow : arrivals_) arrived(flow);
    arrivals_.clear();
  }
}

void Network::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::timer: {
      const std::function<void()> action = std::move(timers_[event.subject]);
      free_timers_.push_back(event.subject);
      action();
      return;
    }
    case Event::Kind::flow:
      return event.flow->phase == Phase::latency ? pass_latency(event.flow) : hand_back(event.flow);
    case Event::Kind::completion: return complete(event.subject, event.number);
  }
}

void Network::arrived(Flow* flow) {
  if (Connection* connection = flow->connection) {
    connection->flows.pop_front();
    if (!connection->flows.empty()) {
      Flow* next = connection->flows.front();
      if (next->phase == Phase::waiting) start(next);
    }
  }
  hand_back(flow);
}

void Network::hand_back(Flow* flow) {
  void* tag = flow->tag;
  flow->in_use = false;
  free_.push_back(flow);
  on_arrival_(tag);
}

}  // namespace paceline::sim
