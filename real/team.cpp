#include "real/team.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "real/errors.h"

namespace paceline::real {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& part : parts) all += std::to_string(part.size()) + ":" + part;
  return all;
}

std::vector<std::string> parts_of(std::string_view all) {
  std::vector<std::string> parts;
  while (!all.empty()) {
    std::size_t length = 0;
    const char* const end = all.data() + all.size();
    const char* const colon = std::from_chars(all.data(), end, length).ptr;
    const auto left = static_cast<std::size_t>(end - colon);
    if (left == 0 || *colon != ':' || length >= left) {
      throw BackendError("rank 0 passed on something else than texts");
    }
    parts.emplace_back(colon + 1, length);
    all.remove_prefix(all.size() - left + 1 + length);
  }
  return parts;
}

}  // namespace

std::vector<std::string> Team::all_gather(std::string text) {
  auto parts = parts_of(broadcast(joined(gather(std::move(text)))));
  if (parts.size() == size().value()) return parts;
  throw BackendError("rank 0 passed on the texts of other ranks");
}

}  // namespace paceline::real
