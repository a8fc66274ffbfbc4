#include "scenarios/doctor/tracing_tools.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace paceline::doctor {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_of(const std::string& list) {
  std::vector<fs::path> folders;
  std::istringstream text(list);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

// The version in torch/version.py: __version__ = '2.1.0'.
std::string version_in(const fs::path& torch) {
  std::ifstream file(torch / "version.py");
  constexpr std::string_view key = "__version__ = ";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key) || line.size() < key.size() + 2) continue;
    return " " + line.substr(key.size() + 1, line.size() - key.size() - 2);
  }
  return "";
}

std::optional<std::string> torch_in(const fs::path& packages) {
  std::error_code unknown;
  const fs::path torch = packages / "torch";
  if (!fs::is_regular_file(torch / "__init__.py", unknown)) return std::nullopt;
  return torch.string() + version_in(torch);
}

// Where CPython of a prefix keeps packages (site.py), and Debian's, which calls them dist-packages;
// the newest version first.
std::vector<fs::path> packages_of(const fs::path& prefix) {
  std::vector<fs::path> packages;
  for (const fs::path& lib : {prefix / "lib", prefix / "local/lib", prefix / "lib64"}) {
    std::error_code unknown;
    for (const auto& entry : fs::directory_iterator(lib, unknown)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("python3")) continue;
      packages.push_back(entry.path() / "site-packages");
      packages.push_back(entry.path() / "dist-packages");
    }
  }
  std::ranges::sort(packages, std::ranges::greater());
  return packages;
}

std::optional<std::string> find_torch(const std::string& path, const std::string& python_path) {
  std::vector<fs::path> packages = folders_of(python_path);
  for (const fs::path& folder : folders_of(path)) {
    if (::access((folder / "python3").c_str(), X_OK) != 0) continue;
    const auto own = packages_of(folder.parent_path());
    packages.insert(packages.end(), own.begin(), own.end());
  }
  for (const fs::path& folder : packages) {
    if (auto torch = torch_in(folder)) return torch;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_program(const std::string& name, const std::string& folders) {
  for (const fs::path& folder : folders_of(folders)) {
    const std::string path = (folder / name).string();
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

TracingTools find_tracing_tools(const std::string& path, const std::string& python_path) {
  return {find_torch(path, python_path), find_program("nsys", path),
          find_program("nvidia-smi", path)};
}

}  // namespace paceline::doctor
