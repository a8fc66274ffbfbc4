#include "scenarios/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "models/contract.h"
#include "models/stats/errors.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/import/traced_run.h"
#include "traces/archive/input.h"
#include "traces/formats/formats.h"
#include "traces/json/json_value.h"
#include "traces/text/format_error.h"

namespace paceline::compare {
namespace {

using traces::JsonValue, traces::member;

// Readers throw std::runtime_error with the key; callers add where it stood.
Seconds time_of(const JsonValue& in) {
  const double value = in.number();
  if (!std::isfinite(value) || value < 0) throw std::runtime_error("is not a time of zero or more");
  return Seconds(value);
}

std::optional<Seconds> find_time(const JsonValue& in, const char* key) {
  if (in[key].is_null()) return std::nullopt;
  return member(in, key, time_of);
}

CallTimes call_of(const JsonValue& in) {
  CallTimes call;
  call.size = member<Bytes>(in, "size_bytes");
  call.transfer = member(in, "transfer_s", time_of);
  call.skew = member(in, "skew_s", time_of);
  return call;
}

std::optional<Side> find_side(const JsonValue& point, const char* key) {
  const JsonValue& in = point[key];
  if (in.is_null()) return std::nullopt;
  Side side;
  side.step = member(in, "step_s", time_of);
  if (side.step == Seconds(0)) throw std::runtime_error("step_s is zero");
  side.compute = find_time(in, "compute_s");
  side.exposed_communication = find_time(in, "exposed_communication_s");
  side.compute_spread = find_time(in, "compute_spread_s");
  side.mad = find_time(in, "mad_s").value_or(Seconds(0));
  if (in.find("calls") != nullptr) {
    side.calls = member(
        in, "calls", [](const JsonValue& calls) { return traces::decoded_list(calls, call_of); });
  }
  return side;
}

// As a scenario would spell it, where that is exact.
std::string axis_text(const JsonValue& axis) {
  const auto unit = member<std::string>(axis, "unit");
  const std::optional<double> if_number = axis["value"].if_number();
  if (!if_number) return member<std::string>(axis, "value");
  const double number = *if_number;
  if (unit == "B" && number >= 0 && number < 0x1p53) {
    const Bytes size(static_cast<std::uint64_t>(number));
    const auto read_again = parse_bytes(to_text(size));
    if (std::get_if<Bytes>(&read_again) && std::get<Bytes>(read_again) == size) {
      return to_text(size);
    }
  }
  const std::string text = fmt::format("{:.12g}", number);
  return unit.empty() || unit == "1" ? text : text + " " + unit;
}

Point point_of(const JsonValue& in) {
  Point point;
  point.gpus = member<std::uint32_t>(in, "gpus");
  if (point.gpus == 0) throw std::runtime_error("gpus is not a number of GPUs");
  for (const JsonValue& axis : member(in, "axes", [](const auto& axes) { return axes.list(); })) {
    const auto path = member<std::string>(axis, "path");
    if (path != "gpus") point.axes[path] = axis_text(axis);
  }
  point.predicted = find_side(in, "predicted");
  point.measured = find_side(in, "measured");
  return point;
}

Side side_of(const StepTrace& trace) {
  const StepTotals totals = totals_of(trace);
  Side side;
  side.step = totals.step;
  side.compute = totals.compute;
  side.exposed_communication = totals.exposed_communication;
  side.compute_spread = compute_spread(trace);
  side.calls = calls_of(trace);
  const auto is_untold = [](const CallTimes& call) { return call.transfer == Seconds(0); };
  if (std::ranges::any_of(*side.calls, is_untold)) side.calls.reset();
  return side;
}

// Packed, or in one of their formats.
bool are_traces(const std::string& text) {
  constexpr std::string_view gzip = "\x1f\x8b", zstd = "\x28\xb5\x2f\xfd";
  return text.starts_with(gzip) || text.starts_with(zstd) || traces::is_step_traces(text) ||
         std::ranges::any_of(traces::device_trace_formats(),
                             [&](const auto& format) { return format.is_one(text); });
}

// The side of a run's point: of a run that was predicted and measured there is one point.
std::optional<Side>& side_in(ResultFile& result, const traces::TraceRun& run, bool is_one_of_many) {
  const auto side = run.origin == traces::Origin::predicted ? &Point::predicted : &Point::measured;
  Axes axes;
  if (is_one_of_many) axes["run"] = run.name;
  const std::uint32_t gpus = rank_count(run.trace);
  for (Point& point : result.points) {
    if (point.axes == axes && point.gpus == gpus && !(point.*side)) return point.*side;
  }
  Point& point = result.points.emplace_back();
  point.axes = std::move(axes);
  point.gpus = gpus;
  point.batch_per_gpu = run.batch_per_gpu;
  return point.*side;
}

ResultFile read_traces(const std::string& path) {
  ResultFile result{traces::name_of_input(path), {}};
  const auto runs = import_runs({path});
  for (const traces::TraceRun& run : runs) {
    side_in(result, run, runs.size() > 1) = side_of(run.trace);
    constexpr Seconds least{1e-9};
    if (totals_of(run.trace).step >= least) continue;
    throw InputError({result.path}, "contains a step that takes no time", "");
  }
  return result;
}

constexpr const char* how_to_make_one = "paceline run SCENARIO --json FILE writes one";

ResultFile result_in(std::string text, const std::string& name) {
  JsonValue all;
  try {
    all = traces::parse_json(text, "");
  } catch (const traces::FormatError& error) {
    throw InputError({name}, std::string("is not JSON: ") + error.what(), "");
  }
  if (all["schema"].text_or_empty() != "paceline.result/1") {
    throw InputError({name}, "is not a paceline.result/1", how_to_make_one);
  }
  try {
    ResultFile result{name, member(all, "points", [](const JsonValue& points) {
                        return traces::decoded_list(points, point_of);
                      })};
    if (const JsonValue* found = all.find("contradictions")) {
      for (const JsonValue& one : found->list()) {
        if (one.find("sentence") == nullptr) continue;  // of an earlier version
        result.outside.push_back(member<std::string>(one, "sentence"));
      }
    }
    result.json = std::move(text);
    return result;
  } catch (const std::runtime_error& error) {
    throw InputError({name}, std::string("is not a paceline.result/1: ") + error.what(), "");
  }
}

constexpr double clear_from = 1e-3;  // of the step
constexpr double mads_of_noise = 2;

// As much of `all` as has the sign of `limit` and is no more than it.
double within(double all, double limit) {
  if (all * limit <= 0) return 0;
  return std::copysign(std::min(std::abs(all), std::abs(limit)), all);
}

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
        has_spread ? b_.compute_spread->value() - a_.compute_spread->value() : skew_;
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
  std::string name = counted(point.gpus, "GPU");
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
  std::ranges::sort(weighted);
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

double height_of(const std::vector<Sample>& samples, double slope) {
  std::vector<std::pair<double, double>> heights;
  for (const Sample& one : samples) heights.emplace_back(one.time - slope * one.size, one.calls);
  return weighted_median(std::move(heights));
}

double time_per_byte(const std::vector<Sample>& samples) {
  double time = 0, size = 0;
  for (const Sample& one : samples) {
    time += one.time * one.calls;
    size += one.size * one.calls;
  }
  return size > 0 ? time / size : 0;
}

}  // namespace

ResultFile read_result(const std::string& path) {
  if (path != traces::standard_input && std::filesystem::is_directory(path)) {
    return read_traces(path);
  }
  std::string text = files::read_text(path);
  const std::string name = traces::name_of_input(path);
  if (are_traces(text)) return read_traces(path);
  if (text.empty()) throw InputError({name}, "cannot be read: nothing is in it", "");
  return result_in(std::move(text), name);
}

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
  Comparison all{file.path, file.path, {}, {}, file.outside};
  for (const Point& point : file.points) {
    if (point.predicted && point.measured) {
      all.pairs.push_back(pair_of({point, Kind::predicted}, {point, Kind::measured}));
    } else {
      all.alone.push_back((point.predicted ? "A: " : "B: ") + name_of(point));
    }
  }
  return all;
}

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
