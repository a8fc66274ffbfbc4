#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline::collectives {

using paceline::to_text;

enum class Collective {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  scatter,
  gather
};

constexpr auto words_of(Collective) {
  return words_up_to<Collective::gather>("all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                         "reduce", "all_to_all", "scatter", "gather");
}

// Whether one rank, the root, sends or gets what the others do not.
[[nodiscard]] bool has_root(Collective collective);

enum class Arrival { copy, reduce };

// Elements begin, begin+1, ... begin+count-1 of the buffer.
struct ElementRange {
  ElementCount begin;
  ElementCount count;

  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

// How a range is cut in chunks, which may be empty: fewer elements than chunks are no error.
class Partition {
 public:
  // The first (count mod chunks) chunks have one element more than the others.
  [[nodiscard]] static Partition even(ElementRange whole, std::uint64_t chunks);
  // Every chunk has `block` elements, but the last that has any may be shorter; later ones are
  // empty. Precondition: block * chunks covers the range.
  [[nodiscard]] static Partition blocks(ElementRange whole, std::uint64_t chunks,
                                        ElementCount block);
  // The same chunks, of each only part number `index` when it is cut evenly in `parts`: so that
  // several channels share every chunk. Precondition: the chunks are whole so far.
  [[nodiscard]] Partition part(std::uint64_t index, std::uint64_t parts) const;
  // The same chunks, all `by` elements later.
  [[nodiscard]] Partition moved(ElementCount by) const;

  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
  // Whether all chunks have the same number of elements.
  [[nodiscard]] bool is_uniform() const;
  [[nodiscard]] double mean_elements() const;  // of a chunk
  // Equal for partitions whose chunks have the same sizes, wherever they lie.
  [[nodiscard]] std::array<std::uint64_t, 5> sizes_key() const;
  [[nodiscard]] ElementRange chunk(std::uint64_t index) const;
  // Chunks first .. first+length-1 as one range. Precondition: whole chunks, or a length of 1.
  [[nodiscard]] ElementRange chunks_from(std::uint64_t first, std::uint64_t length) const;
  // The same going round the end: then two ranges. Precondition: 1 to all chunks, whole ones.
  [[nodiscard]] std::vector<ElementRange> chunks_round(std::uint64_t first,
                                                       std::uint64_t length) const;

 private:
  Partition(ElementRange whole, std::uint64_t chunks, std::optional<ElementCount> block)
      : whole_(whole), chunks_(chunks), block_(block) {}

  ElementRange whole_;
  std::uint64_t chunks_;
  std::optional<ElementCount> block_;
  std::uint64_t part_ = 0;
  std::uint64_t parts_ = 1;
};

// Says which chunk moves at repeat i of a round: number first + i*step, modulo the number of chunks
// if cyclic. If not, a number out of range is no transfer (pipelines that fill and drain).
//
// A number is a chunk of the partition. With `owners` it is a position, and the chunk is the one
// with the number of the rank at that position: so a ring numbers its positions.
struct ChunkRule {
  Partition partition;
  std::int64_t first;
  std::int64_t step;
  bool cyclic;
  std::shared_ptr<const std::vector<Rank>> owners = nullptr;

  // The same range at every repeat.
  [[nodiscard]] static ChunkRule always(ElementRange range);

  // Empty when nothing moves at this repeat.
  [[nodiscard]] ElementRange at(std::uint64_t repeat) const;
  // At how many of the first `repeats` there is a chunk, which may be empty. Constant time.
  [[nodiscard]] std::uint64_t chunks_in(std::uint64_t repeats) const;
};

struct Send {
  Rank to;
  ChunkRule chunk;
  Arrival arrival;
  // Elements from where the chunk lies with the sender to where it lands: 0 but in an all-to-all.
  std::int64_t shift = 0;
};

using Sends = std::vector<Send>;

// Consecutive rounds of one shape: the same senders, receivers and kind of arrival at each repeat,
// with other chunks. Transfers are generated on demand, so that memory does not grow with ranks.
//
// Who sends to whom depends on the element count only through the numbers of channels, rounds and
// repeats: plans of one algorithm that agree in those differ in sizes only.
struct Round {
  std::uint64_t repeats;
  // What an endpoint sends, in order.
  std::function<Sends(Rank)> sends;
  // The endpoints that send to a rank, each once; arrivals reduce in this order.
  std::function<std::vector<Rank>(Rank)> sources;
};

// A sequence of rounds; channels run at the same time, each with its own round counter per rank.
//
// A rank may start round i when its own transfers of all rounds up to i - window are done, and the
// first repeat of a Round when all before are; there is no barrier among ranks. It sends only what
// it held then. A transfer starts when both its ends have started its round, over sockets when its
// sender has (topology::MessageTiming), and ends when both have. Window 1 is the plain rule;
// libraries with several segments in flight (Gloo: two, in each phase) have a larger one.
struct Channel {
  std::vector<Round> rounds;
  std::uint32_t window = 1;
};

// One collective call on `count` elements. Chunk ranges refer to a buffer of that many elements on
// every rank (for reduce-scatter, all-gather, scatter and gather: the whole array, of which rank r
// owns chunk r of Partition::even over the ranks; what a scatter leaves in the other chunks of a
// rank, or a gather in those of a rank that is not the root, does not matter). An all-to-all's
// buffer is twice as long: it sends from the first half and receives into the second, in the blocks
// of AllToAllBlocks.
//
// The plan's endpoints are its ranks and, numbered after them, others, which contribute nothing
// and need not keep anything: servers, unless one of them is the root, and then the switches of the
// ranks' nodes, in the nodes' order, which reduce and copy within their node, and behind those the
// switches of the network, as one. The buffer of such an endpoint starts empty: the first arrival
// there is copied, also where the plan says reduce. A switch keeps nothing: what it sends in a
// round it no longer has after it.
struct Plan {
  Collective collective;
  RankCount ranks;
  ElementCount count;
  Rank root;  // 0 where there is none (has_root); of a reduce or broadcast it may be a server
  std::vector<Channel> channels;
  std::uint32_t servers = 0;
  std::uint32_t switches = 0;       // of the nodes
  bool has_network_switch = false;  // only behind one a node, used or not

  [[nodiscard]] RankCount endpoints() const {
    return RankCount(ranks.value() + servers + switches + (has_network_switch ? 1 : 0));
  }
};

// An all-to-all moves p blocks of floor(count / p) elements a rank: block s of the first half is
// for rank s, block s of the second half comes from rank s. A rank's own block is not moved, nor
// are the elements left over, fewer than p: as in MPI_Alltoall and nccl-tests' alltoall.cu.
struct AllToAllBlocks {
  RankCount ranks;
  ElementCount count;

  [[nodiscard]] ElementRange sent(Rank to) const;
  [[nodiscard]] ElementRange received(Rank from) const;
};

// Elements of the buffer that a plan's ranges refer to.
[[nodiscard]] ElementCount buffer_size(const Plan& plan);

// The most rounds any channel has.
[[nodiscard]] std::uint64_t round_count(const Plan& plan);

// Visits the rounds of a channel that repeat at least once, each with the one before it, or null.
template <class Visit>
void for_each_round(const Channel& channel, Visit visit) {
  const Round* before = nullptr;
  for (const Round& round : channel.rounds) {
    if (round.repeats == 0) continue;
    visit(round, before);
    before = &round;
  }
}

// Calls `visit(from, send)` for each send of a round, by ascending sender.
template <class Visit>
void for_each_send(const Round& round, RankCount endpoints, Visit visit) {
  for (std::uint32_t from = 0; from < endpoints.value(); ++from) {
    for (const Send& send : round.sends(Rank(from))) visit(Rank(from), send);
  }
}

// Whether one of two ranks sends to the other in the round before; false when that is null.
[[nodiscard]] bool were_peers(const Round* before, Rank one, Rank other);

}  // namespace paceline::collectives
