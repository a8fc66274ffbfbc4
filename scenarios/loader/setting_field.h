#pragma once

#include <string>

#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline::loader {

// A value of the command line, as a field whose messages show the setting. Throws InputError.
[[nodiscard]] Field setting_field(const ScenarioFile::Setting& setting);

// Every part between dots is a key or a number of a list. Throws InputError.
void check_path(const Location& where, const std::string& path);

}  // namespace paceline::loader
