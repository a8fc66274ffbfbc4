#pragma once

#include <span>
#include <string_view>

#include "models/cost/library_choice.h"

namespace paceline::loader {

enum class BufferMemory { host, device };

// What scenarios need to know about a backend, built or not: its row in real/CMakeLists.txt.
struct BackendKind {
  std::string_view name;
  cost::Library calls;  // as whose collectives its own are predicted
  BufferMemory memory;
};

// All of them, in the order of that file.
[[nodiscard]] std::span<const BackendKind> backend_kinds();
// Precondition: there is one of that name.
[[nodiscard]] const BackendKind& backend_kind(std::string_view name);

}  // namespace paceline::loader
