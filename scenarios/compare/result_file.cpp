#include "scenarios/compare/result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

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
    throw InputError({result.path, 0, 0}, "contains a step that takes no time", "");
  }
  return result;
}

constexpr const char* how_to_make_one = "paceline run SCENARIO --json FILE writes one";

std::vector<Point> points_in(const std::string& text, const std::string& name) {
  JsonValue all;
  try {
    all = traces::parse_json(text, "");
  } catch (const traces::FormatError& error) {
    throw InputError({name, 0, 0}, std::string("is not JSON: ") + error.what(), "");
  }
  if (all["schema"].text_or_empty() != "paceline.result/1") {
    throw InputError({name, 0, 0}, "is not a paceline.result/1", how_to_make_one);
  }
  try {
    return member(all, "points",
                  [](const JsonValue& points) { return traces::decoded_list(points, point_of); });
  } catch (const std::runtime_error& error) {
    throw InputError({name, 0, 0}, std::string("is not a paceline.result/1: ") + error.what(), "");
  }
}

}  // namespace

ResultFile read_result(const std::string& path) {
  if (path != traces::standard_input && std::filesystem::is_directory(path)) {
    return read_traces(path);
  }
  std::string text = files::read_text(path);
  const std::string name = traces::name_of_input(path);
  if (are_traces(text)) return read_traces(path);
  if (text.empty()) throw InputError({name, 0, 0}, "cannot be read: nothing is in it", "");
  ResultFile result{name, points_in(text, name)};
  result.json = std::move(text);
  return result;
}

}  // namespace paceline::compare
