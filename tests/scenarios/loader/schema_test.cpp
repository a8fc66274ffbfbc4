// The rows of SCHEMA.md that are made from tables of keys. PACELINE_UPDATE_SCHEMA=1 rewrites them.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

#include "models/training/strategy.h"
#include "models/units/parse.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

using settings::Key;

const std::filesystem::path schema_path =
    std::filesystem::path(PACELINE_SOURCE_DIR) / "scenarios/SCHEMA.md";

struct Spelled {
  const settings::Type& type;

  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::uint64_t value) const {
    const auto* word = std::get_if<settings::OneOf>(&type);
    return word != nullptr ? std::string(word->words[value]) : std::to_string(value);
  }
  std::string operator()(Seconds value) const { return value == Seconds(0) ? "0" : to_text(value); }
  std::string operator()(BytesPerSecond value) const { return to_text(value); }
  std::string operator()(Bytes value) const { return to_text(value); }
  std::string operator()(settings::Version value) const {
    return fmt::format("\"{}.{}\"", value.major, value.minor);
  }
};

std::string default_of(const Key& key) {
  if (const auto* words = std::get_if<std::string_view>(&key.unless_given)) {
    return std::string(*words);
  }
  return std::visit(Spelled{key.type}, std::get<settings::Value>(key.unless_given));
}

// What can be given, where the default does not show it.
std::string choices_of(const Key& key) {
  if (const auto* word = std::get_if<settings::OneOf>(&key.type)) {
    return fmt::format("{}; ", fmt::join(word->words, ", "));
  }
  return "";
}

std::string row_of(const Key& key, std::string_view owner) {
  return fmt::format("| `{}` | {} | {}{}{} |\n", key.name, default_of(key),
                     owner.empty() ? "" : fmt::format("{}: ", owner), choices_of(key), key.meaning);
}

std::string training_rows() {
  std::string rows = "| `strategy` | required | ";
  for (const training::Strategy* strategy : training::strategies()) {
    rows += fmt::format("{}{} ({})", strategy == training::strategies().front() ? "" : ", ",
                        strategy->name, strategy->summary);
  }
  rows += ". With a trace all but traced need gradients that it tells |\n";
  for (const training::Strategy* strategy : training::strategies()) {
    for (const Key& key : strategy->keys) rows += row_of(key, strategy->name);
  }
  for (const Key& key : training::common_keys()) rows += row_of(key, "");
  return rows;
}

TEST(Schema, ListsTheKeysOfTheTables) {
  const std::string text = test::text_of(schema_path);
  const std::string heading = "| **`training:`** | | |\n";
  const auto begin = text.find(heading) + heading.size();
  const auto end = text.find("| **`", begin);
  ASSERT_LT(begin, end);
  ASSERT_NE(end, std::string::npos);
  const std::string expected = training_rows();
  if (std::getenv("PACELINE_UPDATE_SCHEMA") != nullptr) {
    std::ofstream(schema_path) << text.substr(0, begin) << expected << text.substr(end);
  } else {
    EXPECT_EQ(text.substr(begin, end - begin), expected);
  }
}

}  // namespace
}  // namespace paceline
