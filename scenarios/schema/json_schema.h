#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/settings/key.h"

// JSON Schema of files, draft-07, which editors' YAML plug-ins check and complete by.
// Source: "JSON Schema Validation: A Vocabulary for Structural Validation of JSON",
// draft-handrews-json-schema-validation-01.
namespace paceline::schema {

// A kind of file.
struct Kind {
  std::string_view name;     // "scenario"
  std::string_view summary;  // goes on after the name
  std::span<const settings::Key> (*keys)();
  bool has_sweep = false;  // axes stand in for values of the file, and points name them
};

[[nodiscard]] std::span<const Kind> kinds();

// The kind's schema: one JSON object that ends with a line break, made of its table of keys. What
// only a whole file can say, such as whether batches divide or files are there, is not in it.
[[nodiscard]] std::string json_schema(const Kind& kind);

}  // namespace paceline::schema
