#include "real/scratch_pool.h"

#include <algorithm>
#include <utility>

namespace paceline::real {

std::unique_ptr<Buffer> ScratchPool::take(DataType type, ElementCount count) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::ranges::find_if(free_, [&](const auto& buffer) {
      return buffer->type() == type && buffer->count() >= count;
    });
    if (fits != free_.end()) {
      auto buffer = std::move(*fits);
      free_.erase(fits);
      return buffer;
    }
  }
  return communicator_.allocate(type, count);
}

void ScratchPool::give_back(std::unique_ptr<Buffer> buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace paceline::real
