#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "models/units/units.h"
#include "sim/call_table.h"

namespace paceline::sim {

// What the ranks of a step write to one another: one connection from each to each, for all calls,
// and in order. A receiver's word that it is ready stands behind the data written before it.
class Wires {
 public:
  using Left = std::function<void()>;

  // Data that `from` writes to `to` from `time` on. `data` names it until it has left.
  void write(Actor from, Actor to, Seconds time, const void* data);
  void has_left(Actor from, Actor to, const void* data);
  // Whether a word that is said now leaves at once. Where it does not, `left` is called when it
  // does.
  bool say(Actor from, Actor to, Seconds now, Left left);

 private:
  struct Data {
    const void* data;
    Seconds written;
  };
  struct Word {
    std::vector<const void*> behind;  // data that was written before and has not left
    Left left;
  };
  struct Wire {
    std::vector<Data> data;
    std::vector<Word> words;
  };

  std::map<std::pair<Actor, Actor>, Wire> wires_;
};

}  // namespace paceline::sim
