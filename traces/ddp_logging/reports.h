#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::traces::ddp_logging {

// Of one rank at one time: values by torch's own keys, as they are spelled.
struct Report {
  std::size_t line = 0;  // where it begins
  std::map<std::string, std::string, std::less<>> values;

  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
  [[nodiscard]] std::string_view text(std::string_view key) const;  // empty where there is none
};

struct Reports {
  std::vector<Report> reports;  // in the text's order; each has at least one key
  std::size_t cut_off = 0;      // of them, dictionaries that do not end
  std::size_t mixed = 0;        // lines of two ranks in one another, left out
};

enum class Kind : std::uint8_t { text, count, bytes, sizes, flag, nanoseconds };
// nullopt of a key that is of no use here.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view key);

// Every dictionary with such keys, however it is laid out, and every message of torch's logger.
[[nodiscard]] Reports reports_of(std::string_view text);

}  // namespace paceline::traces::ddp_logging
