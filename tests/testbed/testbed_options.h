#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline::testbed {

// What every host's link to the switch is like, in each direction.
struct LinkOptions {
  BytesPerSecond rate;    // of IP packets, their headers counted
  Seconds latency;        // one way, host to host
  std::uint32_t mtu = 0;  // bytes
};

struct RunOptions {
  std::uint32_t hosts = 0;
  LinkOptions link;
  std::optional<std::uint32_t> inside;  // the host that COMMAND runs in; none: the caller's own
  Seconds limit;                        // then all is ended
  std::string stats_file;               // empty: none
  std::vector<std::string> command;
};

// `what` is one line for the user.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[nodiscard]] const char* usage();

// From the arguments after the program's name. Throws UsageError.
[[nodiscard]] RunOptions parse_run_options(const std::vector<std::string>& arguments);

// A whole number in [least, most]. Throws UsageError, which names what it is for.
[[nodiscard]] std::uint32_t parse_count(const std::string& what, const std::string& text,
                                        std::uint32_t least, std::uint32_t most);

}  // namespace paceline::testbed
