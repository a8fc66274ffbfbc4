#include "traces/pytorch/scalars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "traces/text/lines.h"

namespace paceline::traces::pytorch {
namespace {

// Python writes 1e-06; no time with an exponent is large enough to lose digits in a double.
std::optional<TraceTime> with_exponent(std::string_view microseconds) {
  const auto value = number_of<double>(microseconds);
  if (!value || !(std::abs(*value) < static_cast<double>(furthest_time) / 1e3)) return std::nullopt;
  return std::llround(*value * 1e3);
}

// Of [[8, 16], []] "8, 16" and "".
std::vector<std::string_view> inner_lists(std::string_view text) {
  std::vector<std::string_view> lists;
  std::size_t open = std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') open = i + 1;
    if (text[i] != ']' || open == std::string_view::npos) continue;
    lists.push_back(text.substr(open, i - open));
    open = std::string_view::npos;
  }
  return lists;
}

std::vector<std::string_view> strings_of(std::string_view text) {
  std::vector<std::string_view> all;
  while (true) {
    const std::size_t open = text.find('"');
    if (open == std::string_view::npos) return all;
    const std::size_t close = text.find('"', open + 1);
    if (close == std::string_view::npos) return all;
    all.push_back(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

std::optional<std::uint64_t> product_of(std::string_view dims) {
  std::uint64_t product = 1;
  if (dims.find_first_not_of(' ') == std::string_view::npos) return product;  // of no dimension
  for (const std::string_view cell : cells_of(dims, 64)) {
    const auto length = number_of<std::uint64_t>(cell);
    if (!length || (*length > 0 && product > elements_most / *length)) return std::nullopt;
    product *= *length;
  }
  return product;
}

}  // namespace

std::optional<TraceTime> nanoseconds_of(std::string_view microseconds) {
  std::string_view rest = microseconds;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
  TraceTime value = 0;
  const auto take = [&](int digit) { value = value * 10 + digit; };
  std::size_t i = 0;
  for (; i < rest.size() && is_digit(rest[i]); ++i) {
    if (value > furthest_time / 10'000) return std::nullopt;  // three digits more follow
    take(rest[i] - '0');
  }
  int decimals = 0;
  if (i < rest.size() && rest[i] == '.') {
    for (++i; i < rest.size() && is_digit(rest[i]); ++i) {
      if (decimals < 3) take(rest[i] - '0');
      if (decimals == 3 && rest[i] >= '5') ++value;
      ++decimals;
    }
  }
  if (i < rest.size()) {
    return rest[i] == 'e' || rest[i] == 'E' ? with_exponent(microseconds) : std::nullopt;
  }
  for (; decimals < 3; ++decimals) take(0);
  if (value > furthest_time) return std::nullopt;
  return negative ? -value : value;
}

std::optional<ElementSize> element_size_of(std::string_view type) {
  constexpr std::string_view scope = "c10::";
  if (type.starts_with(scope)) type.remove_prefix(scope.size());
  const std::string name = in_lower(type.substr(0, 32));
  if (name.starts_with("float8")) return ElementSize(1);
  // Of c10::toString(ScalarType), C++ types in older profiles, Horovod (DataType_Name of
  // common/message.cc), and names of NCCL's kernels.
  constexpr std::pair<std::string_view, std::uint64_t> sizes[] = {
      {"float", 4},        {"half", 2},
      {"bfloat16", 2},     {"double", 8},
      {"long", 8},         {"long int", 8},
      {"int", 4},          {"short", 2},
      {"short int", 2},    {"char", 1},
      {"byte", 1},         {"bool", 1},
      {"signed char", 1},  {"unsigned char", 1},
      {"complexfloat", 8}, {"complexdouble", 16},
      {"complexhalf", 4},  {"uint8", 1},
      {"uint16", 2},       {"uint32", 4},
      {"uint64", 8},       {"int8", 1},
      {"int16", 2},        {"int32", 4},
      {"int64", 8},        {"float16", 2},
      {"float32", 4},      {"float64", 8},
      {"f16", 2},          {"bf16", 2},
      {"f32", 4},          {"f64", 8},
      {"u8", 1},           {"i8", 1},
      {"u32", 4},          {"i32", 4},
      {"u64", 8},          {"i64", 8},
      {"f8e4m3", 1},       {"f8e5m2", 1}};
  const auto bytes = value_of(name, sizes);
  return bytes ? std::optional(ElementSize(*bytes)) : std::nullopt;
}

std::optional<std::uint64_t> elements_of(std::string_view shapes) {
  std::uint64_t sum = 0;
  for (const std::string_view shape : inner_lists(shapes)) {
    const auto elements = product_of(shape);
    if (!elements || *elements > elements_most - sum) return std::nullopt;
    sum += *elements;
  }
  return sum;
}

std::optional<ElementCount> larger_count(std::string_view in, std::string_view out) {
  const auto one = number_of<std::uint64_t>(in), other = number_of<std::uint64_t>(out);
  const std::uint64_t count = std::max(one.value_or(0), other.value_or(0));
  if ((!one && !other) || count > elements_most) return std::nullopt;
  return ElementCount(count);
}

std::vector<Rank> ranks_of(std::string_view list) {
  std::vector<Rank> ranks;
  if (list.starts_with('[')) list.remove_prefix(1);
  if (list.ends_with(']')) list.remove_suffix(1);
  for (const std::string_view cell : cells_of(list, std::numeric_limits<std::size_t>::max())) {
    const auto rank = number_of<std::uint32_t>(cell);
    if (!rank) break;
    ranks.emplace_back(*rank);
  }
  return ranks;
}

std::optional<Tensors> tensors_of(std::string_view dims, std::string_view types) {
  const auto shapes = inner_lists(dims);
  const auto names = strings_of(types);
  std::optional<Tensors> sum;
  for (std::size_t i = 0; i < std::min(shapes.size(), names.size()); ++i) {
    const auto size = element_size_of(names[i]);
    if (!size) continue;  // a Scalar, or none
    const auto elements = product_of(shapes[i]);
    if (!elements) return std::nullopt;
    if (!sum) {
      sum = Tensors{0, *size};
    } else if (sum->element_size != *size) {
      return std::nullopt;
    }
    sum->elements += *elements;
  }
  return sum;
}

std::vector<Tensors> each_tensor_of(std::string_view dims, std::string_view types) {
  const auto shapes = inner_lists(dims);
  const auto names = strings_of(types);
  std::vector<Tensors> each;
  for (std::size_t i = 0; i < std::min(shapes.size(), names.size()); ++i) {
    const auto size = element_size_of(names[i]);
    const auto elements = size ? product_of(shapes[i]) : std::nullopt;
    if (elements && *elements <= elements_most) each.push_back({*elements, *size});
  }
  return each;
}

}  // namespace paceline::traces::pytorch
