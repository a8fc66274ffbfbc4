#include "scenarios/document/reader.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/document/framework_words.h"

namespace paceline::loader {
namespace {

std::string last_part(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

template <class T>
T value_or_fail(const Parsed<T>& parsed, const Field& field) {
  if (const auto* error = std::get_if<UnitError>(&parsed)) field.fail(error->what, error->hint);
  return std::get<T>(parsed);
}

bool is_same_letter(char a, char b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return small(a) == small(b);
}

// That turn one into the other; large letters are as small ones.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (is_same_letter(a[i], b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  // A word of which no letter stays is another one.
  std::size_t fewest = std::min(std::max<std::size_t>(2, word.size() / 2) + 1, word.size());
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edits(word, candidate);
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    }
  }
  return best;
}

std::string known_ones(std::string_view word, std::span<const std::string> candidates) {
  if (const auto ours = in_our_words(word)) return fmt::format("write {}", *ours);
  const auto close = nearest(word, candidates);
  return fmt::format("{}known: {}", close ? fmt::format("did you mean {}? ", *close) : "",
                     fmt::join(candidates, ", "));
}

void Field::fail(const std::string& what, const std::string& hint) const {
  const std::string shown = node_.is_scalar() ? fmt::format(" \"{:.60}\"", node_.scalar()) : "";
  throw InputError(location(), last_part(path_) + shown + " " + what, hint);
}

std::string Field::text() const {
  if (!node_.is_scalar()) fail("is not a single value", "");
  const std::string& value = node_.scalar();
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(value, is_control)) fail("has a control character", "");
  return value;
}

std::string Field::file_path() const {
  return (std::filesystem::path(document_->folder) / text()).string();
}

template <class T>
T positive(const Field& field, T value, std::string_view what) {
  if (!(value > T(0))) field.fail(fmt::format("is not a {} above zero", what), "");
  return value;
}

// Limits that no sensible value reaches; within them sums and quotients stay finite.
constexpr Seconds seconds_max(1e9);  // 30 years
constexpr BytesPerSecond bandwidth_min(1), bandwidth_max(1e18);
constexpr FlopsPerSecond speed_min(1), speed_max(1e24);
constexpr SamplesPerSecond throughput_min(1e-9), throughput_max(1e18);

template <class T>
T within(const Field& field, const Parsed<T>& parsed, std::string_view what, T least, T most) {
  const T value = positive(field, value_or_fail(parsed, field), what);
  if (value < least) field.fail("is too small", "");
  if (value > most) field.fail("is too large", "");
  return value;
}

Seconds Field::seconds() const {
  const Seconds value = value_or_fail(parse_seconds(text()), *this);
  if (value > seconds_max) fail("is too large", "");
  return value;
}
Seconds Field::long_time() const {
  const std::string value = text();
  if (const auto number = number_of<double>(value); number && *number >= 0) {
    fail("has no unit", fmt::format("write {0}h or {0}min", value));
  }
  return seconds();
}
Seconds Field::positive_seconds() const { return positive(*this, seconds(), "time"); }
BytesPerSecond Field::bandwidth() const {
  return within(*this, parse_bandwidth(text()), "bandwidth", bandwidth_min, bandwidth_max);
}
Bytes Field::bytes() const {
  return positive(*this, value_or_fail(parse_bytes(text()), *this), "size");
}
FlopsPerSecond Field::flops_per_second() const {
  return within(*this, parse_flops_per_second(text()), "compute speed", speed_min, speed_max);
}
SamplesPerSecond Field::throughput() const {
  return within(*this, parse_throughput(text()), "throughput", throughput_min, throughput_max);
}

bool Field::boolean() const {
  const std::string value = text();
  if (value == "true") return true;
  if (value == "false") return false;
  fail("is neither true nor false", "write true or false");
}

double Field::number(double least, double most) const {
  const auto parsed = number_of<double>(text());
  const std::string range = fmt::format("write a number from {} to {}", least, most);
  if (!parsed || !std::isfinite(*parsed)) fail("is not a number", range);
  if (*parsed < least || *parsed > most) fail("is out of range", range);
  return *parsed;
}

std::uint64_t Field::count(std::uint64_t least, std::uint64_t most) const {
  if (const auto whole = number_of<std::uint64_t>(text())) {  // of more digits than a double has
    if (*whole >= least && *whole <= most) return *whole;
    fail("is out of range", fmt::format("write a number from {} to {}", least, most));
  }
  const double parsed = number(static_cast<double>(least), static_cast<double>(most));
  if (parsed != std::floor(parsed)) fail("is not a whole number", "");
  return static_cast<std::uint64_t>(parsed);
}

double Field::fraction(double most) const {
  const std::string value = text();
  if (!value.empty() && value.back() == '%') {
    const auto parsed = number_of<double>(std::string_view(value).substr(0, value.size() - 1));
    if (!parsed || !(*parsed >= 0 && *parsed <= most * 100)) {
      fail("is not a part of the whole", fmt::format("write 0% to {}%", most * 100));
    }
    return *parsed / 100;
  }
  return number(0, most);
}

std::size_t Field::word(std::span<const std::string_view> words) const {
  const std::string value = text();
  const auto found = std::ranges::find(words, value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  fail("is not known", known_ones(value, std::vector<std::string>(words.begin(), words.end())));
}

std::vector<Field> Field::list() const {
  constexpr const char* hint = "write [a, b, ...]";
  if (!node_.is_list()) fail("is not a list", hint);
  if (node_.list().empty()) fail("is an empty list", hint);
  std::vector<Field> elements;
  for (const Node& element : node_.list()) elements.emplace_back(document_, element, path_);
  return elements;
}

Field Field::of_several() const {
  Field same = *this;
  same.is_of_several_ = true;
  return same;
}

Reader::Reader(DocumentPtr document, Node map, std::string path, const Overrides& overrides)
    : path_(std::move(path)), overrides_(&overrides) {
  lay_over(std::move(document), std::move(map));
}

Reader::Reader(const Field& map) : Reader(map.document(), map.node(), map.path(), no_overrides) {}
Reader::Reader(const DocumentPtr& document) : Reader(document, document->root, "", no_overrides) {}

void Reader::lay_over(DocumentPtr document, Node map, bool is_of_setting) {
  if (map && !map.is_map() && !map.is_null()) {
    Field(document, map, path_).fail("is not a map", "write keys with values below it");
  }
  layers_.push_back({std::move(document), std::move(map), is_of_setting});
}

Node Reader::Layer::value(std::string_view key) const {
  if (left_out.contains(key)) return {};
  Node node = map[key];
  const std::size_t dot = key.find('.');
  if (!node && dot != key.npos) node = map[key.substr(0, dot)][key.substr(dot + 1)];
  return node.is_null() ? Node{} : node;
}

std::string Reader::below(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::optional<std::size_t> Reader::layer_of(std::string_view key) const {
  const std::size_t dot = key.find('.');  // of a map below, which may be set as a whole
  if (is_set(key) || (dot != key.npos && is_set(key.substr(0, dot)))) return 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].value(key)) return i + 1;
  }
  return std::nullopt;
}

std::size_t Reader::author_of(std::size_t layer) const {
  return layer > 0 && layers_[layer - 1].is_of_setting ? 0 : layer;
}

std::optional<Field> Reader::find_below(std::string_view key, std::size_t layer) const {
  for (std::size_t i = std::max<std::size_t>(layer, 1); i <= layers_.size(); ++i) {
    const Layer& one = layers_[i - 1];
    if (author_of(i) < layer) continue;
    if (const Node node = one.value(key)) return Field(one.document, node, below(key));
  }
  return std::nullopt;
}

void Reader::leave_out(std::string_view key) { layers_[*layer_of(key) - 1].left_out.emplace(key); }

Reader Reader::as_of(std::size_t layer) const {
  if (layer == 0) return *this;
  Reader reader = *this;
  reader.layers_.erase(reader.layers_.begin(),
                       reader.layers_.begin() + static_cast<std::ptrdiff_t>(layer - 1));
  std::erase_if(reader.layers_, &Layer::is_of_setting);
  reader.overrides_ = &no_overrides;
  return reader;
}

std::optional<Field> Reader::find(const std::string& key) {
  asked_.insert(key);
  const auto place = layer_of(key);
  if (!place) return std::nullopt;
  if (*place == 0) return overrides_->at(below(key));
  const Layer& layer = layers_[*place - 1];
  return Field(layer.document, layer.value(key), below(key));
}

std::optional<Field> Reader::find_list(const std::string& key) {
  open_.insert(key);
  return find(key);
}

Field Reader::require(const std::string& key, std::string_view example) {
  if (auto field = find(key)) return *field;
  throw InputError(location(), fmt::format("{} is missing", below(key)),
                   fmt::format("write {}: {}", key, example));
}

void Reader::expect_schema(std::string_view format) {
  const Field schema = require("schema", format);
  if (schema.text() == format) return;
  schema.fail(fmt::format("is not {}", format), fmt::format("write schema: {}", format));
}

Reader Reader::map(const std::string& key) {
  asked_.insert(key);
  open_.insert(key);
  if (const auto whole = overrides_->find(below(key)); whole != overrides_->end()) {
    const Field& field = whole->second;
    return {field.document(), field.node(), field.path(), *overrides_};
  }
  Reader reader(layers_.front().document, layers_.front().map[key], below(key), *overrides_);
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    reader.lay_over(layers_[i].document, layers_[i].map[key], layers_[i].is_of_setting);
  }
  reader.around_ = location();
  return reader;
}

bool Reader::has(const std::string& key) {
  asked_.insert(key);
  const auto is_below = [&](const auto& entry) {
    return entry.first.starts_with(below(key) + ".");
  };
  return is_set(key) || std::ranges::any_of(*overrides_, is_below) ||
         std::ranges::any_of(layers_, [&](const Layer& layer) { return bool(layer.map[key]); });
}

Location Reader::location() const {
  const Layer& first = layers_.front();
  if (!first.map) return around_.value_or(Location{first.document->name});
  return location_of(*first.document, first.map);
}

std::vector<std::pair<std::string, Field>> Reader::entries() {
  std::vector<std::pair<std::string, Field>> all;
  const Layer& first = layers_.front();
  for (const auto& [key, value] : first.map.entries()) {
    if (!key.is_scalar()) continue;
    asked_.insert(key.scalar());
    if (is_set(key.scalar())) continue;
    all.emplace_back(key.scalar(), Field(first.document, value, below(key.scalar())));
  }
  for (const auto& [path, field] : *overrides_) {
    const std::string key = rest_of(path);
    if (key.empty()) continue;
    asked_.insert(key);
    all.emplace_back(key, field);
  }
  return all;
}

void Reader::fail_unknown(const std::string& key, Location where,
                          std::span<const std::string> known, const Listed& listed) const {
  const auto close = nearest(key, known);
  const auto hint = [&] {
    if (const auto ours = in_our_words(key)) return fmt::format("write {}", *ours);
    if (close) return fmt::format("did you mean {}?", *close);
    return fmt::format(
        "known keys: {}",
        fmt::join(listed ? listed() : std::vector<std::string>(known.begin(), known.end()), ", "));
  };
  throw InputError(std::move(where), fmt::format("unknown key \"{:.60}\"", below(key)), hint());
}

std::string Reader::rest_of(const std::string& overridden_path) const {
  if (path_.empty()) return overridden_path;
  const std::string prefix = path_ + ".";
  return overridden_path.starts_with(prefix) ? overridden_path.substr(prefix.size()) : "";
}

void Reader::expect_among(std::span<const std::string> known, const Listed& listed) const {
  const auto is_known = [&](const std::string& key) {
    return std::ranges::find(known, key) != known.end();
  };
  for (const Layer& layer : layers_) {
    for (const auto& [key, value] : layer.map.entries()) {
      if (key.is_scalar() && !is_known(key.scalar())) {
        fail_unknown(key.scalar(), location_of(*layer.document, key), known, listed);
      }
    }
  }
  for (const auto& [path, field] : *overrides_) {
    const std::string rest = rest_of(path), key = rest.substr(0, rest.find('.'));
    if (!rest.empty() && !is_known(rest) && !is_known(key)) {
      fail_unknown(key, field.location(), known, listed);
    }
  }
}

void Reader::expect_only(std::span<const std::string_view> keys, const Listed& listed) const {
  std::vector<std::string> known(keys.begin(), keys.end());
  std::ranges::sort(known);
  expect_among(known, listed);
}

void Reader::finish() const {
  expect_among(std::vector<std::string>(asked_.begin(), asked_.end()), nullptr);
  for (const Layer& layer : layers_) {
    for (const auto& [key, value] : layer.map.entries()) {
      if (key.is_scalar()) continue;
      throw InputError(location_of(*layer.document, key), "a key is not a word", "");
    }
  }
  for (const auto& [path, field] : *overrides_) {
    const std::string rest = rest_of(path), key = rest.substr(0, rest.find('.'));
    if (key == rest || asked_.contains(rest) || open_.contains(key)) continue;
    throw InputError(field.location(), fmt::format("there is nothing below {}", below(key)),
                     fmt::format("set {} itself", below(key)));
  }
}

}  // namespace paceline::loader
