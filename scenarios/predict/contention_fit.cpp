#include "scenarios/predict/contention_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/contract.h"

namespace paceline {
namespace {

using End = ContentionFit::End;

constexpr double met_within = 1e-5;   // of a throughput: far less than is ever measured
constexpr double least_moved = 5e-3;  // measured steps differ as much from run to run
constexpr double least_apart = 2e-5;  // of 1 - 1/slowdown: below what is printed of it
constexpr int tries_max = 20;

struct Try {
  double hidden;  // 1 - 1/slowdown
  std::vector<double> log_errors;

  [[nodiscard]] double slowdown() const { return 1 / (1 - hidden); }
  [[nodiscard]] double mean() const {
    return std::accumulate(log_errors.begin(), log_errors.end(), 0.0) /
           static_cast<double>(log_errors.size());
  }
};

std::vector<double> chosen(const std::vector<double>& all, const std::vector<std::size_t>& which) {
  std::vector<double> some;
  for (const std::size_t i : which) some.push_back(all[i]);
  return some;
}

// Between one that is predicted too fast and one that is not.
Try search(Try fast, Try slow, const std::function<Try(double hidden)>& at) {
  double fast_mean = fast.mean(), slow_mean = slow.mean();
  int fast_stayed = 0, slow_stayed = 0;
  for (int i = 0; i < tries_max && slow.hidden - fast.hidden > least_apart; ++i) {
    const double part = fast_mean / (fast_mean - slow_mean);
    Try next = at(fast.hidden + part * (slow.hidden - fast.hidden));
    const double mean = next.mean();
    if (std::abs(mean) <= met_within) return next;
    // An end that stays twice counts half, so that it does not stay for ever.
    if (mean > 0) {
      fast = std::move(next);
      fast_mean = mean;
      fast_stayed = 0;
      if (++slow_stayed > 1) slow_mean /= 2;
    } else {
      slow = std::move(next);
      slow_mean = mean;
      slow_stayed = 0;
      if (++fast_stayed > 1) fast_mean /= 2;
    }
  }
  return std::abs(fast.mean()) < std::abs(slow.mean()) ? fast : slow;
}

std::string name_of(const PointOutcome& outcome) {
  std::string name = fmt::format("gpus {}", outcome.gpus);
  for (const AxisValue& axis : outcome.axes) {
    if (axis.path == "gpus" || axis.path == "contention") continue;
    name += fmt::format(" {} {}", axis.path.substr(axis.path.rfind('.') + 1), axis.text);
  }
  return name;
}

std::string names_of(const ContentionFit& fit, const std::vector<PointOutcome>& given) {
  constexpr std::size_t named_max = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(fit.points.size(), named_max); ++i) {
    names += (i == 0 ? "" : ", ") + name_of(given[fit.points[i]]);
  }
  const std::size_t more = fit.points.size() - std::min(fit.points.size(), named_max);
  return more == 0 ? names : names + fmt::format(" and {} more", more);
}

}  // namespace

std::optional<ContentionFit> fit_contention(const LogErrors& errors_at) {
  const std::vector<double> without = errors_at(1), with_most = errors_at(fitted_slowdown_max);
  PACELINE_EXPECTS(with_most.size() == without.size());
  std::vector<std::size_t> telling;
  for (std::size_t i = 0; i < without.size(); ++i) {
    if (std::abs(without[i] - with_most[i]) >= least_moved) telling.push_back(i);
  }
  if (telling.empty()) return std::nullopt;

  const auto found = [&](const Try& one, End end) {
    return ContentionFit{one.slowdown(), end, telling, one.log_errors};
  };
  const Try least{0, chosen(without, telling)};
  const Try most{1 - 1 / fitted_slowdown_max, chosen(with_most, telling)};
  if (std::abs(least.mean()) <= met_within) return found(least, End::met);
  if (least.mean() < 0) return found(least, End::least);
  if (most.mean() > met_within) return found(most, End::most);
  const auto at = [&](double hidden) {
    return Try{hidden, chosen(errors_at(1 / (1 - hidden)), telling)};
  };
  return found(search(least, most, at), End::met);
}

namespace {

constexpr AssumptionKind fitted_exactly{
    "{}: compute beside a collective takes {} times as long, fitted to {}"};
constexpr AssumptionKind fitted_with_error{
    "{}: compute beside a collective takes {} times as long, fitted to {}, where a mean |error| of "
    "{}% is left"};
constexpr AssumptionKind least_fitted{
    "{}: compute beside a collective takes {} times as long, fitted to {}: predicted {}% too slow "
    "there even so"};
constexpr AssumptionKind most_fitted{
    "{}: compute beside a collective takes {} times as long, fitted to {}: the most that is "
    "fitted, "
    "predicted {}% too fast there even so"};

}  // namespace

Assumption to_assumption(const ContentionFit& fit, const std::vector<PointOutcome>& given) {
  double left = 0, mean = 0;
  for (const double error : fit.log_errors) {
    left += std::abs(std::expm1(error)) / static_cast<double>(fit.log_errors.size());
    mean += error / static_cast<double>(fit.log_errors.size());
  }
  const std::string slowdown = fmt::format("{:.2f}", fit.slowdown), names = names_of(fit, given);
  const auto off = [&](const AssumptionKind& kind, double part) {
    return Assumption(kind, "contention", {slowdown, names, fmt::format("{:.1f}", 100 * part)});
  };
  if (fit.end == End::least) return off(least_fitted, std::abs(std::expm1(mean)));
  if (fit.end == End::most) return off(most_fitted, std::abs(std::expm1(mean)));
  if (left >= 5e-4) return off(fitted_with_error, left);  // less would be printed as nothing
  return {fitted_exactly, "contention", {slowdown, names}};
}

}  // namespace paceline
