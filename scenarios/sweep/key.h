#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/scenario_file.h"

namespace paceline::sweep {

// The model that predicts: versions of Paceline, its commit and SimGrid.
[[nodiscard]] const std::string& model_version();

// Of a point: the same for all that have the same outcome. 128 bits: among 10^9 points two that
// differ are alike with a probability of 10^-21.
struct PointKey {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  friend auto operator<=>(const PointKey&, const PointKey&) = default;
};

// The keys of a file's points: SHA-256, of which the first bytes count, of each value that the
// point depends on, with its path, and of what a file that the value names holds; of what was
// measured of the point; of the measured points that are known, on which all rest; and of the
// model's version. All of them are combined by exclusive or (Zobrist, A New Hashing Method, 1970),
// so that neither the order of axes counts nor whether a value is an axis's, a setting's or the
// file's, and a point costs an operation an axis. A value counts as it is spelled: 100us and 0.1ms
// are two.
class PointKeys {
 public:
  // Throws InputError where a file that is named cannot be read.
  explicit PointKeys(const ScenarioFile& file);

  [[nodiscard]] PointKey of(std::size_t point) const;

 private:
  // Without what was measured of it.
  [[nodiscard]] PointKey described(std::size_t point) const;

  const ScenarioFile& file_;
  PointKey common_;
  std::vector<std::vector<PointKey>> axes_;  // by axis and value
};

}  // namespace paceline::sweep
