#include "models/collectives/plan.h"

#include <algorithm>

#include "models/contract.h"

namespace paceline::collectives {

bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::scatter || collective == Collective::gather;
}

Partition Partition::even(ElementRange whole, std::uint64_t chunks) {
  PACELINE_EXPECTS(chunks > 0);
  return {whole, chunks, std::nullopt};
}

Partition Partition::blocks(ElementRange whole, std::uint64_t chunks, ElementCount block) {
  PACELINE_EXPECTS(chunks > 0);
  PACELINE_EXPECTS(block * chunks >= whole.count);
  return {whole, chunks, block};
}

Partition Partition::part(std::uint64_t index, std::uint64_t parts) const {
  PACELINE_EXPECTS(parts_ == 1 && index < parts);
  Partition result = *this;
  result.part_ = index;
  result.parts_ = parts;
  return result;
}

Partition Partition::moved(ElementCount by) const {
  Partition result = *this;
  result.whole_.begin += by;
  return result;
}

// No chunk is larger than one before it, and so no part of one.
bool Partition::is_uniform() const { return chunk(0).count == chunk(chunks_ - 1).count; }

double Partition::mean_elements() const {
  return static_cast<double>(whole_.count.value()) / static_cast<double>(chunks_ * parts_);
}

std::array<std::uint64_t, 5> Partition::sizes_key() const {
  return {whole_.count.value(), chunks_, block_ ? block_->value() + 1 : 0, part_, parts_};
}

ElementRange Partition::chunk(std::uint64_t index) const { return chunks_from(index, 1); }

ElementRange Partition::chunks_from(std::uint64_t first, std::uint64_t length) const {
  PACELINE_EXPECTS(first + length <= chunks_);
  PACELINE_EXPECTS(parts_ == 1 || length == 1);
  const std::uint64_t total = whole_.count.value();
  const auto begin_of = [&](std::uint64_t index) {
    if (block_) return std::min(total, index * block_->value());
    return index * (total / chunks_) + std::min(index, total % chunks_);
  };
  const std::uint64_t begin = begin_of(first);
  const ElementRange range{whole_.begin + ElementCount(begin),
                           ElementCount(begin_of(first + length) - begin)};
  return parts_ == 1 ? range : even(range, parts_).chunk(part_);
}

std::vector<ElementRange> Partition::chunks_round(std::uint64_t first, std::uint64_t length) const {
  PACELINE_EXPECTS(first < chunks_ && 0 < length && length <= chunks_);
  const std::uint64_t before_end = std::min(length, chunks_ - first);
  std::vector<ElementRange> ranges{chunks_from(first, before_end)};
  if (before_end < length) ranges.push_back(chunks_from(0, length - before_end));
  return ranges;
}

ChunkRule ChunkRule::always(ElementRange range) { return {Partition::even(range, 1), 0, 0, true}; }

ElementRange ChunkRule::at(std::uint64_t repeat) const {
  const auto chunks = static_cast<std::int64_t>(partition.chunks());
  std::int64_t index = first + static_cast<std::int64_t>(repeat) * step;
  if (cyclic) {
    index %= chunks;
    if (index < 0) index += chunks;
  } else if (index < 0 || index >= chunks) {
    return {};
  }
  const auto number = static_cast<std::uint64_t>(index);
  return partition.chunk(owners ? paceline::index((*owners)[number]) : number);
}

std::uint64_t ChunkRule::chunks_in(std::uint64_t repeats) const {
  if (cyclic) return repeats;
  const auto chunks = static_cast<std::int64_t>(partition.chunks());
  if (step == 0) return first >= 0 && first < chunks ? repeats : 0;
  // In the direction of the walk: where it begins, before the first chunk or in the range.
  const std::int64_t begin = step > 0 ? first : chunks - 1 - first;
  const std::int64_t stride = step > 0 ? step : -step;
  // The first repeat that is at a place of the range or behind it.
  const auto reaches = [&](std::int64_t place) {
    return place <= begin ? 0 : static_cast<std::uint64_t>((place - begin + stride - 1) / stride);
  };
  return std::min(repeats, reaches(chunks)) - std::min(repeats, reaches(0));
}

ElementRange AllToAllBlocks::sent(Rank to) const {
  const ElementCount block(count.value() / ranks.value());
  return {block * index(to), block};
}

ElementRange AllToAllBlocks::received(Rank from) const {
  const ElementRange block = sent(from);
  return {count + block.begin, block.count};
}

ElementCount buffer_size(const Plan& plan) {
  return plan.collective == Collective::all_to_all ? plan.count * 2 : plan.count;
}

std::uint64_t round_count(const Plan& plan) {
  std::uint64_t most = 0;
  for (const Channel& channel : plan.channels) {
    std::uint64_t rounds = 0;
    for (const Round& round : channel.rounds) rounds += round.repeats;
    most = std::max(most, rounds);
  }
  return most;
}

bool were_peers(const Round* before, Rank one, Rank other) {
  const auto sends = [&](Rank from, Rank to) {
    const Sends all = before->sends(from);
    return std::any_of(all.begin(), all.end(), [&](const Send& send) { return send.to == to; });
  };
  return before != nullptr && (sends(one, other) || sends(other, one));
}

}  // namespace paceline::collectives
