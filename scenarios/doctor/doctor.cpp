#include "scenarios/doctor/doctor.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <variant>
#include <vector>

#include "scenarios/build_label.h"
#include "scenarios/errors.h"
#include "scenarios/process/executor_path.h"
#include "scenarios/process/line_process.h"
#include "traces/json/decode.h"
#include "traces/json/protocol.h"

namespace paceline::doctor {

namespace {

// Of a program that looks for devices and ends.
constexpr Seconds patience(60.0);

// Everything that a program writes, which then ends. Throws BackendError when it fails.
std::string output_of(const std::string& name, const std::string& option) {
  LineProcess process({name, {executor_path(name), option}, true});
  std::string all;
  auto answer = process.listen(patience);
  for (; answer.line; answer = process.listen(patience)) all += *answer.line + '\n';
  if (answer.too_late) process.kill();
  const int status = process.end();
  if (status == 0) return all;
  const std::string& words = process.last_words();
  throw BackendError(name, words.empty() ? "ended with status " + std::to_string(status)
                                         : words.substr(0, words.find('\n')));
}

void ask_worker(Examination& found) {
  try {
    found.backends = backends_from_json(output_of("paceline-worker", "--doctor"));
  } catch (const std::runtime_error& error) {
    found.worker_missing = error.what();
  }
}

// Two ranks that reduce a few bytes.
ResolvedPoint small_point() {
  ResolvedPoint point;
  point.cluster.nodes = 2;
  point.cluster.network.bandwidth = BytesPerSecond(1e9);
  point.cluster.network.latency = Seconds(1e-6);
  point.fidelity = Fidelity::flow;
  const auto lane = point.program.add_lane({"communication", training::LaneKind::communication});
  const training::CollectiveCall call{collectives::Collective::all_reduce, ElementCount(16),
                                      ElementSize(4), Rank(0), training::SimulatedCall{"ring"}};
  point.program.add({"call", training::OperationKind::collective, lane, {}, call});
  return point;
}

// What a simulation says that does not work; empty when it does.
std::string find_fault_of_simulator() {
  const std::string name = "paceline-sim";
  try {
    LineProcess process({name, {executor_path(name)}, true});
    const ResolvedPoint point = small_point();
    const auto answer = process.ask(traces::to_line(point), patience);
    if (!answer.line) {
      if (answer.too_late) process.kill();
      return name + ": ended with status " + std::to_string(process.end());
    }
    const auto reply = traces::reply_from_line(*answer.line, point.program);
    const auto* const failure = std::get_if<traces::Failure>(&reply);
    return failure == nullptr ? "" : name + ": " + failure->what;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::uint32_t>(CPU_COUNT(&set));
  }
  return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

Bytes physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return Bytes(0);
  return Bytes(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
}

std::optional<std::string> find_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

std::vector<BackendState> backends_from_json(const std::string& text) {
  try {
    return traces::decode<std::vector<BackendState>>(traces::parse_json(text, ""));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("paceline-worker wrote nonsense: ") + error.what());
  }
}

Examination examine() {
  const BrokenPipesIgnored ignored;
  Examination found;
  found.simulator = build_label.simgrid;
  found.simulator_missing = find_fault_of_simulator();
  ask_worker(found);
  found.cpus = usable_cpus();
  found.memory = physical_memory();
  const std::string path = find_variable("PATH").value_or("");
  found.mpirun = find_program("mpirun", path);
  found.slurm_job = find_variable("SLURM_JOB_ID");
  found.tracing = find_tracing_tools(path, find_variable("PYTHONPATH").value_or(""));
  return found;
}

std::vector<std::string> devices_of(const Examination& machine) {
  std::vector<std::string> names;
  for (const BackendState& backend : machine.backends) {
    for (const std::string& note : backend.notes) {  // "device 0: NAME, 80 GB"
      const auto colon = note.find(": ");
      if (!note.starts_with("device ") || colon == note.npos) continue;
      names.push_back(note.substr(colon + 2, note.find(',', colon) - colon - 2));
    }
    if (!names.empty()) break;  // others use the same
  }
  return names;
}

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

namespace {

// The first query of a driver that is not loaded takes some seconds.
constexpr Seconds patience_of_driver(20.0);

std::vector<std::string> names_of_driver(const std::string& nvidia_smi) {
  const BrokenPipesIgnored ignored;
  std::vector<std::string> names;
  try {
    LineProcess process(
        {"nvidia-smi", {nvidia_smi, "--query-gpu=name", "--format=csv,noheader"}, true});
    auto answer = process.listen(patience_of_driver);
    for (; answer.line; answer = process.listen(patience_of_driver)) names.push_back(*answer.line);
    if (answer.too_late) process.kill();
    if (process.end() != 0) names.clear();  // no driver
  } catch (const std::runtime_error&) {
    names.clear();
  }
  return names;
}

}  // namespace

std::vector<std::string> gpu_names(const Examination& machine) {
  if (machine.tracing.nvidia_smi) {
    auto names = names_of_driver(*machine.tracing.nvidia_smi);
    if (!names.empty()) return names;
  }
  return devices_of(machine);
}

}  // namespace paceline::doctor
