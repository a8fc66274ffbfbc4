#include "models/cost/link_fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "models/contract.h"
#include "models/stats/errors.h"
#include "models/stats/normal.h"
#include "models/units/parse.h"

namespace paceline::cost {
namespace {

constexpr std::size_t piece_least = 3, pieces_most = 3;
constexpr double freedom = 3;             // of Student's t
constexpr double deviation_least = 3e-3;  // tables print two decimals of microseconds
constexpr double slope_least = 0.1;       // of a sample's influence; 1 is that of least squares
constexpr double half = 0.5;              // of a time, at an end that is to tell something

struct Line {
  double startup_s = 0, per_byte_s = 0;
};

// Sums of a weighted regression on (1, size).
struct Moments {
  double n = 0, size = 0, size_size = 0, y = 0, size_y = 0;

  void add(double weight, double at, double value) {
    n += weight;
    size += weight * at;
    size_size += weight * at * at;
    y += weight * value;
    size_y += weight * at * value;
  }
  [[nodiscard]] double determinant() const { return n * size_size - size * size; }
  [[nodiscard]] Line line() const {
    return {(size_size * y - size * size_y) / determinant(),
            (n * size_y - size * y) / determinant()};
  }
};

// One way to cut the sizes: pieces[i] begins at sample begins[i].
using Cut = std::vector<std::size_t>;

struct PieceFit {
  Cut begins;
  std::vector<Line> lines;
  std::vector<double> times_s;  // of the lines, by sample
  double deviation = 0, criterion = std::numeric_limits<double>::infinity();
};

class Samples {
 public:
  explicit Samples(const std::vector<LinkSample>& samples) {
    for (const LinkSample& sample : samples) {
      sizes_.push_back(static_cast<double>(sample.size.value()));
      times_s_.push_back(sample.time.value());
    }
    for (std::size_t i = 0; i < size(); ++i) {
      const std::size_t from = i == 0 ? 0 : i - 1, to = std::min(i + 2, size());
      const auto begin = times_s_.begin();
      smooth_s_.push_back(stats::median(std::vector(begin + static_cast<std::ptrdiff_t>(from),
                                                    begin + static_cast<std::ptrdiff_t>(to))));
    }
  }

  [[nodiscard]] std::size_t size() const { return sizes_.size(); }
  [[nodiscard]] double bytes(std::size_t i) const { return sizes_[i]; }
  [[nodiscard]] PieceFit fit(Cut begins) const;
  // The variance of a sample's deviation as estimates of lines feel it.
  [[nodiscard]] double variance(const PieceFit& candidate) const;
  // Of a piece, as if none of its samples were an outlier.
  [[nodiscard]] Moments information(const PieceFit& candidate, std::size_t piece) const;

 private:
  [[nodiscard]] std::size_t end_of(const Cut& begins, std::size_t piece) const {
    return piece + 1 < begins.size() ? begins[piece + 1] : size();
  }
  void improve(PieceFit& candidate) const;
  [[nodiscard]] double residual(const PieceFit& candidate, std::size_t i) const {
    return std::log(times_s_[i] / candidate.times_s[i]);
  }

  std::vector<double> sizes_, times_s_;
  std::vector<double> smooth_s_;  // medians of three: where a fit begins
};

// One step of reweighted least squares for the lines, linearised about their last times, and of
// expectation-maximisation for the deviation.
void Samples::improve(PieceFit& candidate) const {
  std::vector<double> next = candidate.times_s;
  double squares = 0;
  for (std::size_t piece = 0; piece < candidate.begins.size(); ++piece) {
    const std::size_t begin = candidate.begins[piece], end = end_of(candidate.begins, piece);
    Moments moments;
    for (std::size_t i = begin; i < end; ++i) {
      const double at = candidate.times_s[i], off = residual(candidate, i);
      const double in_deviations = off / candidate.deviation;
      const double weight = (freedom + 1) / (freedom + in_deviations * in_deviations);
      squares += weight * off * off;
      moments.add(weight / (at * at), sizes_[i], at * (1 + off));
    }
    candidate.lines[piece] = moments.line();
    for (std::size_t i = begin; i < end; ++i) {
      const Line& line = candidate.lines[piece];
      constexpr double shrink_most = 0.1;  // a time stays above 0
      next[i] = std::max(line.startup_s + line.per_byte_s * sizes_[i],
                         shrink_most * candidate.times_s[i]);
    }
  }
  candidate.times_s = std::move(next);
  candidate.deviation = std::max(std::sqrt(squares / static_cast<double>(size())), deviation_least);
}

PieceFit Samples::fit(Cut begins) const {
  PieceFit candidate;
  candidate.begins = std::move(begins);
  candidate.lines.resize(candidate.begins.size());
  candidate.times_s = smooth_s_;
  constexpr double deviation_first = 0.1;
  constexpr int iterations = 40;
  candidate.deviation = deviation_first;
  for (int i = 0; i < iterations; ++i) improve(candidate);
  const auto n = static_cast<double>(size());
  double minus_twice_log_likelihood = 2 * n * std::log(candidate.deviation);
  for (std::size_t i = 0; i < size(); ++i) {
    const double in_deviations = residual(candidate, i) / candidate.deviation;
    minus_twice_log_likelihood +=
        (freedom + 1) * std::log1p(in_deviations * in_deviations / freedom);
  }
  // A place to switch at is the best of many, which a parameter is not. Counted as four, noise
  // makes a switch in one of a hundred straight tables; counted as one, in one of three.
  constexpr double of_a_line = 2, of_a_switch = 4;
  const auto switches = static_cast<double>(candidate.begins.size() - 1);
  const double parameters = of_a_line + switches * (of_a_line + of_a_switch);
  candidate.criterion = minus_twice_log_likelihood + parameters * std::log(n);
  return candidate;
}

// Of the influence of each sample and its slope, so that it holds whatever the distribution; with
// the correction for few samples. Huber, Robust Statistics, 1981, section 7.6.
double Samples::variance(const PieceFit& candidate) const {
  const auto n = static_cast<double>(size());
  const double fitted = 2 * static_cast<double>(candidate.begins.size());
  double influence = 0, slope = 0, slope_square = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const double at = residual(candidate, i) / candidate.deviation, square = at * at;
    const double its = (freedom + 1) * (freedom - square) / std::pow(freedom + square, 2);
    influence += std::pow((freedom + 1) * at / (freedom + square), 2) / std::max(n - fitted, 1.0);
    slope += its / n;
    slope_square += its * its / n;
  }
  slope = std::max(slope, slope_least);
  const double correction = 1 + fitted / n * (slope_square / (slope * slope) - 1);
  return std::pow(candidate.deviation * std::max(correction, 1.0) / slope, 2) * influence;
}

Moments Samples::information(const PieceFit& candidate, std::size_t piece) const {
  Moments moments;
  for (std::size_t i = candidate.begins[piece]; i < end_of(candidate.begins, piece); ++i) {
    moments.add(1 / (candidate.times_s[i] * candidate.times_s[i]), sizes_[i], 0);
  }
  return moments;
}

// Whether the smallest size is at least half startup, and the largest at least half transfer.
bool shows_latency(const PieceFit& candidate) {
  return candidate.lines.front().startup_s >= half * candidate.times_s.front();
}
bool shows_bandwidth(const PieceFit& candidate, double largest) {
  return candidate.lines.back().per_byte_s * largest >= half * candidate.times_s.back();
}

bool are_sound(const PieceFit& candidate, const Samples& samples) {
  for (std::size_t piece = 0, i = 0; i < samples.size(); ++i) {
    if (piece + 1 < candidate.begins.size() && candidate.begins[piece + 1] == i) ++piece;
    const Line& line = candidate.lines[piece];
    if (!(line.startup_s + line.per_byte_s * samples.bytes(i) > 0)) return false;
  }
  return true;
}

// Where a protocol may begin: at the first size above a power of two.
std::vector<std::size_t> places_to_cut(const std::vector<LinkSample>& samples) {
  const auto octave = [&](std::size_t i) {
    const std::uint64_t bytes = samples[i].size.value();
    return bytes == 0 ? -1 : static_cast<int>(std::bit_width(bytes - 1));
  };
  std::vector<std::size_t> places;
  for (std::size_t i = piece_least; i + piece_least <= samples.size(); ++i) {
    if (octave(i) != octave(i - 1)) places.push_back(i);
  }
  return places;
}

std::vector<Cut> cuts_of(const std::vector<LinkSample>& samples) {
  static_assert(pieces_most == 3);
  const auto places = places_to_cut(samples);
  std::vector<Cut> cuts{{0}};
  for (const std::size_t first : places) {
    cuts.push_back({0, first});
    for (const std::size_t second : places) {
      if (second >= first + piece_least) cuts.push_back({0, first, second});
    }
  }
  return cuts;
}

// One a size, by size.
std::vector<LinkSample> medians_of(const std::vector<LinkSample>& samples) {
  std::map<Bytes, std::vector<double>> times;
  for (const LinkSample& sample : samples) {
    PACELINE_EXPECTS(sample.time > Seconds(0));
    times[sample.size].push_back(sample.time.value());
  }
  std::vector<LinkSample> medians;
  for (const auto& [size, all] : times) medians.push_back({size, Seconds(stats::median(all))});
  return medians;
}

// Of (log latency, log bandwidth).
std::array<std::array<double, 2>, 2> covariance_of(const Samples& samples,
                                                   const PieceFit& candidate) {
  const double variance = samples.variance(candidate);
  const double latency = candidate.lines.front().startup_s;
  const double rate = candidate.lines.back().per_byte_s;
  const Moments first = samples.information(candidate, 0);
  const Moments last = samples.information(candidate, candidate.begins.size() - 1);
  // log bandwidth is -log rate, and pieces are fitted apart.
  const double both = candidate.begins.size() > 1
                          ? 0
                          : variance * first.size / first.determinant() / (latency * rate);
  return {{{variance * first.size_size / first.determinant() / (latency * latency), both},
           {both, variance * last.n / last.determinant() / (rate * rate)}}};
}

LinkFit fit_of(std::vector<LinkSample> medians, const Samples& samples, const PieceFit& candidate) {
  LinkFit fit;
  fit.estimate = {Seconds(candidate.lines.front().startup_s),
                  BytesPerSecond(1 / candidate.lines.back().per_byte_s),
                  covariance_of(samples, candidate)};
  for (std::size_t piece = 0; piece < candidate.begins.size(); ++piece) {
    const std::size_t end =
        piece + 1 < candidate.begins.size() ? candidate.begins[piece + 1] : medians.size();
    const Line& line = candidate.lines[piece];
    fit.pieces.push_back({medians[end - 1].size, Seconds(line.startup_s), line.per_byte_s});
  }
  fit.samples = std::move(medians);
  fit.deviation = candidate.deviation;
  return fit;
}

template <class T>
std::pair<T, T> range(T value, double variance) {
  const double factor = std::exp(stats::normal_90 * std::sqrt(variance));
  return {value * (1 / factor), value * factor};
}

}  // namespace

std::pair<Seconds, Seconds> LinkEstimate::latency_range() const {
  return range(latency, covariance[0][0]);
}
std::pair<BytesPerSecond, BytesPerSecond> LinkEstimate::bandwidth_range() const {
  return range(bandwidth, covariance[1][1]);
}

Seconds LinkFit::time(Bytes size) const {
  const auto piece = std::find_if(pieces.begin(), pieces.end() - 1,
                                  [&](const LinkPiece& one) { return size <= one.up_to; });
  return piece->startup + Seconds(piece->seconds_per_byte * static_cast<double>(size.value()));
}

std::vector<double> LinkFit::residuals() const {
  std::vector<double> all;
  for (const LinkSample& one : samples) all.push_back(std::log(one.time / time(one.size)));
  return all;
}

std::variant<LinkFit, LinkFault> fit_link(const std::vector<LinkSample>& all) {
  std::vector<LinkSample> medians = medians_of(all);
  if (medians.size() < link_sizes_least) {
    return LinkFault{"has times of " + std::to_string(medians.size()) + " sizes only",
                     "a fit takes at least " + std::to_string(link_sizes_least)};
  }
  if (medians.size() > link_sizes_most) {
    return LinkFault{"has more than " + std::to_string(link_sizes_most) + " sizes",
                     "give fewer of them"};
  }
  const Samples samples(medians);
  const double largest = samples.bytes(samples.size() - 1);
  PieceFit likeliest, best;
  for (Cut& cut : cuts_of(medians)) {
    PieceFit candidate = samples.fit(std::move(cut));
    if (candidate.criterion < likeliest.criterion) likeliest = candidate;
    if (candidate.criterion < best.criterion && are_sound(candidate, samples) &&
        shows_latency(candidate) && shows_bandwidth(candidate, largest)) {
      best = std::move(candidate);
    }
  }
  if (!best.begins.empty()) return fit_of(std::move(medians), samples, best);
  if (!likeliest.begins.empty() && !shows_bandwidth(likeliest, largest)) {
    return LinkFault{"does not show the bandwidth: its largest size, " +
                         to_text(medians.back().size) + ", is mostly latency",
                     "measure larger sizes, up to some MiB"};
  }
  return LinkFault{"does not show the latency: its smallest size, " +
                       to_text(medians.front().size) + ", is mostly transfer",
                   "measure smaller sizes, from some bytes on"};
}

}  // namespace paceline::cost
