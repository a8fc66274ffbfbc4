#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/cli/run_options.h"
#include "scenarios/measure/worker_ranks.h"

namespace paceline::cli {

struct MeasureCallOptions {
  bool is_asked = false;
  std::string backend = "nccl", mode = "native", type = "float", timeout = "30s", secret_file;
  std::uint32_t iterations = 20, warmup = 5;

  void add_to(CommandOptions& app);
  // These throw InputError.
  [[nodiscard]] MeasureSettings settings() const;
  [[nodiscard]] RankGroup group(std::uint32_t ranks) const;
};

// Of nccl-tests' word. Throws InputError.
[[nodiscard]] DataType type_of_name(const std::string& name);

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
  [[nodiscard]] std::vector<std::pair<const char*, std::string>> of_prediction() const;
  [[nodiscard]] ElementSize element_size() const {
    return paceline::element_size(type_of_name(measured.type));
  }

 private:
  void add_algorithm_options(CommandOptions& app);
};

}  // namespace paceline::cli
