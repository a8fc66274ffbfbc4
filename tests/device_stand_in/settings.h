#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paceline::stand_in {

// What the environment asks of the stand-in (README.md); read once.
struct Settings {
  int devices = 1;
  std::uint64_t seed = 1;  // of the delays
  int nccl_version = 0;    // 0: that of the header
};
[[nodiscard]] const Settings& settings();

// Counts a call of that kind; true for the one that PACELINE_STAND_IN_FAULT names, and for none
// after it.
[[nodiscard]] bool is_at_fault(std::string_view kind);

// Ends the process, for what a real library answers with a crash or in no defined way.
[[noreturn]] void misused(const std::string& how);

}  // namespace paceline::stand_in
