#include "scenarios/judge/left_out.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "models/contract.h"
#include "scenarios/errors.h"

namespace paceline {
namespace {

using Error = std::function<double(const ValidationRow&)>;

stats::ErrorSummary summary_of(const std::vector<ValidationRow>& rows, const Error& error) {
  std::vector<double> errors;
  for (const ValidationRow& row : rows) errors.push_back(error(row));
  return stats::summarise(errors);
}

double predicted_error(const ValidationRow& row) { return row.error_percent; }
double no_overlap_error(const ValidationRow& row) { return row.no_overlap_percent; }

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

std::size_t choice(std::span<const RowsBySource> candidates, const std::string* but) {
  std::vector<double> errors;
  for (const RowsBySource& candidate : candidates) {
    errors.push_back(mean_error(candidate, predicted_error, but));
  }
  return static_cast<std::size_t>(std::ranges::min_element(errors) - errors.begin());
}

// With what is exposed `factor` times as long.
double error_with(const ValidationRow& row, double factor) {
  const Seconds step = row.one_gpu_step + (row.predicted_step - row.one_gpu_step) * factor;
  return 100 * (row.measured_step / step - 1);
}

stats::ErrorSummary oracle_of(const std::vector<ValidationRow>& rows) {
  stats::ErrorSummary best = summary_of(rows, predicted_error);
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

double error_percent(const ConstantOverlap& model, const ValidationRow& row) {
  const Seconds step =
      row.one_gpu_step * (1 + model.wrapper) + row.communication * (1 - model.hidden);
  return 100 * (row.measured_step / step - 1);
}

RowsBySource by_source(std::span<const ValidationRow> rows) {
  RowsBySource sources;
  for (const ValidationRow& row : rows) {
    if (row.source.empty()) {
      throw InputError({row.scenario, 0, 0}, "does not say who measured it",
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
    left.predicted = summary_of(rows, predicted_error);
    left.oracle = oracle_of(rows);
    left.perfect_scaling =
        summary_of(rows, [](const ValidationRow& row) { return row.perfect_scaling_percent; });
    left.no_overlap = summary_of(rows, no_overlap_error);
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
    left.next = judge_next_rows(rows, left.priors);
    const auto hard = decisive(rows);
    left.decisive = summary_of(hard, predicted_error);
    left.decisive_no_overlap = summary_of(hard, no_overlap_error);
    left.decisive_constant_overlap = summary_of(hard, constant_error);
    left.in_sample = summary_of(candidates[judged.chosen_by_all].at(source), predicted_error);
    judged.mean_percent += left.predicted.mean_absolute;
  }
  judged.mean_percent /= static_cast<double>(judged.sources.size());
  draw_again(judged);
  return judged;
}

}  // namespace paceline
