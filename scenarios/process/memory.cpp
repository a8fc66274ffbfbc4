#include "scenarios/process/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <variant>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "PACELINE_MEMORY";

// Only private, writable memory counts: mapped files and reserved address space take none.
constexpr auto resource = RLIMIT_DATA;

std::optional<rlimit> before;

// Sanitizers map shadows of terabytes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_hold = false;
#else
constexpr bool can_hold = true;
#endif

// A limit of a cgroup; nothing for "max" and where there is none.
std::optional<Bytes> limit_in(const fs::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  const auto bytes = number_of<std::uint64_t>(text);
  return bytes ? std::optional(Bytes(*bytes)) : std::nullopt;
}

// Of a group and all that it is in.
void take_least(const fs::path& root, const fs::path& group, const char* name,
                std::optional<Bytes>& least) {
  for (fs::path below = group.relative_path();; below = below.parent_path()) {
    if (const auto limit = limit_in(root / below / name)) {
      least = least ? std::min(*least, *limit) : *limit;
    }
    if (below.empty()) return;
  }
}

// /proc/self/cgroup has NUMBER:CONTROLLERS:GROUP, with no controllers in version 2 (cgroups(7)).
std::optional<Bytes> memory_of_cgroups() {
  std::optional<Bytes> least;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) take_least("/sys/fs/cgroup", group, "memory.max", least);
    if (controllers == "memory") {
      take_least("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", least);
    }
  }
  return least;
}

std::optional<Bytes> memory_of_environment() {
  const char* const given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  const auto size = parse_bytes(given);
  if (const auto* bytes = std::get_if<Bytes>(&size); bytes != nullptr && *bytes > Bytes(0)) {
    return *bytes;
  }
  throw InputError({variable},
                   fmt::format("\"{:.60}\" is not a size above zero", std::string_view(given)),
                   "write 8GiB, or unset it");
}

rlim_t limit_from(Bytes most, rlim_t now) { return std::min<rlim_t>(most.value(), now); }

}  // namespace

std::optional<Bytes> memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  std::optional<Bytes> all = memory_of_cgroups();
  if (pages <= 0 || size <= 0) return all;
  const Bytes physical(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size));
  return all ? std::min(*all, physical) : physical;
}

std::optional<Bytes> memory_to_take() {
  const auto all = memory_of_machine();
  if (!all) return std::nullopt;
  return Bytes(all->value() / 8 * 7);
}

void hold_memory() {
  std::optional<Bytes> most = memory_of_environment();
  if (!most) most = memory_to_take();
  rlimit limit{};
  if (!can_hold || before || !most || ::getrlimit(resource, &limit) != 0) return;
  before = limit;
  limit.rlim_cur = limit_from(*most, limit.rlim_cur);
  ::setrlimit(resource, &limit);
}

std::optional<Bytes> memory_held() {
  rlimit limit{};
  if (!before || ::getrlimit(resource, &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return Bytes(limit.rlim_cur);
}

std::string out_of_memory_text() {
  constexpr const char* what = "there is not enough memory for this";
  constexpr double gibibyte = 1U << 30U;
  rlimit space{};
  const bool is_known = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  const auto held = memory_held();
  if (is_known && (!held || space.rlim_cur < held->value())) {
    return fmt::format("{}: this process is limited to {:.3g} GiB of address space", what,
                       static_cast<double>(space.rlim_cur) / gibibyte);
  }
  if (!held) return what;
  return fmt::format("{}: paceline takes at most {:.3g} GiB; {} sets another limit", what,
                     static_cast<double>(held->value()) / gibibyte, variable);
}

void release_memory(int process) {
  if (before) ::prlimit(process, resource, &*before, nullptr);
}

void limit_memory(int process, Bytes most) {
  rlimit limit{};
  if (!can_hold || ::prlimit(process, RLIMIT_AS, nullptr, &limit) != 0) return;
  limit.rlim_cur = limit_from(most, limit.rlim_cur);
  ::prlimit(process, RLIMIT_AS, &limit, nullptr);
}

}  // namespace paceline
