#include "real/errors.h"

#include <utility>

namespace paceline::real {
namespace {

std::string one_line(const std::string& backend, const std::optional<Rank>& rank,
                     const std::string& call, const std::string& message) {
  std::string line = backend + ": ";
  if (rank) line += "rank " + std::to_string(rank->value()) + ": ";
  if (!call.empty()) line += call + ": ";
  return line + message;
}

}  // namespace

BackendError::BackendError(std::string backend, std::optional<Rank> rank, std::string call,
                           std::string message)
    : std::runtime_error(one_line(backend, rank, call, message)),
      backend_(std::move(backend)),
      rank_(rank),
      call_(std::move(call)),
      message_(std::move(message)) {}

}  // namespace paceline::real
