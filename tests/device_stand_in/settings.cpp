#include "tests/device_stand_in/settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace paceline::stand_in {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const std::string value = variable(name);
  return value.empty() ? otherwise : std::stoull(value);
}

// CUDA shows those alone that CUDA_VISIBLE_DEVICES names.
int visible_devices() {
  const int there = static_cast<int>(number("PACELINE_STAND_IN_DEVICES", 1));
  if (std::getenv("CUDA_VISIBLE_DEVICES") == nullptr) return there;
  const std::string named = variable("CUDA_VISIBLE_DEVICES");
  if (named.empty()) return 0;
  return std::min(there, static_cast<int>(std::ranges::count(named, ',')) + 1);
}

// KIND:N, the Nth call of that kind; KIND:N@R, in the process of rank R alone.
struct Fault {
  std::string kind;
  std::uint64_t call = 0;
};

Fault read_fault() {
  const std::string text = variable("PACELINE_STAND_IN_FAULT");
  const auto colon = text.find(':');
  if (colon == std::string::npos) return {};
  const auto at = text.find('@');
  if (at != std::string::npos && text.substr(at + 1) != variable("RANK")) return {};
  return {text.substr(0, colon), std::stoull(text.substr(colon + 1, at))};
}

}  // namespace

const Settings& settings() {
  static const Settings read{visible_devices(), number("PACELINE_STAND_IN_SEED", 1),
                             static_cast<int>(number("PACELINE_STAND_IN_NCCL_VERSION", 0))};
  return read;
}

bool is_at_fault(std::string_view kind) {
  static const Fault fault = read_fault();
  static std::mutex mutex;
  static std::uint64_t calls = 0;
  if (fault.kind != kind) return false;
  const std::lock_guard lock(mutex);
  return ++calls == fault.call;
}

void misused(const std::string& how) {
  std::fprintf(stderr, "device stand-in: %s\n", how.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace paceline::stand_in
