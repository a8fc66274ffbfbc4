#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/assumption.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array job_table{
    Key{"global_batch", Count{1, 1'000'000'000'000}, "none",
        "in place of `workload.batch_per_gpu`; samples a step, whatever the number of GPUs: each "
        "has an equal part of them in every pass of `training.gradient_accumulation`",
        "1024"},
};

constexpr AssumptionKind left_out_batch{"{}: ignored, because {} is set"};
constexpr AssumptionKind own_batch{
    "{}: relative to one GPU with each point's own batch per GPU, not with the global batch"};

// Samples are shared equally by so many.
struct Sharers {
  std::uint64_t gpus, passes;
  std::uint32_t gpus_per_node;

  [[nodiscard]] std::uint64_t all() const { return gpus * passes; }
  // Whether other GPUs fill nodes, or a part of one, and share equally.
  [[nodiscard]] bool may_be(std::uint64_t others, std::uint64_t samples) const {
    const bool fill_nodes = others < gpus_per_node || others % gpus_per_node == 0;
    return fill_nodes && samples % (others * passes) == 0;
  }
};

// The nearest figures that divide.
std::string nearest_shares(std::uint64_t samples, const Sharers& sharers) {
  const std::uint64_t all = sharers.all(), below = samples / all * all;
  std::string text = below > 0 ? fmt::format("write {} or {}", below, below + all)
                               : fmt::format("write {}", below + all);
  std::vector<std::string> gpus;
  for (std::uint64_t fewer = sharers.gpus - 1; fewer > 0 && gpus.empty(); --fewer) {
    if (sharers.may_be(fewer, samples)) gpus.push_back(std::to_string(fewer));
  }
  const std::uint64_t most = std::min<std::uint64_t>(samples / sharers.passes, 1'000'000);
  for (std::uint64_t more = sharers.gpus + 1; more <= most; ++more) {
    if (!sharers.may_be(more, samples)) continue;
    gpus.push_back(std::to_string(more));
    break;
  }
  if (gpus.empty()) return text;
  return fmt::format("{}, or take gpus: {}", text, fmt::join(gpus, " or "));
}

std::uint32_t share_of(const Field& global, const Sharers& sharers) {
  constexpr std::uint64_t most = 100'000'000;  // of batch_per_gpu
  const std::uint64_t samples = global.count(1, 1'000'000'000'000);
  if (samples % sharers.all() != 0) {
    global.fail(
        fmt::format("is not a multiple of {} GPU{}{}", sharers.gpus, sharers.gpus > 1 ? "s" : "",
                    sharers.passes > 1 ? fmt::format(" x {} passes", sharers.passes) : ""),
        nearest_shares(samples, sharers));
  }
  const std::uint64_t share = samples / sharers.all();
  if (share > most) global.fail(fmt::format("is more than {} per GPU and pass", most), "");
  return static_cast<std::uint32_t>(share);
}

// Whether the global batch counts: what a sweep or a setting says comes before what the file says.
bool counts(bool is_set, Section& workload, Assumptions& assumptions) {
  const auto own = workload.field("batch_per_gpu");
  if (!own) return true;
  const bool own_is_set = workload.map().is_set("batch_per_gpu");
  if (is_set == own_is_set) {
    own->fail("stands beside job.global_batch",
              "keep one of them; single_gpu_batch and layers_batch say what was timed");
  }
  const char* const kept = is_set ? "job.global_batch" : "workload.batch_per_gpu";
  assumptions.add({left_out_batch, is_set ? "workload.batch_per_gpu" : "job.global_batch", {kept}});
  return is_set;
}

}  // namespace

std::span<const Key> job_keys() { return job_table; }

std::optional<std::uint32_t> shared_batch(Section job, Section& workload, const Section& training,
                                          std::uint32_t gpus_per_node, Scenario& scenario) {
  const auto global = job.field("global_batch");
  job.finish();
  if (!global) return std::nullopt;
  if (workload.field("trace")) {
    global->fail("is shared by any number of GPUs, and a trace's compute is of its own batch",
                 "leave it out, or give workload.model in place of the trace");
  }
  if (!counts(job.map().is_set("global_batch"), workload, scenario.assumptions)) {
    return std::nullopt;
  }
  scenario.assumptions.add({own_batch, "speedup"});
  return share_of(*global, {scenario.cluster.ranks().value(),
                            *training.find<std::uint32_t>("gradient_accumulation"), gpus_per_node});
}

}  // namespace paceline::loader
