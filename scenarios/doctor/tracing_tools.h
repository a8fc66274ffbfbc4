#pragma once

#include <optional>
#include <string>

namespace paceline::doctor {

// What this machine can record training with. Files are looked for, and nothing is started: an
// interpreter alone takes seconds where its disk is slow.
struct TracingTools {
  std::optional<std::string> torch;  // its folder, with the version behind it where a file says
  std::optional<std::string> nsys;   // paths of programs
  std::optional<std::string> nvidia_smi;
};

// Along a list of folders, as PATH has it. nullopt: none of them has an executable of that name.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name,
                                                      const std::string& folders);

// Along PATH and PYTHONPATH; torch also where the interpreters of PATH keep their packages.
[[nodiscard]] TracingTools find_tracing_tools(const std::string& path,
                                              const std::string& python_path);

}  // namespace paceline::doctor
