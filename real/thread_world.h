#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "real/backend.h"

namespace paceline::real {

// What the ranks of a group share as threads of one process: one object, gone with the last that
// keeps it. All ranks call it.
template <class World>
[[nodiscard]] std::shared_ptr<World> join_thread_world(Rank rank, Meeting& meeting) {
  static std::mutex mutex;
  static std::uint64_t groups = 0;
  static std::map<std::string, std::weak_ptr<World>> worlds;  // by a name that rank 0 makes up
  std::string mine;
  if (rank == Rank(0)) {
    const std::lock_guard lock(mutex);
    mine = std::to_string(groups++);
  }
  const std::string name = meeting.all_gather(mine).front();
  std::shared_ptr<World> world;
  {
    const std::lock_guard lock(mutex);
    std::erase_if(worlds, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = worlds[name];
    world = entry.lock();
    if (!world) entry = world = std::make_shared<World>();
  }
  // None leaves before all are in, else the last would find an empty world of that name.
  (void)meeting.all_gather("");
  return world;
}

}  // namespace paceline::real
