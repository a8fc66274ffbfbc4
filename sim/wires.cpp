#include "sim/wires.h"

#include <algorithm>
#include <iterator>

namespace paceline::sim {
namespace {

// Sums of the same times may differ by rounding. Where data and a word come together, the one that
// is answered by data is first: it needs nobody to wake up.
constexpr Seconds at_once(1e-9);

bool is_behind(Seconds said, Seconds written) { return written <= said + at_once; }

}  // namespace

void Wires::write(Actor from, Actor to, Seconds time, const void* data) {
  wires_[{from, to}].data.push_back({data, time});
}

void Wires::has_left(Actor from, Actor to, const void* data) {
  Wire& wire = wires_.at({from, to});
  const auto found = std::ranges::find(wire.data, data, &Data::data);
  const Seconds written = found->written;
  wire.data.erase(found);
  for (Word& word : wire.words) {
    if (is_behind(word.said, written)) --word.behind;
  }
  const auto still_waiting =
      std::ranges::stable_partition(wire.words, [](const Word& word) { return word.behind == 0; });
  std::vector<Word> left(std::make_move_iterator(wire.words.begin()),
                         std::make_move_iterator(still_waiting.begin()));
  wire.words.erase(wire.words.begin(), still_waiting.begin());
  // They may write and say more.
  for (const Word& word : left) word.left();
}

bool Wires::say(Actor from, Actor to, Seconds now, Left left) {
  const auto wire = wires_.find({from, to});
  if (wire == wires_.end()) return true;
  const auto behind = std::ranges::count_if(
      wire->second.data, [now](const Data& data) { return is_behind(now, data.written); });
  if (behind == 0) return true;
  wire->second.words.push_back({now, static_cast<std::size_t>(behind), std::move(left)});
  return false;
}

}  // namespace paceline::sim
