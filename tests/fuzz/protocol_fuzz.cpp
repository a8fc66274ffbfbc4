// Lines between paceline and its executors: every text is a point, a reply, progress or throws
// std::runtime_error; and what was read is written and read again as the same. A point is then made
// ready as executors do: it has a fault, or a finite time by formulas, and runs or is refused with
// a UsageError.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "models/cost/auto_choice.h"
#include "models/cost/effort.h"
#include "models/topology/fabric.h"
#include "real/call_runner.h"
#include "real/errors.h"
#include "real/step_runner.h"
#include "sim/folded/predicted_point.h"
#include "tests/fuzz/no_communicator.h"
#include "traces/json/protocol.h"

namespace {

using namespace paceline;
using traces::to_line;

template <class Read>
void round_trip(std::string_view text, Read read) {
  std::string once;
  try {
    once = to_line(read(text));
  } catch (const std::runtime_error&) {
    return;
  }
  if (to_line(read(once)) != once) {
    std::fputs("a line changes when it is read and written again\n", stderr);
    std::abort();
  }
}

// A step of many ranks takes time and tells no more.
constexpr std::uint32_t ranks_max = 64;
constexpr double transfers_max = 2e4;

cost::PredictedStep predicted(const ResolvedPoint& point) {
  if (find_fault(point.program) || cost::work_about(point).transfers > transfers_max) {
    return cost::NotPredicted{"too many"};
  }
  try {
    const Seconds step = sim::predict_folded(point).totals.step;
    if (std::isfinite(step.value()) && step >= Seconds(0)) return step;
    std::fprintf(stderr, "a step of %g seconds\n", step.value());
    std::abort();
  } catch (const sim::NeedsFlow& reason) {
    return cost::NotPredicted{reason.what()};
  }
}

// As paceline-sim does, by formulas in place of simulations.
void predict(ResolvedPoint point) {
  try {
    (void)cost::choose_automatically(point, predicted);
  } catch (const std::runtime_error&) {
    return;
  }
  if (point.jobs.empty()) (void)predicted(point);
}

// As a rank of paceline-worker does.
void get_ready(const ResolvedPoint& point) {
  if (find_fault(point.program)) return;
  const std::uint32_t ranks = job_cluster(point).ranks().value();
  test::NoCommunicator communicator(Rank(0), RankCount(ranks + point.cluster.servers));
  try {
    if (point.measure && point.measure->calls) {
      (void)real::CallRunner(point, communicator);
    } else {
      (void)real::StepRunner(point, communicator);
    }
  } catch (const real::UsageError&) {
    return;
  }
}

void execute(std::string_view text) {
  ResolvedPoint point;
  try {
    point = traces::point_from_line(text);
  } catch (const std::runtime_error&) {
    return;
  }
  if (topology::find_fault(point.cluster)) return;
  if (point.cluster.ranks().value() + point.cluster.servers > ranks_max) return;
  if (find_fault(point)) return;
  get_ready(point);
  predict(std::move(point));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  round_trip(text, traces::point_from_line);
  execute(text);
  // A result of a program of two operations.
  round_trip(text, [](std::string_view line) {
    training::StepProgram program =
        training::one_call_program({collectives::Collective::all_reduce, {}, {}});
    program.operations.push_back(program.operations.front());
    return traces::reply_from_line(line, program);
  });
  round_trip(text, [](std::string_view line) {
    const auto progress = traces::progress_from_line(line);
    if (!progress) throw std::runtime_error("another line");
    return *progress;
  });
  return 0;
}
