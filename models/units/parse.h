#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/units/units.h"

namespace paceline {

// Why a text is no quantity: `what` completes a sentence after the text, `hint` says what to write.
struct UnitError {
  std::string what;
  std::string hint;
};

template <class T>
using Parsed = std::variant<T, UnitError>;

// The one parser of units. Spellings are SimGrid's: a number, then the unit, blanks between
// allowed.
//   time        ns us ms s m min h d y    (m is minutes, y 365.25 days)
//   bandwidth   Bps kBps KiBps ... (bytes), bps kbps ... Gbps (bits)
//   size        B kB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024)
//   speed       FLOPS kFLOPS MFLOPS GFLOPS TFLOPS PFLOPS
//   throughput  samples/s, img/s, sentences/s (all mean samples a second)
//   power       W kW MW
// A bare number is an error; the hint names two correct spellings of that number.
// Negative, infinite and not-a-number values are errors; zero is allowed and left to the caller.
[[nodiscard]] Parsed<Seconds> parse_seconds(std::string_view text);
[[nodiscard]] Parsed<BytesPerSecond> parse_bandwidth(std::string_view text);
[[nodiscard]] Parsed<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] Parsed<FlopsPerSecond> parse_flops_per_second(std::string_view text);
[[nodiscard]] Parsed<SamplesPerSecond> parse_throughput(std::string_view text);
[[nodiscard]] Parsed<Watts> parse_power(std::string_view text);

struct UnitNames {
  std::vector<std::string_view> time, bandwidth, size, speed, throughput;
};
[[nodiscard]] const UnitNames& unit_names();

// What all of them have in common: a number of zero or more, and what stands behind it. `kind`
// names the quantity in messages; `units` are those that hints give the number.
struct NumberAndUnit {
  double number = 0;
  std::string_view unit;
  std::string hint;  // correct spellings of the number
};
[[nodiscard]] Parsed<NumberAndUnit> number_and_unit(std::string_view text, std::string_view kind,
                                                    std::span<const std::string_view> units);

// The one printer: the largest unit that keeps the number at 1 or above, four significant digits
// at most, sizes exact where a binary unit divides them. "5us", "12.5GBps", "25MiB".
[[nodiscard]] std::string to_text(Seconds time);
[[nodiscard]] std::string to_text(BytesPerSecond bandwidth);
[[nodiscard]] std::string to_text(Bytes size);
[[nodiscard]] std::string to_text(FlopsPerSecond speed);  // "19.5TFLOPS"
// "21.3GiB", "0.04GiB": memories that are compared.
[[nodiscard]] std::string in_gibibytes(Bytes size);

}  // namespace paceline
