// That whoever allows more never pays more.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/capacity/search.h"
#include "scenarios/errors.h"
#include "scenarios/predict/evidence.h"
#include "tests/scenarios/capacity/drawn_job.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline::capacity {
namespace {

struct Found {
  std::optional<double> of_grid, refined;  // what is to be least; nullopt: no plan
};

// With steps of so many times their bounds, by how nodes and batches share them.
Found found_for(const test::DrawnJob& drawn, const std::vector<ScenarioFile::Setting>& settings) {
  const PlannedJob job = test::job_of(drawn.job, drawn.catalogue, settings);
  const auto belief = unconditioned_belief();
  Grid grid;
  try {
    grid = grid_of(job, belief.priors());
  } catch (const InputError&) {  // nothing fits
    return {};
  }
  Search search(
      job, grid, [](const Setup&) { return StepBound{}; },
      [&](std::span<const Setup> setups) {
        std::vector<std::optional<Speed>> speeds;
        for (const Setup& setup : setups) {
          const auto of = std::ranges::find(grid.candidates, setup, &Candidate::setup);
          const double longer = 1.02 + 0.01 * setup.nodes + 2.0 / (4 + setup.batch * setup.passes);
          speeds.emplace_back(Speed{of->step_at_least.limit * longer, -0.01, 0.01, 4,
                                    samples_per_step(job, setup), input_of(job, setup)});
        }
        return speeds;
      });
  const Targets& targets = job.targets;
  const bool is_fastest = targets.budget && !targets.deadline && !targets.throughput;
  const Wanted wanted{
      is_fastest ? Aim::fastest : Aim::cheapest, targets, [&](const Setup& setup, Pricing pricing) {
        return (job.machines[setup.machine].is_owned && pricing == Pricing::on_demand) ||
               std::ranges::count(job.pricings, pricing) > 0;
      }};
  const auto value = [&](const std::optional<Plan>& plan) -> std::optional<double> {
    if (!plan) return std::nullopt;
    const Promise promise = *search.promise(*plan, targets);
    return is_fastest ? promise.limit.value() : promise.limit_cost.value();
  };
  const auto of_grid = value(search.best(wanted));
  const auto refined = value(search.refined_best(wanted));
  return {of_grid, refined};
}

// Each drawn job with one of its limits moved, which allows more.
std::vector<ScenarioFile::Setting> wider(const test::DrawnJob& drawn, std::uint64_t number) {
  const auto has = [&](const char* words) { return drawn.job.find(words) != std::string::npos; };
  const bool is_in_eu = drawn.catalogue.find("area: eu") != std::string::npos;
  const std::vector<std::vector<ScenarioFile::Setting>> all{
      {{"limits.nodes", "11"}},
      {{"limits.gpus", "1000"}},
      {{"limits.regions", is_in_eu ? "[us, eu]" : "[us]"}},
      {{"strategies", "[ddp, fsdp, horovod, deepspeed_zero]"}},
      {{"bucket_caps", "[25MiB, 100MiB]"}},
      {{"pricing", "both"}},
      {{"probability", "50%"}},
      {{"overheads.start", "0s"}},
      {{has("deadline") ? "target.deadline" : "limits.nodes", has("deadline") ? "9d" : "9"}},
      {{has("budget") ? "target.budget" : "limits.nodes", has("budget") ? "90000 USD" : "9"}},
      {{has("throughput: ") ? "target.throughput" : "limits.nodes",
        has("throughput: ") ? "1 samples/s" : "10"}},
      {{has("batch_per_gpu: {at_most") ? "batch_per_gpu.at_most" : "limits.nodes",
        has("batch_per_gpu: {at_most") ? "300" : "9"}},
      {{has("global_batch: {at_most") ? "global_batch.at_most" : "limits.nodes",
        has("global_batch: {at_most") ? "9000" : "9"}},
      {{"gradient_accumulation.at_most", "5"}},
      {{"gradient_accumulation.at_most", "64"}},
  };
  return all[number % all.size()];
}

// PACELINE_DRAWN_JOBS: how many, in place of a hundred.
TEST(Wider, NeverCostsMore) {
  const char* asked = std::getenv("PACELINE_DRAWN_JOBS");
  const std::uint64_t jobs = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 100;
  std::size_t compared = 0, better = 0, refined = 0;
  for (std::uint64_t number = 0; number < jobs; ++number) {
    const test::DrawnJob drawn = test::JobDrawer(number).draw(6);
    const auto settings = wider(drawn, number);
    if (number % 15 == 2 && drawn.job.find("regions") == std::string::npos) continue;  // all
    const Found narrow = found_for(drawn, {}), wide = found_for(drawn, settings);
    if (!narrow.of_grid) continue;
    ++compared;
    const std::string words =
        settings.front().path + ": " + settings.front().value + '\n' + drawn.job + drawn.catalogue;
    ASSERT_TRUE(wide.of_grid) << words;
    constexpr double rounding = 1 + 1e-8;  // Finish::within of losses is as close as 1e-9
    EXPECT_LE(*wide.of_grid, *narrow.of_grid * rounding) << words;
    EXPECT_LE(*wide.refined, *wide.of_grid) << words;
    EXPECT_LE(*wide.refined, *narrow.refined * rounding) << words;
    if (*wide.of_grid < *narrow.of_grid) ++better;
    if (*narrow.refined < *narrow.of_grid) ++refined;
  }
  EXPECT_GT(compared, jobs / 4);
  EXPECT_GT(better, jobs / 20);
  EXPECT_GT(refined, jobs / 20);
}

}  // namespace
}  // namespace paceline::capacity
