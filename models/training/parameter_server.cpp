#include "models/training/parameter_server.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "models/contract.h"
#include "models/training/call_plan.h"
#include "models/training/step_builder.h"
#include "models/training/strategies.h"

// Synchronous training with parameter servers, as BytePS 0.2 does it (docs/rationale.md,
// docs/architecture.md, byteps/common/core_loops.cc):
// - tensors are cut in partitions, each on one server; every worker sends a partition there as its
//   gradient comes (push), and the server sends the sum of all to every worker (pull);
// - a server has one connection per worker and direction, where partitions queue in the order in
//   which they were pushed: pushes of one partition beside pulls of others;
// - hierarchical: a node's GPUs reduce-scatter a partition, each pushes its shard and pulls the
//   sum, and they all-gather;
// - then gradients are divided by the ranks and the optimizer runs on the workers.
//
// With servers of their own a worker sends and receives every gradient once, whatever the number of
// workers, if there are as many servers; beside workers 2(n-1)/n.
//
// cross_barrier: the optimizer and the forward of a layer wait for that layer's gradients only
// (docs/cross-barrier.md; Peng et al., SOSP 2019). The step is then counted from the beginning of
// its backward to the next: all gradients are there when the forward ends, so that is what repeats.
namespace paceline::training {
namespace {

constexpr AssumptionKind host_copies_free{
    "{}: copies between a GPU and its host's memory are not modelled"};
constexpr AssumptionKind prompt_servers{
    "{}: servers add gradients at cluster.reduction_bandwidth; without that key they take no "
    "time"};
constexpr AssumptionKind order_by_forecast{
    "{}: among waiting partitions the one nearest to the input goes first; a forecast says "
    "which ones wait"};

using collectives::Collective;
using workload::ParameterTensor;
using workload::TimedLayer;

// D. J. Bernstein's, of the digits of a number.
std::uint64_t djb2(std::uint64_t key) {
  std::uint64_t hash = 5381;
  for (const char digit : std::to_string(key)) {
    hash = hash * 33 + static_cast<std::uint64_t>(digit);
  }
  return hash;
}

// By tensor, its place among the names in alphabetical order.
std::vector<std::uint64_t> places_by_name(std::span<const ParameterTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return tensors[i].name; });
  std::vector<std::uint64_t> places(tensors.size());
  for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

// Deals partitions out to servers, in registration order.
class ServerChoice {
 public:
  ServerChoice(std::span<const ParameterTensor> tensors, const PartitionSettings& settings)
      : settings_(settings), places_(places_by_name(tensors)), load_(settings.servers) {}

  std::uint32_t next(std::size_t tensor, std::uint64_t part, Bytes size) {
    switch (settings_.assignment) {
      case ServerAssignment::hash:
        return static_cast<std::uint32_t>(djb2((places_[tensor] << 16) + part) % settings_.servers);
      case ServerAssignment::round_robin:
        return static_cast<std::uint32_t>(dealt_++ % settings_.servers);
      case ServerAssignment::size: break;
    }
    const auto least = std::ranges::min_element(load_);
    *least += size;
    return static_cast<std::uint32_t>(least - load_.begin());
  }

 private:
  const PartitionSettings& settings_;
  std::vector<std::uint64_t> places_;
  std::vector<Bytes> load_;  // by server
  std::uint64_t dealt_ = 0;
};

bool is_hierarchical(const StrategyRequest& request) {
  return request.settings.get<bool>("hierarchical") && request.cluster.gpus_per_node > 1;
}

// Those that push a partition to a server together.
Group pushing_group(const StrategyRequest& request) {
  return is_hierarchical(request) ? Group::across_nodes : Group::all;
}

std::uint32_t server_count(const StrategyRequest& request) {
  return request.settings.find<std::uint32_t>("servers").value_or(request.cluster.nodes);
}

class ParameterServerStep {
 public:
  explicit ParameterServerStep(const StrategyRequest& request)
      : request_(request),
        step_(request),
        group_(pushing_group(request)),
        pushers_(axis_of(request.cluster, group_).size),
        servers_(server_count(request)),
        hosts_(request.settings.get<ServerHosts>("server_hosts")),
        partitions_(partitions()) {
    if (is_hierarchical(request)) {
      scatter_ = step_.add_lane({"reduce in the node", LaneKind::communication});
    }
  }

  BuiltStep build() {
    if (request_.settings.get<bool>("cross_barrier")) {
      backward();
      communicate();
      forward_as_gradients_come();
    } else {
      step_.forward({});
      backward();
      communicate();
      all_at_the_end();
    }
    BuiltStep built{step_.take(), {}};
    built.assumptions.add({host_copies_free, "parameter_server"});
    built.assumptions.add({prompt_servers, "parameter_server"});
    if (by_forecast()) built.assumptions.add({order_by_forecast, "parameter_server"});
    if (hosts_ != ServerHosts::own) {
      built.assumptions.add(
          {unmeasured_strategy, "parameter_server, server_hosts: beside_workers"});
    }
    return built;
  }

 private:
  struct Ready {
    Seconds at;  // after the beginning of the backward
    std::vector<OperationId> after;
  };

  [[nodiscard]] ElementSize element_of(std::size_t tensor) const {
    return element_size(step_.type_on_wire(step_.tensors()[tensor].type));
  }

  [[nodiscard]] std::vector<TensorPartition> partitions() const {
    std::vector<ElementSize> elements;
    for (std::size_t t = 0; t < step_.tensors().size(); ++t) elements.push_back(element_of(t));
    return tensor_partitions(step_.tensors(), elements,
                             {request_.settings.get<Bytes>("partition"), servers_,
                              request_.settings.get<ServerAssignment>("assignment")});
  }

  [[nodiscard]] bool by_forecast() const {
    return request_.settings.get<bool>("priority") && request_.settings.get<bool>("overlap");
  }

  void backward() {
    ready_.resize(step_.tensors().size());
    Seconds now;
    std::optional<OperationId> last;
    step_.backward([&](const TimedLayer& layer, std::size_t first, OperationId done) {
      now += layer.backward;
      for (std::size_t t = first + layer.parameters.size(); t-- > first;) {
        const std::string& name = step_.tensors()[t].name;
        ready_[t] = {now, step_.after_host(step_.cast_to_wire(name, {t}, {done}))};
        came_.push_back(t);
      }
    });
    if (request_.settings.get<bool>("overlap")) return;
    const OperationId end =
        step_.compute("end of backward", OperationKind::backward, Seconds(0), {});
    for (Ready& ready : ready_) ready = {Seconds(0), step_.after_host({end})};
  }

  // Partitions in the order of their pushes: as gradients come, or by priority.
  [[nodiscard]] std::vector<std::size_t> pushing_order() const {
    std::vector<std::vector<std::size_t>> of_tensor(step_.tensors().size());
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      of_tensor[partitions_[p].tensor].push_back(p);
    }
    std::vector<std::size_t> order;
    for (const std::size_t tensor : came_) {
      order.insert(order.end(), of_tensor[tensor].begin(), of_tensor[tensor].end());
    }
    if (!request_.settings.get<bool>("priority")) return order;
    std::vector<WaitingPush> pushes;
    for (const std::size_t p : order) {
      const TensorPartition& one = partitions_[p];
      pushes.push_back({ready_[one.tensor].at, forecast(one), one.tensor});
    }
    std::vector<std::size_t> by_first;
    for (const std::size_t i : by_priority(pushes)) by_first.push_back(order[i]);
    return by_first;
  }

  // How long a push keeps the network: each NIC sends it once, the servers receive it in parallel.
  [[nodiscard]] Seconds forecast(const TensorPartition& partition) const {
    const topology::Network& network = request_.cluster.network;
    if (network.bandwidth == BytesPerSecond(0)) return Seconds(0);
    const double incast = std::max(1.0, static_cast<double>(pushers_) / servers_);
    return partition.count * element_of(partition.tensor) / network.usable_bandwidth() * incast;
  }

  // Operations are listed about as they run: pushes to all servers before the first pull.
  void communicate() {
    arrived_.resize(step_.tensors().size());
    const std::uint64_t credit = request_.settings.get<std::uint64_t>("credit");
    const std::uint64_t ahead = credit > 0 ? std::min<std::uint64_t>(credit, servers_) : servers_;
    const std::vector<std::size_t> order = pushing_order();
    std::vector<OperationId> pushed, pulled;
    for (const std::size_t p : order) {
      if (pushed.size() - pulled.size() == ahead) pull_next(order, pushed, pulled);
      std::vector<OperationId> after = ready_[partitions_[p].tensor].after;
      if (credit > 0 && pushed.size() >= credit) after.push_back(pulled[pushed.size() - credit]);
      pushed.push_back(push(partitions_[p], std::move(after)));
    }
    while (pulled.size() < order.size()) pull_next(order, pushed, pulled);
  }

  void pull_next(const std::vector<std::size_t>& order, const std::vector<OperationId>& pushed,
                 std::vector<OperationId>& pulled) {
    const TensorPartition& partition = partitions_[order[pulled.size()]];
    pulled.push_back(pull(partition, pushed[pulled.size()]));
    arrived_[partition.tensor].push_back(pulled.back());
  }

  // What each of the pushers has of a partition.
  [[nodiscard]] ElementCount pushed_count(const TensorPartition& partition) const {
    const std::uint32_t gpus = scatter_ ? request_.cluster.gpus_per_node : 1;
    return ElementCount((partition.count.value() + gpus - 1) / gpus);
  }

  [[nodiscard]] bool has_servers() const { return !scatter_ || request_.cluster.nodes > 1; }

  // By the thread of its lane (byteps/common/core_loops.cc has a loop for each stage).
  OperationId call(LaneId lane, std::string name, CollectiveCall call,
                   std::vector<OperationId> after) {
    after = step_.launch_on(lane, name, std::move(after));
    return step_.add(
        {std::move(name), OperationKind::collective, lane, std::move(after), std::move(call)});
  }

  OperationId push(const TensorPartition& partition, std::vector<OperationId> after) {
    const std::string& name = step_.tensors()[partition.tensor].name;
    if (scatter_) {
      after = {call(*scatter_, name + " reduce-scatter",
                    in_node(Collective::reduce_scatter, partition), std::move(after))};
    }
    if (!has_servers()) return after.front();
    return call(connection(partition.server).push, name + " push",
                with_server(Collective::reduce, partition), std::move(after));
  }

  OperationId pull(const TensorPartition& partition, OperationId pushed) {
    const std::string& name = step_.tensors()[partition.tensor].name;
    OperationId pulled = pushed;
    if (has_servers()) {
      pulled = call(connection(partition.server).pull, name + " pull",
                    with_server(Collective::broadcast, partition), {pushed});
    }
    if (!scatter_) return pulled;
    return call(connection(partition.server).gather, name + " all-gather",
                in_node(Collective::all_gather, partition), {pulled});
  }

  [[nodiscard]] CollectiveCall in_node(Collective collective,
                                       const TensorPartition& partition) const {
    const std::uint64_t shards = request_.cluster.gpus_per_node;
    CollectiveCall call{collective, ElementCount(pushed_count(partition).value() * shards),
                        element_of(partition.tensor)};
    call.group = Group::node;
    return call;
  }

  [[nodiscard]] CollectiveCall with_server(Collective collective,
                                           const TensorPartition& partition) const {
    CollectiveCall call{collective, pushed_count(partition), element_of(partition.tensor),
                        place_of(partition.server)};
    call.group = group_;
    send_by_hosts(call);
    return call;
  }

  // Servers with hosts of their own are behind the pushers, others spread evenly over them.
  [[nodiscard]] Rank place_of(std::uint32_t server) const {
    if (hosts_ == ServerHosts::own) return Rank(pushers_ + server);
    return Rank(static_cast<std::uint32_t>(std::uint64_t{server} * pushers_ / servers_));
  }

  // What comes from one server is gathered in the order of its pulls, whatever others do.
  struct Connection {
    LaneId push, pull, gather;
  };

  const Connection& connection(std::uint32_t server) {
    const auto known = connections_.find(server);
    if (known != connections_.end()) return known->second;
    const std::string number = std::to_string(server);
    Connection made{};
    if (has_servers()) {
      made.push = step_.add_lane({"push to " + number, LaneKind::communication});
      made.pull = step_.add_lane({"pull from " + number, LaneKind::communication});
    }
    if (scatter_) made.gather = step_.add_lane({"gather of " + number, LaneKind::communication});
    return connections_.emplace(server, made).first->second;
  }

  void all_at_the_end() {
    std::vector<OperationId> all;
    for (const auto& pulled : arrived_) all.insert(all.end(), pulled.begin(), pulled.end());
    for (const std::size_t t : came_) {
      if (!arrived_[t].empty()) step_.cast_back({t}, arrived_[t].back());
    }
    step_.host_waits_for(all);  // synchronize() of byteps/torch/ops.py returns when it is done
    step_.copies("divide", step_.tensors(), 2, all);
    step_.optimizer("optimizer", request_.workload.optimizer, std::move(all));
  }

  // The optimizer's part of a layer is that of its parameters.
  void forward_as_gradients_come() {
    step_.input();
    ElementCount all;
    for (const ParameterTensor& tensor : step_.tensors()) all += tensor.count;
    std::size_t first = 0;
    for (const TimedLayer& layer : request_.workload.layers) {
      std::vector<OperationId> after;
      double parameters = 0;
      for (std::size_t t = first; t < first + layer.parameters.size(); ++t) {
        after.insert(after.end(), arrived_[t].begin(), arrived_[t].end());
        if (!arrived_[t].empty()) step_.cast_back({t}, arrived_[t].back());
        parameters += static_cast<double>(step_.tensors()[t].count.value());
      }
      if (!layer.parameters.empty()) {
        step_.copies(layer.name + " divide", layer.parameters, 2, after);
        const double part =
            parameters / static_cast<double>(std::max<std::uint64_t>(1, all.value()));
        step_.optimizer(layer.name + " optimizer", request_.workload.optimizer * part, {}, part);
      }
      step_.layers(layer.name, OperationKind::forward, layer.forward, {&layer, 1}, {});
      first += layer.parameters.size();
    }
  }

  const StrategyRequest& request_;
  StepBuilder step_;
  Group group_;
  std::uint32_t pushers_, servers_;
  ServerHosts hosts_;
  std::vector<TensorPartition> partitions_;
  std::optional<LaneId> scatter_;
  std::map<std::uint32_t, Connection> connections_;  // by server
  std::vector<Ready> ready_;                         // by tensor
  std::vector<std::size_t> came_;                    // tensors, as their gradients came
  std::vector<std::vector<OperationId>> arrived_;    // by tensor, the ends of its partitions
};

BuiltStep build_parameter_server(const StrategyRequest& request) {
  return ParameterServerStep(request).build();
}

std::optional<Refusal> refuse_servers(const StrategyRequest& request) {
  const std::uint32_t servers = server_count(request);
  const bool is_own = request.settings.get<ServerHosts>("server_hosts") == ServerHosts::own;
  const std::uint32_t pushers = axis_of(request.cluster, pushing_group(request)).size;
  if (!is_own && servers > pushers) {
    return Refusal{"has " + std::to_string(servers) + " servers beside " + std::to_string(pushers) +
                       (is_hierarchical(request) ? " nodes" : " GPUs"),
                   "take fewer servers, or server_hosts: own"};
  }
  const bool is_in_node = is_hierarchical(request) && request.cluster.nodes == 1;
  if (is_own && !is_in_node && request.cluster.network.bandwidth == BytesPerSecond(0)) {
    return Refusal{"needs a network to reach servers on hosts of their own",
                   "write cluster.network: {bandwidth: 100Gbps}, or server_hosts: beside_workers"};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_parameter_server(const StrategyRequest& request) {
  if (request.cluster.ranks() == RankCount(1)) return std::nullopt;
  for (const ParameterTensor& tensor : gradient_tensors(request.workload)) {
    const ElementSize element = element_size(type_on_wire(request.common, tensor.type));
    if (request.settings.get<Bytes>("partition") < ElementCount(1) * element) {
      return Refusal{"has partitions smaller than an element of " + tensor.name,
                     "write partition: 4096000B, or 1TB to keep tensors whole"};
    }
  }
  if (request.settings.get<bool>("cross_barrier") && request.common.gradient_accumulation > 1) {
    return Refusal{"supports cross_barrier for steps of one pass only",
                   "leave out cross_barrier or gradient_accumulation"};
  }
  return refuse_servers(request);
}

using settings::Count;
using settings::Flag;
using settings::Key;
using settings::OneOf;
using settings::Value;

constexpr std::array parameter_server_keys{
    Key{"servers", Count{1, 1'000'000}, "one a node",
        "beside workers at most one a node, or one a GPU without `hierarchical`"},
    Key{"server_hosts", OneOf{settings::texts_of<ServerHosts>},
        settings::value_of(ServerHosts::own),
        "on hosts of their own with a NIC each, or on those of the workers, whose NICs they share"},
    Key{"partition", settings::Size{}, Value(Bytes(4'096'000)),
        "tensors are cut in parts of so much, each on one server (BYTEPS_PARTITION_BYTES); 1TB: "
        "tensors stay whole"},
    Key{"assignment", OneOf{settings::texts_of<ServerAssignment>},
        settings::value_of(ServerAssignment::hash),
        "of partitions to servers: BytePS's hash (djb2) of their keys, in turn, or each to the one "
        "that has the fewest bytes"},
    Key{"priority", Flag{}, Value(false),
        "of partitions that wait those nearer to the input are pushed first; else as gradients "
        "come, as BytePS for PyTorch does within a step"},
    Key{"credit", Count{0, 1'000'000}, Value(std::uint64_t{0}),
        "at most so many partitions between the start of their push and the end of their pull; 0: "
        "no limit, as BytePS, whose BYTEPS_SCHEDULING_CREDIT holds for the reduction in the node"},
    Key{"hierarchical", Flag{}, Value(true),
        "GPUs of a node reduce-scatter first and all-gather last; else each is a worker"},
    Key{"overlap", Flag{}, Value(true), "gradients are pushed as they come, or after the backward"},
    Key{"cross_barrier", Flag{}, Value(false),
        "a layer's next forward waits for its own gradients only (BytePS's CrossBarrier)"},
};

}  // namespace

std::vector<TensorPartition> tensor_partitions(std::span<const ParameterTensor> tensors,
                                               std::span<const ElementSize> element,
                                               const PartitionSettings& settings) {
  ServerChoice choice(tensors, settings);
  std::vector<TensorPartition> partitions;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::uint64_t most = settings.size.value() / element[t].value();
    PACELINE_EXPECTS(most > 0);
    std::uint64_t part = 0;
    for (std::uint64_t left = tensors[t].count.value(); left > 0; ++part) {
      const ElementCount count(std::min(left, most));
      left -= count.value();
      partitions.push_back({t, count, choice.next(t, part, count * element[t])});
    }
  }
  return partitions;
}

std::vector<std::size_t> by_priority(std::span<const WaitingPush> pushes) {
  std::vector<std::size_t> order;
  std::map<std::pair<std::size_t, std::size_t>, Seconds> waiting;  // by tensor, then as given
  Seconds now;
  std::size_t next = 0;
  while (order.size() < pushes.size()) {
    if (waiting.empty()) now = std::max(now, pushes[next].ready);
    for (; next < pushes.size() && pushes[next].ready <= now; ++next) {
      waiting.emplace(std::pair(pushes[next].tensor, next), pushes[next].time);
    }
    const auto first = waiting.begin();
    order.push_back(first->first.second);
    now += first->second;
    waiting.erase(first);
  }
  return order;
}

// A copy of all gradients in the host's memory is no GPU's.
constinit const Strategy parameter_server_strategy{
    .name = "parameter_server",
    .summary = "BytePS: partitions of tensors are pushed to servers, which add them, and pulled",
    .framework = "BytePS",
    .keys = parameter_server_keys,
    .build = build_parameter_server,
    .refuse = refuse_parameter_server,
    .is_measured = true,
    .servers =
        [](const StrategyRequest& request) {
          const std::uint32_t pushers = axis_of(request.cluster, pushing_group(request)).size;
          return ServerLinks{is_hierarchical(request) ? Servers::of_nodes : Servers::of_gpus,
                             std::max(pushers, server_count(request))};
        },
};

}  // namespace paceline::training
