#pragma once

#include <span>

#include "models/settings/settings.h"
#include "scenarios/loader/document/reader.h"

namespace paceline::loader {

// What a section gives the keys of a table, which must outlive it. Throws InputError for a value
// that is not of its key's type and range.
[[nodiscard]] settings::Settings read_settings(Reader& section,
                                               std::span<const settings::Key> keys);

}  // namespace paceline::loader
