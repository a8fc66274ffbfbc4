#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline::traces {

enum class TestedLink { network, gpus, to_gpu, from_gpu };
constexpr auto words_of(TestedLink) {
  return words_up_to<TestedLink::from_gpu>("between two hosts", "between two GPUs",
                                           "from the host to a GPU", "from a GPU to the host");
}

// A link that a program measured alone, one way.
struct LinkTest {
  std::size_t line = 0;  // 0: of JSON
  TestedLink link{};
  std::string name;  // "mlx5_1", "GPU 0 and GPU 3", "10.0.0.2 by 8 streams of TCP"
  std::array<std::uint32_t, 2> gpus{};  // of a host's link twice the same
  BytesPerSecond rate{};
};

// Not of a text with a log of collectives beside them.
[[nodiscard]] bool is_link_test(std::string_view text);

// One or more, of one program or several. Throws FormatError for what is cut off, or damaged as far
// as figures tell that are there twice; for UDP, and both ways at once.
[[nodiscard]] std::vector<LinkTest> read_link_tests(std::string_view text);

}  // namespace paceline::traces
