#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/training/strategy.h"

namespace paceline::training {

// Where servers are: on hosts of their own, each with a NIC, or on the hosts of the workers, whose
// NICs then carry what servers send and receive as well.
enum class ServerHosts { own, beside_workers };

constexpr auto words_of(ServerHosts) {
  return words_up_to<ServerHosts::beside_workers>("own", "beside_workers");
}

// Which server a partition is on:
// - hash: that of its key modulo the servers. The key is 2^16 times the number of its tensor among
//   the names in alphabetical order, plus its own number in the tensor; the hash djb2 of the key's
//   decimal digits. BytePS 0.2, EncodeDefaultKey and Hash_DJB2 in byteps/common/global.cc (its
//   default), and `declare` in byteps/torch/__init__.py.
// - round_robin: in turn, in registration order, as tf.train.replica_device_setter.
// - size: in registration order, each on the server that has the fewest bytes so far; of several
//   the first. tf.contrib.training.GreedyLoadBalancingStrategy with byte_size_load_fn.
enum class ServerAssignment { hash, round_robin, size };

constexpr auto words_of(ServerAssignment) {
  return words_up_to<ServerAssignment::size>("hash", "round_robin", "size");
}

// A part of a tensor that is pushed to one server and pulled from it.
struct TensorPartition {
  std::size_t tensor;  // in registration order
  ElementCount count;
  std::uint32_t server;

  friend bool operator==(const TensorPartition&, const TensorPartition&) = default;
};

struct PartitionSettings {
  Bytes size;  // of a partition, the last of a tensor apart; at least an element
  std::uint32_t servers;
  ServerAssignment assignment;
};

// All partitions, in registration order. `element` is what an element of tensor i has on the wire.
[[nodiscard]] std::vector<TensorPartition> tensor_partitions(
    std::span<const workload::ParameterTensor> tensors, std::span<const ElementSize> element,
    const PartitionSettings& settings);

// What is waiting to be pushed: when it may be, how long that keeps the network, and how early the
// next forward needs it, 0 first.
struct WaitingPush {
  Seconds ready, time;
  std::size_t tensor;
};

// The order in which they go, one at a time: of those that are ready the one whose tensor comes
// first in the forward; of one tensor in the order given. Precondition: ready in rising order.
[[nodiscard]] std::vector<std::size_t> by_priority(std::span<const WaitingPush> pushes);

// Synchronous training with parameter servers, as BytePS 0.2 does it (docs/rationale.md,
// docs/architecture.md, byteps/common/core_loops.cc):
// - tensors are cut in partitions, each on one server; every worker sends it there as its gradient
//   comes (push), the server adds them up, and when it has all, sends the sum to every worker
//   (pull);
// - a server has one connection to every worker and way, where partitions queue in the order in
//   which they were pushed: pushes of one partition beside pulls of others;
// - hierarchical: the GPUs of a node reduce-scatter a partition, each pushes its shard and pulls
// its
//   sum, and they all-gather. In one node alone nothing is pushed;
// - then gradients are divided by the ranks and the optimizer runs on the workers.
//
// With servers of their own a worker sends and receives every gradient once, whatever the number of
// workers, if there are as many servers; beside workers 2(n-1)/n.
//
// cross_barrier: the optimizer and the forward of a layer wait for that layer's gradients only
// (docs/cross-barrier.md; Peng et al., SOSP 2019). The step is then counted from the beginning of
// its backward to the next: all gradients are there when the forward ends, so that is what repeats.
extern const Strategy parameter_server_strategy;

}  // namespace paceline::training
