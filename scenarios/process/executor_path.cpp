#include "scenarios/process/executor_path.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "scenarios/errors.h"

namespace paceline {
namespace {

// Empty: it was built. The definitions are those of scenarios/CMakeLists.txt.
std::string_view why_left_out(std::string_view name) {
#ifdef PACELINE_WITHOUT_SIM
  if (name == "paceline-sim") {
    return "is not in this build (PACELINE_WITH_SIM=OFF); fidelity folded predicts without it";
  }
#endif
#ifdef PACELINE_WITHOUT_REAL
  if (name == "paceline-worker") {
    return "is not in this build (PACELINE_WITH_REAL=OFF), which predicts and does not measure";
  }
#endif
#ifdef PACELINE_WITHOUT_MPI
  if (name == "paceline-sweep") {
    return "is not in this build, which was made without MPI; --shard 1/8 splits a sweep without "
           "it";
  }
#endif
  return name.empty() ? "has no name" : "";
}

}  // namespace

std::string executor_path(const std::string& name) {
  if (const auto why = why_left_out(name); !why.empty()) {
    throw BackendError(name, std::string(why));
  }
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw BackendError(name, "cannot find the folder of this program");
  return (self.parent_path() / name).string();
}

}  // namespace paceline
