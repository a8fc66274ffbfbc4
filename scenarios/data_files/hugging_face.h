#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scenarios/document/reader.h"

namespace paceline::loader {

// The network that a config.json of Hugging Face describes, as a document of paceline.network/1:
// modules, names and shapes of transformers' modeling files (v4.57), in the order in which their
// forward calls them. Families by `model_type`; another one is refused, with the nearest named.
// Sizes are required; heads of keys and values, windows and flags that a config leaves out have the
// default of their family's configuration class. `sequence`: tokens of a sample unless a scenario
// says. Throws InputError, with the place and key of a value that none of the family's models has.
[[nodiscard]] DocumentPtr network_of_config(Reader& config, const std::string& name,
                                            std::optional<std::uint64_t> sequence);

// Whether a document is a config.json.
[[nodiscard]] bool is_config(Reader& document);

// Whether `model` is a config.json, and of what reads tokens, of which it does not say how many a
// sample has. Throw InputError when it cannot be read.
[[nodiscard]] bool is_config_file(const std::string& model);
[[nodiscard]] bool asks_for_sequence(const std::string& model);

}  // namespace paceline::loader
