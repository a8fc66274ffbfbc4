#pragma once

#include <memory>
#include <variant>

#include "models/cost/contention.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {

// What becomes of a point: all of it, or why there is none of it.
using Predicted = std::variant<Prediction, PointFailure>;

// Predicts a point: simulates it; again, while its strategy decides otherwise by the times that
// were found; once more with compute and collectives that slow each other down, if they do; and
// composes it anew where rows that are known say otherwise of its machine. A pass that fails is the
// point's failure, whichever it is.
[[nodiscard]] Predicted predict_point(const std::shared_ptr<const PreparedPoint>& prepared,
                                      const uncertain::Belief& belief, const Executor& execute);

// How much compute and calls slow each other down, where there are calls; nothing: neither does.
// `assumed`: what their channels and memory traffic suggest of compute (cost::assumed_slowdown).
[[nodiscard]] std::optional<cost::SideBySide> slowdown_of(const Contention& contention,
                                                          double assumed);
void say_slowdown(const Contention& contention, const cost::SideBySide& found,
                  Assumptions& assumptions);
// Says what is believed of quantities other than as the model has them; nothing of priors.
[[nodiscard]] std::vector<std::string> sentences_of(const uncertain::Belief& belief,
                                                    const Prediction& prediction);

}  // namespace paceline
