#include "traces/nsys/payload.h"

#include <array>

namespace paceline::traces::nsys {
namespace {

using Value = std::optional<std::uint64_t> Events::Payload::*;

constexpr std::array<std::pair<std::string_view, Value>, 4> field_names{
    {{"NCCL communicator ID", &Events::Payload::communicator},
     {"Message size [bytes]", &Events::Payload::size},
     {"No. of ranks", &Events::Payload::ranks},
     {"Rank", &Events::Payload::rank}}};

// Kinds of entries, as nvToolsExtPayload.h of NVTX 3 numbers them: int, unsigned; then those of
// fixed size, and size_t.
unsigned size_of_kind(std::int64_t kind) {
  switch (kind) {
    case 4:   // int
    case 5:   // unsigned int
    case 16:  // 32 bits
      return 4;
    case 6:   // long
    case 7:   // unsigned long
    case 8:   // long long
    case 9:   // unsigned long long
    case 17:  // 64 bits, with a sign
    case 18:  // 64 bits
    case 22:  // size_t
      return 8;
    default: return 0;
  }
}

// Before the payload: domain, 0, layout, 0, then its size and that with this, all little-endian.
constexpr std::size_t payload_header = 32;

std::optional<std::uint64_t> number_at(std::string_view bytes, std::uint64_t at, unsigned size) {
  if (at > bytes.size() || bytes.size() - at < size) return std::nullopt;
  std::uint64_t value = 0;
  for (unsigned i = size; i > 0; --i) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

}  // namespace

Payloads::Payloads(const Database& database) {
  database.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", {"domainId", "schemaId", "type", "name", "offset"},
                [&](const Row& row) {
                  const auto domain = row.integer(0), layout = row.integer(1);
                  const auto name = row.text(3);
                  const unsigned size = size_of_kind(row.integer(2).value_or(0));
                  const std::int64_t offset = row.integer(4).value_or(0);  // of the first: nothing
                  if (!layout || !name || size == 0 || offset < 0) return;
                  for (const auto& [known, into] : field_names) {
                    if (*name != known) continue;
                    const std::pair key(static_cast<std::uint64_t>(domain.value_or(0)),
                                        static_cast<std::uint64_t>(*layout));
                    fields_[key].push_back({static_cast<std::uint64_t>(offset), size, into});
                  }
                });
}

std::optional<Events::Payload> Payloads::read(std::string_view bytes) const {
  const auto domain = number_at(bytes, 0, 4), layout = number_at(bytes, 8, 4);
  if (!domain || !layout || bytes.size() < payload_header) return std::nullopt;
  auto found = fields_.find({*domain, *layout});
  if (found == fields_.end()) found = fields_.find({0, *layout});
  if (found == fields_.end()) return std::nullopt;
  Events::Payload payload;
  bool has_any = false;
  for (const Field& field : found->second) {
    const auto value = number_at(bytes.substr(payload_header), field.offset, field.size);
    payload.*field.into = value;
    has_any = has_any || value;
  }
  return has_any ? std::optional(payload) : std::nullopt;
}

}  // namespace paceline::traces::nsys
