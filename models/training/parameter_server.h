#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/training/strategy.h"

namespace paceline::training {

// Where servers run: on hosts of their own, each with a NIC, or on the hosts of the workers, whose
// NICs then also carry the servers' traffic.
enum class ServerHosts { own, beside_workers };

constexpr auto words_of(ServerHosts) {
  return words_up_to<ServerHosts::beside_workers>("own", "beside_workers");
}

// Which server holds a partition:
// - hash: djb2 of the decimal digits of its key, modulo the servers. The key is 2^16 times the
//   tensor's place among the names in alphabetical order, plus the partition's number in the
//   tensor. BytePS 0.2: EncodeDefaultKey and Hash_DJB2 in byteps/common/global.cc (its default),
//   `declare` in byteps/torch/__init__.py.
// - round_robin: in turn, in registration order, as tf.train.replica_device_setter.
// - size: in registration order, each on the first server with the fewest bytes so far, as
//   tf.contrib.training.GreedyLoadBalancingStrategy with byte_size_load_fn.
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

// Cuts tensors into partitions, in registration order. element[i]: of tensor i, on the wire.
[[nodiscard]] std::vector<TensorPartition> tensor_partitions(
    std::span<const workload::ParameterTensor> tensors, std::span<const ElementSize> element,
    const PartitionSettings& settings);

// A partition that waits for its push: from when it may go, how long it takes the network, and how
// early the next forward needs its tensor, 0 first.
struct WaitingPush {
  Seconds ready, time;
  std::size_t tensor;
};

// The order of pushes, one at a time: among those that are ready, the tensor that comes first in
// the forward; partitions of one tensor in the order given. Precondition: `ready` ascends.
[[nodiscard]] std::vector<std::size_t> by_priority(std::span<const WaitingPush> pushes);

}  // namespace paceline::training
