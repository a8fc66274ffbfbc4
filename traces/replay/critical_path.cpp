#include "traces/replay/critical_path.h"

#include <algorithm>
#include <optional>

#include "models/contract.h"

namespace paceline::traces {
namespace {

using training::LaneId;
using training::OperationId;
using training::OperationKind;

class Path {
 public:
  Path(const training::StepProgram& program, const StepTrace& trace)
      : program_(program), trace_(trace) {}

  std::vector<PathPart> parts() && {
    At at = last();
    while (true) {
      if (span(at).kind == OperationKind::collective) at.members = last_to_join(at.operation);
      const auto before = waited_for(at);
      const Seconds from = begin_of(at, before);
      parts_.push_back({trace_.classes[at.members].ranks.front(), at.operation,
                        std::max(Seconds(0), span(at).end - from)});
      if (!before) break;
      at = *before;
    }
    std::ranges::reverse(parts_);
    return std::move(parts_);
  }

 private:
  struct At {
    std::size_t members;  // a class of the trace
    OperationId operation;
  };

  [[nodiscard]] const Span& span(At at) const {
    return trace_.classes[at.members].spans[at.operation];
  }

  [[nodiscard]] At last() const {
    At latest{0, 0};
    for (std::size_t c = 0; c < trace_.classes.size(); ++c) {
      for (OperationId id = 0; id < program_.operations.size(); ++id) {
        if (span({c, id}).end > span(latest).end) latest = {c, id};
      }
    }
    return latest;
  }

  [[nodiscard]] std::size_t last_to_join(OperationId call) const {
    std::size_t latest = 0;
    for (std::size_t c = 1; c < trace_.classes.size(); ++c) {
      if (span({c, call}).start > span({latest, call}).start) latest = c;
    }
    return latest;
  }

  // The latest end of those that had to be done: of the same rank, by `after` or the lane.
  [[nodiscard]] std::optional<At> waited_for(At at) const {
    std::optional<At> latest;
    const auto consider = [&](OperationId id) {
      const At before{at.members, id};
      if (!latest || span(before).end >= span(*latest).end) latest = before;
    };
    const training::Operation& operation = program_.operations[at.operation];
    if (const auto before = lane_predecessor(at.operation)) consider(*before);
    for (const OperationId before : operation.after) consider(before);
    return latest;
  }

  [[nodiscard]] std::optional<OperationId> lane_predecessor(OperationId id) const {
    const LaneId lane = program_.operations[id].lane;
    std::uint32_t back = program_.lanes[lane].in_flight;
    for (OperationId before = id; before-- > 0;) {
      if (program_.operations[before].lane == lane && --back == 0) return before;
    }
    return std::nullopt;
  }

  [[nodiscard]] Seconds begin_of(At at, const std::optional<At>& before) const {
    return before ? std::max(span(at).start, span(*before).end) : span(at).start;
  }

  const training::StepProgram& program_;
  const StepTrace& trace_;
  std::vector<PathPart> parts_;
};

}  // namespace

std::vector<PathPart> critical_path(const training::StepProgram& program, const StepTrace& trace) {
  PACELINE_EXPECTS(!trace.classes.empty() && !program.operations.empty());
  return Path(program, trace).parts();
}

}  // namespace paceline::traces
