#include "models/uncertain/contradiction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>

#include "models/contract.h"
#include "models/uncertain/covariance.h"

namespace paceline::uncertain {
namespace {

using Steps = std::vector<MeasuredStep>;
using Learnt = std::span<const KnownRow>;

// A setting of a cause, and how likely it is beforehand among its settings.
struct Setting {
  double value = 1;
  double weight = 1;
  Told told = Told::step;
  double slack = 1;  // of links in a node: how much slower they may be beside a network
};
using Settings = std::vector<Setting>;

KnownRow known(const Priors& priors, const MeasuredStep& row) {
  // Waits of an engine are somewhere between their ends, which are of 90 %.
  const double waits = row.measured > 0 ? row.response.waits_high : row.response.waits_low;
  return {row.response, row.measured, std::hypot(priors.row, waits / student_90(freedom))};
}

double log_density(const Priors& priors, const Steps& rows, Learnt learnt) {
  std::vector<KnownRow> all(learnt.begin(), learnt.end());
  for (const MeasuredStep& row : rows) all.push_back(known(priors, row));
  return uncertain::log_density(priors, all);
}

double gpus_of(const MeasuredStep& row) { return std::exp2(row.response.place.log2_ranks); }

Curve& curve_of(MeasuredStep& row, Unknown quantity) {
  return row.response.curves[static_cast<std::size_t>(quantity)];
}

// The row as of a description whose step is so much longer: what quantities add to it, or take
// from it, is as many seconds as before. What computes longer by a factor still does.
MeasuredStep with_longer(MeasuredStep row, double log, bool is_compute = false) {
  row.measured -= log;
  for (std::size_t q = 0; q < quantities; ++q) {
    const bool is_factor = unknown_of(q) == Unknown::compute || unknown_of(q) == Unknown::wrapper;
    if (is_compute && is_factor) continue;
    Curve& curve = row.response.curves[q];
    curve = curve.through([&](double moved) {
      return std::log1p(std::max(std::expm1(moved) * std::exp(-log), -0.99));
    });
  }
  return row;
}

// The same where a quantity is other by that much.
MeasuredStep with(const MeasuredStep& row, Unknown quantity, double by) {
  MeasuredStep made = with_longer(row, row.response.at(quantity, by), quantity == Unknown::host);
  curve_of(made, quantity) = row.response.curves[static_cast<std::size_t>(quantity)].from(by);
  return made;
}

MeasuredStep with_compute(const MeasuredStep& row, double factor, const Curve& steps) {
  const double by = std::log(factor);
  MeasuredStep made = with_longer(row, steps(by));
  for (const Unknown quantity : {Unknown::compute, Unknown::wrapper}) {
    curve_of(made, quantity) = row.response.curves[static_cast<std::size_t>(quantity)].from(by);
  }
  return made;
}

MeasuredStep with_time(const MeasuredStep& row, Seconds more) {
  return with_longer(row, std::log1p(more / row.step));
}

// Where one GPU's samples/s are told they are as told, with what its host takes. Passes but the
// last are steps of one GPU.
MeasuredStep with_work(const MeasuredStep& row, const Setting& setting) {
  if (setting.told == Told::passes) {
    return with_time(row, row.step * std::exp(row.response.of_one_gpu) * (setting.value - 1));
  }
  const auto& of_compute = row.response.curves[static_cast<std::size_t>(Unknown::compute)];
  MeasuredStep made = with_compute(
      row, setting.value, row.response.place.compute_is_measured ? of_compute : row.kernels);
  if (setting.told == Told::samples && !row.is_time) made.measured += std::log(setting.value);
  return made;
}

MeasuredStep with_unit(const MeasuredStep& as_told, const Setting& setting) {
  if (as_told.is_time) return as_told;
  MeasuredStep row = as_told;
  const double gpus = gpus_of(row);
  switch (setting.told) {
    case Told::step:
    case Told::samples:
    case Told::passes: break;
    case Told::steps: row.measured -= std::log(row.samples); break;
    case Told::steps_of_each: row.measured -= std::log(row.samples / gpus); break;
    case Told::of_each: row.measured -= std::log(gpus); break;
  }
  return row;
}

// Nothing is beyond.
MeasuredStep with_no_overlap(const MeasuredStep& row, const Setting&) {
  MeasuredStep made = with_time(row, row.hidden);
  curve_of(made, Unknown::overlap) = Curve();
  return made;
}

MeasuredStep with_straggler(const MeasuredStep& row, const Setting& setting) {
  return row.response.place.is_alone() ? row : with_compute(row, setting.value, row.kernels);
}

MeasuredStep with_shared(const MeasuredStep& row, const Setting& setting) {
  const double others = std::exp2(row.response.place.log2_gpus_per_node) - 1;
  return others > 0 ? with_compute(row, 1 + others * setting.value, row.kernels) : row;
}

// What is shorter than the input takes moves nothing.
MeasuredStep with_input(const MeasuredStep& described, const Setting& setting) {
  MeasuredStep row = described;
  const double least = std::log(row.samples / setting.value / row.step.value());
  const double longer = std::max(least, 0.0);
  row.measured -= longer;
  for (Curve& curve : row.response.curves) {
    curve = curve.through([&](double moved) { return std::max(moved, least) - longer; });
  }
  return row;
}

MeasuredStep with_host(const MeasuredStep& row, const Setting& setting) {
  return with(row, Unknown::host, setting.value);
}

MeasuredStep with_more(const MeasuredStep& row, const Setting& setting) {
  return with_time(row, Seconds(setting.value));
}

MeasuredStep with_speed(const MeasuredStep& row, const Setting& setting) {
  return with_compute(row, setting.value, row.kernels);
}

MeasuredStep with_network(const MeasuredStep& row, const Setting& setting) {
  return with(row, Unknown::network, std::log(setting.value));
}

// Calls that leave a node cross its links as well, and wait for these once they are the slower.
MeasuredStep with_node_links(const MeasuredStep& row, const Setting& setting) {
  if (row.response.place.log2_gpus_per_node == 0) return row;
  const MeasuredStep made = with(row, Unknown::node_links, std::log(setting.value));
  const double of_network = std::max(setting.value / setting.slack, 1.0);
  return of_network > 1 ? with(made, Unknown::network, std::log(of_network)) : made;
}

// Logarithms of values lie so far apart: about what rows by themselves scatter by.
const double grid_step = std::log(2.0) / 10;

// From least to most, alike likely; or falling from 1 by e for each `falling` of the logarithm,
// where what makes steps shorter has a fifth of the weight.
Settings values_between(double least, double most, double falling) {
  constexpr double of_shorter = 0.2;
  Settings all;
  const double from = std::log(least);
  const auto count = static_cast<int>(std::lround((std::log(most) - from) / grid_step));
  for (int i = 0; i <= count; ++i) {
    const double log = from + i * grid_step;
    const double side = log < 0 ? of_shorter : 1 - of_shorter;
    const double weight = std::isinf(falling) ? 1 : std::exp(-std::abs(log) / falling) * side;
    all.push_back({std::exp(log), weight});
  }
  return all;
}
constexpr double alike = std::numeric_limits<double>::infinity();

Settings link_factors(const Steps&) { return values_between(1 / farthest, farthest, 1); }
Settings node_link_factors(const Steps& rows) {
  Settings all;
  for (const double slack : {1.0, 3.0, 9.0, 27.0}) {
    for (Setting setting : link_factors(rows)) {
      setting.slack = slack;
      all.push_back(setting);
    }
  }
  return all;
}
Settings speeds(const Steps&) { return values_between(1 / farthest, farthest, 0.4); }
Settings delays(const Steps&) { return values_between(1.03, 8, 0.3); }
// With eight GPUs 5 % to three times as long.
Settings parts_of_neighbours(const Steps&) { return values_between(0.007, 0.3, alike); }

// A half or twice is read wrong more often than a quarter, as 128 for 512, and that than an eighth.
Settings amounts_of_work(const Steps& rows) {
  Settings all;
  const auto samples = [](const MeasuredStep& row) { return row.samples / gpus_of(row); };
  const double least = 1 / std::ranges::min(rows | std::views::transform(samples));
  for (const auto& [value, weight] : {std::pair{2.0, 3.0}, {4.0, 2.0}, {8.0, 0.3}}) {
    all.push_back({value, weight, Told::passes});
    for (const Told told : {Told::step, Told::samples}) {
      all.push_back({value, weight, told});
      if (1 / value >= least) all.push_back({1 / value, weight, told});
    }
  }
  return all;
}

Settings units(const Steps&) {
  return {{1, 1, Told::steps}, {1, 1, Told::steps_of_each}, {1, 1, Told::of_each}};
}

Settings one_setting(const Steps&) { return {{}}; }

// As many as the fastest row needs, to a sixteenth of what the slowest does.
Settings input_rates(const Steps& rows) {
  const auto rate = [](const MeasuredStep& row) { return row.samples / row.step.value(); };
  const auto [least, most] = std::ranges::minmax(rows, {}, rate);
  return values_between(rate(least) / 16, rate(most), alike);
}

Settings times_a_step(const Steps& rows) {
  const Seconds longest = std::ranges::max(rows, {}, &MeasuredStep::step).step;
  return values_between(longest.value() / 32, longest.value() * 16, alike);
}

// 15 to 600 us a gradient of DDP. Beyond 200 the curve goes on as a straight line: hooks that keep
// GPUs waiting add their own time.
Settings hook_times(const Steps&) { return values_between(1.5, 60, alike); }

// Beforehand, over the description's being right, where somebody looks at rows: judged, and
// together about as likely, so that of described machines one in twenty is told a cause
// (causes.cpp). Links differ often, and figures are read wrong; what one GPU takes is rarely wrong
// by more than its prior; and what fits as much as a straggler, or seconds that nothing tells,
// needs more to be said.
struct Kind {
  Cause cause;
  double odds;
  Settings (*settings)(const Steps& rows);
  MeasuredStep (*as_of)(const MeasuredStep& row, const Setting& setting);
};
constexpr Kind kinds[] = {
    {Cause::unit, 0.2, units, with_unit},
    {Cause::work, 0.15, amounts_of_work, with_work},
    {Cause::network, 0.2, link_factors, with_network},
    {Cause::node_links, 0.2, node_link_factors, with_node_links},
    {Cause::input, 0.1, input_rates, with_input},
    {Cause::overlap, 0.1, one_setting, with_no_overlap},
    {Cause::straggler, 0.05, delays, with_straggler},
    {Cause::shared, 0.05, parts_of_neighbours, with_shared},
    {Cause::host, 0.1, hook_times, with_host},
    {Cause::each_step, 0.02, times_a_step, with_more},
    {Cause::one_gpu, 0.05, speeds, with_speed},
};

bool holds(const Priors& priors, const Steps& rows) {
  const double together = student_end(0.005 / static_cast<double>(rows.size()));
  return std::ranges::all_of(rows, [&](const MeasuredStep& row) {
    return std::abs(surprise_of(priors, row)) <= together;
  });
}

// How many times as likely rows are by the likeliest setting of a cause, at least: a setting that
// moves nothing explains nothing.
constexpr double worth_a_mention = 2;

// The likeliest setting of a cause, with the mean density over all; nullopt: it explains no rows.
// The first row is the farthest off: by a setting by which it still contradicts all rows together
// are next to impossible.
std::optional<Explanation> explained(const Priors& priors, const Steps& rows, Learnt learnt,
                                     double described, const Kind& kind) {
  struct Tried {
    Setting setting;
    double density;
  };
  std::vector<Tried> all;
  double weights = 0;
  const auto as_of = [&](const Setting& setting) {
    Steps made;
    for (const MeasuredStep& row : rows) made.push_back(kind.as_of(row, setting));
    return made;
  };
  for (const Setting& setting : kind.settings(rows)) {
    weights += setting.weight;
    if (contradicts(priors, kind.as_of(rows.front(), setting))) continue;
    all.push_back(
        {setting, std::log(setting.weight) + log_density(priors, as_of(setting), learnt)});
  }
  if (all.empty()) return {};
  const Tried best = *std::ranges::max_element(all, {}, &Tried::density);
  const double gain = best.density - std::log(best.setting.weight) - described;
  if (gain < std::log(worth_a_mention) || !holds(priors, as_of(best.setting))) return {};
  double sum = 0;
  for (const Tried& one : all) sum += std::exp(one.density - best.density);
  return Explanation{kind.cause, best.setting.value, best.setting.told,
                     best.density + std::log(sum * kind.odds / weights) - described};
}

// Time grows with the square of rows and more: of more than these, as many are taken evenly.
constexpr std::size_t rows_weighed = 24;

Steps weighed(std::span<const MeasuredStep> rows) {
  Steps made;
  const std::size_t count = std::min(rows.size(), rows_weighed);
  for (std::size_t i = 0; i < count; ++i) made.push_back(rows[i * rows.size() / count]);
  const auto farthest_off = std::ranges::max_element(
      made, {}, [](const MeasuredStep& row) { return std::abs(row.measured); });
  std::iter_swap(made.begin(), farthest_off);
  return made;
}

}  // namespace

double surprise_of(const Priors& priors, const MeasuredStep& row) {
  const KnownRow one = known(priors, row);
  const double scales = std::sqrt(distance(priors, std::span(&one, 1)));
  return row.measured > 0 ? scales : -scales;
}

bool contradicts(const Priors& priors, const MeasuredStep& row) {
  return std::abs(surprise_of(priors, row)) > student_end(contradicting);
}

std::vector<Explanation> explanations_of(const Priors& priors, std::span<const MeasuredStep> rows,
                                         Learnt learnt) {
  if (std::ranges::none_of(rows, &MeasuredStep::is_outside)) return {};
  for (const MeasuredStep& row : rows) {
    PACELINE_EXPECTS(row.step > Seconds(0) && row.samples > 0);
  }
  const Steps all = weighed(rows);
  const double described = log_density(priors, all, learnt);
  std::vector<Explanation> found;
  for (const Kind& kind : kinds) {
    if (const auto one = explained(priors, all, learnt, described, kind)) found.push_back(*one);
  }
  std::ranges::sort(found, std::ranges::greater(), &Explanation::evidence);
  const double likeliest = found.empty() ? 0 : std::max(found.front().evidence, 0.0);
  std::erase_if(found, [&](const Explanation& one) {
    return likeliest - one.evidence > std::log(told_apart);
  });
  if (found.size() > named_at_most) found.resize(named_at_most);
  return found;
}

}  // namespace paceline::uncertain
