#pragma once

#include <span>
#include <string_view>

#include "models/settings/key.h"
#include "models/shipped_file.h"
#include "scenarios/loader/document/reader.h"

namespace paceline::loader {

// What a data file must say it is, and the keys at its top.
struct FileKind {
  std::string_view schema;
  std::span<const std::string_view> keys;
};

// The key of that name of each data file, for its table.
[[nodiscard]] constexpr settings::Key schema_key(std::string_view schema) {
  return {"schema", settings::Text{schema}, settings::required, "the format of this file", schema};
}

// The document that a field names: one of the shipped files, or a .yaml file beside the document
// the field is in. Throws InputError with the nearest shipped name when there is neither, or when
// the document is of another kind. Parsed once per process and name.
[[nodiscard]] DocumentPtr named_document(const Field& name, std::span<const ShippedFile> shipped,
                                         const FileKind& kind);

}  // namespace paceline::loader
