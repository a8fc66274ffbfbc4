#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string_view>
#include <variant>

#include "scenarios/document/document.h"
#include "scenarios/import/shell_word.h"
#include "scenarios/init/draft.h"
#include "scenarios/loader/load_scenario.h"
#include "scenarios/schema/key_words.h"

namespace paceline::init {
namespace {

using loader::comment;
using loader::yaml_quoted;
using settings::Key;

// What the tables say of the key at a path; empty: nothing.
std::string meaning_of(std::string_view path) {
  std::span<const Key> keys = loader::scenario_keys();
  while (true) {
    const auto exact = std::ranges::find(keys, path, &Key::name);
    if (exact != keys.end()) return schema::description_of(*exact, keys);
    const std::string_view first = path.substr(0, path.find('.'));
    const auto section = std::ranges::find(keys, first, &Key::name);
    if (section == keys.end() || first.size() == path.size()) return "";
    const auto* map = std::get_if<settings::Map>(&section->type);
    if (map == nullptr) return "";
    keys = map->keys();
    path.remove_prefix(first.size() + 1);
  }
}

std::string origin_of(const Entry& entry) {
  switch (entry.origin) {
    case Origin::given: return "given";
    case Origin::answered: return "answered";
    case Origin::found: return "from " + entry.from;
    case Origin::assumed: return "assumed" + (entry.from.empty() ? "" : ": " + entry.from);
  }
  return "";
}

// What YAML takes for more than a word.
std::string spelled(const std::string& value) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  const bool is_flow = value.starts_with('[') || value.starts_with('{');
  const bool is_plain = value.find_first_not_of(plain) == value.npos && !value.starts_with('-');
  return is_flow || is_plain ? value : yaml_quoted(value);
}

// A section as YAML below its key.
std::string below(const std::string& yaml, const std::string& indent) {
  std::istringstream lines(yaml);
  std::string text;
  for (std::string line; std::getline(lines, line);) text += indent + line + '\n';
  return text;
}

// The section of an entry, and the map in it, opened where they are not.
class Maps {
 public:
  // Returns the lines that open what holds the path, and the indent of its key.
  std::string open(const std::string& path, std::string& indent) {
    std::string text;
    indent.clear();
    std::string prefix;
    for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
      const std::string map = path.substr(0, dot);
      if (!opened_.starts_with(map + ".")) {
        const std::string meaning = meaning_of(map);
        if (!meaning.empty() && indent.empty()) text += '\n' + comment(meaning, indent);
        text += fmt::format("{}{}:\n", indent, map.substr(prefix.empty() ? 0 : prefix.size() + 1));
      }
      prefix = map;
      indent += "  ";
    }
    opened_ = path;
    return text;
  }

 private:
  std::string opened_;  // the path of the entry before
};

// What narrows a prediction most, to be filled in.
constexpr const char* measured_throughput =
    "# single_gpu_throughput: 119.6 samples/s  # write what you measured, and remove the #\n";

std::string entry_text(const Entry& entry, Maps& maps) {
  std::string indent;
  std::string text = maps.open(entry.path, indent);
  if (indent.empty()) text += '\n';
  const bool is_axis = entry.path.starts_with("sweep.");
  const std::string meaning = meaning_of(is_axis ? entry.path.substr(6) : entry.path);
  if (!meaning.empty() && !is_axis) text += comment(meaning, indent);
  const std::string key = entry.path.substr(entry.path.rfind('.') + 1);
  const std::string origin = origin_of(entry);
  if (entry.value.find('\n') != entry.value.npos) {
    return text +
           fmt::format("{}{}:  # {}\n{}", indent, key, origin, below(entry.value, indent + "  "));
  }
  text += fmt::format("{}{}: {}  # {}\n", indent, key, spelled(entry.value), origin);
  if (entry.path == "workload.device") text += indent + measured_throughput;
  return text;
}

std::string head(const Draft& draft, const std::string& path) {
  const std::string file = shell_word(path);
  std::string text =
      "# yaml-language-server: $schema=paceline.schema.json\n"
      "# Written by paceline init. The comment after each value says where it comes from.\n#\n";
  std::string assumed;
  for (const Entry& entry : draft.entries) {
    if (entry.origin == Origin::assumed) assumed += (assumed.empty() ? "" : ", ") + entry.path;
  }
  if (!assumed.empty()) text += comment("Assumed: " + assumed + ".");
  for (const std::string& note : draft.notes) text += comment(note);
  text += comment("Measure first " + draft.measure_first + ".");
  text += "#\n# What to type next:\n";
  const auto command = [&](const std::string& words) { text += "#   paceline " + words + '\n'; };
  command("check " + file);
  command("run " + file);
  command("advise " + file + " --gpus " + draft.largest);
  command("run " + file + " --explain-cluster");
  if (draft.measures) command("measure " + file);
  command("schema -o paceline.schema.json");
  return text;
}

}  // namespace

std::string in_one_line(const Entry& entry) {
  const bool is_long = entry.value.find('\n') != entry.value.npos;
  const std::string value = is_long ? "" : entry.value;
  return entry.from.empty() ? value : fmt::format("{}{}{}", value, is_long ? "" : ", ", entry.from);
}

std::string scenario_text(const Draft& draft, const std::string& path) {
  std::string text =
      head(draft, path) + "schema: paceline/1\nname: " + yaml_quoted(draft.name) + '\n';
  Maps maps;
  for (const Entry& entry : draft.entries) text += entry_text(entry, maps);
  return text;
}

}  // namespace paceline::init
