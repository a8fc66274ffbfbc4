#include "traces/nccl_tests/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace paceline::traces {
namespace {

constexpr std::size_t words_before = 3;
// Time, algbw, busbw, how wrong the result was; with -I also i_min, i_max, i_p99 and i_cv%.
constexpr std::size_t words_a_half = 4, words_a_half_per_iteration = 8;

// Of `paceline collective --measure`: after the last "#wrong".
std::size_t columns_of_ours(const Words& words) {
  if (!is_one_of("alone", words)) return 0;
  const auto last = std::find(words.rbegin(), words.rend(), "#wrong");
  return static_cast<std::size_t>(last - words.rbegin());
}

bool is_redop(std::string_view word) {
  constexpr std::string_view known[] = {"sum", "prod", "max", "min", "avg", "mulsum", "none"};
  return is_one_of(word, known);
}

// test_typenames of src/common.cu, old and new, and RCCL's.
bool is_type(std::string_view word) {
  constexpr std::string_view known[] = {
      "int8",   "uint8",    "int32",  "uint32", "int64",    "uint64",   "half", "float",
      "double", "bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2", "char", "int"};
  return is_one_of(word, known);
}

// "2025-11-21 22:10:13" ends rows where it was asked for.
bool ends_in_timestamp(const Words& words) {
  return words.size() >= words_before + 2 && contains(words.back(), ':') &&
         words[words.size() - 2].find('-', 1) != std::string_view::npos;
}

// #wrong counts elements, as 3 or 1e+06, or is N/A; old releases print the largest relative error,
// of which 1e-2 was allowed for half floats.
bool is_right(std::string_view wrong) {
  constexpr double error_most = 0.1;
  if (wrong == "N/A") return true;
  const auto value = number_of<double>(wrong);
  return value && *value >= 0 && *value < error_most;
}

// The layout of a row whose table has no header, of so many words behind its operation.
TableLayout layout_of_row(std::size_t rest) {
  TableLayout layout;
  layout.has_root = rest % words_a_half == 1;
  layout.per_iteration = rest / words_a_half_per_iteration == 2;
  return layout;
}

// 0.05 for 120.3.
double half_of_last_digit(std::string_view number) {
  const std::size_t point = number.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : number.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(decimals));
}

void take_words(const Words& words, std::size_t at, ParsedRow& parsed) {
  constexpr std::string_view none = "N/A";  // of a way that ours does not have
  if (words[at] == none && words[at + 1] == none) return;
  const auto time = number_of<double>(words[at]), algbw = number_of<double>(words[at + 1]),
             busbw = number_of<double>(words[at + 2]);
  if (!time || !algbw || !busbw) {
    parsed.why_not = "has a word where a number belongs";
  } else if (!is_right(words[at + 3])) {
    parsed.why_not = fmt::format("its results are wrong: {}", shown(words[at + 3]));
  } else {
    parsed.take_half(
        {*time, *algbw, *busbw, half_of_last_digit(words[at]), half_of_last_digit(words[at + 1])});
  }
}

}  // namespace

std::optional<TableLayout> layout_of(const Words& words) {
  const bool cpu_times = is_one_of("cputime", words);
  if (!is_one_of("size", words) || !is_one_of("count", words) || !is_one_of("type", words))
    return std::nullopt;
  if (!cpu_times && !is_one_of("time", words)) return std::nullopt;
  TableLayout layout{true,      is_one_of("root", words), is_one_of("i_min", words),
                     cpu_times, columns_of_ours(words),   is_one_of("redop", words),
                     ""};
  const std::size_t first = words[0] == "#" ? 1 : 0;
  if (words[first] != "size" && words[first + 1] == "size") layout.leading = words[first];
  return layout;
}

bool begins_row(const Words& words, const TableLayout& layout) {
  const std::size_t at = layout.leading.empty() ? 0 : 1;
  if (words.size() <= at + words_before) return false;
  if (at > 0 && !is_whole_number(words[0])) return false;
  if (!is_whole_number(words[at]) || !is_whole_number(words[at + 1])) return false;
  return is_redop(words[at + 3]) || (is_type(words[at + 2]) && number_of<double>(words[at + 3]));
}

bool has_row(const Words& words) {
  constexpr std::size_t words_before_most = 4, words_of_half = 4;
  for (std::size_t i = 1; i <= words_before_most && i + 1 + words_of_half < words.size(); ++i) {
    const bool is_count = is_whole_number(words[i]) && words[i].front() != '-';
    if (is_count && is_type(words[i + 1]) && number_of<double>(words.back())) return true;
  }
  return false;
}

void ParsedRow::take_half(const HalfRow& half) {
  const auto time = measured_time(half.time_us, 1e-6);
  if (!time) {
    why_not = fmt::format("a time of {} us", half.time_us);
    return;
  }
  // algbw is size over the printed time (src/common.cu, BenchTime), in all of 1,970 public pairs.
  constexpr double slack = 1.001;  // for the second order of the first
  const double algbw = half.algbw_gb_per_s;
  const double implied = static_cast<double>(row.size.value()) / (half.time_us * 1e3);
  const double off = implied * half.time_off_us / half.time_us + half.algbw_off_gb_per_s;
  if (!(std::abs(algbw - implied) <= slack * off)) {
    why_not = fmt::format("algbw is {} GB/s where size and time give {:.2f}", algbw, implied);
    return;
  }
  constexpr double readable = 0.1;  // below, two decimals say too little
  if (algbw >= readable && std::isfinite(half.busbw_gb_per_s)) {
    Evidence of_half;
    of_half.bus_factor = half.busbw_gb_per_s / algbw;
    of_half.bus_factor_off = 0.0005 + 0.005 * (1 + std::abs(of_half.bus_factor)) / algbw;
    kind.take(of_half);
  }
  row.times.push_back(*time);
}

ParsedRow row_of(std::size_t line, Words words, const TableLayout& told) {
  if (ends_in_timestamp(words)) words.resize(words.size() - 2);
  if (!told.leading.empty()) words.erase(words.begin());
  const bool has_redop = is_redop(words[words_before]);
  std::size_t at = words_before + (has_redop ? 1 : 0);
  const TableLayout layout = told.known ? told : layout_of_row(words.size() - at);
  ParsedRow parsed{{line, Bytes(0), {}}, {}, ""};
  if (has_redop) parsed.kind.reduces = words[words_before] != "none";
  const auto no_row = [&](std::string why) {
    parsed.why_not = std::move(why);
    return parsed;
  };
  const auto size = measured_size(words[0]);
  if (!size) return no_row(fmt::format("a size of {}", shown(words[0])));
  if (number_of<std::uint64_t>(words[1]) == 0) return no_row("a count of 0");
  parsed.row.size = *size;
  if (layout.cpu_times) return no_row(cpu_time_reason);
  if (layout.has_root) {
    if (at == words.size()) return no_row(row_breaks_off);
    parsed.kind.root = number_of<std::int64_t>(words[at++]);
    if (!parsed.kind.root) return no_row("has no whole number as its root");
  }
  words.resize(words.size() - std::min(layout.ours, words.size() - at));
  const std::size_t step = layout.per_iteration ? words_a_half_per_iteration : words_a_half;
  const std::size_t rest = words.size() - at;
  if (rest > 2 * step) return no_row("has more words than a row");
  // A run in place only has one half.
  if (rest != step && rest != 2 * step) return no_row(row_breaks_off);
  parsed.halves = rest / step;
  for (; at < words.size() && parsed.why_not.empty(); at += step) take_words(words, at, parsed);
  return parsed;
}

}  // namespace paceline::traces
