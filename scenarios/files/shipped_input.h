#pragma once

#include <string>
#include <string_view>

namespace paceline::files {

// Folders of shipped files, from the root of a checkout.
inline constexpr std::string_view shipped_scenario_folder = "scenarios/library";
inline constexpr std::string_view shipped_job_folder = "scenarios/library/jobs";

// Where an input is that may be a shipped one: `path` itself where something is there; else the
// shipped file at this path, which begins with scenarios/library/; else, where `path` is a mere
// name, the shipped file `folder`/NAME.yaml. Shipped files are those of the installation, or of the
// checkout, that this program is part of. Returns `path` where there is none of these.
[[nodiscard]] std::string with_shipped(const std::string& path, std::string_view folder);

}  // namespace paceline::files
