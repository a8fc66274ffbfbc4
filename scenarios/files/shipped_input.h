#pragma once

#include <string>
#include <string_view>

namespace paceline::files {

// Folders of shipped files, from the root of a checkout.
inline constexpr std::string_view shipped_scenario_folder = "scenarios/library";
inline constexpr std::string_view shipped_job_folder = "scenarios/library/jobs";

// `path` where something is there; else the shipped file at this path, below scenarios/library/;
// else, for a mere name, the shipped `folder`/NAME.yaml; else `path`. Shipped files are those of
// this program's installation or checkout.
[[nodiscard]] std::string with_shipped(const std::string& path, std::string_view folder);

}  // namespace paceline::files
