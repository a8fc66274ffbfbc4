#include "real/gloo/store.h"

#include "models/contract.h"

namespace paceline::real {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

// Meetings pass on text; gloo's addresses are bytes.
std::string to_hexadecimal(const std::vector<char>& data) {
  std::string text;
  for (const char c : data) {
    const auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4U], digits[byte & 15U]};
  }
  return text;
}

std::vector<char> from_hexadecimal(std::string_view text) {
  std::vector<char> data;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    data.push_back(static_cast<char>(digits.find(text[i]) * 16 + digits.find(text[i + 1])));
  }
  return data;
}

}  // namespace

void MeetingStore::set(const std::string& key, const std::vector<char>& data) {
  for (const std::string& pair : meeting_.all_gather(to_hexadecimal(data) + " " + key)) {
    const auto end = pair.find(' ');
    PACELINE_EXPECTS(end != std::string::npos);
    values_[pair.substr(end + 1)] = from_hexadecimal(std::string_view(pair).substr(0, end));
  }
}

std::vector<char> MeetingStore::get(const std::string& key) { return values_.at(key); }

}  // namespace paceline::real
