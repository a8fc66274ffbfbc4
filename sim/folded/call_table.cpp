#include "sim/folded/call_table.h"

#include <algorithm>

#include "models/contract.h"

namespace paceline::sim {

using collectives::ChunkRule;

TransferSize TransferSize::exact(const ChunkRule& rule, ElementSize element,
                                 const topology::Wire& wire) {
  return {rule, element, wire, -1};
}

TransferSize TransferSize::even(const ChunkRule& rule, double bytes) {
  return {rule, ElementSize(0), {}, bytes};
}

bool TransferSize::exists_at(std::uint64_t repeat) const {
  if (rule_.cyclic) return true;
  const std::int64_t chunk = rule_.first + static_cast<std::int64_t>(repeat) * rule_.step;
  return chunk >= 0 && chunk < static_cast<std::int64_t>(rule_.partition.chunks());
}

double TransferSize::bytes_at(std::uint64_t repeat) const {
  if (even_bytes_ >= 0) return exists_at(repeat) ? even_bytes_ : 0;
  return wire_.carried(static_cast<double>((rule_.at(repeat).count * element_).value()));
}

bool TransferSize::is_even() const {
  return even_bytes_ >= 0 || rule_.step == 0 || rule_.partition.is_uniform();
}

std::uint64_t TransferSize::steady_until(std::uint64_t repeat) const {
  if (!is_even()) return repeat + 1;
  if (rule_.cyclic || rule_.step == 0) return never;
  // The first later repeat at which the chunk starts or ends to exist, for a step up or down.
  const std::int64_t chunk = rule_.first + static_cast<std::int64_t>(repeat) * rule_.step;
  const auto chunks = static_cast<std::int64_t>(rule_.partition.chunks());
  const std::int64_t ahead = rule_.step > 0 ? chunk : chunks - 1 - chunk;  // in walking direction
  const std::int64_t stride = rule_.step > 0 ? rule_.step : -rule_.step;
  if (ahead >= chunks) return never;
  const std::int64_t left = ahead < 0 ? -ahead : chunks - ahead;
  return repeat + static_cast<std::uint64_t>((left + stride - 1) / stride);
}

std::uint64_t TransferSize::absent_until(std::uint64_t repeat) const {
  if (exists_at(repeat)) return repeat;
  if (rule_.step == 0) return never;
  const std::int64_t chunk = rule_.first + static_cast<std::int64_t>(repeat) * rule_.step;
  const auto chunks = static_cast<std::int64_t>(rule_.partition.chunks());
  // How far the walk is before its first chunk.
  const std::int64_t before = rule_.step > 0 ? -chunk : chunk - (chunks - 1);
  if (before <= 0) return never;
  const std::int64_t stride = rule_.step > 0 ? rule_.step : -rule_.step;
  const std::uint64_t first = repeat + static_cast<std::uint64_t>((before + stride - 1) / stride);
  return exists_at(first) ? first : never;  // a long stride may pass all
}

std::uint64_t TransferSize::transfers(std::uint64_t repeats) const {
  std::uint64_t transfers = 0;
  for (std::uint64_t repeat = 0; repeat < repeats;) {
    const std::uint64_t next = std::min(repeats, steady_until(repeat));
    if (bytes_at(repeat) > 0) transfers += next - repeat;
    repeat = next;
  }
  return transfers;
}

RoundShape::RoundShape(std::uint64_t repeats, Part parts, std::vector<PlannedTransfer> transfers)
    : repeats_(repeats), transfers_(std::move(transfers)) {
  constexpr std::uint64_t worth_leaping = 4;  // fewer repeats are done sooner than compared
  may_leap_ = repeats_ >= worth_leaping &&
              std::all_of(transfers_.begin(), transfers_.end(),
                          [](const auto& transfer) { return transfer.size.is_even(); });
  sent_ = rows(parts, [](const PlannedTransfer& transfer) { return transfer.from; });
  received_ = rows(parts, [](const PlannedTransfer& transfer) { return transfer.to; });
}

template <class End>
RoundShape::Rows RoundShape::rows(Part parts, End end) const {
  Rows rows{std::vector<std::uint32_t>(transfers_.size()), std::vector<std::uint32_t>(parts + 1)};
  for (const PlannedTransfer& transfer : transfers_) ++rows.begin[end(transfer) + 1];
  for (Part p = 0; p < parts; ++p) rows.begin[p + 1] += rows.begin[p];
  std::vector<std::uint32_t> next(rows.begin.begin(), rows.begin.end() - 1);
  for (std::uint32_t i = 0; i < transfers_.size(); ++i) {
    rows.entries[next[end(transfers_[i])]++] = i;
  }
  return rows;
}

std::pair<Part, Part> ChannelTable::parts_of(Actor actor) const {
  const auto [first, last] = std::equal_range(actor_of.begin(), actor_of.end(), actor);
  return {static_cast<Part>(first - actor_of.begin()), static_cast<Part>(last - actor_of.begin())};
}

void CallTable::add_channel(std::vector<Actor> actor_of, std::vector<RoundShape> shapes,
                            std::uint32_t window) {
  PACELINE_EXPECTS(std::ranges::is_sorted(actor_of));
  ChannelTable& channel = channels.emplace_back();
  channel.actor_of = std::move(actor_of);
  channel.window = window;
  for (const RoundShape& shape : shapes) channel.rounds += shape.repeats();
  channel.shapes = std::move(shapes);
}

std::uint64_t CallTable::transfers() const {
  std::uint64_t transfers = 0;
  for (const ChannelTable& channel : channels) {
    for (const RoundShape& shape : channel.shapes) {
      for (const PlannedTransfer& transfer : shape.transfers()) {
        transfers += transfer.stands_for * transfer.size.transfers(shape.repeats());
      }
    }
  }
  return transfers;
}

}  // namespace paceline::sim
