#include "scenarios/advise/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "models/collectives/registry.h"
#include "models/training/strategy.h"
#include "scenarios/errors.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/process/stop_request.h"

namespace paceline::advise {

using training::TriedKey;

Variants::Variants(std::string path, Settings start, std::vector<SearchAxis> axes,
                   RunOptions options)
    : path_(std::move(path)),
      start_(std::move(start)),
      axes_(std::move(axes)),
      options_(std::move(options)) {}

Settings Variants::settings_of(const Choice& choice) const {
  Settings settings;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const Settings& chosen = axes_[axis][choice[axis]].settings;
    settings.insert(settings.end(), chosen.begin(), chosen.end());
  }
  return settings;
}

void Variants::take_as_it_is(Attempt made) { known_.insert_or_assign(as_it_is(), std::move(made)); }

Attempt Variants::predicted(const Choice& choice) const {
  Settings settings = start_;
  for (auto& one : settings_of(choice)) settings.push_back(std::move(one));
  RunOptions alone = options_;
  alone.jobs = 1;
  alone.only_if_it_fits = true;
  try {
    return attempt([&] { return ScenarioFile::read(path_, settings); }, alone);
  } catch (const InputError& error) {
    return {std::nullopt, error.what()};
  }
}

void Variants::predict(const std::vector<Choice>& choices, std::size_t later) {
  std::vector<Choice> open;
  for (const Choice& one : choices) {
    if (!known_.contains(one) && std::ranges::find(open, one) == open.end()) open.push_back(one);
  }
  const std::size_t all = known_.size() + open.size() + later;
  for_each(open.size(), options_.jobs, [&](std::size_t i) {
    StopRequest::check();
    Attempt made = predicted(open[i]);
    const std::lock_guard lock(mutex_);
    known_.emplace(open[i], std::move(made));
    tell(all);
  });
}

void Variants::tell(std::size_t all) const {
  if (!options_.progress) return;
  options_.progress({.done = known_.size(), .all = all, .of = "variants", .known = 1});
}

const Attempt* Variants::find(const Choice& choice) const {
  const auto known = known_.find(choice);
  return known == known_.end() ? nullptr : &known->second;
}

double Variants::throughput_of(const Choice& choice) const {
  const Attempt* const made = find(choice);
  if (made == nullptr || !made->outcome || made->is_too_large()) return 0;
  return made->outcome->predicted_throughput().value();
}

namespace {

// One is not enough where a strategy and an algorithm only gain together. Four is a judgement.
constexpr std::size_t kept_most = 4;

// The quickest first; of equally quick ones only the first. Always one, though none may run.
std::vector<Choice> quickest(const Variants& variants, const std::vector<Choice>& all) {
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

std::string path_of(const TriedKey& tried) { return fmt::format("training.{}", tried.key); }

// With each value that the strategy's row says is worth a try by itself.
void add_tries(const training::Strategy& strategy, const settings::Settings& given,
               const Candidate& start, SearchAxis& axis) {
  for (const TriedKey& tried : strategy.tries) {
    if (tried.is_combined) continue;
    for (const std::string_view value : tried.values) {
      if (value.empty()) break;
      if (given.spelled(tried.key) == value) continue;  // is no change
      Candidate made = start;
      made.settings.push_back({path_of(tried), std::string(value)});
      axis.push_back(std::move(made));
    }
  }
}

SearchAxis strategy_axis(const Scenario& scenario, Strategies strategies) {
  SearchAxis axis{{Option::bucket, {}}};
  if (scenario.strategy->replays_trace) return axis;
  add_tries(*scenario.strategy, scenario.strategy_settings, {Option::bucket, {}}, axis);
  for (const training::Strategy* strategy : training::strategies()) {
    if (strategy->replays_trace || strategy == scenario.strategy) continue;
    const bool is_there = strategy->framework == scenario.strategy->framework;
    if (strategies == Strategies::framework && !is_there) continue;
    Candidate plain{Option::strategy, {{"training.strategy", std::string(strategy->name)}}};
    const auto& keys = strategy->keys;
    if (std::ranges::find(keys, "server_hosts", &settings::Key::name) != keys.end()) {
      plain.settings.push_back(
          {"training.server_hosts", "beside_workers"});  // on the same machines
    }
    axis.push_back(plain);
    add_tries(*strategy, settings::Settings(keys), plain, axis);
  }
  return axis;
}

// What the library can be told: NCCL_ALGO for NCCL, any algorithm of all-reduces for plans.
SearchAxis collective_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::collective, {}}};
  const CollectiveSettings& given = scenario.collective;
  const auto add = [&](std::string_view library, std::string_view algorithm) {
    axis.push_back({Option::collective,
                    {{"collective.library", std::string(library)},
                     {"collective.algorithm", std::string(algorithm)}}});
  };
  if (given.library == cost::Library::plan) {
    for (const auto& row : collectives::algorithms()) {
      if (row.collective != collectives::Collective::all_reduce) continue;
      if (row.reduces != collectives::Reduces::endpoints || row.name == given.algorithm) continue;
      add("plan", row.name);
    }
    return axis;
  }
  using cost::nccl::Algorithm;
  constexpr std::pair<std::string_view, std::optional<Algorithm>> told[]{
      {"auto", std::nullopt}, {"ring", Algorithm::ring}, {"tree", Algorithm::tree}};
  for (const auto& [name, algorithm] : told) {
    const bool is_there = given.library == cost::Library::nccl && given.nccl.algorithm == algorithm;
    if (!is_there) add("nccl", name);
  }
  return axis;
}

// Layers whose times are given, and steps of traces, stay what they are.
bool is_modelled(const Scenario& scenario) {
  return scenario.network != nullptr && !scenario.traced;
}

// bf16 has as many bytes as fp16. Precisions that only some devices have are refused by others.
SearchAxis precision_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::wire_type, {}}};
  using workload::Precision;
  const auto add = [&](Option option, std::string value) {
    axis.push_back({option, {{"workload.precision", std::move(value)}}});
  };
  const Precision now = scenario.precision;
  const bool is_half = now == Precision::fp16 || now == Precision::bf16;
  if (!is_half && !scenario.training.wire_type) {
    add(Option::wire_type, fmt::format("{{compute: {}, gradient: fp16}}", workload::to_text(now)));
  }
  if (!is_modelled(scenario) || is_half || now == Precision::amp) return axis;
  if (now == Precision::fp32) add(Option::precision, "tf32");
  add(Option::precision, "amp");
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

SearchAxis axis_of(const TriedKey& tried, const Scenario& scenario) {
  SearchAxis axis{{Option::setting, {}}};
  for (const std::string_view value : tried.values) {
    if (value.empty()) break;
    if (scenario.strategy_settings.spelled(tried.key) == value) continue;
    axis.push_back({Option::setting, {{path_of(tried), std::string(value)}}});
  }
  return axis;
}

// A measured step was measured with its checkpoints.
SearchAxis checkpoints_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::checkpoints, {}}};
  if (!is_modelled(scenario) || !scenario.assumptions.has(unmeasured_speed)) return axis;
  const bool has_some = scenario.training.checkpoints != workload::Checkpoints{};
  axis.push_back(
      {Option::checkpoints, {{"training.activation_checkpointing", has_some ? "none" : "blocks"}}});
  return axis;
}

SearchAxis batch_axis(const Scenario& scenario) {
  SearchAxis axis{{Option::batch, {}}};
  if (!is_modelled(scenario)) return axis;
  for (const std::uint32_t times : {2U, 4U}) {
    axis.push_back(
        {Option::batch,
         {{"workload.batch_per_gpu", std::to_string(times * scenario.workload.batch_per_gpu)}}});
  }
  return axis;
}

}  // namespace

Choice search(Variants& variants, Choice start, const std::vector<std::size_t>& along) {
  std::vector<Choice> kept{std::move(start)};
  std::vector<Choice> before;
  while (kept != before) {
    before = kept;
    std::size_t later = 0;
    for (const std::size_t axis : along) later += kept_most * (variants.axes()[axis].size() - 1);
    for (const std::size_t axis : along) {
      later -= kept_most * (variants.axes()[axis].size() - 1);
      std::vector<Choice> tried = kept;
      for (Choice choice : kept) {
        for (choice[axis] = 0; choice[axis] < variants.axes()[axis].size(); ++choice[axis]) {
          tried.push_back(choice);
        }
      }
      variants.predict(tried, later);
      kept = quickest(variants, tried);
    }
  }
  return kept.front();
}

bool alters_training(Option option) {
  switch (option) {
    case Option::bucket:
    case Option::strategy:
    case Option::collective:
    case Option::setting:
    case Option::checkpoints: return false;
    case Option::wire_type:
    case Option::accumulation:
    case Option::precision:
    case Option::batch: return true;
  }
  PACELINE_UNREACHABLE("an option outside the enumeration");
}

std::vector<SearchAxis> options_of(const Scenario& scenario, Strategies strategies) {
  std::vector<SearchAxis> axes{strategy_axis(scenario, strategies), collective_axis(scenario),
                               precision_axis(scenario), accumulation_axis(scenario)};
  for (const TriedKey& tried : scenario.strategy->tries) {
    if (tried.is_combined) axes.push_back(axis_of(tried, scenario));
  }
  axes.push_back(checkpoints_axis(scenario));
  axes.push_back(batch_axis(scenario));
  return axes;
}

}  // namespace paceline::advise
