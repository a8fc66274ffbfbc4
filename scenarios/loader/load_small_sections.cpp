#include <fmt/format.h>

#include <array>

#include "models/text/number.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array slowdown_forms{Form{Number{0.001, 1000}, Form::Of::map, "^[0-9]{1,6}$"}};

const std::array ranks_table{
    Key{"slowdown", Structure{"a map", rows<slowdown_forms>}, "none",
        "`{3: 1.2}`: rank 3 takes 1.2 times as long to compute; 0.001 to 1000 by rank", "{0: 1.2}"},
    Key{"jitter", Fraction{0, 0.99}, Scenario{}.jitter,
        "each rank is slower or faster by up to that part, drawn by the seed"},
    Key{"spread", Fraction{0, 0.5}, automatic,
        "standard deviation of each rank's compute from step to step: a step waits for the "
        "slowest of its ranks. auto: with `library: nccl` what measured runs suggest "
        "(scenarios/prepare/overheads.h), else 0"},
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

void load_ranks(Section ranks, Scenario& scenario) {
  Reader slowdown = ranks.map().map("slowdown");
  for (const auto& [key, field] : slowdown.entries()) {
    const auto rank = number_of<std::uint32_t>(key);
    if (!rank || *rank >= 1'000'000) {
      field.fail("belongs to no rank", "write slowdown: {3: 1.2}");
    }
    scenario.slowdown[*rank] = field.number(0.001, 1000);
  }
  scenario.jitter = ranks.get<double>("jitter");
  scenario.spread = ranks.find<double>("spread");
  ranks.finish();
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

void load_simulation(Section simulation, Scenario& scenario) {
  scenario.fidelity = simulation.get<Fidelity>("fidelity");
  scenario.seed = simulation.get<std::uint64_t>("seed");
  simulation.finish();
}

}  // namespace paceline::loader
