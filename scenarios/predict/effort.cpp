#include "scenarios/predict/effort.h"

#include <fmt/format.h>

#include <cstdlib>

#include "models/cost/effort.h"
#include "models/text/number.h"

namespace paceline {
namespace {

constexpr double closed_transfer_us = 0.05;  // tests/bench/README.md
constexpr double closed_transfers_max = 2e9;

// About what that takes on one core.
Seconds time_to_follow(const cost::Work& work, const ResolvedPoint& point) {
  if (point.fidelity != Fidelity::closed) return cost::flow_time(point, work);
  return Seconds(work.transfers * closed_transfer_us * 1e-6);
}

void refuse_too_much(const cost::Work& work, const ResolvedPoint& point, const Location& where) {
  const bool flow = point.fidelity == Fidelity::flow;
  const bool is_too_much =
      flow ? cost::is_too_much_for_flow(point, work) : work.transfers > closed_transfers_max;
  if (!is_too_much) return;
  throw InputError(
      where,
      fmt::format("{} GPUs take {:.3g} {}transfers, about {:.0f} minutes",
                  job_cluster(point).ranks().value(), work.transfers, flow ? "simulated " : "",
                  time_to_follow(work, point).value() / 60),
      flow ? "take fidelity: folded or closed, or add --force" : "add --force to do it");
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
  throw InputError({variable, 0, 0}, fmt::format("\"{:.60}\" is no time above zero", given),
                   "write a number of seconds, or unset it");
}

}  // namespace

Effort effort_of(const ResolvedPoint& point, bool force, const Location& where) {
  const std::optional<Seconds> given = limit_of_environment();
  // A folded simulation refuses by itself what it cannot fold, or what takes too long.
  const bool is_folded = point.fidelity == Fidelity::folded;
  const cost::Work work =
      is_folded ? cost::Work{cost::flow_transfers_max} : cost::work_about(point);
  if (!is_folded && !force) refuse_too_much(work, point, where);
  const Seconds time = time_to_follow(work, point);
  Effort effort{is_folded ? std::nullopt : std::optional(time), given};
  if (!given && !force) effort.limit = time * 10 + Seconds(60);
  return effort;
}

void refuse_too_many(RankCount gpus, bool force, const Location& where) {
  if (force || gpus.value() <= gpus_unasked) return;
  throw InputError(where,
                   fmt::format("{} GPUs are more than the {} that are predicted unasked",
                               gpus.value(), gpus_unasked),
                   "take fewer, or add --force: a million take more than ten minutes");
}

InputError refusal(const std::string& what, const Location& where) {
  return {where, what, "add --force, or take fidelity: closed where it has all that is asked"};
}

}  // namespace paceline
