#include "scenarios/advise/search.h"

#include <utility>

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
  const auto [entry, is_new] = known_.try_emplace(choice);
  if (!is_new) return entry->second;
  Settings settings = start_;
  for (auto& one : settings_of(choice)) settings.push_back(std::move(one));
  try {
    entry->second = attempt([&] { return ScenarioFile::read(path_, settings); }, options_);
  } catch (const InputError& error) {
    entry->second.refusal = error.what();
  }
  return entry->second;
}

double Variants::throughput_of(const Choice& choice) {
  const Attempt& made = of(choice);
  if (!made.outcome || made.is_too_large()) return 0;
  return made.outcome->predicted_throughput().value();
}

Choice search(Variants& variants, Choice start, const std::vector<std::size_t>& along) {
  constexpr double gain_least = 1e-6;  // less is rounding
  double best = variants.throughput_of(start);
  for (bool has_gained = true; has_gained;) {
    has_gained = false;
    for (const std::size_t axis : along) {
      Choice tried = start;
      for (std::size_t candidate = 0; candidate < variants.axes()[axis].size(); ++candidate) {
        tried[axis] = candidate;
        const double throughput = variants.throughput_of(tried);
        if (throughput <= best * (1 + gain_least)) continue;
        best = throughput;
        start[axis] = candidate;
        has_gained = true;
      }
    }
  }
  return start;
}

}  // namespace paceline::advise
