#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/training/buckets.h"
#include "models/training/strategy.h"

namespace paceline::training {

// The least multiple of `parts` that is no less.
[[nodiscard]] ElementCount padded_to(ElementCount count, std::uint64_t parts);

// What all strategies share: the lanes and the compute of a step. Members that append an operation
// return its id, so that strategies hang their communication on it.
class StepBuilder {
 public:
  explicit StepBuilder(const StrategyRequest& request);

  // What a step begins with; nullopt where that takes no time.
  std::optional<OperationId> input();

  // Input, then all passes but the last backward: the forward of the last micro-step, preceded by
  // whole passes without communication when gradients accumulate. `after` holds the first of them
  // back.
  void forward(std::vector<OperationId> after);

  // The last backward, from the last layer to the first; a layer without parameters joins the next
  // one that has some. `gradients_ready` is called for each layer with parameters, after its
  // backward and the hooks of its gradients, with the index of its first tensor in registration
  // order and the id of the backward. Without it gradients have no hooks.
  using GradientsReady =
      std::function<void(const workload::TimedLayer&, std::size_t first_tensor, OperationId)>;
  void backward(const GradientsReady& gradients_ready);
  void backward();

  // Forward or backward of some layers next to each other, which takes `time` in all: one
  // operation, or, where the host launches each, one a layer, in the order of the pass. `after`
  // holds the first of them back. Returns the last.
  OperationId layers(std::string name, OperationKind kind, Seconds time,
                     std::span<const workload::TimedLayer> layers, std::vector<OperationId> after);
  // An operation of the model: the host launches it.
  OperationId operation(std::string name, OperationKind kind, Seconds time,
                        std::vector<OperationId> after);

  // Kernels on the compute lane, one per tensor, each moving `passes` times the tensor's bytes.
  OperationId copies(std::string name, std::span<const workload::ParameterTensor> tensors,
                     std::uint64_t passes, std::vector<OperationId> after);
  // What wrappers compute: launched within their hooks.
  OperationId compute(std::string name, OperationKind kind, Seconds time,
                      std::vector<OperationId> after);
  OperationId call(std::string name, CollectiveCall call, std::vector<OperationId> after);
  // The same on a lane beside the two that every step has.
  OperationId compute_on(LaneId lane, std::string name, OperationKind kind, Seconds time,
                         std::vector<OperationId> after);
  OperationId call_on(LaneId lane, std::string name, CollectiveCall call,
                      std::vector<OperationId> after);
  // As it is: of a thread beside the host's, which no launch of that one holds back.
  OperationId add(Operation operation) { return program_.add(std::move(operation)); }

  // The hooks of so many gradients. `backward` has those of its layers.
  void hooks(const std::string& name, std::size_t gradients);
  // What the host waits for before it launches anything else.
  void host_waits_for(const std::vector<OperationId>& ids);
  // All that the host has done so far, and `after`: for an operation that is given to another
  // thread.
  [[nodiscard]] std::vector<OperationId> after_host(std::vector<OperationId> after) const;
  // The launch of a call by a thread beside the host's, on that one's lane. Returns what the call
  // comes after.
  std::vector<OperationId> launch_on(LaneId lane, const std::string& name,
                                     std::vector<OperationId> after);

  // The operation that was added last. Precondition: there is one.
  [[nodiscard]] OperationId last() const {
    return static_cast<OperationId>(program_.operations.size() - 1);
  }
  // Likewise of the compute lane; nullopt: it has none yet.
  [[nodiscard]] std::optional<OperationId> last_compute() const { return last_compute_; }
  [[nodiscard]] LaneId compute_lane() const { return compute_; }
  [[nodiscard]] LaneId communication_lane() const { return communication_; }
  // By operation: when it is done on a rank where no call holds it back.
  [[nodiscard]] std::vector<Seconds> compute_ends() const { return ends_without_calls(program_); }
  LaneId add_lane(Lane lane) { return program_.add_lane(std::move(lane)); }
  // Leaves a compute operation to one rank; the others take no time for it.
  void only_on(Rank rank, OperationId compute);
  // The cast of a bucket to the wire's type, before its reduction; what it came after where that is
  // its own type.
  std::vector<OperationId> cast_to_wire(const std::string& name, const Bucket& bucket,
                                        std::vector<OperationId> after);
  // An all-reduce of these tensors as one buffer, with a cast to the wire's type before it where
  // that is another one.
  OperationId all_reduce(std::string name, const Bucket& bucket, std::vector<OperationId> after);
  // The cast back, after the backward; nothing to do where the types are the same.
  void cast_back(const Bucket& bucket, OperationId reduced);

  // What elements of a parameter's type travel in.
  [[nodiscard]] workload::DataType type_on_wire(workload::DataType type) const;
  // Of a kernel that reads or writes all these elements `passes` times, and of one that casts them.
  [[nodiscard]] Seconds kernel(ElementCount count, workload::DataType type,
                               std::uint64_t passes) const;
  [[nodiscard]] Seconds cast(ElementCount count, workload::DataType from,
                             workload::DataType to) const;

  // The optimizer, and the finished program.
  [[nodiscard]] StepProgram finish(std::vector<OperationId> after);
  // The program of a strategy with an optimizer of its own.
  [[nodiscard]] StepProgram take() { return std::move(program_); }

  // gradient_tensors of the workload.
  [[nodiscard]] const std::vector<workload::ParameterTensor>& tensors() const { return tensors_; }

 private:
  void backward_with(const GradientsReady* gradients_ready);
  // Has the host launch something; it comes after that, and after `after`.
  std::vector<OperationId> launched(const std::string& name, Seconds time,
                                    std::vector<OperationId> after);
  // The time of a cast of the bucket in either direction; nullopt when it travels as it is.
  [[nodiscard]] std::optional<Seconds> cast_time(const Bucket& bucket) const;

  const workload::Workload& workload_;
  const CommonSettings& settings_;
  std::vector<workload::ParameterTensor> tensors_;
  StepProgram program_;
  RankCount ranks_;
  LaneId compute_, communication_;
  std::optional<OperationId> last_compute_;
  std::optional<LaneId> host_;  // from its first launch on
  std::optional<OperationId> last_launch_;
  std::vector<OperationId> host_held_by_;  // before the next one
};

}  // namespace paceline::training
