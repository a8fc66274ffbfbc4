#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "models/units/units.h"

namespace paceline {

// Where a command is, for who waits for it.
struct Progress {
  std::size_t done = 0;
  std::optional<std::size_t> all = std::nullopt;  // nullopt: not known before
  std::string_view of = "points";
  std::string doing = {};  // empty: nothing that takes long
  std::string at = {};     // how far that is, where it is known: "step 3 of 20"
  std::optional<Seconds> about = std::nullopt;  // what that takes in all, on one core
  bool is_over = false;                         // nothing goes on any more
  std::size_t known = 0;                        // of those done, which took no time
};

// Called from any thread, never two calls at once. Empty: nobody waits.
using TellProgress = std::function<void(const Progress&)>;

// Says at its end, whatever brought it, that nothing goes on any more.
class ProgressEnd {
 public:
  explicit ProgressEnd(const TellProgress& tell) : tell_(tell) {}
  ProgressEnd(const ProgressEnd&) = delete;
  ProgressEnd& operator=(const ProgressEnd&) = delete;
  ~ProgressEnd() {
    if (tell_) tell_({.is_over = true});
  }

 private:
  const TellProgress& tell_;
};

}  // namespace paceline
