#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "models/units/units.h"

namespace paceline::real {

// How processes of ranks end: what was asked for cannot be, or the environment failed.
inline constexpr int usage_status = 2, environment_status = 3;

// The user's request is impossible: ends a process with usage_status.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A failure of the environment, a library or another rank: ends a process with environment_status.
// what() is one line, of the parts that are not empty: `backend: rank 3: call: message`.
class BackendError : public std::runtime_error {
 public:
  explicit BackendError(const std::string& message) : BackendError("", std::nullopt, "", message) {}
  BackendError(const std::string& backend, std::optional<Rank> rank, const std::string& call,
               const std::string& message)
      : std::runtime_error(line(backend, rank, call, message)) {}

 private:
  static std::string line(const std::string& backend, std::optional<Rank> rank,
                          const std::string& call, const std::string& message) {
    std::string text;
    if (!backend.empty()) text += backend + ": ";
    if (rank) text += "rank " + std::to_string(rank->value()) + ": ";
    if (!call.empty()) text += call + ": ";
    text += message;
    for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
    return text;
  }
};

}  // namespace paceline::real
