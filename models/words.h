#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "models/contract.h"

// How files, lines between processes and reports spell the values of an enumeration: one table,
// beside the enumeration and in its namespace.
//
//   enum class Transport { rdma, tcp };
//   constexpr auto words_of(Transport) {
//     using enum Transport;
//     return std::array{Word{rdma, "rdma"}, Word{tcp, "tcp"}};
//   }
//   using paceline::to_text;  // in a namespace below this one
namespace paceline {

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
};
template <class Enum>
Word(Enum, std::string_view) -> Word<Enum>;  // clang until 16 does not find it by itself

template <class Enum>
concept HasWords = requires(Enum value) {
  words_of(value);
};

template <HasWords Enum>
[[nodiscard]] constexpr std::string_view to_text(Enum value) {
  for (const auto& [one, text] : words_of(value)) {
    if (one == value) return text;
  }
  PACELINE_UNREACHABLE("a value outside the enumeration's table");
}

template <HasWords Enum>
[[nodiscard]] constexpr std::optional<Enum> from_text(std::string_view word) {
  for (const auto& [value, text] : words_of(Enum{})) {
    if (text == word) return value;
  }
  return std::nullopt;
}

}  // namespace paceline
