#include "scenarios/loader/point_named.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "scenarios/loader/axis_value.h"
#include "scenarios/loader/setting_field.h"

namespace paceline::loader {
namespace {

std::string axes_in_words(Axes axes) {
  std::vector<std::string> words;
  for (const ScenarioFile::Axis& axis : axes) {
    words.push_back(fmt::format("{}: {}", axis.path, first_of(axis.values)));
  }
  return words.empty() ? "it has one point: leave --point out"
                       : fmt::format("it has {}", fmt::join(words, "; "));
}

// By path, what stands behind it.
std::map<std::string, std::string> pairs_of(const std::string& text, const Location& where) {
  std::map<std::string, std::string> pairs;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto equals = part.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == part.size()) {
      throw InputError(where, fmt::format("\"{:.60}\" is not path=value", part),
                       "write --point gpus=8");
    }
    if (!pairs.emplace(part.substr(0, equals), part.substr(equals + 1)).second) {
      throw InputError(where, fmt::format("{:.60} is named twice", part.substr(0, equals)),
                       "name it once");
    }
  }
  return pairs;
}

}  // namespace

std::size_t point_named(const std::string& text, Axes axes) {
  const Location where{"--point " + text, 0, 0};
  const auto pairs = pairs_of(text, where);
  for (const auto& [path, value] : pairs) {
    if (std::ranges::find(axes, path, &ScenarioFile::Axis::path) != axes.end()) continue;
    throw InputError(where, fmt::format("the sweep has no axis {:.60}", path), axes_in_words(axes));
  }
  std::size_t point = 0;
  for (const ScenarioFile::Axis& axis : axes) {
    std::size_t place = axis.values.size() - 1;
    if (const auto named = pairs.find(axis.path); named != pairs.end()) {
      const AxisValue asked = axis_value(axis.path, setting_field({axis.path, named->second}));
      const auto found = std::ranges::find_if(
          axis.values, [&](const AxisValue& value) { return same(value, asked); });
      if (found == axis.values.end()) {
        throw InputError(
            where, fmt::format("{} \"{:.60}\" is no value of its axis", axis.path, named->second),
            "it has " + first_of(axis.values));
      }
      place = static_cast<std::size_t>(found - axis.values.begin());
    }
    point = point * axis.values.size() + place;
  }
  return point;
}

}  // namespace paceline::loader
