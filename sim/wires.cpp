#include "sim/wires.h"

#include <algorithm>
#include <iterator>

namespace paceline::sim {
namespace {

// When data come to a rank and, behind them, the word for data of its own, those are written before
// it says its next word: the first is done by a thread that is awake, the other by one that has to
// be woken. Sums of the same times differ by rounding.
constexpr Seconds at_once(1e-9);

}  // namespace

void Wires::write(Actor from, Actor to, Seconds time, const void* data) {
  wires_[{from, to}].data.push_back({data, time});
}

void Wires::has_left(Actor from, Actor to, const void* data) {
  Wire& wire = wires_.at({from, to});
  wire.data.erase(std::ranges::find(wire.data, data, &Data::data));
  for (Word& word : wire.words) std::erase(word.behind, data);
  const auto still_waiting = std::ranges::stable_partition(
      wire.words, [](const Word& word) { return word.behind.empty(); });
  std::vector<Word> left(std::make_move_iterator(wire.words.begin()),
                         std::make_move_iterator(still_waiting.begin()));
  wire.words.erase(wire.words.begin(), still_waiting.begin());
  // They may write and say more.
  for (const Word& word : left) word.left();
}

bool Wires::say(Actor from, Actor to, Seconds now, Left left) {
  const auto wire = wires_.find({from, to});
  if (wire == wires_.end()) return true;
  std::vector<const void*> behind;
  for (const Data& data : wire->second.data) {
    if (data.written <= now + at_once) behind.push_back(data.data);
  }
  if (behind.empty()) return true;
  wire->second.words.push_back({std::move(behind), std::move(left)});
  return false;
}

}  // namespace paceline::sim
