#pragma once

#include "models/run/call_times.h"

namespace paceline::test {

// Of a call that no rank waited in.
inline CallTimes call(Bytes size, Seconds transfer) {
  CallTimes made;
  made.size = size;
  made.transfer = transfer;
  return made;
}

}  // namespace paceline::test
