#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <variant>

#include "models/units/parse.h"
#include "scenarios/schema/key_words.h"
#include "tests/scenarios/process.h"

// Rows of documents that list keys, made from the tables of keys.
namespace paceline::test {

using settings::Key;

// The values that a key takes: "1 to 64", "a time above 0"; empty for a section.
struct Taken {
  std::string operator()(settings::Flag) const { return "true or false"; }
  std::string operator()(settings::Count range) const {
    return range.most_key.empty() ? fmt::format("{} to {}", range.least, range.most)
                                  : fmt::format("{} to `{}`", range.least, range.most_key);
  }
  std::string operator()(settings::Number range) const {
    return fmt::format("{} to {}", range.least, range.most);
  }
  std::string operator()(settings::Fraction range) const {
    return fmt::format("{}% to {}%", range.least * 100, range.most * 100);
  }
  std::string operator()(settings::Time time) const {
    if (time.least > Seconds(0)) return "a time of " + to_text(time.least) + " or more";
    return time.above_zero ? "a time above 0" : "a time";
  }
  std::string operator()(settings::Bandwidth) const { return "a bandwidth"; }
  std::string operator()(settings::Size) const { return "a size"; }
  std::string operator()(settings::ComputeSpeed) const { return "a compute speed"; }
  std::string operator()(settings::Throughput) const { return "a throughput"; }
  std::string operator()(settings::OneOf known) const {
    return fmt::format("{}", fmt::join(known.words, ", "));
  }
  std::string operator()(settings::VersionNumber) const { return "a version"; }
  std::string operator()(settings::Text text) const { return std::string(text.what); }
  std::string operator()(settings::Structure some) const { return std::string(some.what); }
  std::string operator()(settings::Map) const { return ""; }
};

// First the keys of the table itself, then the maps below it, each under a heading.
inline std::string rows_of(std::span<const Key> keys, const std::string& path) {
  std::string own, below;
  for (const Key& key : keys) {
    const std::string taken = std::visit(Taken{}, key.type),
                      meaning = schema::needs_of(key.needs, keys);
    const auto row = [&](const std::string& name) {
      return fmt::format("| {} | {} | {} | {}{} |\n", name, taken, schema::default_of(key), meaning,
                         key.meaning);
    };
    if (const auto* map = std::get_if<settings::Map>(&key.type)) {
      const std::string inner =
          path.empty() ? std::string(key.name) : path + "." + std::string(key.name);
      below += row(fmt::format("**`{}:`**", inner)) + rows_of(map->keys(), inner);
    } else {
      own += row(fmt::format("`{}`", key.name));
    }
  }
  return own + below;
}

// The document's table behind `heading` is that of these rows. PACELINE_UPDATE_SCHEMA=1 in the
// environment rewrites it.
inline void expect_table(const std::filesystem::path& document, const std::string& heading,
                         std::span<const Key> keys) {
  const std::string text = text_of(document);
  const auto begin = text.find("| key |", text.find(heading)), end = text.find("\n\n", begin) + 1;
  ASSERT_LT(begin, end) << heading;
  const std::string expected =
      "| key | takes | default | meaning |\n|---|---|---|---|\n" + rows_of(keys, "");
  if (std::getenv("PACELINE_UPDATE_SCHEMA") != nullptr) {
    std::ofstream(document) << text.substr(0, begin) << expected << text.substr(end);
    return;
  }
  const std::string is = text.substr(begin, end - begin);
  const auto [differs, from] = std::ranges::mismatch(is, expected);
  EXPECT_TRUE(is == expected) << "PACELINE_UPDATE_SCHEMA=1 rewrites the rows from "
                              << std::string(differs, is.end()).substr(0, 80);
}

}  // namespace paceline::test
