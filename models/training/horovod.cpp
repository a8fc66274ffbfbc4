#include "models/training/horovod.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/assumption.h"
#include "models/training/step_builder.h"
#include "models/units/parse.h"

namespace paceline::training {
namespace {

using settings::Version;

constexpr Version default_version{0, 28};
constexpr Version response_cache{0, 16};  // before it rank 0 gathered names, and answered
constexpr Version quick_engine{0, 21};    // with the shorter cycle, and copies of many tensors

// In an exchange in which ranks tell those 1, 2, 4.. places behind them what they and all that they
// heard of have, all know it after log2(n) messages one after the other.
Seconds latency_of_exchange(const topology::Cluster& cluster) {
  const auto rounds = static_cast<int>(std::bit_width(cluster.ranks().value() - 1));
  const Seconds latency = cluster.nodes > 1 ? cluster.network.latency : cluster.intra_node.latency;
  return latency * static_cast<double>(rounds);
}

EngineRule rule_of(const StrategyRequest& request) {
  const settings::Settings& settings = request.settings;
  const bool is_quick = settings.get<Version>("version") >= quick_engine;
  EngineRule rule;
  rule.cycle = settings.find<Seconds>("cycle_time").value_or(Seconds(is_quick ? 1e-3 : 5e-3));
  const Bytes usual(std::uint64_t{is_quick ? 128U : 64U} << 20);
  rule.fusion_threshold = settings.find<Bytes>("fusion_threshold").value_or(usual);
  if (!settings.get<bool>("fusion")) rule.fusion_threshold = Bytes(0);
  rule.negotiation =
      settings.find<Seconds>("negotiation").value_or(latency_of_exchange(request.cluster));
  rule.waits_for_calls = request.common.calls_hold_host;
  rule.launch = request.common.host.per_call;
  return rule;
}

EngineTensor engine_tensor(const StrategyRequest& request,
                           const workload::ParameterTensor& tensor) {
  constexpr std::uint64_t copied_at_once = 160;  // BATCHED_D2D_CAPACITY, cuda/cuda_kernels.h
  const workload::Device& device = request.workload.device;
  const ElementSize size = element_size(type_on_wire(request.common, tensor.type));
  const Bytes traffic = tensor.count * size * 2;
  const Seconds kernel = kernel_time(device, traffic);
  if (request.settings.get<Version>("version") < quick_engine) {
    return {tensor.count, size, kernel, kernel + kernel, kernel};
  }
  const Seconds part = kernel_time(device, traffic * copied_at_once) * (1.0 / copied_at_once);
  return {tensor.count, size, part, part, kernel};
}

class HorovodStep {
 public:
  explicit HorovodStep(const StrategyRequest& request)
      : request_(request),
        common_(with_calls_in_turn(request.common)),
        step_({request.workload, request.cluster, request.settings, common_}),
        rule_(rule_of(request)) {}

  StepProgram build() {
    step_.forward({});
    backward();
    std::vector<OperationId> reduced =
        request_.purpose == Purpose::measurement ? leave_to_engine() : decide();
    for (std::size_t i = 0; i < order_.size(); ++i) step_.cast_back({order_[i]}, reduced[i]);
    std::ranges::sort(reduced);
    reduced.erase(std::ranges::unique(reduced).begin(), reduced.end());
    step_.host_waits_for(reduced);  // synchronize() of horovod/torch/mpi_ops.py polls its handle
    StepProgram program = step_.finish(std::move(reduced));
    program.engine = std::move(engine_);
    return program;
  }

 private:
  static CommonSettings with_calls_in_turn(CommonSettings common) {
    common.collectives_in_flight = 1;
    return common;
  }

  // Gradients as they come: in a layer the one registered last first.
  void backward() {
    step_.backward([&](const workload::TimedLayer& layer, std::size_t first, OperationId ready) {
      for (std::size_t i = layer.parameters.size(); i-- > 0;) {
        const auto& tensor = step_.tensors()[first + i];
        order_.push_back(first + i);
        tensors_.push_back(engine_tensor(request_, tensor));
        ready_.push_back(step_.after_host(step_.cast_to_wire(tensor.name, {first + i}, {ready})));
      }
    });
  }

  [[nodiscard]] CollectiveCall call_of(ElementCount count, ElementSize size) const {
    return {collectives::Collective::all_reduce, count, size, Rank(0), {}};
  }

  // By what each tensor is reduced.
  std::vector<OperationId> leave_to_engine() {
    const LaneId lane = step_.add_lane(
        {"engine", LaneKind::communication, static_cast<std::uint32_t>(tensors_.size())});
    std::vector<OperationId> reduced;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      reduced.push_back(
          step_.add({step_.tensors()[order_[i]].name, OperationKind::collective, lane, ready_[i],
                     call_of(tensors_[i].count, tensors_[i].element_size)}));
    }
    engine_ = {lane, rule_, tensors_};
    return reduced;
  }

  // When the last rank has each tensor: as it was predicted, or, before that, as compute lasts.
  [[nodiscard]] std::vector<Seconds> ready_times() const {
    const std::vector<Seconds> ends =
        request_.earlier == nullptr ? step_.compute_ends() : std::vector<Seconds>();
    std::vector<Seconds> times;
    for (const auto& ready_by : ready_) {
      Seconds& latest = times.emplace_back();
      for (const OperationId ready : ready_by) {
        if (request_.earlier == nullptr) {
          latest = std::max(latest, ends[ready]);
          continue;
        }
        for (const auto ran : request_.earlier->ranks) latest = std::max(latest, ran[ready].end);
      }
    }
    return times;
  }

  // What calls took, by their bytes; those of other sizes lie on the lines between. Before there is
  // any they take no time.
  [[nodiscard]] std::map<double, Seconds> call_times() const {
    std::map<double, Seconds> times;
    if (request_.earlier == nullptr) return times;
    const auto& operations = request_.earlier->program.operations;
    for (OperationId id = 0; id < operations.size(); ++id) {
      const CollectiveCall* call = training::call_of(operations[id]);
      if (call == nullptr) continue;
      Seconds last_start, last_end;
      for (const auto ran : request_.earlier->ranks) {
        last_start = std::max(last_start, ran[id].start);
        last_end = std::max(last_end, ran[id].end);
      }
      times[static_cast<double>(call->size().value())] = last_end - last_start;
    }
    return times;
  }

  static Seconds time_of(const std::map<double, Seconds>& times, double bytes) {
    if (times.empty()) return Seconds(0);
    const auto above = times.lower_bound(bytes);
    if (above == times.begin()) return above->second;
    const auto below = std::prev(above);
    if (above == times.end()) return below->second * (bytes / below->first);
    const double part = (bytes - below->first) / (above->first - below->first);
    return below->second + (above->second - below->second) * part;
  }

  [[nodiscard]] EngineForecast forecast() const {
    return {ready_times(), [this, times = call_times()](const Fused& together) {
              const Bytes size =
                  count_of(tensors_, together) * tensors_[together.front()].element_size;
              return copy_in_time(tensors_, together) +
                     time_of(times, static_cast<double>(size.value())) +
                     copy_out_time(tensors_, together);
            }};
  }

  // By what each tensor is reduced, where wakes are as forecast.
  std::vector<OperationId> decide() {
    const EngineForecast forecast = this->forecast();
    const LaneId host = step_.add_lane({"engine", LaneKind::host});
    std::vector<OperationId> reduced_by(tensors_.size()), of_last_wake;
    Seconds free;  // when the engine could have gone on
    const Seconds first = forecast.ready.empty()
                              ? Seconds(0)
                              : mean_first_wake(rule_, std::ranges::max(forecast.ready));
    for (const Wake& wake : wakes_of(rule_, tensors_, forecast, first)) {
      std::vector<OperationId> after =
          rule_.waits_for_calls ? of_last_wake : std::vector<OperationId>{};
      Seconds released = free;
      const std::vector<OperationId>* last = nullptr;
      free = wake.at + rule_.negotiation;
      for (const Fused& together : wake.calls) {
        for (const std::size_t one : together) {
          released = std::max(released, forecast.ready[one]);
          if (last == nullptr || *last != ready_[one]) {
            after.insert(after.end(), ready_[one].begin(), ready_[one].end());
          }
          last = &ready_[one];
        }
        free += rule_.launch;
        if (rule_.waits_for_calls) free += forecast.call_time(together);
      }
      const Seconds negotiated = wake.at + rule_.negotiation;
      const OperationId waited = step_.add({"wake", OperationKind::wait, host, std::move(after),
                                            std::max(negotiated - released, Seconds(0))});
      of_last_wake.clear();
      for (const Fused& together : wake.calls) {
        of_last_wake.push_back(reduce(together, launch(host, waited, of_last_wake)));
        for (const std::size_t one : together) reduced_by[one] = of_last_wake.back();
      }
    }
    return reduced_by;
  }

  // Of the next call. Returns what that comes after.
  OperationId launch(LaneId host, OperationId waited, const std::vector<OperationId>& before) {
    if (rule_.launch == Seconds(0)) return waited;
    const bool is_held = rule_.waits_for_calls && !before.empty();
    return step_
        .launch_on(host, "call " + std::to_string(calls_), {is_held ? before.back() : waited})
        .front();
  }

  // Copies on the stream of the calls, and a call. Returns the last of them.
  OperationId reduce(const Fused& together, OperationId after) {
    const std::string name = "call " + std::to_string(calls_++);
    OperationId last = copy(name + " copy in", copy_in_time(tensors_, together), after);
    last =
        step_.add({name,
                   OperationKind::collective,
                   step_.communication_lane(),
                   {last},
                   call_of(count_of(tensors_, together), tensors_[together.front()].element_size)});
    return copy(name + " copy out", copy_out_time(tensors_, together), last);
  }

  OperationId copy(std::string name, Seconds time, OperationId after) {
    if (time <= Seconds(0)) return after;
    return step_.add(
        {std::move(name), OperationKind::copy, step_.communication_lane(), {after}, time});
  }

  const StrategyRequest& request_;
  CommonSettings common_;
  StepBuilder step_;
  EngineRule rule_;
  std::vector<std::size_t> order_;               // registered tensors, as the engine has them
  std::vector<EngineTensor> tensors_;            // likewise
  std::vector<std::vector<OperationId>> ready_;  // by which they are
  std::optional<EngineLane> engine_;
  std::size_t calls_ = 0;
};

constexpr AssumptionKind exchange{
    "{}: ranks agree within {} of a wake, by latency alone; what comes last waits half a cycle for "
    "one, "
    "as on average"};

constexpr AssumptionKind old_negotiation{
    "{}: before 0.16 rank 0 gathers the names of what ranks have, and answers; taken as the "
    "quicker "
    "exchange of later versions, likely too fast"};

BuiltStep build_horovod(const StrategyRequest& request) {
  BuiltStep built{HorovodStep(request).build(), {}};
  built.assumptions.add({exchange, "horovod", {to_text(rule_of(request).negotiation)}});
  if (request.settings.get<Version>("version") < response_cache) {
    built.assumptions.add({old_negotiation, "horovod"});
  }
  return built;
}

// The buffer has the threshold's size from the first tensor on that goes through it.
ModelMemory horovod_memory(const StrategyRequest& request) {
  ModelMemory memory = model_and_wire_copies(request);
  memory.buckets += rule_of(request).fusion_threshold;
  return memory;
}

using settings::Key;
using settings::Value;

constexpr std::array horovod_keys{
    Key{"version", settings::VersionNumber{}, Value(default_version),
        "Horovod's, which has defaults and copies of its own"},
    Key{"cycle_time", settings::Time{}, "1 ms; before 0.21 5 ms",
        "HOROVOD_CYCLE_TIME: from one wake of its engine to the next"},
    Key{"fusion_threshold", settings::Size{}, "128 MiB; before 0.21 64 MiB",
        "HOROVOD_FUSION_THRESHOLD: the most that is reduced in one call"},
    Key{"fusion", settings::Flag{}, Value(true), "false: each tensor alone, a threshold of 0"},
    Key{"negotiation", settings::Time{}, "by the cluster's latency",
        "from a wake until ranks know what all of them have"},
};

}  // namespace

constinit const Strategy horovod_strategy{
    .name = "horovod",
    .summary = "Horovod: an engine that wakes once a cycle and fuses the gradients that are there",
    .keys = horovod_keys,
    .build = build_horovod,
    .memory = horovod_memory,
    .decides_at_run_time = true,
};

}  // namespace paceline::training
