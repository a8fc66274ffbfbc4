#include "scenarios/import/next_commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <utility>

#include "models/run/as_it_ran.h"
#include "models/training/traced_step.h"
#include "scenarios/loader/data_files/node_class.h"

namespace paceline {
namespace {

constexpr std::uint32_t gpus_elsewhere = 16;  // of a run of one GPU

training::TracedWork work_of(const TracedRun& traced) {
  training::TracedWork work;
  work.ranks = rank_count(traced.run.trace);
  work.world = traced.run.world_size.value_or(work.ranks);
  work.program = as_it_ran(traced.run.trace);
  training::count_calls(traced.step, work);
  return work;
}

// Without collectives, buckets are filled with its gradients: all of known sizes, and some.
bool has_gradients_of_known_sizes(const training::StepProgram& program) {
  std::size_t gradients = 0;
  for (const training::Operation& operation : program.operations) {
    for (const ElementCount count : operation.gradients) {
      if (count == ElementCount(0)) return false;
      ++gradients;
    }
  }
  return gradients > 0;
}

// Why not on so many GPUs; nullopt: it can be.
std::optional<training::Refusal> refused_elsewhere(const training::TracedWork& work,
                                                   std::uint32_t gpus) {
  if (work.calls > 0 || !has_gradients_of_known_sizes(work.program)) {
    return refuse_to_guess(work, gpus);
  }
  return std::nullopt;
}

std::string settings_elsewhere(const TracedRun& traced, std::uint32_t world) {
  std::string settings = world == 1 ? fmt::format(" --set gpus={}", gpus_elsewhere) : "";
  const std::uint32_t of_node = traced.run.gpus_per_node.value_or(1);
  const bool has_nodes = of_node > 1 && world > 1;
  if (has_nodes && !loader::node_class_of(traced.run.device, std::min(of_node, world))) {
    settings += " --set cluster.gpus_per_node=1";
  }
  return settings + " --set cluster.network.bandwidth=100Gbps";
}

bool is_plain(char c) {
  constexpr std::string_view others = "_./+=:,@%-";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

}  // namespace

std::string typed(const std::vector<std::string>& paths) {
  std::string all;
  for (const std::string& path : paths) {
    if (!all.empty()) all += ' ';
    if (!path.empty() && std::ranges::all_of(path, is_plain)) {
      all += path;
      continue;
    }
    all += '\'';
    for (const char c : path) c == '\'' ? all += "'\\''" : all += c;
    all += '\'';
  }
  return all;
}

void write_next(std::ostream& out, const Import& import, const TracedRun& traced,
                const std::string& paths) {
  if (!import.refused.empty() || !import.runs.empty()) {
    fmt::print(out, "\nnext: paceline replay takes the files of one run alone, without {}\n",
               import.refused.empty() ? "other runs" : "what is refused");
    return;
  }
  fmt::print(out, "\nnext: paceline replay {}\n", paths);
  const training::TracedWork work = work_of(traced);
  const std::uint32_t gpus = work.world == 1 ? gpus_elsewhere : work.world;
  if (const auto refusal = refused_elsewhere(work, gpus)) {
    fmt::print(out, "      not on another network: {}; {}\n", refusal->what, refusal->hint);
  } else {
    fmt::print(out, "      paceline replay {}{}\n", paths, settings_elsewhere(traced, work.world));
  }
}

}  // namespace paceline
