#include "real/team_meeting.h"

#include <charconv>
#include <cstddef>
#include <utility>

namespace paceline::real {
namespace {

// Texts one behind the other, each after its length and a colon.
std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& part : parts) all += std::to_string(part.size()) + ":" + part;
  return all;
}
std::vector<std::string> parts_of(const std::string& all) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t length = 0;
    const auto end = std::from_chars(all.data() + at, all.data() + all.size(), length).ptr;
    const auto begin = static_cast<std::size_t>(end - all.data()) + 1;
    parts.push_back(all.substr(begin, length));
    at = begin + length;
  }
  return parts;
}

}  // namespace

std::vector<std::string> TeamMeeting::all_gather(std::string text) {
  return parts_of(team_.broadcast(joined(team_.gather(std::move(text)))));
}

}  // namespace paceline::real
