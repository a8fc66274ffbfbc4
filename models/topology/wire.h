#pragma once

#include <cmath>

#include "models/units/units.h"

namespace paceline::topology {

// What a library's protocol makes of a call's messages, beside the plan that cuts them.
struct Wire {
  double bytes = 1;    // that links carry for each byte of a message; above 0
  Seconds start;       // of a rank, from joining the call to its first message
  Seconds local_hop;   // of a message within a node, on top of its path's latency
  Seconds remote_hop;  // of one between two machines, likewise
  // As in MessageTiming, over any transport and at any size: the library has buffers between sender
  // and receiver, and neither requests nor notifications of the network's.
  bool leaves_first = false;
  bool has_no_hops = false;  // messages have no latency at all: `start` holds that of the call

  // What links carry of a message: whole bytes, where there are more of them than it has.
  [[nodiscard]] double carried(double message) const {
    return bytes == 1 ? message : std::ceil(message * bytes);
  }

  friend auto operator<=>(const Wire&, const Wire&) = default;
};

}  // namespace paceline::topology
