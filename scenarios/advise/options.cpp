#include "scenarios/advise/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "models/collectives/registry.h"

namespace paceline::advise {
namespace {

bool has_key(const training::Strategy& strategy, std::string_view name) {
  return std::ranges::any_of(strategy.keys,
                             [&](const settings::Key& known) { return known.name == name; });
}

// With each value that the strategy's row says is worth a try.
void add_tries(const training::Strategy& strategy, const Candidate& start, SearchAxis& axis) {
  for (const auto& [key, values] : strategy.tries) {
    for (const std::string_view value : values) {
      if (value.empty()) break;
      Candidate made = start;
      made.settings.push_back({fmt::format("training.{}", key), std::string(value)});
      axis.push_back(std::move(made));
    }
  }
}

SearchAxis strategy_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::bucket, {}}};
  if (scenario.strategy->replays_trace) return axis;
  add_tries(*scenario.strategy, {Option::bucket, {}}, axis);
  for (const training::Strategy* strategy : training::strategies()) {
    if (strategy->replays_trace || strategy == scenario.strategy) continue;
    Candidate plain{Option::strategy, {{"training.strategy", std::string(strategy->name)}}};
    if (has_key(*strategy, "server_hosts")) {
      plain.settings.push_back(
          {"training.server_hosts", "beside_workers"});  // on the same machines
    }
    axis.push_back(plain);
    add_tries(*strategy, plain, axis);
  }
  return axis;
}

// What the library can be told: NCCL_ALGO for NCCL, any algorithm of all-reduces for plans. Others
// are left for NCCL.
SearchAxis collective_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::collective, {}}};
  const auto add = [&](std::string_view library, std::string_view algorithm) {
    axis.push_back({Option::collective,
                    {{"collective.library", std::string(library)},
                     {"collective.algorithm", std::string(algorithm)}}});
  };
  if (scenario.collective.library == cost::Library::plan) {
    for (const auto& row : collectives::algorithms()) {
      if (row.collective != collectives::Collective::all_reduce) continue;
      if (row.reduces == collectives::Reduces::endpoints) add("plan", row.name);
    }
    return axis;
  }
  for (const char* algorithm : {"auto", "ring", "tree"}) add("nccl", algorithm);
  return axis;
}

// bf16 has as many bytes.
SearchAxis wire_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::wire_type, {}}};
  using workload::Precision;
  const bool is_half =
      scenario.precision == Precision::fp16 || scenario.precision == Precision::bf16;
  if (is_half || scenario.training.wire_type) return axis;
  axis.push_back({Option::wire_type,
                  {{"workload.precision", fmt::format("{{compute: {}, gradient: fp16}}",
                                                      workload::to_text(scenario.precision))}}});
  return axis;
}

SearchAxis accumulation_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::accumulation, {}}};
  for (const std::uint32_t times : {2U, 4U, 8U}) {
    axis.push_back({Option::accumulation,
                    {{"training.gradient_accumulation",
                      std::to_string(times * scenario.training.gradient_accumulation)}}});
  }
  return axis;
}

}  // namespace

bool alters_training(Option option) {
  return option == Option::wire_type || option == Option::accumulation;
}

std::vector<SearchAxis> options_of(const Scenario& scenario) {
  return {strategy_axis(scenario), collective_axis(scenario), wire_axis(scenario),
          accumulation_axis(scenario)};
}

}  // namespace paceline::advise
