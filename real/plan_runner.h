#pragma once

#include "models/collectives/plan.h"
#include "real/backend.h"
#include "real/scratch_pool.h"

namespace paceline::real {

// Carries out plans on a communicator: the rounds, chunks and windows that are simulated.
//
// Each channel has a thread, the first the caller's. Receives of the next rounds are posted while
// one is in flight, so that peers of the round before need not wait; new peers wait for a ready
// notification.
class PlanRunner {
 public:
  explicit PlanRunner(Communicator& communicator)
      : communicator_(communicator), scratch_(communicator) {}

  // This rank's part of the plan; its streams begin at `first`. Several threads may call it at a
  // time, with other streams. Preconditions: at most channels_max channels; the plan's endpoints,
  // this rank one of them, are ranks of the communicator, servers the last; the buffer at least
  // buffer_size, a server's without contributions: zeros, or sums of earlier steps. Throws
  // BackendError.
  void run(const collectives::Plan& plan, Buffer& buffer, Stream first);

 private:
  Communicator& communicator_;
  ScratchPool scratch_;
};

}  // namespace paceline::real
