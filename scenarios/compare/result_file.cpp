#include "scenarios/compare/result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/import/traced_run.h"
#include "traces/archive/input.h"
#include "traces/formats/device_traces.h"

namespace paceline::compare {
namespace {

using nlohmann::json;

// Readers of values throw std::invalid_argument with the key; callers add where it stood.
Seconds time_of(const json& in, const char* key) {
  const double value = in.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) {
    throw std::invalid_argument(std::string(key) + " is not a time of zero or more");
  }
  return Seconds(value);
}

std::optional<Seconds> find_time(const json& in, const char* key) {
  if (!in.contains(key) || in.at(key).is_null()) return std::nullopt;
  return time_of(in, key);
}

CallTimes call_of(const json& in) {
  const json& size = in.at("size_bytes");
  if (!size.is_number_unsigned())
    throw std::invalid_argument("size_bytes is not a number of bytes");
  CallTimes call;
  call.size = Bytes(size.get<std::uint64_t>());
  call.transfer = time_of(in, "transfer_s");
  call.skew = time_of(in, "skew_s");
  return call;
}

std::optional<Side> find_side(const json& point, const char* key) {
  if (!point.contains(key) || point.at(key).is_null()) return std::nullopt;
  const json& in = point.at(key);
  Side side;
  side.step = time_of(in, "step_s");
  if (side.step == Seconds(0)) throw std::invalid_argument("step_s is zero");
  side.compute = find_time(in, "compute_s");
  side.exposed_communication = find_time(in, "exposed_communication_s");
  side.compute_spread = find_time(in, "compute_spread_s");
  side.mad = find_time(in, "mad_s").value_or(Seconds(0));
  if (in.contains("calls")) {
    side.calls.emplace();
    for (const json& call : in.at("calls").get_ref<const json::array_t&>()) {
      side.calls->push_back(call_of(call));
    }
  }
  return side;
}

// As a scenario would spell it, where that is exact.
std::string axis_text(const json& axis) {
  const json& value = axis.at("value");
  const auto unit = axis.at("unit").get<std::string>();
  if (value.is_string()) return value.get<std::string>();
  const double number = value.get<double>();
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

Point point_of(const json& in) {
  Point point;
  const json& gpus = in.at("gpus");
  if (!gpus.is_number_unsigned() || gpus.get<std::uint64_t>() - 1 >= 0xffff'ffffU) {
    throw std::invalid_argument("gpus is not a number of GPUs");
  }
  point.gpus = gpus.get<std::uint32_t>();
  for (const json& axis : in.at("axes").get_ref<const json::array_t&>()) {
    const auto path = axis.at("path").get<std::string>();
    if (path != "gpus") point.axes[path] = axis_text(axis);
  }
  point.predicted = find_side(in, "predicted");
  point.measured = find_side(in, "measured");
  return point;
}

// nlohmann's sentences without their "[json.exception...] " in front.
std::string words_of(const std::exception& error) {
  const std::string text = error.what();
  const auto end = text.find("] ");
  return text.rfind("[json", 0) == 0 && end != std::string::npos ? text.substr(end + 2) : text;
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

}  // namespace

ResultFile read_result(const std::string& path) {
  if (path != traces::standard_input && std::filesystem::is_directory(path)) {
    return read_traces(path);
  }
  std::string text = files::read_text(path);
  const std::string name = traces::name_of_input(path);
  if (are_traces(text)) return read_traces(path);
  if (text.empty()) throw InputError({name, 0, 0}, "cannot be read: nothing is in it", "");
  ResultFile result{name, {}};
  std::size_t number = 0;
  bool in_points = false;
  try {
    const json all = json::parse(text);
    if (!all.is_object() || all.value("schema", json()) != "paceline.result/1") {
      throw InputError({name, 0, 0}, "is not a paceline.result/1", how_to_make_one);
    }
    const auto& points = all.at("points").get_ref<const json::array_t&>();
    in_points = true;
    for (const json& point : points) {
      result.points.push_back(point_of(point));
      ++number;
    }
  } catch (const json::parse_error& error) {
    throw InputError({name, 0, 0}, "is not JSON: " + words_of(error), "");
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {  // of json, or a value that cannot be
    const std::string where = in_points ? "points[" + std::to_string(number) + "]: " : "";
    throw InputError({name, 0, 0}, "is not a paceline.result/1: " + where + words_of(error), "");
  }
  result.json = std::move(text);
  return result;
}

}  // namespace paceline::compare
