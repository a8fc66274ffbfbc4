#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "models/text/json_writer.h"
#include "models/units/parse.h"
#include "scenarios/doctor/doctor.h"
#include "scenarios/text_table.h"

namespace paceline::doctor {
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
