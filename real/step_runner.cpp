#include "real/step_runner.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "real/errors.h"
#include "real/nvtx/range.h"
#include "real/pattern.h"

namespace paceline::real {

using training::CollectiveCall;
using training::Operation;
using training::OperationId;

struct StepRunner::Call {
  Pattern pattern;                        // of its group
  Rank place;                             // of this rank in it
  std::optional<collectives::Plan> plan;  // nullopt: the library's own collective
  std::optional<Seconds> known_time;      // of a call that is waited for, not carried out
  std::unique_ptr<Buffer> buffer;
  Stream stream;
  nvtx::Call range;  // for profilers
};

namespace {

constexpr Stream calls_max = streams_max / streams_a_call;

// A call of a known time is not carried out: its ranks meet, in an all-reduce of one element, and
// wait as long as it takes.
CollectiveCall carried_out(const CollectiveCall& call) {
  if (call.known() == nullptr) return call;
  return {collectives::Collective::all_reduce, ElementCount(1), ElementSize(4), Rank(0),
          training::SimulatedCall{"ring"}};
}

collectives::Plan plan_of(const training::Planner& planner, const CollectiveCall& call) {
  auto plan = planner.plan_of(call);
  if (plan.channels.size() > channels_max) {
    throw UsageError("a plan has more than " + std::to_string(channels_max) + " channels");
  }
  return plan;
}

Stream stream_of(std::size_t number) {
  return static_cast<Stream>(number % calls_max) * streams_a_call;
}

void check_native(const CollectiveCall& call, const Communicator& communicator) {
  if (call.group != training::Group::all) {
    throw UsageError(
        "calls of a part of the ranks are not made by the backend's own collectives; "
        "set real.mode: plan");
  }
  if (!communicator.has_native(call.collective)) {
    throw UsageError("the backend has no " + std::string(to_text(call.collective)) +
                     " of its own; set real.mode: plan");
  }
}

}  // namespace

StepRunner::StepRunner(const ResolvedPoint& point, Communicator& communicator)
    : point_(point),
      communicator_(communicator),
      ranks_(job_cluster(point).ranks()),
      is_native_(point.measure.value_or(MeasureSettings{}).mode == CollectiveMode::native),
      is_server_(communicator.rank().value() >= ranks_.value()),
      plans_(communicator),
      queues_(point.program) {
  check_servers();
  check_switches();
  const training::Planner planner(job_cluster(point));
  std::size_t number = 0;
  for (const Operation& operation : point.program.operations) {
    const CollectiveCall* call = call_of(operation);
    const auto& engine = point.program.engine;
    const bool is_engines = engine && operation.lane == engine->lane;
    calls_.push_back(call == nullptr || is_engines ? nullptr : make_call(*call, planner, number++));
  }
  if (!point.program.engine) return;
  const std::pair streams{stream_of(number), stream_of(number + 1)};
  engine_ = std::make_unique<EngineRunner>(point, communicator, plans_, streams);
}

void StepRunner::check_servers() const {
  const std::uint32_t servers = point_.cluster.servers;
  if (communicator_.size().value() != ranks_.value() + servers) {
    throw UsageError("the point has " + std::to_string(ranks_.value()) + " ranks" +
                     (servers > 0 ? " and " + std::to_string(servers) + " servers" : "") +
                     ", the run " + std::to_string(communicator_.size().value()));
  }
  if (servers == 0) return;
  if (point_.program.engine) {
    throw UsageError("an engine's calls have no servers; set another collective.algorithm");
  }
  if (is_native_) {
    throw UsageError("a backend's own collectives have no servers; set real.mode: plan");
  }
  if (communicator_.in_order()) {
    throw UsageError("servers of their own add on CPUs; set real.backend: gloo, mpi or memory");
  }
}

void StepRunner::check_switches() const {
  if (is_native_ || switches_of_job(point_) == 0) return;
  throw UsageError(
      "plans whose sums switches make are for predictions; set real.mode: native, or another "
      "collective.algorithm");
}

std::unique_ptr<StepRunner::Call> StepRunner::make_call(const CollectiveCall& call,
                                                        const training::Planner& planner,
                                                        std::size_t number) const {
  const CollectiveCall run = carried_out(call);
  if (is_native_) check_native(run, communicator_);
  auto made = std::make_unique<Call>();
  const collectives::Axis members = axis_of(job_cluster(point_), run.group);
  made->pattern = {run.collective, RankCount(members.size), run.count, run.root, 0};
  made->place = is_server_ ? communicator_.rank() : Rank(members.coordinate(communicator_.rank()));
  if (!is_native_) made->plan = plan_of(planner, run);
  if (made->plan && made->plan->servers > 0 && run.group != training::Group::all) {
    throw UsageError(
        "servers of their own are run on hardware for nodes of one GPU; set hierarchical: false, "
        "server_hosts: beside_workers, or collective.server_placement: colocated");
  }
  const bool has_this =
      !is_server_ || made->plan->endpoints().value() > communicator_.rank().value();
  if (!has_this) return nullptr;
  if (const auto* known = call.known()) made->known_time = known->time;
  made->buffer =
      communicator_.allocate(gradient_type(run.element_size), buffer_size(made->pattern));
  made->stream = stream_of(number);
  made->range = {number, call.size(),
                 is_native_ && !made->known_time ? "native" : algorithm_of(call)};
  return made;
}

StepRunner::~StepRunner() = default;

void StepRunner::fill(std::uint64_t seed) {
  if (engine_) engine_->fill(seed);
  for (std::size_t id = 0; id < calls_.size(); ++id) {
    if (!calls_[id]) continue;
    calls_[id]->pattern.seed = seed + id;
    real::fill(calls_[id]->pattern, calls_[id]->place, *calls_[id]->buffer);
  }
}

std::optional<std::string> StepRunner::find_fault() const {
  if (engine_ && engine_->fault()) {
    return "engine: rank " + std::to_string(communicator_.rank().value()) + ": " +
           *engine_->fault();
  }
  for (std::size_t id = 0; id < calls_.size(); ++id) {
    if (!calls_[id]) continue;
    const auto fault =
        real::find_fault(calls_[id]->pattern, calls_[id]->place, *calls_[id]->buffer);
    if (fault) {
      return point_.program.operations[id].name + ": rank " +
             std::to_string(communicator_.rank().value()) + ": " + *fault;
    }
  }
  return std::nullopt;
}

class StepRunner::Pass {
 public:
  Pass(StepRunner& runner, Seconds start)
      : runner_(runner),
        start_(start),
        measured_(runner.calls_.size()),
        scheduler_(runner.queues_, start) {}

  std::vector<training::Interval> run() {
    {
      std::vector<std::jthread> threads;
      const auto& lanes = runner_.point_.program.lanes;
      for (training::LaneId lane = 0; lane < lanes.size(); ++lane) {
        if (runner_.engine_ && lane == runner_.engine_->lane().lane) {
          threads.emplace_back([this] { run_engine(); });
          continue;
        }
        const auto slots =
            std::min<std::size_t>(lanes[lane].in_flight, runner_.queues_.of(lane).size());
        for (std::size_t i = 0; i < slots; ++i) {
          threads.emplace_back([this, lane] { work(lane); });
        }
      }
    }
    if (trouble_) std::rethrow_exception(trouble_);
    std::vector<training::Interval> intervals;
    for (OperationId id = 0; id < operations().size(); ++id) {
      intervals.push_back({measured_[id].begun - start_, measured_[id].ended - start_,
                           scheduler_.intervals()[id].released_by});
    }
    return intervals;
  }

 private:
  // What really happened; the scheduler's times are as if no thread had woken up late.
  struct Measured {
    Seconds begun, ended;
  };

  [[nodiscard]] const std::vector<Operation>& operations() const {
    return runner_.point_.program.operations;
  }

  // Keeps what is thrown, and ends the other threads.
  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!trouble_) trouble_ = std::current_exception();
      changed_.notify_all();
    }
  }

  void run_engine() {
    guarded([this] {
      EngineRunner& engine = *runner_.engine_;
      const auto& [lane, rule, tensors] = engine.lane();
      std::vector<bool> is_left(tensors.size(), true);
      Seconds wake = start_ + first_wake_of(rule, engine.begin_step());
      while (std::ranges::find(is_left, true) != is_left.end()) {
        sleep_until(wake);
        const auto ready = agreed(engine, is_left);
        if (!ready) return;
        for (const training::Fused& together : fused(tensors, *ready, rule.fusion_threshold)) {
          sleep_until(steady_now() + rule.launch);
          reduce(engine, together);
        }
        for (const std::size_t one : *ready) is_left[one] = false;
        wake = next_wake(rule, wake, steady_now());
      }
    });
  }

  // What all ranks have, of what is left; nullopt when there is trouble.
  std::optional<std::vector<std::size_t>> agreed(EngineRunner& engine,
                                                 const std::vector<bool>& is_left) {
    const auto operations = runner_.queues_.of(engine.lane().lane);
    std::vector<bool> has(is_left.size());
    {
      const std::lock_guard lock(mutex_);
      if (trouble_) return std::nullopt;
      for (std::size_t i = 0; i < has.size(); ++i) {
        has[i] = is_left[i] && scheduler_.may_start(operations[i]);
      }
    }
    has = engine.agree(has);
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < has.size(); ++i) {
      if (has[i]) ready.push_back(i);
    }
    return ready;
  }

  void reduce(EngineRunner& engine, const training::Fused& together) {
    const auto tensors = runner_.queues_.of(engine.lane().lane);
    const Seconds begun = steady_now();
    {
      const std::lock_guard lock(mutex_);
      for (const std::size_t one : together) scheduler_.start(tensors[one], begun);
    }
    engine.reduce(together);
    const Seconds ended = steady_now();
    const std::lock_guard lock(mutex_);
    for (const std::size_t one : together) {
      measured_[tensors[one]] = {begun, ended};
      scheduler_.finish(tensors[one], ended);
    }
    changed_.notify_all();
  }

  // A slot of a lane.
  void work(training::LaneId lane) {
    guarded([this, lane] {
      sleep_until(start_);
      std::unique_lock lock(mutex_);
      while (!scheduler_.has_started_all(lane) && !trouble_) {
        const auto ready = scheduler_.next(lane);
        if (!ready) {
          changed_.wait(lock);  // another slot of the lane may take it meanwhile
          continue;
        }
        const Seconds freed = carry_out(*ready, lock);
        scheduler_.finish(ready->operation, freed);
        changed_.notify_all();
      }
    });
  }

  // Called with the lock, which it gives up meanwhile. Returns when what comes after can begin.
  Seconds carry_out(const training::Scheduler::Start& ready, std::unique_lock<std::mutex>& lock) {
    const Operation& operation = operations()[ready.operation];
    if (runner_.is_server_ && !runner_.calls_[ready.operation]) {
      measured_[ready.operation] = {ready.at, ready.at};
      return ready.at;
    }
    if (is_of_host(operation.kind)) {
      return hold(ready, std::get<Seconds>(operation.work), lock);
    }
    if (const auto* time = std::get_if<Seconds>(&operation.work)) {
      const Rank rank = runner_.communicator_.rank();
      return compute(ready, *time * slowdown_of(runner_.point_, operation, rank), lock);
    }
    return communicate(ready.operation, lock);
  }

  Seconds compute(const training::Scheduler::Start& ready, Seconds time,
                  std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    runner_.communicator_.compute(ready.at, time)->wait();
    const Seconds now = steady_now();
    lock.lock();
    measured_[ready.operation] = {ready.at, now};
    return runner_.communicator_.in_order() ? now : ready.at + time;
  }

  // This thread, not the device.
  Seconds hold(const training::Scheduler::Start& ready, Seconds time,
               std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    sleep_until(ready.at + time);
    lock.lock();
    measured_[ready.operation] = {ready.at, steady_now()};
    return ready.at + time;
  }

  Seconds communicate(OperationId id, std::unique_lock<std::mutex>& lock) {
    const Call& call = *runner_.calls_[id];
    nvtx::Range range(operations()[id].name, call.range);
    measured_[id].begun = steady_now();
    EventPtr event;
    // Under the lock: calls begin in the same order on all ranks.
    if (!call.plan) event = runner_.begin(call);
    lock.unlock();
    if (event) {
      event->wait();
    } else {
      runner_.plans_.run(*call.plan, *call.buffer, call.stream);
    }
    if (call.known_time) runner_.communicator_.compute(steady_now(), *call.known_time)->wait();
    const Seconds now = steady_now();
    range.end();
    lock.lock();
    return measured_[id].ended = now;
  }

  StepRunner& runner_;
  Seconds start_;
  std::vector<Measured> measured_;
  training::Scheduler scheduler_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr trouble_;
};

EventPtr StepRunner::begin(const Call& call) {
  const Pattern& pattern = call.pattern;
  return communicator_.native(
      {pattern.collective, call.buffer.get(), pattern.count, pattern.root, call.stream});
}

std::vector<training::Interval> StepRunner::run(Seconds start) { return Pass(*this, start).run(); }

}  // namespace paceline::real
