#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/assumption.h"
#include "models/training/step_builder.h"
#include "models/training/strategies.h"
#include "models/units/parse.h"

// Horovod (horovod/horovod, v0.16 to v0.28): hooks hand each gradient to an engine as it comes
// (engine.h); the optimizer waits for all of them.
// - The engine wakes once per cycle, learns in one exchange of bit vectors which tensors all ranks
//   have (the response cache, from v0.16 on), and reduces those in as few calls as the fusion
//   threshold allows. Defaults depend on the version: 5 ms and 64 MiB through v0.20, 1 ms and
//   128 MiB from v0.21 (horovod/common/operations.cc, PR #2468).
// - Several tensors are copied into a buffer of the threshold's size and back, on the stream of the
//   calls: through v0.20 by one copy per tensor, and each is divided by itself; from v0.21 by one
//   kernel for 160 of them (PR #2435), which also divides.
// - hierarchical_allreduce: a node's GPUs reduce-scatter, each copies its part to the host, where
//   the processes of one local rank all-reduce it across nodes, and back, and the node all-gathers.
//   What is fused is padded to divide among the GPUs; of a single tensor the rest, fewer elements
//   than GPUs, is reduced to the last GPU, which takes it across nodes beside its own part, and
//   broadcast. Until the parts are back the engine waits, whatever the library. The all-reduce
//   across nodes is counted as if all GPUs had the rest. Real engines refuse it: it does not run on
//   hardware. (NCCLHierarchicalAllreduce, horovod/common/ops/nccl_operations.cc, commit 0246ec0)
// - With NCCL the engine goes on when calls are launched, with MPI and Gloo when they are done.
// - Wakes lie so that the last tensor waits half a cycle for one, which is the average.
namespace paceline::training {
namespace {

using collectives::Collective;
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

// One node does as without it (BackgroundThreadLoop, horovod/common/operations.cc).
bool sums_hierarchically(const StrategyRequest& request) {
  return request.settings.get<bool>("hierarchical_allreduce") && request.cluster.nodes > 1;
}

// What is fused is padded to a multiple of so many elements, so that it divides among a node's
// GPUs: FUSION_BUFFER_ATOMIC_UNIT of horovod/common/common.h for each.
std::uint64_t fused_multiple(const topology::Cluster& cluster) {
  constexpr std::uint64_t atomic_unit = 64;
  return atomic_unit * cluster.gpus_per_node;
}

// Between the slowest GPU of a node and its host's memory, one way; nullopt: not told.
std::optional<BytesPerSecond> host_bandwidth(const topology::Cluster& cluster) {
  const topology::IntraNode& node = cluster.intra_node;
  if (node.kind != topology::IntraNodeKind::pcie && !node.host_bandwidth) return std::nullopt;
  BytesPerSecond least = node.host_link(0);
  for (std::uint32_t r = 1; r < cluster.gpus_per_node; ++r) {
    least = std::min(least, node.host_link(r));
  }
  return least;
}

EngineRule rule_of(const StrategyRequest& request) {
  const settings::Settings& settings = request.settings;
  const bool is_quick = settings.get<Version>("version") >= quick_engine;
  EngineRule rule;
  rule.cycle = settings.find<Seconds>("cycle_time").value_or(Seconds(is_quick ? 1e-3 : 5e-3));
  const Bytes usual(std::uint64_t{is_quick ? 128U : 64U} << 20);
  rule.fusion_threshold = settings.find<Bytes>("fusion_threshold").value_or(usual);
  if (!settings.get<bool>("fusion")) rule.fusion_threshold = Bytes(0);
  rule.is_hierarchical = sums_hierarchically(request);
  if (rule.is_hierarchical) {
    // TensorFusionThresholdBytes of horovod/common/controller.cc (2020): whatever the type.
    constexpr std::uint64_t double_size = 8;
    const ElementCount bytes(rule.fusion_threshold.value());
    const std::uint64_t multiple = fused_multiple(request.cluster) * double_size;
    rule.fusion_threshold = padded_to(bytes, multiple) * ElementSize(1);
  }
  rule.negotiation =
      settings.find<Seconds>("negotiation").value_or(latency_of_exchange(request.cluster));
  rule.waits_for_calls = request.common.calls_hold_host || rule.is_hierarchical;
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
    reduced.erase(std::unique(reduced.begin(), reduced.end()), reduced.end());
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
    return {Collective::all_reduce, count, size};
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

  using CallTimes = std::map<std::pair<collectives::Collective, Group>, std::map<double, Seconds>>;

  // What calls of each kind took, by their bytes; other sizes lie on the lines between.
  [[nodiscard]] CallTimes call_times() const {
    CallTimes times;
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
      auto& of_kind = times[{call->collective, call->group}];
      of_kind[static_cast<double>(call->size().value())] = last_end - last_start;
    }
    return times;
  }

  static Seconds time_of(const CallTimes& all, const CollectiveCall& call) {
    const auto of_kind = all.find({call.collective, call.group});
    if (of_kind == all.end()) return Seconds(0);
    const auto bytes = static_cast<double>(call.size().value());
    const auto& times = of_kind->second;
    const auto above = times.lower_bound(bytes);
    if (above == times.begin()) return above->second;
    const auto below = std::prev(above);
    if (above == times.end()) return below->second * (bytes / below->first);
    const double part = (bytes - below->first) / (above->first - below->first);
    return below->second + (above->second - below->second) * part;
  }

  // A step of a reduction on the stream of the calls: a call, or a copy.
  struct Part {
    std::string name;
    std::variant<Seconds, CollectiveCall> work;
  };

  // A reduction between its copies in and out, and how many parts of it hold the engine up.
  struct Reduction {
    std::vector<Part> parts;
    std::size_t awaited;
  };

  [[nodiscard]] Reduction reduction_of(const Fused& together) const {
    const ElementSize size = tensors_[together.front()].element_size;
    ElementCount count = count_of(tensors_, together);
    if (!rule_.is_hierarchical) return {{{"", call_of(count, size)}}, 1};
    const std::uint64_t gpus = request_.cluster.gpus_per_node;
    if (together.size() > 1) count = padded_to(count, fused_multiple(request_.cluster));
    const ElementCount each(count.value() / gpus), rest(count.value() % gpus);
    const Rank root(static_cast<std::uint32_t>(gpus - 1));  // has the rest beside its own
    Reduction made;
    const auto in_node = [&](const char* name, Collective collective, ElementCount elements) {
      if (elements == ElementCount(0)) return;
      CollectiveCall call{collective, elements, size};
      if (has_root(collective)) call.root = root;
      call.group = Group::node;
      made.parts.push_back({name, call});
    };
    const Seconds copied = (each + rest) * size / *host_bandwidth(request_.cluster);
    CollectiveCall across = call_of(each + rest, size);
    across.group = Group::across_nodes;
    in_node(" reduce-scatter", Collective::reduce_scatter, ElementCount(each.value() * gpus));
    in_node(" reduce", Collective::reduce, rest);
    made.parts.push_back({" to host", copied});
    made.parts.push_back({" across nodes", across});
    made.parts.push_back({" to GPU", copied});
    made.awaited = made.parts.size();  // the host copies by itself; what NCCL does it launches
    in_node(" all-gather", Collective::all_gather, ElementCount(each.value() * gpus));
    in_node(" broadcast", Collective::broadcast, rest);
    if (waits_to_the_end()) made.awaited = made.parts.size();
    return made;
  }

  [[nodiscard]] bool waits_to_the_end() const { return request_.common.calls_hold_host; }

  // How long a reduction holds the engine up, once its first call is launched.
  [[nodiscard]] Seconds awaited_time(const Fused& together, const CallTimes& times) const {
    Seconds time = copy_in_time(tensors_, together);
    bool is_first = true;
    const Reduction reduction = reduction_of(together);
    for (const Part& part : std::span(reduction.parts).first(reduction.awaited)) {
      if (const auto* call = std::get_if<CollectiveCall>(&part.work)) {
        time += time_of(times, *call);
        if (!std::exchange(is_first, false)) time += rule_.launch;
      } else {
        time += std::get<Seconds>(part.work);
      }
    }
    return waits_to_the_end() ? time + copy_out_time(tensors_, together) : time;
  }

  [[nodiscard]] EngineForecast forecast() const {
    return {ready_times(), [this, times = call_times()](const Fused& together) {
              return awaited_time(together, times);
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
        const auto [reduced, awaited] = reduce(together, launch(host, waited, of_last_wake), host);
        of_last_wake.push_back(awaited);
        for (const std::size_t one : together) reduced_by[one] = reduced;
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

  struct Reduced {
    OperationId last, awaited;  // the engine goes on after that, where it waits at all
  };

  // Copies on the stream of the calls, and what is between them.
  Reduced reduce(const Fused& together, OperationId after, LaneId host) {
    const std::string name = "call " + std::to_string(calls_++);
    const Reduction reduction = reduction_of(together);
    Reduced made{copy(name + " copy in", copy_in_time(tensors_, together), after), after};
    bool is_first = true;
    for (std::size_t p = 0; p < reduction.parts.size(); ++p) {
      const auto& [part, work] = reduction.parts[p];
      if (const auto* time = std::get_if<Seconds>(&work)) {
        made.last = copy(name + part, *time, made.last);
      } else {
        std::vector<OperationId> launched{made.last};
        if (!std::exchange(is_first, false)) {
          launched = step_.launch_on(host, name + part, std::move(launched));
        }
        made.last = step_.add({name + part, OperationKind::collective, step_.communication_lane(),
                               std::move(launched), std::get<CollectiveCall>(work)});
      }
      if (p + 1 == reduction.awaited) made.awaited = made.last;
    }
    made.last = copy(name + " copy out", copy_out_time(tensors_, together), made.last);
    if (waits_to_the_end()) made.awaited = made.last;
    return made;
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
    "{}: negotiation takes {} (network latency only; coordinator CPU time is not modelled); "
    "the last gradients wait half a cycle on average"};

constexpr AssumptionKind old_negotiation{
    "{}: before 0.16, rank 0 gathers the names of ready tensors and answers; this is "
    "modelled as the faster exchange of later versions, so the prediction is probably too "
    "fast"};

constexpr AssumptionKind call_of_mpi{
    "{}: Horovod makes the all-reduce across nodes with MPI from host memory; it is modelled "
    "as a call of the library that makes all others"};

constexpr AssumptionKind ignored_on_a_node{
    "{}: hierarchical_allreduce has no effect on one node, as in Horovod"};

BuiltStep build_horovod(const StrategyRequest& request) {
  BuiltStep built{HorovodStep(request).build(), {}};
  built.assumptions.add({exchange, "horovod", {to_text(rule_of(request).negotiation)}});
  if (request.settings.get<Version>("version") < response_cache) {
    built.assumptions.add({old_negotiation, "horovod"});
  }
  if (sums_hierarchically(request)) {
    built.assumptions.add({call_of_mpi, "horovod"});
    built.assumptions.add({unmeasured_strategy, "horovod with hierarchical_allreduce"});
  } else if (request.settings.get<bool>("hierarchical_allreduce")) {
    built.assumptions.add({ignored_on_a_node, "horovod"});
  }
  return built;
}

std::optional<Refusal> refuse_horovod(const StrategyRequest& request) {
  if (!sums_hierarchically(request)) return std::nullopt;
  if (request.cluster.gpus_per_node == 1) {
    return Refusal{"needs several GPUs per node for hierarchical_allreduce",
                   "leave out hierarchical_allreduce"};
  }
  if (host_bandwidth(request.cluster)) return std::nullopt;
  return Refusal{"needs the bandwidth between GPUs and hosts for hierarchical_allreduce",
                 "write cluster.intra_node: {host_bandwidth: 12GBps}"};
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
        "HOROVOD_FUSION_THRESHOLD: the most that is reduced in one call", "",
        settings::Needs{"fusion",
                        {"true"},
                        "has no effect: nothing is fused",
                        "leave out fusion: false, or the threshold"}},
    Key{"fusion", settings::Flag{}, Value(true), "false: each tensor alone, a threshold of 0"},
    Key{"negotiation", settings::Time{}, "by the cluster's latency",
        "from a wake until ranks know what all of them have"},
    Key{"hierarchical_allreduce", settings::Flag{}, Value(false),
        "HOROVOD_HIERARCHICAL_ALLREDUCE: sums within nodes, across nodes by way of the host "
        "(cluster.intra_node.host_bandwidth), and within again; predicted, not measured"},
};

}  // namespace

constexpr TriedKey horovod_tries[]{
    {"fusion_threshold", {"8MiB", "16MiB", "32MiB", "64MiB", "128MiB", "256MiB"}},
    {"cycle_time", {"1ms", "2.5ms", "5ms", "10ms"}}};

constinit const Strategy horovod_strategy{
    .name = "horovod",
    .summary = "Horovod: an engine that wakes once a cycle and fuses the gradients that are there",
    .framework = "Horovod",
    .keys = horovod_keys,
    .build = build_horovod,
    .refuse = refuse_horovod,
    .memory = horovod_memory,
    .decides_at_run_time = true,
    .is_measured = true,
    .tries = horovod_tries,
};

}  // namespace paceline::training
