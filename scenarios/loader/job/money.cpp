#include "scenarios/loader/job/money.h"

#include <fmt/format.h>

namespace paceline {
namespace {

// 1234567 as "1,234,567".
std::string rounded(double value) {
  constexpr double whole_from = 99.995;  // from here on two decimals would say 100.00
  return value < whole_from ? fmt::format("{:.2f}", value) : with_commas(value);
}

}  // namespace

std::string with_commas(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

std::string to_text(Money amount, std::string_view currency) {
  return fmt::format("{} {}", rounded(amount.value()), currency);
}

std::string to_text(MoneyPerSecond rate, std::string_view currency) {
  constexpr Seconds hour(3600);
  return fmt::format("{} {}/h", rounded((rate * hour).value()), currency);
}

}  // namespace paceline
