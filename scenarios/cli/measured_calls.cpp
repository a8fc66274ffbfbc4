#include "scenarios/cli/measured_calls.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "models/collectives/nccl_tests.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/loader/scenario.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace {

using Json = nlohmann::ordered_json;

const Words<DataType>& type_names() {
  static const Words<DataType> names{
      {"float", DataType::float32},  {"half", DataType::float16}, {"bfloat16", DataType::bfloat16},
      {"double", DataType::float64}, {"int32", DataType::int32},  {"int64", DataType::int64}};
  return names;
}

RankCount ranks_of(const MeasuredTable& table) { return RankCount(table.group.ranks); }

// Both in bytes a second; 0 of a call that takes no time.
struct Bandwidths {
  double algorithm, bus;
};

Bandwidths bandwidths(const MeasuredTable& table, Bytes size, Seconds time) {
  const double algorithm = time > Seconds(0) ? (size / time).value() : 0;
  return {algorithm, algorithm * collectives::bus_factor(table.collective, ranks_of(table))};
}

// As many digits as nccl-tests give.
std::string in_us(Seconds time) {
  const double us = time.value() * 1e6;
  return fmt::format("{:.{}f}", us, us >= 10'000 ? 0 : us >= 100 ? 1 : 2);
}

std::string in_us(const std::optional<Seconds>& time) { return time ? in_us(*time) : "N/A"; }

// Time, bandwidths and wrong elements of one way.
std::string half_of_row(const MeasuredTable& table, Bytes size,
                        const std::optional<RepeatedTime>& way) {
  constexpr const char* columns = "  {:>7} {:>7} {:>7} {:>7}";
  if (!way) return fmt::format(columns, "N/A", "N/A", "N/A", "N/A");
  const auto [algorithm, bus] = bandwidths(table, size, way->time);
  return fmt::format(columns, in_us(way->time), fmt::format("{:.2f}", algorithm * 1e-9),
                     fmt::format("{:.2f}", bus * 1e-9), way->wrong);
}

std::optional<Seconds> device_of(const std::optional<RepeatedTime>& way) {
  return way ? way->device : std::nullopt;
}

std::optional<Seconds> alone_of(const std::optional<RepeatedTime>& way) {
  return way ? std::optional(way->alone) : std::nullopt;
}

Json json_of(const MeasuredTable& table, Bytes size, const std::optional<RepeatedTime>& way) {
  if (!way) return nullptr;
  const auto [algorithm, bus] = bandwidths(table, size, way->time);
  return {{"time_s", way->time.value()},
          {"algbw_bytes_per_s", algorithm},
          {"busbw_bytes_per_s", bus},
          {"wrong_elements", way->wrong},
          {"device_s", way->device ? Json(way->device->value()) : Json()},
          {"alone_s", way->alone.value()}};
}

Json json_of(const MeasuredTable& table, const MeasuredCall& row) {
  const auto& [call, times, predicted] = row;
  return {
      {"size_bytes", call.size().value()},
      {"count", call.count.value()},
      {"algorithm", table.settings.mode == CollectiveMode::plan ? algorithm_of(call) : "native"},
      {"out_of_place", json_of(table, call.size(), times.out_of_place)},
      {"in_place", json_of(table, call.size(), times.in_place)},
      {"predicted_s", predicted ? Json(predicted->value()) : Json()}};
}

}  // namespace

void MeasureCallOptions::add_to(CommandOptions& app) {
  CommandOptions measuring = app.in_group("Measurement");
  app.in_group("Sizes")
      .add_option("--type", type,
                  "The type of the elements: float, half, bfloat16, double, int32 or int64 "
                  "(default: float).")
      .suggests({"float", "half", "bfloat16", "double", "int32", "int64"});
  const Option measure = measuring.add_flag(
      "--measure", is_asked, "Run the collective on hardware too, as nccl-tests do.");
  for (const Option& option :
       {measuring
            .add_option("--backend", backend,
                        "The backend to measure with (default: nccl; paceline list backends).")
            .suggests(backend_names),
        measuring
            .add_option("--mode", mode,
                        "native measures the library's own call, plan the plan of --algorithm "
                        "(default: native).")
            .suggests({"native", "plan"}),
        measuring
            .add_option("--iterations", iterations,
                        "The number of calls that are timed together (default: 20).")
            .in_range(1, 1'000'000),
        measuring.add_option("--warmup", warmup, "The number of calls before those (default: 5).")
            .in_range(0, 1'000'000),
        measuring.add_option("--timeout", timeout,
                             "The longest wait for another rank (default: 30s)."),
        add_secret_file(measuring, secret_file)}) {
    option.needs(measure);
  }
}

MeasureSettings MeasureCallOptions::settings() const {
  MeasureSettings settings;
  settings.mode = word<CollectiveMode>("--mode", mode);
  settings.warmup = warmup;
  settings.calls = {type_of_name(type), iterations};
  return settings;
}

RankGroup MeasureCallOptions::group(std::uint32_t ranks) const {
  const Seconds limit = quantity("--timeout", timeout, parse_seconds);
  if (limit < RealSettings::timeout_least) {
    throw InputError({"--timeout", 0, 0}, "is too short",
                     fmt::format("write {} or more", to_text(RealSettings::timeout_least)));
  }
  if (limit > RealSettings::timeout_most) {
    throw InputError({"--timeout", 0, 0}, "is too long",
                     fmt::format("write {} or less", to_text(RealSettings::timeout_most)));
  }
  return {backend, ranks, limit};
}

std::string_view nccl_tests_name(DataType type) {
  for (const auto& [name, known] : type_names()) {
    if (known == type) return name;
  }
  return to_text(type);
}

DataType type_of_name(const std::string& name) { return word("--type", name, type_names()); }

RepeatedTimes measure_call(WorkerRanks& ranks, const ResolvedPoint& point) {
  const Location asked{"--measure", 0, 0};
  Measured measured = ranks.measure(point, asked, nullptr);
  if (measured.lost && measured.lost->cause == FailureCause::stopped) throw Stopped();
  if (measured.lost) throw BackendError("paceline-worker", measured.lost->why);
  if (const auto* failure = std::get_if<traces::Failure>(&*measured.reply)) {
    throw InputError(asked, failure->what, "");
  }
  return std::get<Result>(*measured.reply).measurement.value().calls.value();
}

void write_head(std::ostream& out, const MeasuredTable& table) {
  const auto& [group, settings, collective, algorithm, has_predictions] = table;
  fmt::print(out, "# collective: {}\n# GPUs: {}\n", to_text(collective), group.ranks);
  fmt::print(out, "# measured by {}, {}: {} calls to warm up, then {} begun back to back\n",
             group.backend, algorithm, settings.warmup, settings.calls->iterations);
  out << "# time: of those over their number, the slowest rank's (nccl-tests: -a 3);\n"
         "# device: the same by the device's events; alone: the median of calls each waited for\n"
         "#\n";
  fmt::print(out, "#{:52}{:>26}{:>32}{:>25}{:>20}\n", "", "out-of-place", "in-place",
             "out-of-place", "in-place");
  fmt::print(out, "#{:>11} {:>13} {:>9} {:>7} {:>7}", "size", "count", "type", "redop", "root");
  for (int way = 0; way < 2; ++way) {
    fmt::print(out, "  {:>7} {:>7} {:>7} {:>7}", "time", "algbw", "busbw", "#wrong");
  }
  for (int way = 0; way < 2; ++way) fmt::print(out, "  {:>8} {:>8}", "device", "alone");
  out << (has_predictions ? "  predicted\n" : "\n");
  fmt::print(out, "#{:>11} {:>13} {:>25}", "(B)", "(elements)", "");
  for (int way = 0; way < 2; ++way) {
    fmt::print(out, "  {:>7} {:>7} {:>7} {:>7}", "(us)", "(GB/s)", "(GB/s)", "");
  }
  for (int way = 0; way < 2; ++way) fmt::print(out, "  {:>8} {:>8}", "(us)", "(us)");
  out << (has_predictions ? "       (us)\n" : "\n");
}

void write_row(std::ostream& out, const MeasuredTable& table, const MeasuredCall& row) {
  const auto& [call, times, predicted] = row;
  const ElementCount count = count_column(call.collective, ranks_of(table), call.count);
  const std::string root =
      collectives::has_root(call.collective) ? std::to_string(index(call.root)) : "-1";
  fmt::print(out, "{:>12} {:>13} {:>9} {:>7} {:>7}", call.size().value(), count.value(),
             nccl_tests_name(table.settings.calls->type),
             collectives::is_reducing(call.collective) ? "sum" : "none", root);
  out << half_of_row(table, call.size(), times.out_of_place)
      << half_of_row(table, call.size(), times.in_place);
  for (const auto& way : {times.out_of_place, times.in_place}) {
    fmt::print(out, "  {:>8} {:>8}", in_us(device_of(way)), in_us(alone_of(way)));
  }
  if (table.has_predictions) fmt::print(out, "  {:>9}", in_us(predicted));
  out << std::endl;  // a sweep takes long: its rows are seen as they come
}

void write_end(std::ostream& out, const MeasuredTable& table,
               const std::vector<MeasuredCall>& rows) {
  double sum = 0;
  std::size_t ways = 0;
  for (const MeasuredCall& row : rows) {
    for (const auto& way : {row.times.out_of_place, row.times.in_place}) {
      if (!way) continue;
      sum += bandwidths(table, row.call.size(), way->time).bus;
      ++ways;
    }
  }
  const std::uint64_t wrong = wrong_elements(rows);
  fmt::print(out, "# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
  const double mean = ways > 0 ? sum / static_cast<double>(ways) : 0;
  fmt::print(out, "# Avg bus bandwidth    : {:g}\n", mean * 1e-9);
}

void write_json(std::ostream& out, const MeasuredTable& table,
                const std::vector<MeasuredCall>& rows, Completeness completeness) {
  const auto& [group, settings, collective, algorithm, has_predictions] = table;
  Json list = Json::array();
  for (const MeasuredCall& row : rows) list.push_back(json_of(table, row));
  const Json all{{"schema", "paceline.measured_collective/1"},
                 {"complete", completeness == Completeness::whole},
                 {"collective", to_text(collective)},
                 {"backend", group.backend},
                 {"mode", to_text(settings.mode)},
                 {"type", nccl_tests_name(settings.calls->type)},
                 {"gpus", group.ranks},
                 {"warmup", settings.warmup},
                 {"iterations", settings.calls->iterations},
                 {"rows", std::move(list)}};
  out << all.dump(1) << '\n';
}

std::uint64_t wrong_elements(const std::vector<MeasuredCall>& rows) {
  std::uint64_t wrong = 0;
  for (const MeasuredCall& row : rows) {
    for (const auto& way : {row.times.out_of_place, row.times.in_place}) {
      if (way) wrong += way->wrong;
    }
  }
  return wrong;
}

}  // namespace paceline::cli
