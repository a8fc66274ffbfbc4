#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "models/contract.h"
#include "models/text/number.h"
#include "scenarios/loader/backend_kind.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array slowdown_forms{Form{Number{0.001, 1000}, Form::Of::map, "^[0-9]{1,6}$"}};

const std::array ranks_table{
    Key{"slowdown", Structure{"a map", rows<slowdown_forms>}, "none",
        "`{3: 1.2}`: rank 3 takes 1.2 times as long to compute; 0.001 to 1000 by rank", "{0: 1.2}"},
    Key{"jitter", Fraction{0, 0.99}, RankSettings{}.jitter,
        "each rank is slower or faster by up to that part, drawn by the seed"},
    Key{"spread", Fraction{0, 0.5}, automatic,
        "standard deviation of each rank's compute from step to step: a step waits for the "
        "slowest of its ranks. auto: with `library: nccl` what measured runs suggest "
        "(scenarios/prepare/overheads.h), else 0"}
        .of_prediction(),
};

constexpr OtherJobs other_jobs_defaults;

constexpr std::array other_jobs_table{
    Key{"count", Count{0, 1000}, other_jobs_defaults.count,
        "how many jobs do the same on as many nodes of their own and share the network"},
    Key{"start", Time{}, other_jobs_defaults.start, "after this job's", "", Needs{"count"}},
    Key{"placement", OneOf{texts_of<JobPlacement>}, value_of(other_jobs_defaults.placement),
        "of all their nodes: packed (job after job), alternate (in turn) or random (seeded)", "",
        Needs{"count"}},
};

// All that predict: the last one is measured.
constexpr auto fidelities =
    std::span<const std::string_view>(texts_of<Fidelity>).first<texts_of<Fidelity>.size() - 1>();
static_assert(words_of(Fidelity{}).back().value == Fidelity::measured);

const Scenario simulation_defaults;

const std::array simulation_table{
    Key{"fidelity", OneOf{fidelities}, value_of(simulation_defaults.fidelity),
        "folded: one rank of each symmetry class is simulated; flow: every transfer, on SimGrid"},
    Key{"seed", Count{0, 1ULL << 53}, simulation_defaults.seed, "of all that is drawn"},
};

constexpr std::uint64_t ranks_of_all_jobs_max = 1'000'000;  // as of one cluster

}  // namespace

std::span<const Key> ranks_keys() { return ranks_table; }
std::span<const Key> other_jobs_keys() { return other_jobs_table; }
std::span<const Key> simulation_keys() { return simulation_table; }

RankSettings load_ranks(Section ranks) {
  RankSettings read;
  Reader slowdown = ranks.map().map("slowdown");
  for (const auto& [key, field] : slowdown.entries()) {
    const auto rank = number_of<std::uint32_t>(key);
    if (!rank || *rank >= 1'000'000) {
      field.fail("belongs to no rank", "write slowdown: {3: 1.2}");
    }
    read.slowdown[*rank] = field.number(0.001, 1000);
  }
  read.jitter = ranks.get<double>("jitter");
  read.spread = ranks.find<double>("spread");
  ranks.finish();
  return read;
}

OtherJobs load_other_jobs(Section jobs) {
  jobs.finish();
  if (jobs.get<std::uint32_t>("count") == 0) {
    for (const char* key : {"start", "placement"}) {
      jobs.refuse_set(key, "has no effect: there are no other jobs", "set other_jobs.count, too");
    }
  }
  return {.count = jobs.get<std::uint32_t>("count"),
          .start = jobs.get<Seconds>("start"),
          .placement = jobs.get<JobPlacement>("placement")};
}

void check_other_jobs(const Section& section, const Scenario& scenario) {
  if (scenario.other_jobs.count == 0) return;
  const std::uint64_t jobs = scenario.other_jobs.count + std::uint64_t{1};
  if (jobs * scenario.cluster.ranks().value() > ranks_of_all_jobs_max) {
    throw InputError(section.location(),
                     fmt::format("all jobs together have more than {} GPUs", ranks_of_all_jobs_max),
                     "");
  }
}

namespace {

constexpr MeasureSettings real_defaults;

constexpr std::array backends = std::to_array<BackendKind>({PACELINE_BACKENDS});
constexpr std::array backend_names = [] {
  std::array<std::string_view, backends.size()> names;
  std::ranges::transform(backends, names.begin(), &BackendKind::name);
  return names;
}();
constexpr settings::Value gloo{std::uint64_t(
    std::ranges::find(backend_names, std::string_view("gloo")) - backend_names.begin())};

constexpr std::array real_table{
    Key{"backend", OneOf{backend_names}, gloo,
        "memory: ranks are threads; `paceline doctor` says which there are"},
    Key{"mode", OneOf{texts_of<CollectiveMode>}, value_of(real_defaults.mode),
        "native: the library's own collectives; plan: the shared plans on messages between ranks"},
    Key{"steps", Count{1, 1'000'000}, real_defaults.steps, "steps that count"},
    Key{"warmup", Count{2, 1'000'000}, real_defaults.warmup,
        "steps before them; at least 2: the first two iterations of DDP differ"},
    Key{"timeout", Time{.above_zero = true, .least = RealSettings::timeout_least},
        RealSettings{}.timeout, "limit of every wait of one rank for another"},
};

}  // namespace

std::span<const Key> real_keys() { return real_table; }

RealSettings load_real(Section real) {
  RealSettings read;
  read.backend = real.get<std::string_view>("backend");
  read.measure = {.mode = real.get<CollectiveMode>("mode"),
                  .warmup = real.get<std::uint32_t>("warmup"),
                  .steps = real.get<std::uint32_t>("steps")};
  read.timeout = real.get<Seconds>("timeout");
  real.finish();
  return read;
}

cost::Library library_of(const RealSettings& real) {
  if (real.measure.mode == CollectiveMode::plan) return cost::Library::plan;
  return backend_kind(real.backend).calls;
}

std::span<const BackendKind> backend_kinds() { return backends; }

const BackendKind& backend_kind(std::string_view name) {
  const auto found = std::ranges::find(backends, name, &BackendKind::name);
  PACELINE_EXPECTS(found != backends.end());
  return *found;
}

namespace {

constexpr std::array job_table{
    Key{"global_batch", Count{1, 1'000'000'000'000}, "none",
        "samples a step, whatever the number of GPUs. In place of `workload.batch_per_gpu` each "
        "GPU has an equal part of them in every pass of `training.gradient_accumulation`; beside "
        "it, without that, as many passes as they need",
        "1024"},
};

constexpr AssumptionKind left_out_batch{"{}: ignored, because {} is set"};
constexpr AssumptionKind own_batch{
    "{}: relative to one GPU with each point's own batch per GPU, not with the global batch"};
constexpr AssumptionKind own_passes{
    "{}: relative to one GPU with each point's own passes, not with the global batch"};

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

// Which of the two counts where both are given.
enum class Counts { global, own, both };

bool is_of_file(Section& section, std::string_view key) {
  return section.map().as_of(1).has(std::string(key));
}

// A file that has both fixes both; else what a sweep or a setting says comes before what the file
// says.
Counts counts(Section& job, Section& workload, Assumptions& assumptions) {
  if (!workload.field("batch_per_gpu")) return Counts::global;
  const bool is_set = job.map().is_set("global_batch");
  const bool own_is_set = workload.map().is_set("batch_per_gpu");
  const bool file_has_both =
      is_of_file(job, "global_batch") && is_of_file(workload, "batch_per_gpu");
  if (is_set == own_is_set || file_has_both) return Counts::both;
  const char* const kept = is_set ? "job.global_batch" : "workload.batch_per_gpu";
  assumptions.add({left_out_batch, is_set ? "workload.batch_per_gpu" : "job.global_batch", {kept}});
  return is_set ? Counts::global : Counts::own;
}

// Passes of GPUs that have so many samples in each.
std::uint32_t passes_of(const Field& global, const Field& own, const Sharers& one_pass) {
  const std::uint64_t samples = global.count(1, 1'000'000'000'000);
  const std::uint64_t batch = own.count(1, 100'000'000);
  const Sharers sharers{one_pass.gpus, batch, one_pass.gpus_per_node};
  if (samples % sharers.all() != 0) {
    global.fail(fmt::format("is not a multiple of {} GPU{} x {} samples of workload.batch_per_gpu",
                            sharers.gpus, sharers.gpus > 1 ? "s" : "", batch),
                nearest_shares(samples, sharers));
  }
  const std::uint64_t passes = samples / sharers.all();
  if (passes > 1'000'000) global.fail("needs more than 1000000 passes", "");
  return static_cast<std::uint32_t>(passes);
}

}  // namespace

std::span<const Key> job_keys() { return job_table; }

Shares shares_of(Section job, Section& workload, Section& training, Scenario& scenario) {
  const auto global = job.field("global_batch");
  if (!global) {
    job.finish();
    return {};
  }
  if (workload.field("trace")) {
    global->fail("is shared by any number of GPUs, and a trace's compute is of its own batch",
                 "leave it out, or give workload.model in place of the trace");
  }
  const Counts which = counts(job, workload, scenario.assumptions);
  job.finish();
  if (which == Counts::own) return {};
  const Sharers sharers{scenario.cluster.ranks().value(),
                        *training.find<std::uint32_t>("gradient_accumulation"),
                        scenario.cluster.gpus_per_node};
  if (which == Counts::both) {
    const Field own = workload.require("batch_per_gpu");
    if (training.map().is_set("gradient_accumulation")) {
      constexpr std::string_view kept = "training.gradient_accumulation";
      scenario.assumptions.add({left_out_batch, "job.global_batch", {std::string(kept)}});
      return {};
    }
    if (training.is_given("gradient_accumulation")) {
      global->fail("stands beside workload.batch_per_gpu and training.gradient_accumulation",
                   "leave one of the three out; single_gpu_batch and layers_batch say what was "
                   "timed");
    }
    scenario.assumptions.add({own_passes, "speedup"});
    return {.batch = {}, .passes = passes_of(*global, own, sharers)};
  }
  scenario.assumptions.add({own_batch, "speedup"});
  return {.batch = share_of(*global, sharers), .passes = {}};
}

}  // namespace paceline::loader
