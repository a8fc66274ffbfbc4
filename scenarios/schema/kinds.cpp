#include <array>

#include "scenarios/data_files/data_files.h"
#include "scenarios/loader/job/catalogue.h"
#include "scenarios/loader/job/job_keys.h"
#include "scenarios/loader/load_scenario.h"
#include "scenarios/schema/json_schema.h"

namespace paceline::schema {
namespace {

constexpr std::array rows{
    Kind{"scenario", "what is predicted and measured", loader::scenario_keys, true},
    Kind{"job", "what capacity plans for", loader::job_file_keys},
    Kind{"catalogue", "machines and what they cost", loader::catalogue_keys},
    Kind{"cluster", "nodes and what joins them, as cluster.preset names it",
         loader::cluster_file_keys},
    Kind{"network", "a neural network's layers, as workload.model names it",
         loader::network_file_keys},
    Kind{"device", "a GPU, as workload.device names it", loader::device_file_keys},
};

}  // namespace

std::span<const Kind> kinds() { return rows; }

}  // namespace paceline::schema
