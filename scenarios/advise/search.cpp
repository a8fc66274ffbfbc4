#include "scenarios/advise/search.h"

#include <algorithm>
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

// One is not enough where a strategy and an algorithm gain together only. Four is a judgement: each
// more costs as many predictions again.
constexpr std::size_t kept_most = 4;

// The quickest of them, quickest first; of those that are as quick but for rounding the first.
// Always one, though none may run.
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
    const auto first = std::ranges::find_if(left, [&](const Choice& one) {
      return variants.throughput_of(one) * (1 + rounding) >= best;
    });
    kept.push_back(*first);
    std::erase_if(left, [&](const Choice& one) {
      return variants.throughput_of(one) * (1 + rounding) >= best;
    });
    // What is refused or does not fit leads nowhere.
    std::erase_if(left, [&](const Choice& one) { return variants.throughput_of(one) <= 0; });
  }
  return kept;
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

}  // namespace paceline::advise
