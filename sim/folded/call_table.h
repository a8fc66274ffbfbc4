#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/collectives/plan.h"
#include "models/topology/fabric.h"
#include "models/topology/wire.h"
#include "sim/folded/network.h"

namespace paceline::sim {

// An actor of a simulation: an endpoint of a plan, or a symmetry class of endpoints.
using Actor = std::uint32_t;

// An actor's part in a channel, which numbers its own: an endpoint, or a symmetry class of them.
using Part = std::uint32_t;

// The bytes of a transfer at each repeat of its round.
class TransferSize {
 public:
  // As the rule says, to the element, in bytes that links carry.
  [[nodiscard]] static TransferSize exact(const collectives::ChunkRule& rule, ElementSize element,
                                          const topology::Wire& wire = {});
  // The same at each repeat at which the rule's chunk exists.
  [[nodiscard]] static TransferSize even(const collectives::ChunkRule& rule, double bytes);

  [[nodiscard]] double bytes_at(std::uint64_t repeat) const;
  // Returns the first later repeat at which the size may differ.
  [[nodiscard]] std::uint64_t steady_until(std::uint64_t repeat) const;
  // Returns the first repeat from this one on that has a chunk, or `never`.
  [[nodiscard]] std::uint64_t absent_until(std::uint64_t repeat) const;
  // Whether a chunk has one size wherever it exists.
  [[nodiscard]] bool is_even() const;
  // How many of `repeats` have a chunk, which may be empty.
  [[nodiscard]] std::uint64_t chunks_in(std::uint64_t repeats) const {
    return rule_.chunks_in(repeats);
  }
  // How many of `repeats` have at least a byte.
  [[nodiscard]] std::uint64_t transfers(std::uint64_t repeats) const;

  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

 private:
  TransferSize(const collectives::ChunkRule& rule, ElementSize element, const topology::Wire& wire,
               double even_bytes)
      : rule_(rule), element_(element), wire_(wire), even_bytes_(even_bytes) {}
  [[nodiscard]] bool exists_at(std::uint64_t repeat) const;

  collectives::ChunkRule rule_;
  ElementSize element_;
  topology::Wire wire_;
  double even_bytes_;  // below 0: what the rule says
};

struct PlannedTransfer {
  Part from;
  Part to;
  PathId path;
  std::uint64_t stands_for;  // transfers between the endpoints of the two classes
  TransferSize size;
  // Where it is reduced: how fast its receiver does that. nullopt: it takes no time.
  std::optional<BytesPerSecond> reduction = std::nullopt;
  bool were_peers = false;  // peers in the round before; may be false where timing ignores it
};

// How fast a receiver reduces what links carried, flags not counting; nullopt: in no time.
[[nodiscard]] inline std::optional<BytesPerSecond> reduction_of(collectives::Arrival arrival,
                                                                Rank receiver,
                                                                const topology::Fabric& fabric,
                                                                const topology::Wire& wire) {
  const auto reduction = fabric.reduction_at(receiver);
  if (arrival != collectives::Arrival::reduce || !reduction) return std::nullopt;
  return *reduction * wire.bytes;
}

// One round of a channel, all parts' transfers written out and indexed by both ends.
class RoundShape {
 public:
  RoundShape(std::uint64_t repeats, Part parts, std::vector<PlannedTransfer> transfers);

  [[nodiscard]] std::uint64_t repeats() const { return repeats_; }
  // Whether many repeats may be alike.
  [[nodiscard]] bool may_leap() const { return may_leap_; }
  [[nodiscard]] std::span<const PlannedTransfer> transfers() const { return transfers_; }
  // Indices into transfers().
  [[nodiscard]] std::span<const std::uint32_t> sent_by(Part part) const { return sent_.of(part); }
  [[nodiscard]] std::span<const std::uint32_t> received_by(Part part) const {
    return received_.of(part);
  }

 private:
  struct Rows {
    std::vector<std::uint32_t> entries, begin;
    [[nodiscard]] std::span<const std::uint32_t> of(Part part) const {
      return std::span(entries).subspan(begin[part], begin[part + 1] - begin[part]);
    }
  };
  template <class End>
  [[nodiscard]] Rows rows(Part parts, End end) const;

  std::uint64_t repeats_;
  std::vector<PlannedTransfer> transfers_;
  bool may_leap_;
  Rows sent_, received_;
};

// A channel, or a symmetry class of channels.
struct ChannelTable {
  std::vector<Actor> actor_of;     // by part; ascending
  std::vector<RoundShape> shapes;  // those that repeat at least once
  std::uint64_t rounds = 0;
  std::uint32_t window = 1;

  [[nodiscard]] Part parts() const { return static_cast<Part>(actor_of.size()); }
  // From the first up to, and without, the second.
  [[nodiscard]] std::pair<Part, Part> parts_of(Actor actor) const;
};

// The transfers of a collective call, by actor.
struct CallTable {
  Actor actors = 0;
  std::vector<ChannelTable> channels;
  // Of a call of known time, without channels: how long after the last actor joined all are done.
  std::optional<Seconds> together;
  Seconds start;  // an actor's, from joining to its first message

  // Precondition: actor_of is ascending. An actor may have any number of parts, or none.
  void add_channel(std::vector<Actor> actor_of, std::vector<RoundShape> shapes,
                   std::uint32_t window);
  // How many transfers of at least a byte the call stands for.
  [[nodiscard]] std::uint64_t transfers() const;
};

}  // namespace paceline::sim
