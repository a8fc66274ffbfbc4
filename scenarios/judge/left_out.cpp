#include "scenarios/judge/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "models/contract.h"
#include "models/uncertain/next.h"
#include "scenarios/errors.h"

namespace paceline {
namespace {

constexpr double headline_below = 0.9;  // of perfect scaling

std::string point_text(const PointOutcome& outcome) {
  std::string text;
  for (const AxisValue& axis : outcome.axes) {
    const auto key = axis.path.substr(axis.path.rfind('.') + 1);
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, axis.text);
  }
  return text;
}

double percent_above(double predicted, double measured) {
  return 100 * (predicted - measured) / measured;
}

}  // namespace

std::vector<ValidationRow> validation_rows(const std::string& scenario, const std::string& source,
                                           const std::vector<PointOutcome>& outcomes) {
  std::vector<ValidationRow> rows;
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.counts()) continue;
    ValidationRow row{scenario, point_text(outcome), source};
    row.measured_per_s = outcome.measured->throughput.value();
    row.predicted_per_s = outcome.predicted_throughput().value();
    row.error_percent = *outcome.error_percent();
    const auto one_gpu = outcome.measured_one_gpu.value_or(outcome.predicted_one_gpu());
    const double perfect = one_gpu.value() * outcome.gpus;
    row.perfect_scaling_percent = percent_above(perfect, row.measured_per_s);
    const Seconds serial = outcome.one_gpu_step + outcome.predicted->totals_alone.communication;
    row.no_overlap_percent =
        percent_above(outcome.samples_per_step / serial.value(), row.measured_per_s);
    row.measured_step = Seconds(outcome.samples_per_step / row.measured_per_s);
    row.predicted_step = outcome.predicted->totals.step;
    row.one_gpu_step = Seconds(outcome.samples_per_step / perfect);
    row.communication = outcome.predicted->totals_alone.communication;
    row.low = outcome.predicted->interval.low;
    row.high = outcome.predicted->interval.high;
    row.response = outcome.predicted->response;
    row.is_covered = row.measured_step >= row.low && row.measured_step <= row.high;
    row.in_headline = row.measured_per_s <= headline_below * perfect;
    rows.push_back(row);
  }
  return rows;
}

std::vector<ValidationRow> validation_rows(const ScenarioFile& file,
                                           const std::vector<PointOutcome>& outcomes) {
  auto rows = validation_rows(file.name(), file.measured_by(), outcomes);
  for (ValidationRow& row : rows) row.network = file.network();
  return rows;
}

ValidationSummary summarise(const std::vector<ValidationRow>& rows, bool headline_only) {
  std::vector<double> predicted, perfect, serial;
  double covered = 0;
  for (const ValidationRow& row : rows) {
    if (headline_only && !row.in_headline) continue;
    predicted.push_back(row.error_percent);
    perfect.push_back(row.perfect_scaling_percent);
    serial.push_back(row.no_overlap_percent);
    covered += row.is_covered ? 1 : 0;
  }
  const auto rows_counted = static_cast<double>(predicted.size());
  return {stats::summarise(predicted), stats::summarise(perfect), stats::summarise(serial),
          predicted.empty() ? 0 : 100 * covered / rows_counted};
}

namespace {

using uncertain::LinkClass;

double log_measured(const ValidationRow& row) {
  return std::log(row.measured_step / row.response.step);
}

// Of throughput, where a step is predicted to be so long.
double error_of(const ValidationRow& row, Seconds step) {
  return 100 * (row.measured_step / step - 1);
}

LinkClass links_of(const uncertain::Place& place) {
  return place.log2_nodes > 0 ? place.network : place.node;
}

using Scenarios = std::map<std::string, std::vector<const ValidationRow*>>;

Scenarios by_scenario(const std::vector<ValidationRow>& rows) {
  Scenarios scenarios;
  for (const ValidationRow& row : rows) scenarios[row.scenario].push_back(&row);
  return scenarios;
}

std::vector<std::size_t> known_of(const std::vector<const ValidationRow*>& rows,
                                  std::size_t count) {
  std::vector<uncertain::Place> places;
  for (const ValidationRow* row : rows) places.push_back(row->response.place);
  return uncertain::smallest_rows(places, count);
}

// The factor on all communication that, with nothing hidden, gives the measured step.
double communication_factor(const ValidationRow& known) {
  const Seconds exposed = known.measured_step - known.one_gpu_step;
  if (known.communication <= Seconds(0)) return 1;
  return std::max(exposed / known.communication, 0.0);
}

double error_of(const ValidationRow& row, const uncertain::Believed& believed) {
  return error_of(row, row.response.step * std::exp(believed.moved));
}

JudgedRow judged(const ValidationRow& row, const uncertain::Belief& none_known,
                 const uncertain::Believed& believed, const ValidationRow* last_known) {
  JudgedRow made{.scenario = row.scenario,
                 .point = row.point,
                 .measured_step = row.measured_step,
                 .one_gpu_step = row.one_gpu_step,
                 .communication = row.communication,
                 .one_gpu_is_measured = row.response.place.compute_is_measured,
                 .links = links_of(row.response.place)};
  made.unconditioned = error_of(row, none_known.of(row.response));
  made.error = error_of(row, believed);
  made.measured = log_measured(row) - believed.moved;
  made.low = believed.low;
  made.high = believed.high;
  if (last_known != nullptr) {
    made.constant_efficiency = error_of(row, last_known->measured_step);
    const double factor = communication_factor(*last_known);
    made.no_overlap = error_of(row, row.one_gpu_step + row.communication * factor);
  } else {
    made.constant_efficiency = row.perfect_scaling_percent;
    made.no_overlap = row.no_overlap_percent;
  }
  return made;
}

double mean_width(const uncertain::Belief& belief, std::span<const uncertain::Response> of) {
  double sum = 0;
  for (const uncertain::Response& response : of) {
    const uncertain::Believed believed = belief.of(response);
    sum += believed.high - believed.low;
  }
  return sum / static_cast<double>(of.size());
}

double mean_error(const uncertain::Belief& belief, std::span<const ValidationRow* const> rows) {
  std::vector<double> errors;
  for (const ValidationRow* row : rows) {
    errors.push_back(error_of(*row, belief.of(row->response)));
  }
  return stats::summarise(errors).mean_absolute;
}

// With this row measured, what is promised of the others and comes of them.
NextRow next_row(const std::vector<const ValidationRow*>& rows, std::size_t chosen,
                 const uncertain::Priors& priors) {
  std::vector<const ValidationRow*> others = rows;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(chosen));
  std::vector<uncertain::Response> targets;
  for (const ValidationRow* row : others) targets.push_back(row->response);
  const uncertain::Belief before(priors);
  const uncertain::KnownRow known{rows[chosen]->response, log_measured(*rows[chosen])};
  const uncertain::Belief after(priors, {known});
  const double width = mean_width(before, targets);
  return {rows[chosen]->scenario, mean_width(before.expecting(known), targets) / width,
          mean_width(after, targets) / width, mean_error(before, others),
          mean_error(after, others)};
}

using Error = std::function<double(const ValidationRow&)>;

stats::ErrorSummary summary_of(const std::vector<ValidationRow>& rows, const Error& error) {
  std::vector<double> errors;
  for (const ValidationRow& row : rows) errors.push_back(error(row));
  return stats::summarise(errors);
}

// With no row known.
Error error_with(const uncertain::Priors& priors) {
  return [belief = uncertain::Belief(priors)](const ValidationRow& row) {
    return error_of(row, belief.of(row.response));
  };
}

// The mean over sources of their mean |error|; of all but one where that is named.
double mean_error(const RowsBySource& sources, const Error& error, const std::string* but) {
  double sum = 0, counted = 0;
  for (const auto& [source, rows] : sources) {
    if (but != nullptr && source == *but) continue;
    sum += summary_of(rows, error).mean_absolute;
    ++counted;
  }
  return sum / counted;
}

double as_described(const ValidationRow& row) { return error_of(row, row.response.step); }

std::size_t choice(std::span<const RowsBySource> candidates, const std::string* but) {
  std::vector<double> errors;
  for (const RowsBySource& candidate : candidates) {
    errors.push_back(mean_error(candidate, as_described, but));
  }
  return static_cast<std::size_t>(std::ranges::min_element(errors) - errors.begin());
}

// With what is exposed `factor` times as long.
double error_with(const ValidationRow& row, double factor) {
  return error_of(row, row.one_gpu_step + (row.response.step - row.one_gpu_step) * factor);
}

stats::ErrorSummary oracle_of(const std::vector<ValidationRow>& rows) {
  stats::ErrorSummary best = summary_of(rows, as_described);
  for (double factor = 0; factor <= 10; factor = factor * 1.05 + 0.01) {
    const auto errors =
        summary_of(rows, [&](const ValidationRow& row) { return error_with(row, factor); });
    if (errors.mean_absolute < best.mean_absolute) best = errors;
  }
  return best;
}

std::vector<ValidationRow> decisive(std::vector<ValidationRow> rows) {
  std::erase_if(rows, is_easy);
  return rows;
}

std::optional<NetworkKnowledge> network_of(const std::vector<ValidationRow>& rows) {
  const auto is_like_first = [&](const ValidationRow& row) {
    return row.network == rows.front().network;
  };
  if (!std::ranges::all_of(rows, is_like_first)) return std::nullopt;
  return rows.front().network;
}

void draw_again(LeftOut& judged) {
  constexpr int draws = 2000;
  // One generator and one seed: the same figures each time, on every machine.
  std::mt19937_64 random(1);
  const std::size_t count = judged.sources.size();
  std::vector<double> means;
  for (int draw = 0; draw < draws; ++draw) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum += judged.sources[random() % count].predicted.mean_absolute;
    }
    means.push_back(sum / static_cast<double>(count));
  }
  std::ranges::sort(means);
  judged.mean_low_percent = means[draws / 20];
  judged.mean_high_percent = means[draws - draws / 20 - 1];
}

}  // namespace

IntervalFigures figures_of(const std::vector<JudgedRow>& rows) {
  constexpr double outside = 0.1;  // of rows, of a 90 % interval
  IntervalFigures figures;
  if (rows.empty()) return figures;
  std::vector<double> widths;
  for (const JudgedRow& row : rows) {
    const bool is_inside = row.measured >= row.low && row.measured <= row.high;
    figures.coverage_percent += is_inside ? 100 : 0;
    figures.score += row.high - row.low +
                     2 / outside * std::max({row.low - row.measured, row.measured - row.high, 0.0});
    widths.push_back(100 * std::expm1(row.high - row.low));
  }
  figures.coverage_percent /= static_cast<double>(rows.size());
  figures.score /= static_cast<double>(rows.size());
  figures.width_percent = stats::median(widths);
  return figures;
}

std::vector<uncertain::Rows> evidence_of(const std::vector<ValidationRow>& rows) {
  std::vector<uncertain::Rows> evidence;
  for (const auto& [scenario, of_it] : by_scenario(rows)) {
    uncertain::Rows& made = evidence.emplace_back();
    for (const ValidationRow* row : of_it) made.push_back({row->response, log_measured(*row)});
  }
  return evidence;
}

uncertain::Sources evidence_of(const RowsBySource& sources) {
  uncertain::Sources evidence;
  for (const auto& [source, rows] : sources) evidence[source] = evidence_of(rows);
  return evidence;
}

std::vector<JudgedRow> judge_rows(const std::vector<ValidationRow>& rows,
                                  const uncertain::Priors& priors, std::size_t known) {
  std::vector<JudgedRow> all;
  const uncertain::Belief none_known(priors);
  for (const auto& [scenario, of_it] : by_scenario(rows)) {
    const std::vector<std::size_t> chosen = known_of(of_it, known);
    if (chosen.size() < known) continue;
    uncertain::Rows evidence;
    for (const std::size_t i : chosen) {
      evidence.push_back({of_it[i]->response, log_measured(*of_it[i])});
    }
    const uncertain::Belief belief(priors, std::move(evidence));
    const ValidationRow* last = chosen.empty() ? nullptr : of_it[chosen.back()];
    for (std::size_t i = 0; i < of_it.size(); ++i) {
      if (std::ranges::find(chosen, i) != chosen.end()) continue;
      all.push_back(judged(*of_it[i], none_known, belief.of(of_it[i]->response), last));
    }
  }
  return all;
}

std::vector<NextRow> judge_next_rows(const std::vector<ValidationRow>& rows,
                                     const uncertain::Priors& priors) {
  std::vector<NextRow> made;
  for (const auto& [scenario, of_it] : by_scenario(rows)) {
    std::vector<uncertain::Candidate> candidates;
    const std::vector<std::size_t> smallest = known_of(of_it, 2);
    for (const std::size_t i : smallest) {
      const uncertain::Response& response = of_it[i]->response;
      candidates.push_back({{response}, std::exp2(response.place.log2_ranks)});
    }
    std::vector<uncertain::Response> targets;
    for (const ValidationRow* row : of_it) targets.push_back(row->response);
    const auto next = uncertain::next_measurement(uncertain::Belief(priors), candidates, targets);
    if (next) made.push_back(next_row(of_it, smallest[next->candidate], priors));
  }
  return made;
}

bool is_easy(const ValidationRow& row) {
  constexpr double percent = 10;
  return std::abs(row.perfect_scaling_percent - row.no_overlap_percent) < percent;
}

double error_percent(const ConstantOverlap& model, const ValidationRow& row) {
  return error_of(row,
                  row.one_gpu_step * (1 + model.wrapper) + row.communication * (1 - model.hidden));
}

RowsBySource by_source(std::span<const ValidationRow> rows) {
  RowsBySource sources;
  for (const ValidationRow& row : rows) {
    if (row.source.empty()) {
      throw InputError({row.scenario}, "does not say who measured it",
                       "add a word for the people to measured: by: hkbu");
    }
    sources[row.source].push_back(row);
  }
  return sources;
}

ConstantOverlap fit_constant_overlap(const RowsBySource& sources) {
  ConstantOverlap best;
  double least = std::numeric_limits<double>::infinity();
  for (int wrapper = 0; wrapper <= 60; ++wrapper) {
    for (int hidden = 0; hidden <= 50; ++hidden) {
      const ConstantOverlap model{0.005 * wrapper, 0.02 * hidden};
      const double error = mean_error(
          sources, [&](const ValidationRow& row) { return error_percent(model, row); }, nullptr);
      if (error >= least) continue;
      least = error;
      best = model;
    }
  }
  return best;
}

LeftOut leave_out_sources(std::span<const RowsBySource> candidates) {
  PACELINE_EXPECTS(!candidates.empty() && candidates.front().size() > 1);
  LeftOut judged;
  judged.chosen_by_all = choice(candidates, nullptr);
  judged.priors_by_all =
      uncertain::learnt(evidence_of(candidates[judged.chosen_by_all]), uncertain::priors_before());
  for (const auto& [source, any_rows] : candidates.front()) {
    LeftOutSource& left = judged.sources.emplace_back();
    left.source = source;
    left.chosen = choice(candidates, &source);
    const RowsBySource& chosen = candidates[left.chosen];
    const std::vector<ValidationRow>& rows = chosen.at(source);
    left.network = network_of(rows);
    left.oracle = oracle_of(rows);
    left.perfect_scaling = summary_of(rows, &ValidationRow::perfect_scaling_percent);
    left.no_overlap = summary_of(rows, &ValidationRow::no_overlap_percent);
    RowsBySource others = chosen;
    others.erase(source);
    left.others_overlap = fit_constant_overlap(others);
    const auto constant_error = [&](const ValidationRow& row) {
      return error_percent(left.others_overlap, row);
    };
    left.constant_overlap = summary_of(rows, constant_error);
    left.priors = uncertain::learnt(evidence_of(others), uncertain::priors_before());
    for (std::size_t known = 0; known < left.rows.size(); ++known) {
      left.rows[known] = judge_rows(rows, left.priors, known);
    }
    const Error error = error_with(left.priors);
    left.predicted = summary_of(rows, error);
    left.next = judge_next_rows(rows, left.priors);
    const auto hard = decisive(rows);
    left.decisive = summary_of(hard, error);
    left.decisive_no_overlap = summary_of(hard, &ValidationRow::no_overlap_percent);
    left.decisive_constant_overlap = summary_of(hard, constant_error);
    left.in_sample =
        summary_of(candidates[judged.chosen_by_all].at(source), error_with(judged.priors_by_all));
    judged.mean_percent += left.predicted.mean_absolute;
  }
  judged.mean_percent /= static_cast<double>(judged.sources.size());
  draw_again(judged);
  return judged;
}

}  // namespace paceline
