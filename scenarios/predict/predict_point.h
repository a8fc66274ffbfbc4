#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "models/cost/contention.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/prepare/resolve.h"
#include "traces/json/protocol.h"

namespace paceline {

// What predicts a step whose decisions are made, as a Simulator does. May throw: that ends the
// prediction.
using Executor = std::function<traces::Reply(const ResolvedPoint& point)>;

// What becomes of a point: all of it, or why there is none of it.
using Predicted = std::variant<Prediction, PointFailure>;

// Predicts a point: simulates it; again, while its strategy decides otherwise by the times that
// were found; and once more with compute and collectives that slow each other down, if they do. A
// pass that fails is the point's failure, whichever it is.
[[nodiscard]] Predicted predict_point(std::shared_ptr<const PreparedPoint> prepared,
                                      const Executor& execute);

// A point as if compute and collectives did not slow each other down: the first part of
// predict_point.
struct SettledPoint {
  std::shared_ptr<const PreparedPoint> prepared;  // as its strategy decided last
  Result result;
  StepTotals totals;  // of the result
  // Steps of all passes where the strategy's decisions did not settle; else of the last.
  Seconds shortest, longest;
};
using Settled = std::variant<SettledPoint, PointFailure>;
[[nodiscard]] Settled settle_point(std::shared_ptr<const PreparedPoint> prepared,
                                   const Executor& execute);

// A slowdown of compute that was found from measured points (contention_fit.h), or is tried.
struct FittedSlowdown {
  double slowdown = 1;
  std::optional<Assumption> said = std::nullopt;
};

// How much both slow each other down, where there are calls; nothing: neither does. `assumed`: what
// their channels and memory traffic suggest of compute (cost::assumed_slowdown).
[[nodiscard]] std::optional<cost::SideBySide> slowdown_of(const Contention& contention,
                                                          double assumed,
                                                          const FittedSlowdown* fitted);
// Says so.
void say_slowdown(const Contention& contention, const cost::SideBySide& found,
                  Assumptions& assumptions);

// The second part: `fitted` for points whose contention is measured; null for others.
[[nodiscard]] Predicted contend_point(SettledPoint settled, const FittedSlowdown* fitted,
                                      const Executor& execute);

}  // namespace paceline
