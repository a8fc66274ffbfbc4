#include "scenarios/doctor/write_examination.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/doctor/recommend.h"
#include "scenarios/text_table.h"

namespace paceline::doctor {
namespace {

void write_machine(std::ostream& out, const Examination& machine) {
  fmt::print(out, "CPUs       {}\n", machine.cpus);
  fmt::print(out, "memory     {:.1f} GiB\n",
             static_cast<double>(machine.memory.value()) / (1ULL << 30));
  fmt::print(out, "GPUs       {}\n", gpus_of(machine));
  fmt::print(out, "mpirun     {}\n", machine.mpirun.value_or("not found"));
  fmt::print(out, "Slurm      {}\n",
             machine.slurm_job ? "job " + *machine.slurm_job : "not inside a job");
  fmt::print(out, "predicts   {}\n",
             machine.simulator_missing.empty() ? "yes, SimGrid " + machine.simulator
                                               : "only closed: " + machine.simulator_missing);
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
      {"gpus", gpus_of(machine)},
      {"mpirun", text_or_null(machine.mpirun)},
      {"slurm_job", text_or_null(machine.slurm_job)},
      {"simulator", {{"simgrid", machine.simulator}, {"missing", machine.simulator_missing}}},
      {"worker", {{"missing", machine.worker_missing}}},
      {"backends", std::move(backends)},
      {"recommended", std::move(recommended)}};
  out << all.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::doctor
