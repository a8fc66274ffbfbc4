#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/document/section.h"

namespace paceline::loader {

// The key `schema` of a data file, the first of its table.
[[nodiscard]] constexpr Key schema_key(std::string_view schema) {
  return {"schema", Text{schema}, required, "the format of this file", schema};
}

[[nodiscard]] inline bool names_a_file(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

[[nodiscard]] std::vector<std::string> names_of(std::span<const ShippedFile> files);

// The document that a field names: one of the shipped files, or a .yaml or .json file beside the
// document the field is in. Throws InputError when there is neither (naming the nearest), or for
// another schema or keys than the table's. Parsed once per thread and name.
[[nodiscard]] DocumentPtr named_document(const Field& name, std::span<const ShippedFile> shipped,
                                         std::span<const Key> table);

}  // namespace paceline::loader
