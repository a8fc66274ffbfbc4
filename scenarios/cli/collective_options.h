#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/cli/measured_calls.h"
#include "scenarios/cli/run_options.h"

namespace paceline::cli {

// What `paceline collective` is asked.
struct CollectiveOptions {
  std::string cluster, collective = "all_reduce", algorithm, library, gpus;
  std::string version, protocol, device, calibration;
  std::string channels, min_ctas, max_ctas, chunk_size, inner, outer, servers, server_placement;
  std::string min_size = "1KiB", max_size = "128MiB";
  std::uint64_t factor = 2;
  MeasureCallOptions measured;
  SharedOptions shared;

  void add_to(CommandOptions& app, files::OutputFile& json);

  // What decides which calls are made, and how.
  [[nodiscard]] Task task() const;
  // What chooses how a predicted call runs.
  [[nodiscard]] std::vector<std::pair<const char*, std::string>> of_prediction() const;
  [[nodiscard]] ElementSize element_size() const {
    return paceline::element_size(type_of_name(measured.type));
  }

 private:
  void add_algorithm_options(CommandOptions& app);
};

}  // namespace paceline::cli
