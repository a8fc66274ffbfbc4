#include <fmt/format.h>

#include <array>

#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using settings::Key;

constexpr OtherJobs other_jobs_defaults;

constexpr std::array other_jobs_table{
    Key{"count", settings::Count{0, 1000}, other_jobs_defaults.count,
        "of jobs that do the same on as many nodes of their own and share the network"},
    Key{"start", settings::Time{}, other_jobs_defaults.start, "after this job's", "",
        settings::Needs{"count"}},
    Key{"placement", settings::OneOf{settings::texts_of<JobPlacement>},
        settings::value_of(other_jobs_defaults.placement),
        "of all their nodes: packed (job after job), alternate (in turn) or random (seeded)", "",
        settings::Needs{"count"}},
};

constexpr std::uint64_t ranks_of_all_jobs_max = 1'000'000;  // as of one cluster

}  // namespace

std::span<const Key> other_jobs_keys() { return other_jobs_table; }

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

}  // namespace paceline::loader
