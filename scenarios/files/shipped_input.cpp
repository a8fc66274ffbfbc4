#include "scenarios/files/shipped_input.h"

#include <filesystem>
#include <optional>
#include <system_error>

namespace paceline::files {
namespace {

namespace fs = std::filesystem;

// Has scenarios/library: an installation's share/paceline, or the checkout of build/PRESET/bin.
std::optional<fs::path> root_of_shipped() {
  std::error_code unknown;
  const fs::path self = fs::read_symlink("/proc/self/exe", unknown);
  if (unknown) return std::nullopt;
  for (const char* way : {PACELINE_DATA_FROM_PROGRAMS, "../../.."}) {
    const fs::path root = (self.parent_path() / way).lexically_normal();
    if (fs::is_directory(root / shipped_scenario_folder, unknown)) return root;
  }
  return std::nullopt;
}

}  // namespace

std::string with_shipped(const std::string& path, std::string_view folder) {
  std::error_code unknown;
  const bool is_below = path.starts_with(std::string(shipped_scenario_folder) + "/");
  const bool is_name =
      !folder.empty() && !path.empty() && path.find_first_of("/.") == std::string::npos;
  if ((!is_below && !is_name) || fs::exists(path, unknown)) return path;
  const auto root = root_of_shipped();
  if (!root) return path;
  const fs::path shipped = is_below ? *root / path : *root / folder / (path + ".yaml");
  return fs::exists(shipped, unknown) ? shipped.string() : path;
}

}  // namespace paceline::files
