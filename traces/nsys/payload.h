#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/nsys/database.h"
#include "traces/nsys/events.h"

namespace paceline::traces::nsys {

// Layouts of what programs attach to NVTX ranges, as far as NCCL's have them (NCCL 2.14 and later:
// "Message size [bytes]", "NCCL communicator ID", "No. of ranks", "Rank").
class Payloads {
 public:
  explicit Payloads(const Database& database);

  // nullopt where it has no such field, or is not of a known layout.
  [[nodiscard]] std::optional<Events::Payload> read(std::string_view bytes) const;

 private:
  struct Field {
    std::uint64_t offset;
    unsigned size;  // bytes
    std::optional<std::uint64_t> Events::Payload::*into;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Field>> fields_;  // domain, layout
};

}  // namespace paceline::traces::nsys
