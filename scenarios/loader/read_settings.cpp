#include "scenarios/loader/read_settings.h"

#include <charconv>
#include <map>
#include <string>
#include <variant>

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
    if (minor.ec == std::errc{} && (minor.ptr == end || *minor.ptr == '.')) return version;
  }
  field.fail("is not a version", "write \"2.1\"");
}

struct ValueOf {
  const Field& field;

  Value operator()(settings::Flag) const { return field.boolean(); }
  Value operator()(settings::Count range) const { return field.count(range.least, range.most); }
  Value operator()(settings::Time) const { return field.seconds(); }
  Value operator()(settings::Bandwidth) const { return field.bandwidth(); }
  Value operator()(settings::Size) const { return field.bytes(); }
  Value operator()(settings::OneOf known) const { return std::uint64_t{field.word(known.words)}; }
  Value operator()(settings::VersionNumber) const { return version_of(field); }
};

bool takes_automatic(const settings::Key& key) {
  const auto* words = std::get_if<std::string_view>(&key.unless_given);
  return words != nullptr && *words == settings::automatic;
}

}  // namespace

settings::Settings read_settings(Reader& section, std::span<const settings::Key> keys) {
  settings::Settings read(keys);
  std::map<std::string_view, Reader> maps;  // of the section, by name
  for (const settings::Key& key : keys) {
    const std::string_view top = top_of(key);
    const bool is_in_map = top.size() < key.name.size();
    Reader& reader =
        is_in_map ? maps.try_emplace(top, section.map(std::string(top))).first->second : section;
    const auto field =
        reader.find(std::string(is_in_map ? key.name.substr(top.size() + 1) : key.name));
    if (!field || (takes_automatic(key) && field->text() == settings::automatic)) continue;
    read.set(key.name, std::visit(ValueOf{*field}, key.type));
  }
  for (const auto& [name, map] : maps) map.finish();
  return read;
}

}  // namespace paceline::loader
