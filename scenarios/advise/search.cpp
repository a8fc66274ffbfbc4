#include "scenarios/advise/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/collectives/registry.h"
#include "scenarios/errors.h"

namespace paceline::advise {

Variants::Variants(std::string path, Settings start, std::vector<SearchAxis> axes,
                   RunOptions options)
    : path_(std::move(path)),
      start_(std::move(start)),
      axes_(std::move(axes)),
      options_(std::move(options)) {
  const Choice as_it_is(axes_.size(), 0);
  known_[as_it_is] = attempt([&] { return ScenarioFile::read(path_, start_); }, options_);
}

Settings Variants::settings_of(const Choice& choice) const {
  Settings settings;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const Settings& chosen = axes_[axis][choice[axis]].settings;
    settings.insert(settings.end(), chosen.begin(), chosen.end());
  }
  return settings;
}

const Attempt& Variants::of(const Choice& choice) {
  const auto known = known_.find(choice);
  if (known != known_.end()) return known->second;
  if (options_.progress) options_.progress({.done = known_.size(), .of = "variants"});
  Settings settings = start_;
  for (auto& one : settings_of(choice)) settings.push_back(std::move(one));
  Attempt made;
  try {
    made = attempt([&] { return ScenarioFile::read(path_, settings); }, options_);
  } catch (const InputError& error) {
    made.refusal = error.what();
  }
  return known_.emplace(choice, std::move(made)).first->second;
}

double Variants::throughput_of(const Choice& choice) {
  const Attempt& made = of(choice);
  if (!made.outcome || made.is_too_large()) return 0;
  return made.outcome->predicted_throughput().value();
}

namespace {

// One is not enough where a strategy and an algorithm only gain together. Four is a judgement.
constexpr std::size_t kept_most = 4;

// The quickest first; of equally quick ones only the first. Always one, though none may run.
std::vector<Choice> quickest(Variants& variants, const std::vector<Choice>& all) {
  constexpr double rounding = 1e-6;
  std::vector<Choice> kept;
  std::vector<Choice> left;
  for (const Choice& one : all) {
    if (std::ranges::find(left, one) == left.end()) left.push_back(one);
  }
  while (!left.empty() && kept.size() < kept_most) {
    double best = 0;
    for (const Choice& one : left) best = std::max(best, variants.throughput_of(one));
    const auto is_best = [&](const Choice& one) {
      return variants.throughput_of(one) * (1 + rounding) >= best;
    };
    kept.push_back(*std::ranges::find_if(left, is_best));
    std::erase_if(left, is_best);
    // What is refused or does not fit leads nowhere.
    std::erase_if(left, [&](const Choice& one) { return variants.throughput_of(one) <= 0; });
  }
  return kept;
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
    const auto& keys = strategy->keys;
    if (std::ranges::find(keys, "server_hosts", &settings::Key::name) != keys.end()) {
      plain.settings.push_back(
          {"training.server_hosts", "beside_workers"});  // on the same machines
    }
    axis.push_back(plain);
    add_tries(*strategy, plain, axis);
  }
  return axis;
}

// What the library can be told: NCCL_ALGO for NCCL, any algorithm of all-reduces for plans.
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

Choice search(Variants& variants, Choice start, const std::vector<std::size_t>& along) {
  std::vector<Choice> kept{std::move(start)};
  std::vector<Choice> before;
  while (kept != before) {
    before = kept;
    for (const std::size_t axis : along) {
      std::vector<Choice> tried = kept;
      for (Choice choice : kept) {
        for (choice[axis] = 0; choice[axis] < variants.axes()[axis].size(); ++choice[axis]) {
          tried.push_back(choice);
        }
      }
      kept = quickest(variants, tried);
    }
  }
  return kept.front();
}

bool alters_training(Option option) {
  return option == Option::wire_type || option == Option::accumulation;
}

std::vector<SearchAxis> options_of(const Scenario& scenario) {
  return {strategy_axis(scenario), collective_axis(scenario), wire_axis(scenario),
          accumulation_axis(scenario)};
}

}  // namespace paceline::advise
