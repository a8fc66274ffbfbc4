#include "real/plan_runner.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "models/contract.h"
#include "models/topology/cluster.h"

namespace paceline::real {
namespace {

using collectives::Channel;
using collectives::Plan;
using collectives::Round;
using collectives::Send;

// How many rounds ahead receives from peers of the round before are posted, so that ready
// notifications leave before data on the same host. A new peer that is early has to wait: its data
// would take bandwidth from late ranks.
constexpr std::size_t rounds_ahead = topology::rounds_announced_ahead;

bool overlap(ElementRange a, ElementRange b) {
  return a.begin < b.begin + b.count && b.begin < a.begin + a.count;
}

std::vector<ElementRange> pieces_of(ElementRange range, ElementCount most) {
  std::vector<ElementRange> pieces;
  const ElementCount end = range.begin + range.count;
  for (ElementCount begin = range.begin; begin < end; begin += most) {
    pieces.push_back({begin, std::min(most, end - begin)});
  }
  return pieces;
}

// What one rank does in the rounds of a shape.
struct Part {
  struct Outgoing {
    Send send;
    bool were_peers;  // in the round before
  };
  struct Incoming {
    Rank from;
    Send send;
    bool were_peers;
  };

  std::uint64_t repeats;
  bool is_first;
  std::vector<Outgoing> sends;
  std::vector<Incoming> arrivals;  // in the order in which they are added
};

Part part_of(const Round& round, const Round* before, Rank rank) {
  Part part{round.repeats, before == nullptr, {}, {}};
  for (const Send& send : round.sends(rank)) {
    part.sends.push_back({send, collectives::were_peers(before, rank, send.to)});
  }
  for (const Rank source : round.sources(rank)) {
    for (const Send& send : round.sends(source)) {
      if (send.to != rank) continue;
      part.arrivals.push_back({source, send, collectives::were_peers(before, source, rank)});
    }
  }
  return part;
}

struct OutgoingPiece {
  Rank to;
  ElementRange range;
  bool were_peers;  // as topology::MessageTiming has it
  EventPtr event;
};

struct IncomingPiece {
  Rank from;
  ElementRange range;
  Arrival arrival;
  bool were_peers;                  // likewise
  std::unique_ptr<Buffer> scratch;  // null: arrives in its place
  EventPtr event;                   // null: not posted
};

struct LiveRound {
  // A ready notification to a peer, or from it.
  struct Notification {
    Rank peer;
    std::unique_ptr<Buffer> buffer;  // one element; its value does not matter
    EventPtr event;
  };

  bool begins_shape;  // begins when all before it is done
  std::vector<Notification> notifications;
  std::vector<OutgoingPiece> outgoing;
  std::vector<IncomingPiece> incoming;
};

// One channel of a plan as one rank carries it out.
class ChannelRun {
 public:
  ChannelRun(const Channel& channel, Communicator& communicator, ScratchPool& scratch,
             Buffer& buffer, Stream stream, Stream notification_stream)
      : communicator_(communicator),
        scratch_(scratch),
        buffer_(buffer),
        stream_(stream),
        notification_stream_(notification_stream),
        window_(channel.window) {
    collectives::for_each_round(channel, [&](const Round& round, const Round* before) {
      parts_.push_back(part_of(round, before, communicator.rank()));
    });
    const ElementSize size = element_size(buffer.type());
    piece_ = ElementCount(std::max<std::uint64_t>(1, communicator.piece().value() / size.value()));
  }

  // Posts the receives of the first rounds, where they need not stay with sends.
  void begin() {
    if (communicator_.in_order() || !has_next()) return;
    live_.push_back(next_round());
    post(live_.front(), Parts::receives);
    receive_ahead();
  }

  void run() {
    while (true) {
      post_all();
      if (live_.empty()) break;
      finish(live_.front());
      live_.pop_front();
      ++done_;
    }
    if (communicator_.in_order()) communicator_.finish(stream_);
  }

 private:
  [[nodiscard]] bool has_next() const { return part_ < parts_.size(); }

  void post_all() {
    while (posted_ < done_ + window_) {
      if (posted_ == done_ + live_.size()) {
        if (!has_next()) return;
        live_.push_back(next_round());
      }
      LiveRound& round = live_[posted_ - done_];
      if (round.begins_shape && posted_ > done_) return;
      if (communicator_.in_order()) {
        post(round, Parts::both);
      } else {
        post(round, Parts::receives);
        // Ready notifications go out before this round's data, not behind it.
        receive_ahead();
        if (communicator_.sends_early()) notify_senders(round);
        post(round, Parts::sends);
        if (communicator_.sends_early()) send_when_notified(round);
      }
      ++posted_;
    }
  }

  LiveRound next_round() {
    const Part& part = parts_[part_];
    const bool begins = repeat_ == 0;
    LiveRound round{begins, {}, {}, {}};
    for (const auto& [send, were_peers] : part.sends) {
      for (const ElementRange range : pieces_of(send.chunk.at(repeat_), piece_)) {
        round.outgoing.push_back({send.to, range, part.is_first || were_peers || !begins, nullptr});
      }
    }
    for (const auto& [from, send, were_peers] : part.arrivals) {
      for (ElementRange range : pieces_of(send.chunk.at(repeat_), piece_)) {
        range.begin = ElementCount(range.begin.value() + static_cast<std::uint64_t>(send.shift));
        round.incoming.push_back(
            {from, range, send.arrival, part.is_first || were_peers || !begins, nullptr, nullptr});
      }
    }
    if (++repeat_ == part.repeats) {
      ++part_;
      repeat_ = 0;
    }
    return round;
  }

  // What is added, or would arrive on top of something in flight, arrives in scratch.
  Message receive_into_place(LiveRound& round, IncomingPiece& piece) {
    const auto touches = [&](const auto& other) { return overlap(other.range, piece.range); };
    const bool in_the_way = std::ranges::any_of(live_, [&](const LiveRound& other) {
      if (&other == &round) return std::ranges::any_of(other.outgoing, touches);
      // In order, other rounds are done before this one begins, or begin when it is done.
      return !communicator_.in_order() && (std::ranges::any_of(other.outgoing, touches) ||
                                           std::ranges::any_of(other.incoming, touches));
    });
    if (piece.arrival == Arrival::reduce || in_the_way) {
      piece.scratch = scratch_.take(buffer_.type(), piece.range.count);
      return {Message::Kind::receive,
              piece.from,
              piece.scratch.get(),
              {ElementCount(0), piece.range.count}};
    }
    return {Message::Kind::receive, piece.from, &buffer_, piece.range};
  }

  enum class Parts { receives, sends, both };

  // What of a round is not posted yet.
  void post(LiveRound& round, Parts parts) {
    std::vector<Message> messages;
    std::vector<EventPtr*> slots;
    if (parts != Parts::sends) {
      for (IncomingPiece& piece : round.incoming) {
        if (piece.event) continue;
        messages.push_back(receive_into_place(round, piece));
        slots.push_back(&piece.event);
      }
    }
    if (parts != Parts::receives) {
      for (OutgoingPiece& piece : round.outgoing) {
        if (communicator_.sends_early() && !piece.were_peers) continue;
        messages.push_back({Message::Kind::send, piece.to, &buffer_, piece.range});
        slots.push_back(&piece.event);
      }
    }
    take_events(messages, slots);
  }

  void post_notification(LiveRound& round, Message::Kind kind, Rank peer) {
    auto buffer = scratch_.take(buffer_.type(), ElementCount(1));
    const Message message{kind, peer, buffer.get(), {ElementCount(0), ElementCount(1)}};
    auto events = communicator_.post({&message, 1}, notification_stream_);
    round.notifications.push_back({peer, std::move(buffer), std::move(events.front())});
  }

  // Messages to new peers of an eager communicator wait for this; others wait by themselves.
  void notify_senders(LiveRound& round) {
    std::set<Rank> new_peers;
    for (const IncomingPiece& piece : round.incoming) {
      if (!piece.were_peers) new_peers.insert(piece.from);
    }
    for (const Rank from : new_peers) post_notification(round, Message::Kind::send, from);
  }

  void send_when_notified(LiveRound& round) {
    std::set<Rank> new_peers;
    for (const OutgoingPiece& piece : round.outgoing) {
      if (!piece.were_peers) new_peers.insert(piece.to);
    }
    const std::size_t first = round.notifications.size();
    for (const Rank to : new_peers) post_notification(round, Message::Kind::receive, to);
    for (std::size_t i = first; i < round.notifications.size(); ++i) {
      round.notifications[i].event->wait();
      std::vector<Message> messages;
      std::vector<EventPtr*> slots;
      for (OutgoingPiece& piece : round.outgoing) {
        if (piece.were_peers || piece.to != round.notifications[i].peer) continue;
        messages.push_back({Message::Kind::send, piece.to, &buffer_, piece.range});
        slots.push_back(&piece.event);
      }
      take_events(messages, slots);
    }
  }

  void take_events(const std::vector<Message>& messages, const std::vector<EventPtr*>& slots) {
    if (messages.empty()) return;
    auto events = communicator_.post(messages, stream_);
    for (std::size_t i = 0; i < slots.size(); ++i) *slots[i] = std::move(events[i]);
  }

  // Receives of rounds to come, those of a rank in the order of its sends. In order, a round's
  // sends and receives stay together.
  void receive_ahead() {
    while (has_next() && live_.size() <= posted_ - done_ + rounds_ahead) {
      live_.push_back(next_round());
    }
    std::vector<Message> messages;
    std::vector<EventPtr*> slots;
    std::set<Rank> waiting;
    for (std::size_t i = posted_ - done_ + 1; i < live_.size(); ++i) {
      for (IncomingPiece& piece : live_[i].incoming) {
        if (piece.event || waiting.contains(piece.from)) continue;
        if (!piece.were_peers) {
          waiting.insert(piece.from);
          continue;
        }
        messages.push_back(receive_into_place(live_[i], piece));
        slots.push_back(&piece.event);
      }
    }
    take_events(messages, slots);
  }

  void wait(const EventPtr& event) const {
    if (!communicator_.in_order()) event->wait();
  }

  // Puts everything in its place, in the listed order, as it arrives.
  void finish(LiveRound& round) {
    for (IncomingPiece& piece : round.incoming) {
      wait(piece.event);
      if (!piece.scratch) continue;
      // Sends of the old values must finish before new ones overwrite them.
      for (const LiveRound& other : live_) {
        for (const OutgoingPiece& out : other.outgoing) {
          if (out.event && overlap(out.range, piece.range)) wait(out.event);
        }
      }
      communicator_.put(piece.arrival, buffer_, piece.range, *piece.scratch, ElementCount(0),
                        stream_);
      communicator_.in_order() ? kept_.push_back(std::move(piece.scratch))
                               : scratch_.give_back(std::move(piece.scratch));
    }
    for (const OutgoingPiece& piece : round.outgoing) wait(piece.event);
    for (LiveRound::Notification& notification : round.notifications) {
      wait(notification.event);
      scratch_.give_back(std::move(notification.buffer));
    }
  }

  Communicator& communicator_;
  ScratchPool& scratch_;
  Buffer& buffer_;
  Stream stream_, notification_stream_;
  std::uint64_t window_;
  ElementCount piece_;
  std::vector<Part> parts_;
  std::size_t part_ = 0;      // of the next round
  std::uint64_t repeat_ = 0;  // likewise
  std::uint64_t done_ = 0;    // rounds
  std::uint64_t posted_ = 0;  // rounds whose sends are posted
  std::deque<LiveRound> live_;
  std::vector<std::unique_ptr<Buffer>> kept_;
};

}  // namespace

void PlanRunner::run(const Plan& plan, Buffer& buffer, Stream first) {
  PACELINE_EXPECTS(communicator_.rank().value() < plan.endpoints().value());
  PACELINE_EXPECTS(plan.endpoints() <= communicator_.size());
  PACELINE_EXPECTS(buffer.count() >= collectives::buffer_size(plan));
  PACELINE_EXPECTS(plan.channels.size() <= channels_max && first % streams_a_call == 0);
  PACELINE_EXPECTS(!(communicator_.in_order() && communicator_.sends_early()));
  std::deque<ChannelRun> channels;
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    const Stream stream = first + static_cast<Stream>(c);
    channels.emplace_back(plan.channels[c], communicator_, scratch_, buffer, stream,
                          stream + channels_max);
    // All channels share a connection: no notification may queue behind another channel's data.
    channels.back().begin();
  }
  std::vector<std::exception_ptr> trouble(plan.channels.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t c = 1; c < plan.channels.size(); ++c) {
      threads.emplace_back([&, c] {
        try {
          channels[c].run();
        } catch (...) {
          trouble[c] = std::current_exception();
        }
      });
    }
    if (!channels.empty()) channels.front().run();
  }
  for (const auto& one : trouble) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace paceline::real
