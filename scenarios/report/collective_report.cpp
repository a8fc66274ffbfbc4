#include "scenarios/report/collective_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "models/collectives/nccl_tests.h"
#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using collectives::bus_factor, collectives::nccl_tests_name;

// Both in bytes a second; 0 of a call that takes no time.
struct Bandwidths {
  double algorithm, bus;
};

Bandwidths bandwidths(Bytes size, Seconds time, double factor) {
  const double algorithm = time > Seconds(0) ? (size / time).value() : 0;
  return {algorithm, algorithm * factor};
}

double factor_of(const MeasuredCalls& calls) {
  return bus_factor(calls.collective, RankCount(calls.group.ranks));
}

// As nccl-tests has it: -1 where there is none.
std::string root_of(const training::CollectiveCall& call) {
  return collectives::has_root(call.collective) ? std::to_string(index(call.root)) : "-1";
}

std::string_view reduction_of(const training::CollectiveCall& call) {
  return collectives::is_reducing(call.collective) ? "sum" : "none";
}

// As many digits as nccl-tests give.
std::string in_us(const std::optional<Seconds>& time) {
  if (!time) return "N/A";
  const double us = time->value() * 1e6;
  return fmt::format("{:.{}f}", us, us >= 10'000 ? 0 : us >= 100 ? 1 : 2);
}

std::string half_of_row(Bytes size, const std::optional<RepeatedTime>& way, double factor) {
  constexpr const char* columns = "  {:>7} {:>7} {:>7} {:>7}";
  if (!way) return fmt::format(columns, "N/A", "N/A", "N/A", "N/A");
  const auto [algorithm, bus] = bandwidths(size, way->time, factor);
  return fmt::format(columns, in_us(way->time), fmt::format("{:.2f}", algorithm * 1e-9),
                     fmt::format("{:.2f}", bus * 1e-9), way->wrong);
}

}  // namespace

void write_text(std::ostream& out, const PredictedCalls& calls) {
  const double factor = bus_factor(calls.collective, calls.ranks);
  TextTable table({"size (B)", "count", "type", "redop", "root", "time (us)", "algbw (GB/s)",
                   "busbw (GB/s)", "algorithm", "90% interval (us)"},
                  0);
  for (const PredictedCall& row : calls.rows) {
    const auto [algorithm, bus] = bandwidths(row.size, row.time(), factor);
    const training::CollectiveCall& call = row.call();
    const ElementCount count = count_column(calls.collective, calls.ranks, call.count);
    table.add({std::to_string(row.size.value()), std::to_string(count.value()),
               std::string(nccl_tests_name(calls.type)), std::string(reduction_of(call)),
               root_of(call), fmt::format("{:.2f}", row.time().value() * 1e6),
               fmt::format("{:.2f}", algorithm * 1e-9), fmt::format("{:.2f}", bus * 1e-9),
               std::string(algorithm_of(call)) + (row.protocol.empty() ? "" : " " + row.protocol),
               fmt::format("{:.2f} to {:.2f}", row.low().value() * 1e6, row.high().value() * 1e6)});
  }
  fmt::print(out, "{} on {} GPUs of {}, predicted, {}\n\n", to_text(calls.collective),
             calls.ranks.value(), counted(calls.nodes, "node"),
             calls.is_calibrated ? "calibrated" : to_text(calls.fidelity));
  table.write(out);
}

void write_json(std::ostream& out, const PredictedCalls& calls) {
  const double factor = bus_factor(calls.collective, calls.ranks);
  JsonWriter json(out);
  json.object([&] {
    json.put("schema", "paceline.collective/1");
    json.put("complete", calls.is_complete);
    json.put("collective", calls.collective);
    json.put("gpus", calls.ranks);
    json.put("nodes", calls.nodes);
    json.put("fidelity", calls.fidelity);
    json.put_list("rows", calls.rows, [&](const PredictedCall& row) {
      const auto [algorithm, bus] = bandwidths(row.size, row.time(), factor);
      json.object([&, algorithm = algorithm, bus = bus] {
        json.put("size_bytes", row.size);
        json.put("algorithm", algorithm_of(row.call()));
        json.put("protocol", row.protocol);
        json.put("time_s", row.time());
        json.put("time_s_low", row.low());
        json.put("time_s_high", row.high());
        json.put("algbw_bytes_per_s", algorithm);
        json.put("busbw_bytes_per_s", bus);
        json.put("transfers", row.predicted.transfers);
        json.put("fidelity", row.predicted.fidelity);
      });
    });
  });
}

std::uint64_t MeasuredCalls::wrong_elements() const {
  std::uint64_t wrong = 0;
  for (const MeasuredCall& row : rows) {
    for (const auto& way : {row.times.out_of_place, row.times.in_place}) {
      if (way) wrong += way->wrong;
    }
  }
  return wrong;
}

void write_head(std::ostream& out, const MeasuredCalls& calls) {
  const bool has_predictions = calls.has_predictions;
  fmt::print(out, "# collective: {}\n# GPUs: {}\n", to_text(calls.collective), calls.group.ranks);
  fmt::print(out, "# measured by {}, {}: {} calls to warm up, then {} begun back to back\n",
             calls.group.backend, calls.algorithm, calls.settings.warmup,
             calls.settings.calls->iterations);
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

void write_last_row(std::ostream& out, const MeasuredCalls& calls) {
  const auto& [call, times, predicted] = calls.rows.back();
  const RankCount ranks(calls.group.ranks);
  fmt::print(out, "{:>12} {:>13} {:>9} {:>7} {:>7}", call.size().value(),
             count_column(call.collective, ranks, call.count).value(),
             nccl_tests_name(calls.settings.calls->type), reduction_of(call), root_of(call));
  for (const auto& way : {times.out_of_place, times.in_place}) {
    out << half_of_row(call.size(), way, factor_of(calls));
  }
  for (const auto& way : {times.out_of_place, times.in_place}) {
    const auto device = way ? way->device : std::nullopt;
    const auto alone = way ? std::optional(way->alone) : std::nullopt;
    fmt::print(out, "  {:>8} {:>8}", in_us(device), in_us(alone));
  }
  if (calls.has_predictions) fmt::print(out, "  {:>9}", in_us(predicted));
  out << std::endl;  // a sweep takes long: its rows are seen as they come
}

void write_end(std::ostream& out, const MeasuredCalls& calls) {
  double sum = 0;
  std::size_t ways = 0;
  for (const MeasuredCall& row : calls.rows) {
    for (const auto& way : {row.times.out_of_place, row.times.in_place}) {
      if (!way) continue;
      sum += bandwidths(row.call.size(), way->time, factor_of(calls)).bus;
      ++ways;
    }
  }
  const std::uint64_t wrong = calls.wrong_elements();
  fmt::print(out, "# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
  const double mean = ways > 0 ? sum / static_cast<double>(ways) : 0;
  fmt::print(out, "# Avg bus bandwidth    : {:g}\n", mean * 1e-9);
}

void write_json(std::ostream& out, const MeasuredCalls& calls) {
  JsonWriter json(out);
  const auto put_way = [&](const char* key, Bytes size, const std::optional<RepeatedTime>& way) {
    if (!way) return json.put(key, nullptr);
    const auto [algorithm, bus] = bandwidths(size, way->time, factor_of(calls));
    json.put_object(key, [&, algorithm = algorithm, bus = bus] {
      json.put("time_s", way->time);
      json.put("algbw_bytes_per_s", algorithm);
      json.put("busbw_bytes_per_s", bus);
      json.put("wrong_elements", way->wrong);
      json.put("device_s", way->device);
      json.put("alone_s", way->alone);
    });
  };
  const bool is_plan = calls.settings.mode == CollectiveMode::plan;
  json.object([&] {
    json.put("schema", "paceline.measured_collective/1");
    json.put("complete", calls.is_complete);
    json.put("collective", calls.collective);
    json.put("backend", calls.group.backend);
    json.put("mode", calls.settings.mode);
    json.put("type", nccl_tests_name(calls.settings.calls->type));
    json.put("gpus", calls.group.ranks);
    json.put("warmup", calls.settings.warmup);
    json.put("iterations", calls.settings.calls->iterations);
    json.put_list("rows", calls.rows, [&](const MeasuredCall& row) {
      json.object([&] {
        json.put("size_bytes", row.call.size());
        json.put("count", row.call.count);
        json.put("algorithm", is_plan ? algorithm_of(row.call) : "native");
        put_way("out_of_place", row.call.size(), row.times.out_of_place);
        put_way("in_place", row.call.size(), row.times.in_place);
        json.put("predicted_s", row.predicted);
      });
    });
  });
}

}  // namespace paceline
