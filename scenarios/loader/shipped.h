#pragma once

#include <span>
#include <string_view>

#include "models/shipped_file.h"
#include "scenarios/loader/reader.h"

namespace paceline::loader {

// The document that a field names: one of the shipped files, or a .yaml file beside the document
// the field is in. Throws InputError with the nearest shipped name when there is neither, or when
// the document's `schema` is not the expected one. Parsed once per process and name.
[[nodiscard]] DocumentPtr named_document(const Field& name, std::span<const ShippedFile> shipped,
                                         std::string_view schema);

}  // namespace paceline::loader
