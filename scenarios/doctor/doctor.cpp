#include "scenarios/doctor/doctor.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <variant>

#include "models/text/json_writer.h"
#include "models/units/parse.h"
#include "scenarios/build_label.h"
#include "scenarios/errors.h"
#include "scenarios/process/line_process.h"
#include "scenarios/text_table.h"
#include "traces/json/decode.h"
#include "traces/json/protocol.h"

namespace paceline::doctor {
namespace {

// Of a program that looks for devices and ends.
constexpr Seconds patience(60.0);

// Everything that a program writes, which then ends. Throws BackendError when it fails.
std::vector<std::string> lines_of(const std::string& name, std::vector<std::string> arguments,
                                  Seconds longest) {
  LineProcess process({name, std::move(arguments), true});
  std::vector<std::string> all;
  auto answer = process.listen(longest);
  for (; answer.line; answer = process.listen(longest)) all.push_back(*answer.line);
  if (answer.too_late) process.kill();
  const int status = process.end();
  if (status == 0) return all;
  const std::string& words = process.last_words();
  throw BackendError(name, words.empty() ? "ended with status " + std::to_string(status)
                                         : words.substr(0, words.find('\n')));
}

void ask_worker(Examination& found) {
  try {
    const std::string name = "paceline-worker";
    const auto lines = lines_of(name, {executor_path(name), "--doctor"}, patience);
    found.backends = backends_from_json(fmt::format("{}", fmt::join(lines, "\n")));
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

// Where CPython (site.py) and Debian (dist-packages) keep packages; the newest version first.
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

// The first query of a driver that is not loaded takes some seconds.
constexpr Seconds patience_of_driver(20.0);

std::vector<std::string> names_of_driver(const std::string& nvidia_smi) {
  try {
    return lines_of("nvidia-smi", {nvidia_smi, "--query-gpu=name", "--format=csv,noheader"},
                    patience_of_driver);
  } catch (const std::runtime_error&) {  // no driver
    return {};
  }
}

struct Use {
  std::string_view name;  // as rows of backends have it
  std::string_view when;
  std::string (*means)(const Examination& machine);  // what this machine has for it
  std::string_view no_means = {};                    // what to do where that is nothing
};

std::string gpus_here(const Examination& machine) {
  const auto gpus = devices_of(machine).size();
  const BackendState* const other = find_backend_for("cpus", machine);
  return std::to_string(gpus) + (gpus == 1 ? " GPU here" : " GPUs here") +
         (other == nullptr ? "" : "; if it fails, " + other->name);
}

std::string cpus_here(const Examination& machine) {
  return "on this machine more ranks than its " + std::to_string(machine.cpus) +
         " CPUs measure the CPUs";
}

std::string launchers_here(const Examination& machine) {
  std::string text = machine.mpirun ? "mpirun is " + *machine.mpirun : "";
  if (machine.slurm_job) {
    text += std::string(text.empty() ? "" : ", ") + "inside Slurm job " + *machine.slurm_job;
  }
  return text;
}

constexpr std::array uses{
    Use{"gpus", "GPUs, a process each", gpus_here},
    Use{"cpus", "ranks on CPUs, or several processes on one GPU, which NCCL refuses", cpus_here},
    Use{"mpi", "a supercomputer with an MPI of its own", launchers_here,
        "neither mpirun nor a Slurm job here: install openmpi-bin"}};

// The last one counts.
template <class Is>
const BackendState* find_backend(const Examination& machine, const Is& is) {
  const auto rows = machine.backends | std::views::reverse;
  const auto found = std::ranges::find_if(rows, is);
  return found == rows.end() ? nullptr : &*found;
}

Recommendation recommendation_for(const Use& use, const Examination& machine) {
  const std::string when(use.when);
  const BackendState* const best = find_backend(
      machine, [&](const BackendState& one) { return one.recommended_for == use.name; });
  if (best == nullptr) {
    const std::string& fault = machine.worker_missing;
    return {when, "", fault.empty() ? "this build has no backend for it" : fault};
  }
  const BackendState* const backend = find_backend_for(use.name, machine);
  if (backend == nullptr) return {when, "", best->missing};
  const std::string means = use.means(machine);
  if (means.empty()) return {when, "", std::string(use.no_means)};
  std::string why = backend->summary;
  if (!backend->version.empty()) why += " (" + backend->version + ")";
  why += "; " + means;
  if (backend != best) why += "; for " + best->name + ": " + best->missing;
  return {when, backend->name, why};
}

RecordingAdvice profiler(const TracingTools& tools) {
  return {
      "PyTorch's profiler",
      tools.torch,
      "kernels, collectives and gradients of a script that can be changed",
      {"import os", "from torch.profiler import ProfilerActivity, profile, schedule",
       "rank = os.environ.get('RANK', '0')",
       "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],",
       "             schedule=schedule(wait=5, warmup=3, active=5, repeat=1),",
       "             record_shapes=True, with_stack=False,",
       "             on_trace_ready=lambda p: p.export_chrome_trace(f'trace.{rank}.json')) as p:",
       "    for batch in loader:  # your training loop", "        train_step(batch)",
       "        p.step()"},
      true,
      {"The schedule skips the first steps, in which DDP builds its buckets anew and kernels are "
       "chosen.",
       "record_shapes=True shows the sizes of gradients and collectives.",
       "Stacks cost time in every step, so with_stack is off.",
       "Each rank writes a file of its own."},
      "paceline import trace.*.json"};
}

RecordingAdvice recorder(const TracingTools& tools) {
  return {"paceline_recorder.py",
          tools.torch,
          "the times of layers, gradients and buckets without a profiler's cost, on CPUs as well",
          {"import paceline_recorder  # traces/torch/paceline_recorder.py, beside the script",
           "# train for a few steps first: DDP builds its buckets anew after the first",
           "with paceline_recorder.record('run.trace'):", "    train()"},
          true,
          {"Each rank writes run.RANK.trace. Recording ends after 100 steps."},
          "paceline import run.*.trace"};
}

RecordingAdvice nsight(const TracingTools& tools) {
  return {"Nsight Systems",
          tools.nsys,
          "a program that cannot be changed, on NVIDIA's GPUs",
          {"nsys profile --trace=cuda,nvtx --cuda-graph-trace=node --delay=30 --duration=20 "
           "-o REPORT python3 train.py",
           "nsys export --type sqlite REPORT.nsys-rep"},
          false,
          {"With NVTX and NCCL 2.14 or later, the report contains the sizes of collectives.",
           "The delay skips the start of the program, and the duration keeps the report small."},
          "paceline import REPORT.sqlite"};
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

std::vector<std::string> gpu_names(const Examination& machine) {
  if (machine.tracing.nvidia_smi) {
    auto names = names_of_driver(*machine.tracing.nvidia_smi);
    if (!names.empty()) return names;
  }
  return devices_of(machine);
}

const BackendState* find_backend_for(std::string_view use, const Examination& machine) {
  return find_backend(machine, [&](const BackendState& one) {
    return one.recommended_for == use && one.can_be_used();
  });
}

std::vector<Recommendation> recommend(const Examination& machine) {
  std::vector<Recommendation> all;
  for (const Use& use : uses) all.push_back(recommendation_for(use, machine));
  return all;
}

std::vector<RecordingAdvice> recording_advice(const TracingTools& tools) {
  return {profiler(tools), recorder(tools), nsight(tools)};
}

namespace {

void write_machine(std::ostream& out, const Examination& machine) {
  fmt::print(out, "CPUs       {}\n", machine.cpus);
  fmt::print(out, "memory     {}\n", in_gibibytes(machine.memory));
  fmt::print(out, "GPUs       {}\n", devices_of(machine).size());
  fmt::print(out, "mpirun     {}\n", machine.mpirun.value_or("not found"));
  fmt::print(out, "Slurm      {}\n",
             machine.slurm_job ? "job " + *machine.slurm_job : "not inside a job");
  fmt::print(out, "predicts   {}\n",
             machine.simulator_missing.empty() ? "yes, SimGrid " + machine.simulator
                                               : "only folded: " + machine.simulator_missing);
  fmt::print(out, "measures   {}\n\n",
             machine.worker_missing.empty() ? "yes" : "no: " + machine.worker_missing);
}

void write_backends(std::ostream& out, const Examination& machine) {
  TextTable table({"backend", "here", "version", "what"}, 4);
  for (const BackendState& backend : machine.backends) {
    table.add({backend.name, backend.can_be_used() ? "yes" : "no", backend.version,
               backend.can_be_used() ? backend.summary : backend.missing});
    for (const std::string& note : backend.notes) table.add({"", "", "", note});
  }
  if (!machine.backends.empty()) table.write(out);
}

// One that the machine has in full; of the others a line.
void write_recording(std::ostream& out, const Examination& machine) {
  const auto all = recording_advice(machine.tracing);
  fmt::print(out, "\nto record a trace for paceline import:\n");
  for (const RecordingAdvice& one : all) {
    fmt::print(out, "  {}: {} ({})\n", one.tool, one.best_for,
               one.here ? "found: " + *one.here : "not found here");
  }
  fmt::print(out, "  nvidia-smi: {}\n", machine.tracing.nvidia_smi.value_or("not found here"));
  const auto here = std::ranges::find_if(all, [](const auto& one) { return one.here.has_value(); });
  const RecordingAdvice& best = here == all.end() ? all.front() : *here;
  fmt::print(out, "\n{}, {}:\n", best.tool, best.is_script ? "in the script" : "in a shell");
  for (const std::string& line : best.lines) fmt::print(out, "    {}\n", line);
  for (const std::string& reason : best.reasons) fmt::print(out, "  {}\n", reason);
  fmt::print(out, "then, with the files of all ranks:\n    {}\n", best.import);
}

}  // namespace

void write_text(std::ostream& out, const Examination& machine) {
  write_machine(out, machine);
  write_backends(out, machine);
  for (const Recommendation& one : recommend(machine)) {
    fmt::print(out, "\nfor {}:\n", one.when);
    if (one.backend.empty()) {
      fmt::print(out, "  nothing here: {}\n", one.why);
    } else {
      fmt::print(out, "  --backend {}: {}\n", one.backend, one.why);
    }
  }
  write_recording(out, machine);
}

constexpr auto fields_of(const Recommendation*) {
  return Fields(field("for", &Recommendation::when),
                field("backend", unless_empty<&Recommendation::backend>),
                field("why", &Recommendation::why));
}

constexpr auto fields_of(const RecordingAdvice*) {
  using Advice = RecordingAdvice;
  return Fields(
      field("tool", &Advice::tool), field("here", &Advice::here), field("for", &Advice::best_for),
      field("language", [](const Advice& one) { return one.is_script ? "python" : "sh"; }),
      field("lines", &Advice::lines), field("reasons", &Advice::reasons),
      field("import", &Advice::import));
}

void write_json(std::ostream& out, const Examination& machine) {
  JsonWriter json(out);
  json.object([&] {
    json.put("schema", "paceline.doctor/1");
    json.put("cpus", machine.cpus);
    json.put("memory_bytes", machine.memory);
    json.put("gpus", devices_of(machine).size());
    json.put("mpirun", machine.mpirun);
    json.put("slurm_job", machine.slurm_job);
    json.put_object("simulator", [&] {
      json.put("simgrid", machine.simulator);
      json.put("missing", machine.simulator_missing);
    });
    json.put_object("worker", [&] { json.put("missing", machine.worker_missing); });
    json.put("backends", machine.backends);
    json.put("recommended", recommend(machine));
    json.put("torch", machine.tracing.torch);
    json.put("nsys", machine.tracing.nsys);
    json.put("nvidia_smi", machine.tracing.nvidia_smi);
    json.put("recording", recording_advice(machine.tracing));
  });
}

}  // namespace paceline::doctor
