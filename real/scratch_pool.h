#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "real/backend.h"

namespace paceline::real {

// Buffers for what has arrived and is not yet in its place. Used again and again, so that a step
// that is measured allocates nothing.
class ScratchPool {
 public:
  explicit ScratchPool(Communicator& communicator) : communicator_(communicator) {}

  [[nodiscard]] std::unique_ptr<Buffer> take(DataType type, ElementCount count);
  void give_back(std::unique_ptr<Buffer> buffer);

 private:
  Communicator& communicator_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> free_;
};

}  // namespace paceline::real
