#include "real/step_runner.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "models/contract.h"
#include "models/training/call_plan.h"
#include "real/errors.h"
#include "real/host/pattern.h"
#include "real/nvtx/range.h"

namespace paceline::real {

using training::CollectiveCall;
using training::Operation;
using training::OperationId;

// A collective call with what it works on.
struct StepRunner::Call {
  Pattern pattern;
  std::optional<collectives::Plan> plan;  // empty: the library's own collective
  std::unique_ptr<Buffer> buffer;
  Stream stream;
  nvtx::Call range;  // for profilers
};

namespace {

// So many calls can be told apart.
constexpr Stream calls_max = streams_max / streams_a_call;

DataType type_of(const CollectiveCall& call) {
  try {
    return gradient_type(call.element_size);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

collectives::Plan plan_of(const training::Planner& planner, const CollectiveCall& call) {
  auto plan = planner.plan_of(call);
  if (plan.servers > 0) throw UsageError("servers beside the ranks are not run on hardware yet");
  if (plan.channels.size() > channels_max) {
    throw UsageError("a plan has more than " + std::to_string(channels_max) + " channels");
  }
  return plan;
}

}  // namespace

StepRunner::StepRunner(const ResolvedPoint& point, Communicator& communicator)
    : point_(point), communicator_(communicator), plans_(communicator) {
  const topology::Cluster cluster = job_cluster(point);
  if (cluster.ranks() != communicator.size()) {
    throw UsageError("the point has " + std::to_string(cluster.ranks().value()) +
                     " ranks, the run " + std::to_string(communicator.size().value()));
  }
  const training::Planner planner(cluster);
  const bool native = point.measure.value_or(MeasureSettings{}).mode == CollectiveMode::native;
  Stream number = 0;
  for (const Operation& operation : point.program.operations) {
    const auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call == nullptr) {
      calls_.push_back(nullptr);
      continue;
    }
    if (native && !communicator.has_native(call->collective)) {
      throw UsageError("the backend has no " + std::string(to_text(call->collective)) +
                       " of its own; set real.mode: plan");
    }
    auto made = std::make_unique<Call>(
        Call{{call->collective, communicator.size(), call->count, call->root, 0}, {}, {}, {}, {}});
    if (!native) made->plan = plan_of(planner, *call);
    made->buffer = communicator.allocate(type_of(*call), buffer_size(made->pattern));
    made->stream = number++ % calls_max * streams_a_call;
    made->range = {number - std::uint64_t{1}, call->size(),
                   made->plan ? std::string_view(call->algorithm) : "native"};
    calls_.push_back(std::move(made));
  }
}

StepRunner::~StepRunner() = default;

void StepRunner::fill(std::uint64_t seed) {
  seed_ = seed;
  for (std::size_t id = 0; id < calls_.size(); ++id) {
    if (!calls_[id]) continue;
    calls_[id]->pattern.seed = seed + id;
    real::fill(calls_[id]->pattern, communicator_.rank(), *calls_[id]->buffer);
  }
}

std::optional<std::string> StepRunner::find_fault() const {
  for (std::size_t id = 0; id < calls_.size(); ++id) {
    if (!calls_[id]) continue;
    const auto fault =
        real::find_fault(calls_[id]->pattern, communicator_.rank(), *calls_[id]->buffer);
    if (fault) {
      return point_.program.operations[id].name + ": rank " +
             std::to_string(communicator_.rank().value()) + ": " + *fault;
    }
  }
  return std::nullopt;
}

// One run of the step.
class StepRunner::Pass {
 public:
  Pass(StepRunner& runner, Seconds start)
      : runner_(runner),
        start_(start),
        states_(runner.calls_.size()),
        lanes_(runner.point_.program.lanes.size()) {
    for (OperationId id = 0; id < operations().size(); ++id) {
      lanes_[operations()[id].lane].operations.push_back(id);
    }
  }

  std::vector<Span> run() {
    {
      std::vector<std::jthread> threads;
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const auto under_way =
            std::min<std::size_t>(lanes()[lane].in_flight, lanes_[lane].operations.size());
        for (std::size_t i = 0; i < under_way; ++i) {
          threads.emplace_back([this, lane] { work(lanes_[lane]); });
        }
      }
    }
    if (trouble_) std::rethrow_exception(trouble_);
    std::vector<Span> spans;
    for (OperationId id = 0; id < operations().size(); ++id) {
      spans.push_back(
          span_of(operations()[id], states_[id].begun - start_, states_[id].ended - start_));
      const Call* call = runner_.calls_[id].get();
      if (call != nullptr && !call->plan) spans.back().algorithm = "native";
    }
    return spans;
  }

 private:
  struct State {
    bool done = false;
    Seconds begun, ended;
    Seconds freed;  // when what comes after could begin had nobody been late to wake up
  };
  struct LaneState {
    std::vector<OperationId> operations;
    std::size_t next = 0;
  };

  [[nodiscard]] const std::vector<Operation>& operations() const {
    return runner_.point_.program.operations;
  }
  [[nodiscard]] const std::vector<training::Lane>& lanes() const {
    return runner_.point_.program.lanes;
  }

  void work(LaneState& lane) {
    try {
      sleep_until(start_);
      std::unique_lock lock(mutex_);
      while (lane.next < lane.operations.size() && !trouble_) {
        const OperationId id = lane.operations[lane.next];
        if (!is_ready(id)) {
          changed_.wait(lock);  // another thread of the lane may take it meanwhile
          continue;
        }
        ++lane.next;
        carry_out(id, lock);
        states_[id].done = true;
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!trouble_) trouble_ = std::current_exception();
      changed_.notify_all();
    }
  }

  [[nodiscard]] bool is_ready(OperationId id) const {
    return std::ranges::all_of(operations()[id].after,
                               [&](OperationId before) { return states_[before].done; });
  }

  // When compute could begin had nobody been late to wake up.
  [[nodiscard]] Seconds due(OperationId id) const {
    const auto& lane = lanes_[operations()[id].lane].operations;
    Seconds due = start_;
    const auto after = [&](OperationId before) { due = std::max(due, states_[before].freed); };
    std::ranges::for_each(operations()[id].after, after);
    const auto self = std::ranges::lower_bound(lane, id);
    if (self != lane.begin()) after(*std::prev(self));
    return due;
  }

  // Called with the lock, which it gives up meanwhile.
  void carry_out(OperationId id, std::unique_lock<std::mutex>& lock) {
    if (const auto* time = std::get_if<Seconds>(&operations()[id].work)) {
      const Rank rank = runner_.communicator_.rank();
      compute(id, *time * slowdown_of(runner_.point_, operations()[id], rank), lock);
    } else {
      communicate(id, lock);
    }
  }

  void compute(OperationId id, Seconds time, std::unique_lock<std::mutex>& lock) {
    State& state = states_[id];
    state.begun = due(id);
    lock.unlock();
    runner_.communicator_.compute(state.begun, time)->wait();
    const Seconds now = steady_now();
    lock.lock();
    state.ended = now;
    state.freed = runner_.communicator_.in_order() ? now : state.begun + time;
  }

  void communicate(OperationId id, std::unique_lock<std::mutex>& lock) {
    State& state = states_[id];
    const Call& call = *runner_.calls_[id];
    nvtx::Range range(operations()[id].name, call.range);
    state.begun = steady_now();
    EventPtr event;
    // Under the lock: calls begin in the same order on all ranks.
    if (!call.plan) event = runner_.begin(call);
    lock.unlock();
    if (event) {
      event->wait();
    } else {
      runner_.plans_.run(*call.plan, *call.buffer, call.stream);
    }
    const Seconds now = steady_now();
    range.end();
    lock.lock();
    state.ended = state.freed = now;
  }

  StepRunner& runner_;
  Seconds start_;
  std::vector<State> states_;
  std::vector<LaneState> lanes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr trouble_;
};

EventPtr StepRunner::begin(const Call& call) {
  const Pattern& pattern = call.pattern;
  return communicator_.native(
      {pattern.collective, call.buffer.get(), pattern.count, pattern.root, call.stream});
}

std::vector<Span> StepRunner::run(Seconds start) { return Pass(*this, start).run(); }

}  // namespace paceline::real
