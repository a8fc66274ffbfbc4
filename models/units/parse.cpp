#include "models/units/parse.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace paceline {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// A year is of 365.25 days (IAU). Times are printed in the first four.
constexpr std::array time_units{Unit{"ns", 1e-9},  Unit{"us", 1e-6},   Unit{"ms", 1e-3},
                                Unit{"s", 1.0},    Unit{"m", 60.0},    Unit{"min", 60.0},
                                Unit{"h", 3600.0}, Unit{"d", 86400.0}, Unit{"y", 31557600.0}};

constexpr std::array size_units{
    Unit{"B", 1.0},         Unit{"kB", 1e3},           Unit{"MB", 1e6},
    Unit{"GB", 1e9},        Unit{"TB", 1e12},          Unit{"KiB", 1024.0},
    Unit{"MiB", 1048576.0}, Unit{"GiB", 1073741824.0}, Unit{"TiB", 1099511627776.0}};

constexpr std::array bandwidth_units{
    Unit{"Bps", 1.0},         Unit{"kBps", 1e3},           Unit{"MBps", 1e6},
    Unit{"GBps", 1e9},        Unit{"TBps", 1e12},          Unit{"KiBps", 1024.0},
    Unit{"MiBps", 1048576.0}, Unit{"GiBps", 1073741824.0}, Unit{"bps", 1.0 / 8},
    Unit{"kbps", 1e3 / 8},    Unit{"Mbps", 1e6 / 8},       Unit{"Gbps", 1e9 / 8},
    Unit{"Tbps", 1e12 / 8}};

constexpr std::array flops_units{Unit{"FLOPS", 1.0},  Unit{"kFLOPS", 1e3},  Unit{"MFLOPS", 1e6},
                                 Unit{"GFLOPS", 1e9}, Unit{"TFLOPS", 1e12}, Unit{"PFLOPS", 1e15}};

constexpr std::array throughput_units{Unit{"samples/s", 1.0}, Unit{"img/s", 1.0},
                                      Unit{"sentences/s", 1.0}};

constexpr std::array power_units{Unit{"W", 1.0}, Unit{"kW", 1e3}, Unit{"MW", 1e6}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> names_of(std::span<const Unit> units) {
  std::vector<std::string_view> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  return names;
}

std::string known_units(std::span<const Unit> units) {
  std::string list;
  for (const Unit& unit : units) {
    if (!list.empty()) list += ' ';
    list += unit.name;
  }
  return list;
}

// `examples` are the units shown for a bare number.
template <std::size_t count>
Parsed<double> parse_quantity(std::string_view text, std::span<const Unit> units,
                              std::string_view kind,
                              const std::array<std::string_view, count>& examples) {
  const auto split = number_and_unit(text, kind, examples);
  if (const auto* error = std::get_if<UnitError>(&split)) return *error;
  const auto& [number, name, hint] = std::get<NumberAndUnit>(split);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    const double value = number * unit.factor;
    if (!std::isfinite(value))
      return UnitError{"is too large", "write a smaller " + std::string(kind)};
    return value;
  }
  return UnitError{"has no unit of " + std::string(kind), "known units: " + known_units(units)};
}

template <class T>
Parsed<T> convert(const Parsed<double>& parsed) {
  if (const auto* error = std::get_if<UnitError>(&parsed)) return *error;
  return T(std::get<double>(parsed));
}

std::string print_scaled(double value, std::span<const Unit> ascending) {
  const Unit* chosen = &ascending.front();
  for (const Unit& unit : ascending) {
    // The half unit in the fourth digit makes 0.99996 ms print as 1ms rather than 1000us.
    if (value >= unit.factor * 0.99995) chosen = &unit;
  }
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.4g%.*s", value / chosen->factor,
                static_cast<int>(chosen->name.size()), chosen->name.data());
  return buffer.data();
}

}  // namespace

Parsed<NumberAndUnit> number_and_unit(std::string_view text, std::string_view kind,
                                      std::span<const std::string_view> units) {
  text = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  const bool is_usable = error == std::errc{} && std::isfinite(number) && number >= 0;
  std::string hint;
  for (const std::string_view unit : units) {
    hint += (hint.empty() ? "write " : " or ") + std::string(is_usable ? digits : "5");
    hint += unit;
  }
  if (error != std::errc{}) return UnitError{"is not a " + std::string(kind), hint};
  const std::string_view unit = trimmed(text.substr(digits.size()));
  if (unit.empty()) return UnitError{"has no unit", hint};
  if (!is_usable) return UnitError{"is not a " + std::string(kind) + " of zero or more", hint};
  return NumberAndUnit{number, unit, hint};
}

Parsed<Seconds> parse_seconds(std::string_view text) {
  return convert<Seconds>(parse_quantity<2>(text, time_units, "time", {"us", "ms"}));
}

Parsed<BytesPerSecond> parse_bandwidth(std::string_view text) {
  return convert<BytesPerSecond>(
      parse_quantity<2>(text, bandwidth_units, "bandwidth", {"Gbps", "GBps"}));
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  const auto parsed = parse_quantity<2>(text, size_units, "size", {"MiB", "MB"});
  if (const auto* error = std::get_if<UnitError>(&parsed)) return *error;
  const double product = std::get<double>(parsed);
  // 1.001 * 1e3 is off by its last bit: what is that near to a whole number was written as one.
  const double whole = std::round(product);
  const double bytes = std::abs(product - whole) <= product * 0x1p-52 ? whole : product;
  // 2^53: up to here a double holds every whole number, so nothing is rounded in silence.
  if (bytes > 9007199254740992.0) return UnitError{"is more than 8 PiB", "write a smaller size"};
  if (bytes != std::floor(bytes)) {
    return UnitError{"is not a whole number of bytes", "write a whole number of bytes"};
  }
  return Bytes(bytes);
}

Parsed<FlopsPerSecond> parse_flops_per_second(std::string_view text) {
  return convert<FlopsPerSecond>(
      parse_quantity<2>(text, flops_units, "compute speed", {"TFLOPS", "GFLOPS"}));
}

Parsed<SamplesPerSecond> parse_throughput(std::string_view text) {
  return convert<SamplesPerSecond>(
      parse_quantity<2>(text, throughput_units, "throughput", {" samples/s", " img/s"}));
}

Parsed<Watts> parse_power(std::string_view text) {
  return convert<Watts>(parse_quantity<1>(text, power_units, "power", {"kW"}));
}

const UnitNames& unit_names() {
  static const UnitNames names{names_of(time_units), names_of(bandwidth_units),
                               names_of(size_units), names_of(flops_units),
                               names_of(throughput_units)};
  return names;
}

std::string to_text(Seconds time) {
  if (time == Seconds()) return "0s";
  return print_scaled(time.value(), std::span(time_units).first(4));
}

std::string to_text(BytesPerSecond bandwidth) {
  return print_scaled(bandwidth.value(), std::span(bandwidth_units).first(5));
}

std::string to_text(Bytes size) {
  constexpr std::array binary{Unit{"TiB", 1099511627776.0}, Unit{"GiB", 1073741824.0},
                              Unit{"MiB", 1048576.0}, Unit{"KiB", 1024.0}};
  for (const Unit& unit : binary) {
    const auto factor = static_cast<std::uint64_t>(unit.factor);
    if (size.value() >= factor && size.value() % factor == 0) {
      return std::to_string(size.value() / factor) + std::string(unit.name);
    }
  }
  if (size.value() < 100000) return std::to_string(size.value()) + "B";
  return print_scaled(static_cast<double>(size.value()), std::span(size_units).first(5));
}

std::string in_gibibytes(Bytes size) {
  const double gib = static_cast<double>(size.value()) / (1U << 30U);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*fGiB", gib < 0.995 ? 2 : 1, gib);
  return text.data();
}

std::string to_text(FlopsPerSecond speed) { return print_scaled(speed.value(), flops_units); }

}  // namespace paceline
