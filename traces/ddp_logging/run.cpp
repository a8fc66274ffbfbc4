#include "traces/ddp_logging/run.h"

#include <array>
#include <string_view>
#include <utility>

#include "models/text/number.h"
#include "traces/device_trace/limits.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces::ddp_logging {
namespace {

constexpr const char* what_to_give =
    "give what _get_ddp_logging_data() returns, or the log of TORCH_DISTRIBUTED_DEBUG=DETAIL";

// A day is longer than any step, and 2^56 bytes are more than the memory of any cluster.
constexpr std::uint64_t time_most_ns = 86'400'000'000'000, size_most = std::uint64_t{1} << 56U;

class Reading {
 public:
  explicit Reading(Run& run, const Report& report) : run_(run), report_(report) {}

  // Counts a value that is none; nullopt where the key is not there.
  std::optional<std::uint64_t> number(std::string_view key, std::uint64_t most) {
    const std::string_view text = report_.text(key);
    if (text.empty() || text == "N/A") return std::nullopt;
    const auto value = report_.number(key);
    if (value && *value <= most) return value;
    ++run_.unreadable;
    return std::nullopt;
  }

  void take(std::string_view key, std::optional<std::uint64_t>& into) {
    if (const auto value = number(key, size_most)) into = value;
  }

  void take(std::string_view key, std::optional<Bytes>& into) {
    if (const auto value = number(key, size_most)) into = Bytes(*value);
  }

  void take(std::string_view key, std::optional<bool>& into) {
    if (const auto value = number(key, 1)) into = *value == 1;
  }

  // 0 stands for what was not measured.
  void take(std::string_view key, std::optional<Seconds>& into) {
    const auto value = number(key, time_most_ns);
    if (value && *value > 0) into = Seconds(static_cast<double>(*value) * 1e-9);
  }

  void take(std::string_view key, std::string& into) {
    const std::string_view text = report_.text(key);
    if (!text.empty()) into = shown(text);
  }

  // "1024, 2048".
  std::vector<Bytes> sizes(std::string_view key) {
    std::vector<Bytes> sizes;
    std::string_view text = report_.text(key);
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      std::string_view word = text.substr(0, comma);
      while (word.starts_with(' ')) word.remove_prefix(1);
      while (word.ends_with(' ')) word.remove_suffix(1);
      if (const auto size = measured_size(word)) {
        sizes.push_back(*size);
      } else {
        ++run_.unreadable;
      }
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    return sizes;
  }

 private:
  Run& run_;
  const Report& report_;
};

std::optional<std::uint32_t> rank_of(const Report& report) {
  const auto rank = report.number("rank");
  if (!rank) return std::nullopt;
  if (*rank >= traced_ranks_most) {
    throw FormatError(report.line, "rank is " + more_than_a_run_has(*rank), what_to_give);
  }
  return static_cast<std::uint32_t>(*rank);
}

// What does not change in a run.
bool contradicts(const Run& run, const Report& report) {
  const auto differs = [&](std::string_view key, std::optional<std::uint64_t> known) {
    const auto value = report.number(key);
    return value && known && *value != *known;
  };
  const auto value_of = [](std::optional<Bytes> size) {
    return size ? std::optional(size->value()) : std::nullopt;
  };
  const std::string_view module = report.text("module_name");
  return differs("world_size", run.world_size) || differs("num_parameter_tensors", run.tensors) ||
         differs("total_parameter_size_bytes", value_of(run.gradients)) ||
         differs("bucket_cap_bytes", value_of(run.bucket_cap)) ||
         (!module.empty() && !run.module.empty() && shown(module) != run.module);
}

void take_times(Reading& reading, RankReport& rank) {
  reading.take("iteration", rank.iteration);
  reading.take("avg_forward_compute_time", rank.average.forward);
  reading.take("avg_backward_compute_time", rank.average.backward);
  reading.take("avg_backward_comm_time", rank.average.communication);
  reading.take("avg_backward_compute_comm_overlap_time", rank.average.overlap);
  reading.take("forward_compute_time", rank.last.forward);
  reading.take("backward_compute_time", rank.last.backward);
  reading.take("backward_comm_time", rank.last.communication);
  reading.take("backward_compute_comm_overlap_time", rank.last.overlap);
}

void take_buckets(Reading& reading, Run& run) {
  auto first = reading.sizes("bucket_sizes"), rebuilt = reading.sizes("rebuilt_bucket_sizes"),
       limits = reading.sizes("rebuilt_bucket_size_limits");
  if (!first.empty()) run.first_buckets = std::move(first);
  if (!rebuilt.empty()) run.rebuilt_buckets = std::move(rebuilt);
  // Rebuilt buckets are in the order in which gradients are ready: the first has a limit of its
  // own.
  if (!limits.empty()) run.first_bucket = limits.front();
}

void take(const Report& report, Run& run) {
  Reading reading(run, report);
  take_times(reading, run.ranks[rank_of(report)]);
  reading.take("world_size", run.world_size);
  if (run.world_size.value_or(0) > traced_ranks_most) {
    throw FormatError(report.line, "world_size is " + more_than_a_run_has(*run.world_size),
                      what_to_give);
  }
  reading.take("num_parameter_tensors", run.tensors);
  reading.take("total_parameter_size_bytes", run.gradients);
  reading.take("bucket_cap_bytes", run.bucket_cap);
  reading.take("unused_parameter_size", run.unused);
  reading.take("module_name", run.module);
  reading.take("backend_name", run.library);
  reading.take("dtypes", run.types);
  reading.take("comm_hook", run.hook);
  reading.take("find_unused_parameters", run.find_unused_parameters);
  reading.take("gradient_as_bucket_view", run.gradient_as_bucket_view);
  reading.take("static_graph", run.static_graph);
  reading.take("broadcast_buffers", run.broadcast_buffers);
  take_buckets(reading, run);
}

}  // namespace

bool RankTimes::is_contradictory() const {
  return communication && overlap && *overlap > *communication;
}

std::optional<Seconds> RankTimes::exposed() const {
  if (!communication || !overlap || is_contradictory()) return std::nullopt;
  return *communication - *overlap;
}

Run run_of(const Reports& reports) {
  if (reports.reports.empty()) {
    throw FormatError(0, "has nothing of DistributedDataParallel's logging that can be read",
                      what_to_give);
  }
  Run run;
  run.runs = 1;
  for (const Report& report : reports.reports) {
    if (contradicts(run, report)) {
      const std::size_t runs = run.runs + 1;
      run = {};
      run.runs = runs;
    }
    take(report, run);
  }
  if (run.unused == Bytes(0)) run.unused.reset();
  run.cut_off = reports.cut_off;
  run.mixed = reports.mixed;
  return run;
}

}  // namespace paceline::traces::ddp_logging
