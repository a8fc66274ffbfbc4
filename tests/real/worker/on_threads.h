#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "real/worker/session.h"
#include "real/worker/thread_team.h"
#include "traces/json/protocol.h"

namespace paceline::test {

// The lines that rank 0 of a session of threads answers to these.
inline std::vector<std::string> replies_to(const std::vector<std::string>& points,
                                           std::uint32_t ranks) {
  std::vector<std::string> replies;
  std::size_t next = 0;
  const real::SessionLines lines{[&]() -> std::optional<std::string> {
                                   if (next == points.size()) return std::nullopt;
                                   return points[next++];
                                 },
                                 [&](const std::string& line) { replies.push_back(line); }};
  real::with_thread_team(RankCount(ranks), [&](real::Team& team) {
    serve(team, {"memory", team.rank().value(), Seconds(60)}, lines);
  });
  return replies;
}

// A point that can be measured.
inline Result measured_on_threads(const ResolvedPoint& point, std::uint32_t ranks) {
  const auto replies = replies_to({traces::to_line(point)}, ranks);
  auto reply = traces::reply_from_line(replies.back(), point.program);
  if (auto* failure = std::get_if<traces::Failure>(&reply)) throw std::runtime_error(failure->what);
  return std::get<Result>(std::move(reply));
}

}  // namespace paceline::test
