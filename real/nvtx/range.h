#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/units/units.h"

// Ranges on a profiler's timeline (NVTX, domain "paceline"). Thread-safe.
namespace paceline::real::nvtx {

// What a range is about; fields of its payload, in bytes and plain numbers.
struct Call {
  std::uint64_t bucket;  // or the call's number, where it is none of a bucket
  Bytes size;
  std::string_view algorithm;  // "ring", "native"
};

// Whether a profiler listens to the domain. Without one a range costs a test of a constant.
[[nodiscard]] bool is_listened_to();

// A stretch of time that may overlap with any other and end in another thread than it began in.
class Range {
 public:
  // Begins. The text is copied if a profiler listens, and not looked at otherwise.
  Range(const std::string& name, const Call& call);
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { end(); }

  void end();

 private:
  std::optional<std::uint64_t> id_;
};

}  // namespace paceline::real::nvtx
