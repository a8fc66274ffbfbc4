#include "models/collectives/pipeline.h"

#include <algorithm>

#include "models/contract.h"

namespace paceline::collectives {

Partition pipeline_chunks(ElementRange share, const PlanRequest& request) {
  constexpr Bytes step(512 << 10);
  PACELINE_EXPECTS(request.element_size > ElementSize(0));
  const Bytes size = request.options.chunk_size > Bytes(0) ? request.options.chunk_size : step;
  const std::uint64_t most =
      std::max<std::uint64_t>(1, size.value() / request.element_size.value());
  const std::uint64_t chunks = (share.count.value() + most - 1) / most;
  return Partition::even(share, std::max<std::uint64_t>(1, chunks));
}

}  // namespace paceline::collectives
