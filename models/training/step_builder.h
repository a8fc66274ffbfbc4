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

// Builds the program of a step: its lanes, its compute, and the calls that a strategy adds. Members
// that append an operation return its id, for what comes after it.
class StepBuilder {
 public:
  explicit StepBuilder(const StrategyRequest& request);

  // Appends the input; nullopt where it takes no time.
  std::optional<OperationId> input();

  // Appends the input and all passes up to the last backward: the last forward, and before it whole
  // passes without communication where gradients accumulate. `after` delays the first of them.
  void forward(std::vector<OperationId> after);
  // The forward of one pass alone.
  void forward_pass(std::vector<OperationId> after);

  // Appends the last backward, from the last layer to the first; layers without parameters join the
  // next layer that has some. Calls `gradients_ready` for each layer with parameters, after its
  // backward and the hooks of its gradients, with the index of its first tensor in registration
  // order and the id of the backward. Without it gradients have no hooks.
  using GradientsReady =
      std::function<void(const workload::TimedLayer&, std::size_t first_tensor, OperationId)>;
  void backward(const GradientsReady& gradients_ready);
  void backward();

  // Appends the forward or backward of adjacent layers, which takes `time` in all: one operation,
  // or one per layer, in the order of the pass, where the host launches each. `after` delays the
  // first. Returns the last.
  OperationId layers(std::string name, OperationKind kind, Seconds time,
                     std::span<const workload::TimedLayer> layers, std::vector<OperationId> after);
  // Appends an operation of the model, which the host launches.
  OperationId operation(std::string name, OperationKind kind, Seconds time, Seconds launch,
                        std::vector<OperationId> after);
  // Appends the optimizer of some parameters, which the host launches: `part` of all its kernels.
  OperationId optimizer(std::string name, Seconds time, std::vector<OperationId> after,
                        double part = 1);

  // Appends kernels on the compute lane, one per tensor, each moving `passes` times its bytes.
  OperationId copies(std::string name, std::span<const workload::ParameterTensor> tensors,
                     std::uint64_t passes, std::vector<OperationId> after);
  // Appends compute of a wrapper, launched within its hooks.
  OperationId compute(std::string name, OperationKind kind, Seconds time,
                      std::vector<OperationId> after);
  OperationId call(std::string name, CollectiveCall call, std::vector<OperationId> after);
  // The same two on a lane of the strategy's own.
  OperationId compute_on(LaneId lane, std::string name, OperationKind kind, Seconds time,
                         std::vector<OperationId> after);
  OperationId call_on(LaneId lane, std::string name, CollectiveCall call,
                      std::vector<OperationId> after);
  // Appends an operation of another thread, which does not wait for launches of the host's.
  OperationId add(Operation operation) { return program_.add(std::move(operation)); }

  // Appends the hooks of so many gradients; `backward` appends those of its layers itself.
  void hooks(const std::string& name, std::size_t gradients);
  // Appends those of a sharded module's forward.
  void unit_hooks(const std::string& name) {
    launched(name + " hooks", settings_.host.per_unit, {});
  }
  // Makes the host wait for these before it launches anything else.
  void host_waits_for(const std::vector<OperationId>& ids);
  // `after` and everything that the host has done so far: for an operation of another thread.
  [[nodiscard]] std::vector<OperationId> after_host(std::vector<OperationId> after) const;
  // Appends the launch of a call by another thread, on its lane. Returns what the call comes after.
  std::vector<OperationId> launch_on(LaneId lane, const std::string& name,
                                     std::vector<OperationId> after);

  // The operation that was added last. Precondition: there is one.
  [[nodiscard]] OperationId last() const {
    return static_cast<OperationId>(program_.operations.size() - 1);
  }
  // The last one on the compute lane; nullopt: there is none yet.
  [[nodiscard]] std::optional<OperationId> last_compute() const { return last_compute_; }
  [[nodiscard]] LaneId compute_lane() const { return compute_; }
  [[nodiscard]] LaneId communication_lane() const { return communication_; }
  // By operation: its end on a rank where no call delays it.
  [[nodiscard]] std::vector<Seconds> compute_ends() const { return ends_without_calls(program_); }
  LaneId add_lane(Lane lane) { return program_.add_lane(std::move(lane)); }
  // Leaves a compute operation to one rank; it takes the others no time.
  void only_on(Rank rank, OperationId compute);
  // Appends the cast of a bucket to the wire's type; returns `after` where that is its own.
  std::vector<OperationId> cast_to_wire(const std::string& name, const Bucket& bucket,
                                        std::vector<OperationId> after);
  // Appends an all-reduce of these tensors as one buffer, after cast_to_wire.
  OperationId all_reduce(std::string name, const Bucket& bucket, std::vector<OperationId> after);
  // Appends the cast back, after the backward; nothing where the types are the same.
  void cast_back(const Bucket& bucket, OperationId reduced);

  // What elements of a parameter's type travel in.
  [[nodiscard]] workload::DataType type_on_wire(workload::DataType type) const;
  // The time of a kernel that reads or writes all these elements `passes` times, and of a cast.
  [[nodiscard]] Seconds kernel(ElementCount count, workload::DataType type,
                               std::uint64_t passes) const;
  [[nodiscard]] Seconds cast(ElementCount count, workload::DataType from,
                             workload::DataType to) const;

  // Appends the optimizer and returns the program.
  [[nodiscard]] StepProgram finish(std::vector<OperationId> after);
  // Returns the program of a strategy that has appended its own optimizer.
  [[nodiscard]] StepProgram take() { return std::move(program_); }

  // gradient_tensors of the workload.
  [[nodiscard]] const std::vector<workload::ParameterTensor>& tensors() const { return tensors_; }

 private:
  void passes_without_reduction(std::uint32_t passes, std::vector<OperationId> after);
  void backward_with(const GradientsReady* gradients_ready);
  // Appends the launch; returns what the launched operation comes after.
  std::vector<OperationId> launched(const std::string& name, Seconds time,
                                    std::vector<OperationId> after);
  // The time to cast the bucket, in either direction; nullopt where it is not cast.
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
