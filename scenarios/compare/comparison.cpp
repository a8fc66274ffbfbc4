#include "scenarios/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/contract.h"
#include "models/stats/errors.h"

namespace paceline::compare {

namespace {

constexpr double clear_from = 1e-3;  // of the step
constexpr double mads_of_noise = 2;

// As much of `all` as has the sign of `limit` and is no more than it.
double within(double all, double limit) {
  if (all * limit <= 0) return 0;
  return std::copysign(std::min(std::abs(all), std::abs(limit)), all);
}

// Of all calls of a side, in seconds.
struct Transfers {
  double all = 0, latency = 0, bandwidth = 0;
  double skew = 0;
  bool has_sizes = true;
};

Transfers transfers_of(const std::vector<CallTimes>& calls) {
  Transfers sum;
  if (calls.empty()) return sum;
  const TransferFit fit = fit_transfers(calls);
  for (const CallTimes& call : calls) {
    sum.all += call.transfer.value();
    sum.latency += fit.latency.value();
    sum.bandwidth += fit.seconds_per_byte * static_cast<double>(call.size.value());
    sum.skew += call.skew.value();
  }
  sum.has_sizes = fit.has_sizes;
  return sum;
}

double value_or_zero(const std::optional<Seconds>& time) { return time ? time->value() : 0; }

// Shares a difference out to the causes, step by step as the header says.
class Split {
 public:
  Split(const Side& a, const Side& b) : a_(a), b_(b) {
    compute_ = b.compute->value() - a.compute->value();
    exposed_ = b.exposed_communication->value() - a.exposed_communication->value();
    step_ = b.step.value() - a.step.value();
  }

  Difference difference() {
    Difference made;
    made.step = Seconds(step_);
    take_transfers(made);
    hide();
    const double skew = take_skew();
    const double network = bandwidth_ + latency_;
    const double rest = step_ - compute_ - skew - network;
    const double parts[causes] = {compute_, bandwidth_, latency_, skew, rest};
    std::transform(std::begin(parts), std::end(parts), std::begin(made.parts),
                   [](double part) { return Seconds(part); });
    return made;
  }

 private:
  void take_transfers(Difference& made) {
    if (!a_.calls || !b_.calls) {
      made.network = NetworkPart::no_calls;
      // Longer compute hides more: what compute explains is not the network's.
      const double hidden = within(exposed_, -compute_);
      bandwidth_ = exposed_ - hidden;
      waiting_ = hidden;
      return;
    }
    const Transfers of_a = transfers_of(*a_.calls), of_b = transfers_of(*b_.calls);
    if (!of_a.has_sizes || !of_b.has_sizes) made.network = NetworkPart::one_size;
    skew_ = of_b.skew - of_a.skew;
    const double all = of_b.all - of_a.all;
    const double theirs = within(exposed_, all);
    waiting_ = exposed_ - theirs;
    if (all == 0) return;
    bandwidth_ = theirs / all * (of_b.bandwidth - of_a.bandwidth);
    latency_ = theirs / all * (of_b.latency - of_a.latency);
    if (made.network == NetworkPart::one_size) bandwidth_ += std::exchange(latency_, 0.0);
  }

  void hide() {
    if (compute_ * waiting_ >= 0) return;
    const double hidden = within(waiting_, -compute_);
    compute_ += hidden;
    waiting_ -= hidden;
  }

  double take_skew() {
    const double waited = within(waiting_, skew_);
    const bool has_spread = a_.compute_spread && b_.compute_spread;
    const double spread =
        has_spread ? value_or_zero(b_.compute_spread) - value_or_zero(a_.compute_spread) : skew_;
    const double computed = within(compute_, spread);
    compute_ -= computed;
    return waited + computed;
  }

  const Side &a_, &b_;
  double step_, compute_, exposed_;
  double waiting_ = 0, bandwidth_ = 0, latency_ = 0, skew_ = 0;
};

bool is_clear(const Side& a, const Side& b) {
  const double difference = std::abs(b.step.value() - a.step.value());
  const double noise = mads_of_noise * std::hypot(a.mad.value(), b.mad.value());
  return difference > std::max(noise, clear_from * std::max(a.step.value(), b.step.value()));
}

// A point and which of its sides counts: it has that one.
struct Chosen {
  const Point& point;
  Kind kind;

  [[nodiscard]] const Side& side() const { return *point.side(kind); }
  [[nodiscard]] PointPair::End end() const { return {point.gpus, kind, side().step}; }
};

std::optional<Chosen> choose(const Point& point, std::optional<Kind> kind) {
  const Kind taken = kind.value_or(point.measured ? Kind::measured : Kind::predicted);
  if (!point.side(taken)) return std::nullopt;
  return Chosen{point, taken};
}

std::string name_of(const Point& point) {
  std::string name = std::to_string(point.gpus) + (point.gpus == 1 ? " GPU" : " GPUs");
  for (const auto& [path, value] : point.axes) name += ", " + path + "=" + value;
  return name;
}

double batch_of(const Point& a, const Point& b) {
  if (!a.batch_per_gpu || !b.batch_per_gpu) return 1;
  return static_cast<double>(*b.batch_per_gpu) / *a.batch_per_gpu;
}

PointPair pair_of(const Chosen& a, const Chosen& b) {
  return {a.point.axes, a.end(), b.end(), batch_of(a.point, b.point),
          difference_of(a.side(), b.side())};
}

}  // namespace

Cause Difference::mostly() const {
  const auto* largest = std::max_element(
      std::begin(parts), std::end(parts),
      [](auto one, auto two) { return std::abs(one.value()) < std::abs(two.value()); });
  return static_cast<Cause>(largest - std::begin(parts));
}

Difference difference_of(const Side& a, const Side& b) {
  Difference made;
  const auto is_whole = [](const Side& side) { return side.compute && side.exposed_communication; };
  if (is_whole(a) && is_whole(b)) {
    made = Split(a, b).difference();
  } else {
    made.step = b.step - a.step;
    made.parts[static_cast<std::size_t>(Cause::rest)] = made.step;
    made.network = NetworkPart::no_calls;
  }
  made.is_clear = is_clear(a, b);
  return made;
}

double speedup(const PointPair& pair) {
  return pair.b_batch * pair.b.gpus / pair.a.gpus * (pair.a.step / pair.b.step);
}

Comparison compare(const ResultFile& a, const ResultFile& b, std::optional<Kind> kind) {
  Comparison all{a.path, b.path, {}, {}};
  std::vector<bool> paired(b.points.size(), false);
  const bool are_single = a.points.size() == 1 && b.points.size() == 1;
  for (const Point& point : a.points) {
    const auto partner = std::ranges::find_if(b.points, [&](const Point& other) {
      const bool is_free = !paired[static_cast<std::size_t>(&other - b.points.data())];
      return is_free && (are_single || other.gpus == point.gpus) && other.axes == point.axes;
    });
    const auto of_a = choose(point, kind);
    const auto of_b = partner == b.points.end() ? std::nullopt : choose(*partner, kind);
    if (!of_a || !of_b) {
      all.alone.push_back("A: " + name_of(point));
      continue;
    }
    paired[static_cast<std::size_t>(partner - b.points.begin())] = true;
    all.pairs.push_back(pair_of(*of_a, *of_b));
  }
  for (std::size_t i = 0; i < b.points.size(); ++i) {
    if (!paired[i]) all.alone.push_back("B: " + name_of(b.points[i]));
  }
  return all;
}

Comparison compare_sides(const ResultFile& file) {
  Comparison all{file.path, file.path, {}, {}};
  for (const Point& point : file.points) {
    if (point.predicted && point.measured) {
      all.pairs.push_back(pair_of({point, Kind::predicted}, {point, Kind::measured}));
    } else {
      all.alone.push_back((point.predicted ? "A: " : "B: ") + name_of(point));
    }
  }
  return all;
}

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
