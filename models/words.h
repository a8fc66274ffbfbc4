#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "models/contract.h"

// How files, messages and reports spell an enumeration: a table beside it, in its namespace.
//
//   enum class Transport { rdma, tcp };
//   constexpr auto words_of(Transport) { return words_up_to<Transport::tcp>("rdma", "tcp"); }
//   using paceline::to_text;  // in a namespace below this one
namespace paceline {

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
};
template <class Enum>
Word(Enum, std::string_view) -> Word<Enum>;  // clang until 16 does not find it by itself

// Of all values, which are 0, 1, 2... up to `last`, in their order.
template <auto last, class... Texts>
[[nodiscard]] constexpr auto words_up_to(const Texts&... texts) {
  static_assert(sizeof...(texts) == static_cast<std::size_t>(last) + 1, "a word for each value");
  std::size_t value = 0;
  return std::array{Word{static_cast<decltype(last)>(value++), std::string_view(texts)}...};
}

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

template <HasWords Enum>
inline constexpr auto values_of = [] {
  constexpr auto words = words_of(Enum{});
  std::array<Enum, words.size()> values{};
  for (std::size_t i = 0; i < words.size(); ++i) values[i] = words[i].value;
  return values;
}();

}  // namespace paceline
