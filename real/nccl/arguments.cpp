#include "real/nccl/arguments.h"

#include <algorithm>

namespace paceline::real::nccl {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

// Until 2.8 a version had one digit less for its major and minor number (nccl.h, NCCL_VERSION).
std::string version_text(int code) {
  const int major_unit = code < 10000 ? 1000 : 10000;
  return std::to_string(code / major_unit) + "." + std::to_string(code % major_unit / 100) + "." +
         std::to_string(code % 100);
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte one : bytes) {
    const auto value = std::to_integer<std::size_t>(one);
    text += digits[value / 16];
    text += digits[value % 16];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text, std::size_t bytes) {
  if (text.size() != bytes * 2) return std::nullopt;
  std::vector<std::byte> values;
  values.reserve(bytes);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = digits.find(text[i]);
    const auto low = digits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    values.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return values;
}

std::string place_of(const std::string& boot_id, const std::optional<std::string>& host_id,
                     const std::string& pci_address) {
  return (host_id ? "host " + *host_id : "boot " + boot_id) + " " + pci_address;
}

std::optional<std::pair<Rank, Rank>> find_shared_device(const std::vector<std::string>& places) {
  for (auto one = places.begin(); one != places.end(); ++one) {
    const auto other = std::find(one + 1, places.end(), *one);
    if (other == places.end()) continue;
    return std::pair(Rank(static_cast<std::uint32_t>(one - places.begin())),
                     Rank(static_cast<std::uint32_t>(other - places.begin())));
  }
  return std::nullopt;
}

std::optional<std::size_t> lane_of(Stream stream) {
  const Stream channel = stream % streams_a_call;
  if (channel >= lane_channels) return std::nullopt;
  return stream / streams_a_call % 2 * lane_channels + channel;
}

}  // namespace paceline::real::nccl
