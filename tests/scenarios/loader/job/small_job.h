#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/job/job.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {

// Two machines in two regions, one of them also as spot, and one of one's own.
inline constexpr std::string_view small_catalogue =
    R"(schema: paceline.catalogue/1
name: small
source: "made up"
date: 2026-11-26
machines:
  - name: eight
    cluster: {preset: aws-p4d-24xlarge}
    region: us-east-1
    area: us
    price: 36 USD/h
    spot: {price: 9 USD/h, preemptions: 3.6%/h}
    at_most: 16
  - name: eight
    cluster: {preset: aws-p4d-24xlarge}
    region: eu-west-1
    area: eu
    price: 40 USD/h
  - name: ours
    device: v100-sxm2-16gb
    cluster: {preset: dgx1-v100}
    owned: {price: 36000 USD, lifetime: 4y, in_use: 50%}
)";

inline constexpr std::string_view small_job =
    R"(schema: paceline.job/1
name: a small job
workload: {model: resnet50, precision: amp}
amount: {epochs: 90, samples_per_epoch: 1281167}
target: {deadline: 6h}
global_batch: {at_most: 8192}
catalogue: [small.yaml]
)";

// Of few nodes, and a job that they do in hours.
inline constexpr std::string_view two_machines = R"(schema: paceline.catalogue/1
name: two
source: made up
date: 2026-11-26
machines:
  - {name: eight, cluster: {preset: aws-p4d-24xlarge}, region: here, price: 36 USD/h, at_most: 1}
  - {name: old, device: k80, cluster: {preset: pcie-tree-8}, owned: {price: 3600 USD, lifetime: 4y, in_use: 50%}, at_most: 1}
  - {name: ours, device: v100-sxm2-16gb, cluster: {preset: dgx1-v100}, owned: {price: 36000 USD, lifetime: 4y, in_use: 50%}, at_most: 2}
)";

inline const std::string short_job =
    changed(changed(changed(small_job, "epochs: 90", "epochs: 9"), "8192", "1024"), "small.yaml",
            "two.yaml");

// A folder with a job and a catalogue.
inline PlannedJob job_of(std::string_view job, std::string_view catalogue = small_catalogue,
                         const std::vector<ScenarioFile::Setting>& settings = {}) {
  const Folder folder;
  folder.write("small.yaml", catalogue);
  return load_job(folder.write("job.yaml", job), settings);
}

}  // namespace paceline::test
