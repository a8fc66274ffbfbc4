#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "real/backend.h"

namespace paceline::real {

// Buffers for what is not yet in its place, reused: a measured step allocates nothing.
class ScratchPool {
 public:
  explicit ScratchPool(Communicator& communicator) : communicator_(communicator) {}

  [[nodiscard]] std::unique_ptr<Buffer> take(DataType type, ElementCount count) {
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
  void give_back(std::unique_ptr<Buffer> buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  Communicator& communicator_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> free_;
};

}  // namespace paceline::real
