#include "scenarios/compare/transfer_fit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/contract.h"
#include "models/stats/errors.h"

namespace paceline::compare {
namespace {

constexpr double sizes_differ_from = 2.0;  // the largest over the smallest
// Above this many sizes neighbours are joined: pairs grow with the square.
constexpr std::size_t sizes_max = 512;

struct Sample {
  double size, time;  // bytes, seconds
  double calls;
};

std::vector<Sample> by_size(std::span<const CallTimes> calls) {
  std::map<std::uint64_t, std::vector<double>> times;
  for (const CallTimes& call : calls) times[call.size.value()].push_back(call.transfer.value());
  std::vector<Sample> samples;
  for (const auto& [size, of_size] : times) {
    samples.push_back(
        {static_cast<double>(size), stats::median(of_size), static_cast<double>(of_size.size())});
  }
  if (samples.size() <= sizes_max) return samples;
  std::vector<Sample> thinned;
  for (std::size_t i = 0; i < sizes_max; ++i) {
    thinned.push_back(samples[i * (samples.size() - 1) / (sizes_max - 1)]);
  }
  return thinned;
}

// Of values with weights above 0.
double weighted_median(std::vector<std::pair<double, double>> weighted) {
  std::sort(weighted.begin(), weighted.end());
  double all = 0, below = 0;
  for (const auto& [value, weight] : weighted) all += weight;
  for (const auto& [value, weight] : weighted) {
    below += weight;
    if (below >= all / 2) return value;
  }
  return weighted.back().first;
}

double slope_of(const std::vector<Sample>& samples) {
  std::vector<std::pair<double, double>> slopes;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t j = i + 1; j < samples.size(); ++j) {
      const double apart = samples[j].size - samples[i].size;
      slopes.emplace_back((samples[j].time - samples[i].time) / apart, apart);
    }
  }
  return weighted_median(std::move(slopes));
}

// The height of the line over size 0.
double height_of(const std::vector<Sample>& samples, double slope) {
  std::vector<std::pair<double, double>> heights;
  for (const Sample& one : samples) heights.emplace_back(one.time - slope * one.size, one.calls);
  return weighted_median(std::move(heights));
}

// A line through 0.
double time_per_byte(const std::vector<Sample>& samples) {
  double time = 0, size = 0;
  for (const Sample& one : samples) {
    time += one.time * one.calls;
    size += one.size * one.calls;
  }
  return size > 0 ? time / size : 0;
}

}  // namespace

TransferFit fit_transfers(std::span<const CallTimes> calls) {
  PACELINE_EXPECTS(!calls.empty());
  const auto samples = by_size(calls);
  if (samples.back().size < sizes_differ_from * samples.front().size || samples.size() == 1) {
    return {Seconds(0), time_per_byte(samples), false};
  }
  const double slope = std::max(0.0, slope_of(samples));
  const double height = height_of(samples, slope);
  if (height < 0) return {Seconds(0), time_per_byte(samples), true};
  return {Seconds(height), slope, true};
}

}  // namespace paceline::compare
