#include <algorithm>
#include <optional>

#include "models/contract.h"
#include "traces/replay/replay.h"

namespace paceline::traces {
namespace {

using training::OperationId;

class Path {
 public:
  explicit Path(const StepTrace& trace) : trace_(trace) {}

  std::vector<PathPart> parts() && {
    At at = last();
    while (true) {
      const bool is_call = call_of(trace_.program.operations[at.operation]) != nullptr;
      if (is_call) at.members = last_to_join(at.operation);
      const auto before = released_by(at);
      const Seconds from = begin_of(at, before);
      parts_.push_back({trace_.classes[at.members].ranks.front(), at.operation,
                        std::max(Seconds(0), ran(at).end - from)});
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

  [[nodiscard]] const training::Interval& ran(At at) const {
    return trace_.classes[at.members].intervals[at.operation];
  }

  [[nodiscard]] At last() const {
    At latest{0, 0};
    for (std::size_t c = 0; c < trace_.classes.size(); ++c) {
      for (OperationId id = 0; id < trace_.program.operations.size(); ++id) {
        if (ran({c, id}).end > ran(latest).end) latest = {c, id};
      }
    }
    return latest;
  }

  [[nodiscard]] std::size_t last_to_join(OperationId call) const {
    std::size_t latest = 0;
    for (std::size_t c = 1; c < trace_.classes.size(); ++c) {
      if (ran({c, call}).start > ran({latest, call}).start) latest = c;
    }
    return latest;
  }

  // On the same rank.
  [[nodiscard]] std::optional<At> released_by(At at) const {
    if (const auto by = ran(at).released_by) return At{at.members, *by};
    return std::nullopt;
  }

  [[nodiscard]] Seconds begin_of(At at, const std::optional<At>& before) const {
    return before ? std::max(ran(at).start, ran(*before).end) : ran(at).start;
  }

  const StepTrace& trace_;
  std::vector<PathPart> parts_;
};

}  // namespace

std::vector<PathPart> critical_path(const StepTrace& trace) {
  PACELINE_EXPECTS(!trace.classes.empty() && !trace.program.operations.empty());
  return Path(trace).parts();
}

}  // namespace paceline::traces
