#include "scenarios/doctor/write_examination.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/doctor/recommend.h"
#include "scenarios/doctor/recording.h"
#include "scenarios/text_table.h"

namespace paceline::doctor {
namespace {

void write_machine(std::ostream& out, const Examination& machine) {
  fmt::print(out, "CPUs       {}\n", machine.cpus);
  fmt::print(out, "memory     {:.1f} GiB\n",
             static_cast<double>(machine.memory.value()) / (1ULL << 30));
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

nlohmann::ordered_json recording_json(const Examination& machine) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RecordingAdvice& one : recording_advice(machine.tracing)) {
    all.push_back({{"tool", one.tool},
                   {"here", one.here ? nlohmann::ordered_json(*one.here) : nullptr},
                   {"for", one.best_for},
                   {"language", one.is_script ? "python" : "sh"},
                   {"lines", one.lines},
                   {"reasons", one.reasons},
                   {"import", one.import}});
  }
  return all;
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

void write_json(std::ostream& out, const Examination& machine) {
  using nlohmann::ordered_json;
  const auto text_or_null = [](const std::optional<std::string>& text) {
    return text ? ordered_json(*text) : ordered_json(nullptr);
  };
  ordered_json backends = ordered_json::array(), recommended = ordered_json::array();
  for (const BackendState& backend : machine.backends) {
    backends.push_back({{"name", backend.name},
                        {"summary", backend.summary},
                        {"version", backend.version},
                        {"notes", backend.notes},
                        {"missing", backend.missing}});
  }
  for (const Recommendation& one : recommend(machine)) {
    recommended.push_back(
        {{"for", one.when},
         {"backend", one.backend.empty() ? ordered_json(nullptr) : ordered_json(one.backend)},
         {"why", one.why}});
  }
  const ordered_json all{
      {"schema", "paceline.doctor/1"},
      {"cpus", machine.cpus},
      {"memory_bytes", machine.memory.value()},
      {"gpus", devices_of(machine).size()},
      {"mpirun", text_or_null(machine.mpirun)},
      {"slurm_job", text_or_null(machine.slurm_job)},
      {"simulator", {{"simgrid", machine.simulator}, {"missing", machine.simulator_missing}}},
      {"worker", {{"missing", machine.worker_missing}}},
      {"backends", std::move(backends)},
      {"recommended", std::move(recommended)},
      {"torch", text_or_null(machine.tracing.torch)},
      {"nsys", text_or_null(machine.tracing.nsys)},
      {"nvidia_smi", text_or_null(machine.tracing.nvidia_smi)},
      {"recording", recording_json(machine)}};
  out << all.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::doctor
