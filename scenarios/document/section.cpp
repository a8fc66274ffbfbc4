#include "scenarios/document/section.h"

#include <fmt/format.h>

#include <algorithm>
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

// Subject: the section. Then the owner as it was and is, and the keys with their values.
constexpr AssumptionKind of_another{
    "{}: left out, because it was given for {} and this run has {}: {}; to keep it, give it "
    "beside that",
    true};

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

std::string text_of(const std::optional<Field>& field) {
  return field && field->node().is_scalar() ? field->text() : "another";
}

std::string refusal_of(const Needs& needs) {
  if (!needs.refusal.empty()) return std::string(needs.refusal);
  const auto& [first, second] = needs.values;
  const std::string_view or_key = needs.or_key;
  return fmt::format("belongs to {}{}{}{}{}{}{}", needs.key, first.empty() ? "" : ": ", first,
                     second.empty() ? "" : " or ", second, or_key.empty() ? "" : " or ", or_key);
}

std::string hint_of(const Needs& needs) {
  if (!needs.hint.empty() || needs.values.front().empty()) return std::string(needs.hint);
  return fmt::format("leave it out, or write {}: {}", needs.key, needs.values.front());
}

}  // namespace

bool are_alike(const Key& key, const std::optional<Field>& one, const std::optional<Field>& other) {
  settings::Type type = key.type;
  if (auto* count = std::get_if<Count>(&type)) count->most_key = {};  // of a section around it
  const auto value_of = [&](const std::optional<Field>& field) -> std::optional<Value> {
    const bool is_given =
        field && !(takes_automatic(key) && field->node().is_scalar() && field->text() == automatic);
    if (is_given) return std::visit(ValueOf{*field, key, {}}, type);
    const auto* holds = std::get_if<Value>(&key.unless_given);
    return holds != nullptr ? std::optional(*holds) : std::nullopt;
  };
  const auto a = value_of(one), b = value_of(other);
  if (!a || !b) return a.has_value() == b.has_value();
  if (!std::holds_alternative<settings::ByHand>(*a)) return *a == *b;
  return one && other && one->node() == other->node();
}

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
  map_.expect_only(names_of(keys), [&] { return names_that_apply(); });
  read(around);
}

// Of the keys that nothing else here rules out, as another strategy does.
std::vector<std::string> Section::names_that_apply() {
  std::set<std::string> names;
  for (const Key& key : keys_) {
    const Needs& needs = key.needs;
    const auto other = needs.key.empty() ? std::nullopt : map_.find(std::string(needs.key));
    const bool is_word = other && other->node().is_scalar();
    const bool is_met =
        needs.key.empty() || needs.values.front().empty() ||
        (is_word && std::ranges::find(needs.values, other->text()) != needs.values.end());
    if (is_met) names.emplace(top_of(key));
  }
  return {names.begin(), names.end()};
}

void Section::lay_over(DocumentPtr document, Node map, bool is_of_setting) {
  map_.lay_over(std::move(document), std::move(map), is_of_setting);
  read({});
}

// The value of a lower layer takes the place of one that is left out, and may not fit either.
void Section::read(const settings::Settings& around) {
  outlived_.clear();
  settings_ = read_settings(map_, keys_, around);
  for (const Key& key : keys_) {
    while (const auto found = outlived(key)) {
      if (key.owners.then == Owners::Then::refused) {
        field(key.name)->fail(
            fmt::format("was given for {}, and this run has {}", found->given_for, found->here),
            "give both, or neither");
      }
      outlived_.push_back(*found);
      if (!found->is_left_out) break;
      map_.leave_out(key.name);
      settings_ = read_settings(map_, keys_, around);
    }
  }
}

std::optional<Outlived> Section::outlived(const Key& key) {
  if (!is_given(key.name)) return std::nullopt;
  const std::size_t layer = *map_.layer_of(key.name);
  if (map_.author_of(layer) == 0) return std::nullopt;
  const Needs* const lacks = settings_.unmet(key.name);
  if (lacks != nullptr && is_replaced(lacks->key, layer)) {
    return Outlived{&key, text_of(field(key.name)),
                    fmt::format("{} {}", lacks->key, lacks->values.front()),
                    text_of(field(lacks->key)), true};
  }
  const auto is_other = [&](std::string_view owner) {
    if (owner.empty() || !is_replaced(owner, layer)) return false;
    const auto known =
        std::ranges::find(keys_, owner, &Key::name);  // or it is of a map in this one
    return known == keys_.end() || !are_alike(*known, field(owner), map_.find_below(owner, layer));
  };
  const auto& [all, named, then] = key.owners;
  auto owner = std::ranges::find_if(all, is_other);
  if (owner == all.end()) {
    owner = std::ranges::find_if(
        named, [&](std::string_view one) { return is_other(one) && map_.layer_of(one) != 0; });
    if (owner == named.end()) return std::nullopt;
  }
  return Outlived{&key, text_of(field(key.name)),
                  fmt::format("{} {}", *owner, text_of(map_.find_below(*owner, layer))),
                  text_of(field(*owner)), then == Owners::Then::left_out};
}

bool Section::is_replaced(std::string_view key, std::size_t layer) const {
  const auto by = map_.layer_of(key);
  return by && map_.author_of(*by) < layer;
}

void Section::leave_out(std::string_view key) {
  std::ranges::find(outlived_, key, [](const Outlived& one) {
    return one.key->name;
  })->is_left_out = true;
}

bool Section::is_outlived(std::string_view key) const {
  return std::ranges::any_of(outlived_, [&](const Outlived& one) { return one.key->name == key; });
}

Section Section::as_given_with(std::string_view key) const {
  return {map_.as_of(map_.layer_of(key).value()), keys_};
}

void Section::say_left_out(Assumptions& assumptions) const {
  std::map<std::pair<std::string, std::string>, std::string> left_out;  // by owner
  for (const Outlived& one : outlived_) {
    if (!one.is_left_out) continue;
    std::string& all = left_out[{one.given_for, one.here}];
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", one.key->name, one.value);
  }
  for (const auto& [owner, all] : left_out) {
    assumptions.add({of_another, map_.path(), {owner.first, owner.second, all}});
  }
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
    if (key.needs.key.empty()) continue;
    const auto given = is_given(key.name) ? field(key.name) : std::nullopt;  // auto is not
    const Needs* lacks = given ? settings_.unmet(key.name) : nullptr;
    if (lacks == nullptr || given->is_of_several()) continue;
    const auto decides = field(lacks->key);
    if (!decides || !decides->is_of_several()) given->fail(refusal_of(*lacks), hint_of(*lacks));
  }
  map_.finish();
}

}  // namespace paceline::loader
