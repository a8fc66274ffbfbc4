#include <fmt/format.h>

#include <array>
#include <string_view>

#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array<std::string_view, 3> other_jobs_keys{"count", "start", "placement"};
constexpr std::uint64_t ranks_of_all_jobs_max = 1'000'000;  // as of one cluster

}  // namespace

OtherJobs load_other_jobs(Reader reader) {
  reader.expect_only(other_jobs_keys);
  OtherJobs jobs;
  if (const auto count = reader.find("count")) {
    jobs.count = static_cast<std::uint32_t>(count->count(0, 1000));
  }
  if (const auto start = reader.find("start")) jobs.start = start->seconds();
  if (const auto placement = reader.find("placement")) {
    jobs.placement = placement->word<JobPlacement>();
  }
  reader.finish();
  return jobs;
}

void check_other_jobs(const Reader& section, const Scenario& scenario) {
  if (scenario.other_jobs.count == 0) return;
  if (scenario.fidelity == Fidelity::closed) {
    throw InputError(section.location(), "other_jobs are not in the closed formulas",
                     "take fidelity: folded or flow");
  }
  const std::uint64_t jobs = scenario.other_jobs.count + std::uint64_t{1};
  if (jobs * scenario.cluster.ranks().value() > ranks_of_all_jobs_max) {
    throw InputError(section.location(),
                     fmt::format("all jobs together have more than {} GPUs", ranks_of_all_jobs_max),
                     "");
  }
}

}  // namespace paceline::loader
