#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "models/collectives/plan.h"
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

// Carries out plans on a communicator: the same rounds, chunks and windows that are simulated.
//
// Each channel has a thread of its own, the first the caller's. Receives of the next round are
// posted while a round is under way where nothing is in their way, so that no transfer waits for
// its receiver.
class PlanRunner {
 public:
  explicit PlanRunner(Communicator& communicator)
      : communicator_(communicator), scratch_(communicator) {}

  // This rank's part of the plan; channel c uses stream `first + c`. May be called by several
  // threads at a time, with other streams.
  // Preconditions: as many ranks as the communicator, no servers, the buffer at least buffer_size.
  // Throws BackendError.
  void run(const collectives::Plan& plan, Buffer& buffer, Stream first);

 private:
  Communicator& communicator_;
  ScratchPool scratch_;
};

}  // namespace paceline::real
