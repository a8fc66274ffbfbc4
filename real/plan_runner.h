#pragma once

#include "models/collectives/plan.h"
#include "real/backend.h"
#include "real/scratch_pool.h"

namespace paceline::real {

// Carries out plans on a communicator: the same rounds, chunks and windows that are simulated.
//
// Each channel has a thread of its own, the first the caller's. Receives of the next rounds are
// posted while a round is in flight, so that transfers between peers of the round before need not
// wait. Transfers between new peers wait for their receiver's ready notification.
class PlanRunner {
 public:
  explicit PlanRunner(Communicator& communicator)
      : communicator_(communicator), scratch_(communicator) {}

  // This rank's part of the plan; its call's streams begin at `first`. May be called by several
  // threads at a time, with other streams.
  // Preconditions: at most channels_max channels; this rank is one of the plan's endpoints, and all
  // of them are ranks of the communicator, servers the last; the buffer at least buffer_size, and a
  // server's without contributions: zeros, or sums of earlier steps that nobody looks at. Throws
  // BackendError.
  void run(const collectives::Plan& plan, Buffer& buffer, Stream first);

 private:
  Communicator& communicator_;
  ScratchPool scratch_;
};

}  // namespace paceline::real
