#include "scenarios/loader/job/money.h"

#include <fmt/format.h>

#include "models/text/number.h"

namespace paceline {
namespace {

// 1234567 as "1,234,567".
std::string rounded(double value) {
  constexpr double whole_from = 99.995;  // from here on two decimals would say 100.00
  return value < whole_from ? fmt::format("{:.2f}", value) : in_thousands(value);
}

}  // namespace

std::string to_text(Money amount, std::string_view currency) {
  return fmt::format("{} {}", rounded(amount.value()), currency);
}

std::string to_text(MoneyPerSecond rate, std::string_view currency) {
  constexpr Seconds hour(3600);
  return fmt::format("{} {}/h", rounded((rate * hour).value()), currency);
}

}  // namespace paceline
