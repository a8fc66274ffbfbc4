#include "scenarios/predict/effort.h"

#include <fmt/format.h>

#include <cstdlib>

#include "models/cost/effort.h"
#include "models/text/number.h"

namespace paceline {
namespace {

void refuse_too_much(const cost::Work& work, const ResolvedPoint& point, const Location& where) {
  if (!cost::is_too_much_for_flow(point, work)) return;
  throw InputError(where,
                   fmt::format("{} GPUs take {:.3g} simulated transfers, about {:.0f} minutes",
                               job_cluster(point).ranks().value(), work.transfers,
                               cost::flow_time(point, work).value() / 60),
                   "take fidelity: folded, or add --force");
}

// Half a minute for ResNet-50 by NCCL's trees on a core of a server of 2023, and it grows with
// them; more than any machine has that is known.
constexpr std::uint32_t gpus_unasked = 1U << 18;

std::optional<Seconds> limit_of_environment() {
  constexpr const char* variable = "PACELINE_SIM_TIMEOUT";
  const char* const given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  if (const auto seconds = number_of<double>(given); seconds && *seconds > 0) {
    return Seconds(*seconds);
  }
  throw InputError({variable, 0, 0}, fmt::format("\"{:.60}\" is not a time above zero", given),
                   "write a number of seconds, or unset it");
}

}  // namespace

std::optional<Seconds> time_expected(const ResolvedPoint& point, bool force,
                                     const Location& where) {
  (void)limit_of_environment();
  if (point.fidelity != Fidelity::flow) return std::nullopt;
  const cost::Work work = cost::work_about(point);
  if (!force) refuse_too_much(work, point, where);
  return cost::flow_time(point, work);
}

std::optional<Seconds> time_limit(const ResolvedPoint& point) {
  if (const auto given = limit_of_environment()) return given;
  if (point.force) return std::nullopt;
  return cost::flow_time(point, cost::work_about(point)) * 10 + Seconds(60);
}

void refuse_too_many(RankCount gpus, bool force, const Location& where) {
  if (force || gpus.value() <= gpus_unasked) return;
  throw InputError(where,
                   fmt::format("{} GPUs are more than the {} that are predicted unasked",
                               gpus.value(), gpus_unasked),
                   "take fewer, or add --force: a million take more than ten minutes");
}

InputError refusal(const std::string& what, const Location& where) {
  return {where, what, "add --force"};
}

}  // namespace paceline
