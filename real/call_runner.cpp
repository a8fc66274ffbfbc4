#include "real/call_runner.h"

#include <vector>

#include "models/contract.h"
#include "models/stats/errors.h"
#include "models/training/call_plan.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

using collectives::Collective;
using training::CollectiveCall;

const CollectiveCall& only_call(const ResolvedPoint& point) {
  const auto& operations = point.program.operations;
  const CollectiveCall* call = operations.size() == 1 ? call_of(operations.front()) : nullptr;
  if (call == nullptr || call->group != training::Group::all) {
    throw UsageError("what is repeated is one call of all ranks");
  }
  return *call;
}

void check_ranks(const ResolvedPoint& point, const Communicator& communicator) {
  if (point.cluster.servers > 0) throw UsageError("calls with servers are not repeated");
  const RankCount ranks = job_cluster(point).ranks();
  if (communicator.size() == ranks) return;
  throw UsageError("the point has " + std::to_string(ranks.value()) + " ranks, the run " +
                   std::to_string(communicator.size().value()));
}

bool is_integer(DataType type) { return type == DataType::int32 || type == DataType::int64; }

bool has_equal_chunks(const Pattern& pattern) {
  return pattern.count.value() % pattern.ranks.value() == 0;
}

}  // namespace

CallRunner::CallRunner(const ResolvedPoint& point, Communicator& communicator)
    : communicator_(communicator),
      settings_(point.measure.value_or(MeasureSettings{})),
      pattern_{},
      plans_(communicator) {
  PACELINE_EXPECTS(settings_.calls && settings_.calls->iterations > 0);
  const CollectiveCall& call = only_call(point);
  check_ranks(point, communicator);
  if (element_size(settings_.calls->type) != call.element_size) {
    throw UsageError("the call's elements are not as long as their type");
  }
  pattern_ = {call.collective, communicator.size(), call.count, call.root, 1};
  if (settings_.mode == CollectiveMode::native) {
    if (communicator.has_native(call.collective)) return;
    throw UsageError("the backend has no " + std::string(to_text(call.collective)) +
                     " of its own; measure with mode plan");
  }
  if (call.simulated() == nullptr) throw UsageError("the call names no algorithm");
  if (switches_of_job(point) > 0) {
    throw UsageError("switches make the sums of this plan, which is for predictions");
  }
  plan_ = training::Planner(job_cluster(point)).plan_of(call);
  if (plan_->channels.size() > channels_max) {
    throw UsageError("a plan has more than " + std::to_string(channels_max) + " channels");
  }
}

bool CallRunner::has(Way way) const {
  const bool has_halves = pattern_.collective == Collective::all_to_all;
  if (way == Way::in_place) return !has_halves;
  if (has_halves) return true;
  return !plan_ && communicator_.has_native_from(pattern_.collective) && has_equal_chunks(pattern_);
}

RepeatedTime CallRunner::measure(Way way) {
  PACELINE_EXPECTS(has(way));
  const Buffers buffers = make_buffers(way);
  const std::uint32_t calls = settings_.calls->iterations;
  // Repeated sums in place overflow: floats get infinite, integers must not, and stay zero.
  if (!is_integer(settings_.calls->type)) fill(buffers);
  (void)back_to_back(buffers, settings_.warmup, nullptr);

  RepeatedTime taken;
  const auto timer = plan_ ? nullptr : communicator_.native_timer();
  taken.time = back_to_back(buffers, calls, timer.get()) / calls;
  if (timer) taken.device = timer->elapsed() / calls;

  std::vector<double> alone;
  for (std::uint32_t i = 0; i < calls; ++i) {
    const Seconds begun = steady_now();
    call(buffers);
    alone.push_back((steady_now() - begun).value());
  }
  taken.alone = Seconds(stats::median(alone));

  fill(buffers);
  call(buffers);
  taken.wrong = wrong_elements(pattern_, communicator_.rank(), *buffers.result);
  return taken;
}

CallRunner::Buffers CallRunner::make_buffers(Way way) const {
  const DataType type = settings_.calls->type;
  Buffers made;
  made.result = communicator_.allocate(type, buffer_size(pattern_));
  if (way == Way::out_of_place && pattern_.collective != Collective::all_to_all) {
    made.input = communicator_.allocate(type, pattern_.count);
  }
  return made;
}

void CallRunner::fill(const Buffers& buffers) {
  ++pattern_.seed;
  if (!buffers.input) return real::fill(pattern_, communicator_.rank(), *buffers.result);
  real::fill(pattern_, communicator_.rank(), *buffers.input);
  spoil(pattern_, *buffers.result);
}

Seconds CallRunner::back_to_back(const Buffers& buffers, std::uint32_t calls, DeviceTimer* timer) {
  const Seconds start = steady_now();
  if (plan_ || !communicator_.in_order()) {
    for (std::uint32_t i = 0; i < calls; ++i) call(buffers);
    return steady_now() - start;
  }
  std::vector<EventPtr> events;
  events.reserve(calls);
  if (timer != nullptr) timer->start();
  for (std::uint32_t i = 0; i < calls; ++i) {
    events.push_back(communicator_.native(native_call(buffers)));
  }
  if (timer != nullptr) timer->stop();
  if (!events.empty()) events.back()->wait();
  return steady_now() - start;
}

void CallRunner::call(const Buffers& buffers) {
  if (!plan_) return communicator_.native(native_call(buffers))->wait();
  plans_.run(*plan_, *buffers.result, next_stream_);
  next_stream_ = (next_stream_ + streams_a_call) % streams_max;
}

NativeCall CallRunner::native_call(const Buffers& buffers) const {
  return {pattern_.collective, buffers.result.get(), pattern_.count,
          pattern_.root,       next_stream_,         buffers.input.get()};
}

}  // namespace paceline::real
