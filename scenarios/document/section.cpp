#include "scenarios/document/section.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <variant>

#include "models/units/parse.h"

namespace paceline::loader {
namespace {

using settings::Value;

settings::Version version_of(const Field& field) {
  settings::Version version;
  const std::string text = field.text();
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec == std::errc{} && major.ptr != end && *major.ptr == '.') {
    const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
    // What follows the second number changes nothing: a third, or a build as +cu118.
    const std::string_view rest(minor.ptr, end);
    const bool has_third = rest.size() > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9';
    if (minor.ec == std::errc{} && (rest.empty() || has_third || rest[0] == '+')) return version;
  }
  field.fail("is not a version", "write \"2.1\"");
}

bool takes_automatic(const Key& key) { return says(key, automatic); }

struct ValueOf {
  const Field& field;
  const Key& key;
  const settings::Settings& around;

  Value operator()(Flag) const { return field.boolean(); }
  Value operator()(Count range) const {
    return field.count(range.least, range.most_key.empty()
                                        ? range.most
                                        : around.get<std::uint64_t>(range.most_key));
  }
  Value operator()(Number range) const { return field.number(range.least, range.most); }
  Value operator()(Fraction range) const {
    const double part = field.fraction(range.most);
    if (range.least > 0 && part <= 0) field.fail("is not above zero", "");
    if (part < range.least) {
      field.fail("is too small",
                 fmt::format("write {}% to {}%", range.least * 100, range.most * 100));
    }
    return part;
  }
  Value operator()(Time time) const {
    const Seconds value = time.is_long ? field.long_time() : field.seconds();
    if (time.above_zero && value == Seconds(0)) field.fail("is not a time above zero", "");
    if (value < time.least) {
      field.fail("is too short", fmt::format("write {} or more", to_text(time.least)));
    }
    return value;
  }
  Value operator()(Bandwidth) const { return field.bandwidth(); }
  Value operator()(Size) const { return field.bytes(); }
  Value operator()(ComputeSpeed) const { return field.flops_per_second(); }
  Value operator()(Throughput of) const {
    if (of.or_tokens) return settings::ByHand{};
    return field.throughput();
  }
  Value operator()(OneOf known) const {
    std::vector<std::string_view> words(known.words.begin(), known.words.end());
    if (takes_automatic(key)) words.push_back(automatic);
    return std::uint64_t{field.word(words)};
  }
  Value operator()(settings::VersionNumber) const { return version_of(field); }
  Value operator()(Text) const {
    (void)field.text();
    return settings::ByHand{};
  }
  Value operator()(auto) const { return settings::ByHand{}; }
};

std::string refusal_of(const Needs& needs) {
  if (!needs.refusal.empty()) return std::string(needs.refusal);
  const auto& [first, second] = needs.values;
  const std::string_view or_key = needs.or_key;
  return fmt::format("belongs to {}{}{}{}{}{}{}", needs.key, first.empty() ? "" : ": ", first,
                     second.empty() ? "" : " or ", second, or_key.empty() ? "" : " or ", or_key);
}

}  // namespace

std::vector<std::string_view> names_of(std::span<const Key> keys) {
  std::set<std::string_view> names;  // several keys may be in one map
  for (const Key& key : keys) names.insert(settings::top_of(key));
  return {names.begin(), names.end()};
}

settings::Settings read_settings(Reader& map, std::span<const Key> keys,
                                 const settings::Settings& around) {
  settings::Settings read(keys);
  std::map<std::string_view, Reader> maps;  // of the section, by name
  for (const Key& key : keys) {
    const std::string_view top = top_of(key);
    const bool is_in_map = top.size() < key.name.size();
    Reader& reader =
        is_in_map ? maps.try_emplace(top, map.map(std::string(top))).first->second : map;
    const auto field =
        reader.find(std::string(is_in_map ? key.name.substr(top.size() + 1) : key.name));
    if (!field || (takes_automatic(key) && field->text() == automatic)) continue;
    read.set(key.name, std::visit(ValueOf{*field, key, around}, key.type));
  }
  for (const auto& [name, inner] : maps) inner.finish();
  return read;
}

Section::Section(Reader map, std::span<const Key> keys) : Section(std::move(map), keys, {}) {}

Section::Section(Reader map, std::span<const Key> keys, const settings::Settings& around)
    : map_(std::move(map)), keys_(keys) {
  map_.expect_only(names_of(keys));
  settings_ = read_settings(map_, keys_, around);
}

void Section::lay_over(DocumentPtr document, Node map) {
  map_.lay_over(std::move(document), std::move(map));
  settings_ = read_settings(map_, keys_, {});
}

void Section::assume(std::string_view key, settings::Value value) {
  if (!is_given(key)) settings_.set(key, value);
}

std::optional<Field> Section::field(std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == key.npos) return map_.find(std::string(key));
  return map_.map(std::string(key.substr(0, dot))).find(std::string(key.substr(dot + 1)));
}

Field Section::require(std::string_view key) {
  return map_.require(std::string(key), settings_.key_of(key).example);
}

std::string Section::text(std::string_view key) {
  if (says(settings_.key_of(key), required)) return require(key).text();
  const auto given = field(key);
  return given ? given->text() : "";
}

void Section::refuse_set(const char* key, const std::string& what, const std::string& hint) {
  if (!map_.is_set(key)) return;
  const auto given = field(key);
  if (given && !given->is_of_several()) given->fail(what, hint);
}

Section Section::below(std::string_view key) {
  const Key& known = settings_.key_of(key);
  const std::string name(key);
  if (says(known, required) && !map_.has(name)) (void)require(key);
  return {map_.map(name), std::get<Map>(known.type).keys(), settings_};
}

void Section::finish() {
  for (const Key& key : keys_) {
    if (key.needs.key.empty() || left_out_.contains(key.name)) continue;
    const auto given = is_given(key.name) ? field(key.name) : std::nullopt;  // auto is not
    const Needs* lacks = given ? settings_.unmet(key.name) : nullptr;
    if (lacks == nullptr || given->is_of_several()) continue;
    const auto decides = field(lacks->key);
    if (!decides || !decides->is_of_several())
      given->fail(refusal_of(*lacks), std::string(lacks->hint));
  }
  map_.finish();
}

}  // namespace paceline::loader
