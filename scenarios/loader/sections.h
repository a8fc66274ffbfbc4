#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "scenarios/document/section.h"
#include "scenarios/loader/scenario.h"

// The sections of a scenario file: the tables of their keys, and what reads them for
// load_scenario.cpp, a source file each (load_*.cpp). All that read throw InputError.

namespace paceline::loader {

[[nodiscard]] std::span<const Key> workload_keys();
// Of an entry of workload.measured_on, and of single_gpu_throughput.
[[nodiscard]] std::span<const Key> measured_device_keys();
[[nodiscard]] std::span<const Key> measured_batch_keys();
// Of all strategies: a key of one needs it, and is in no other.
[[nodiscard]] std::span<const Key> training_keys();
[[nodiscard]] std::span<const Key> collective_keys();
[[nodiscard]] std::span<const Key> job_keys();
[[nodiscard]] std::span<const Key> ranks_keys();
[[nodiscard]] std::span<const Key> other_jobs_keys();
[[nodiscard]] std::span<const Key> simulation_keys();
[[nodiscard]] std::span<const Key> real_keys();

// What a global batch decides of a step: the samples of each GPU and pass, or, where these are
// given too, the passes. Neither where there is none, or a setting of `workload.batch_per_gpu`
// replaces it. Precondition: the scenario's cluster has its size.
struct Shares {
  std::optional<std::uint32_t> batch, passes;
};
[[nodiscard]] Shares shares_of(Section job, Section& workload, Section& training,
                               Scenario& scenario);

// `workload`, and what it says of `training.wire_type`; a traced one fills `traced`.
void load_workload(Section& workload, const Overrides& overrides,
                   std::optional<std::uint32_t> shared_batch, Scenario& scenario);

// The workload of `workload.trace`, a file of profilers' or of paceline's own traces, relative to
// the folder of its document; and what else stands in a workload that has one.
void load_trace(const Field& trace, Section& workload, Scenario& scenario);

// Refuses a strategy, named by `field`, that reduces gradients which the trace does not contain.
void check_traced_gradients(const Field& field, const Scenario& scenario);
// Keys that would change the program of a strategy that replays.
void check_traced_training(Section& training);
// Precondition: the cluster has its size.
void check_traced_ranks(const Section& workload, Scenario& scenario);

// The network that `model` names, with the options beside it.
[[nodiscard]] std::shared_ptr<const workload::Network> network_of(Section& workload);

struct Precisions {
  workload::Precision compute = workload::Precision::fp32;
  std::optional<workload::DataType> gradient;  // nullopt: as the parameters
};
// `precision: amp`, or `precision: {compute: amp, gradient: fp16}`.
[[nodiscard]] Precisions precisions_of(Section& workload);

// The batch that the key `timed` was timed with, as `key` says it; unless given, `batch_per_gpu`
// as whoever gave `timed` has it.
[[nodiscard]] std::uint32_t timed_batch(const Section& workload, std::string_view timed,
                                        std::string_view key);

// The workload at another batch, before it is scaled to a measurement: a model's layers by the
// device's roofline, listed layers in proportion. Precondition: no trace; training is loaded.
[[nodiscard]] workload::Workload with_batch(std::uint32_t batch, const Scenario& scenario);

// Refuses a device, which the field names, without such arithmetic.
void require_arithmetic(const Field& named, const workload::Device& device,
                        workload::Precision precision);

// Reads samples/s, or tokens/s of a network with a sequence; null: there is none.
[[nodiscard]] SamplesPerSecond throughput_of(const Field& field, const workload::Network* network);

// `single_gpu_throughput` is what was measured on one GPU, as is what `measured_on` has of the
// scenario's device; the modelled times keep their proportions. Without either a model's step takes
// as long as its launches do, where these are longer, and what other devices say
// (models/workload/carried.h). Says how sure compute is. Precondition: the scenario has its
// training.
void find_one_gpu_speed(Section& workload, bool optimizer_modelled, Scenario& scenario);

[[nodiscard]] workload::Checkpoints checkpoints_of(Section& training);

// `training`: the strategy, its settings and those of all. Returns whether the optimizer's time was
// modelled. Precondition: the scenario has its workload and its collectives.
bool load_training(Section& training, Scenario& scenario);

// Refuses what the strategy cannot do. Precondition: everything else is loaded.
void check_strategy(Section& training, const Scenario& scenario);

// `collective`: which library's collectives are predicted, and what of them is fixed.
[[nodiscard]] CollectiveSettings load_collective(Section collective, cost::Library unless_named);

[[nodiscard]] RealSettings load_real(Section real);

// The library that a measurement would use; predictions use it unless the scenario names another.
[[nodiscard]] cost::Library library_of(const RealSettings& real);

[[nodiscard]] RankSettings load_ranks(Section ranks);

[[nodiscard]] OtherJobs load_other_jobs(Section other_jobs);

// Refuses more jobs than fit. Precondition: the cluster has its size.
void check_other_jobs(const Section& other_jobs, const Scenario& scenario);

// The cluster as the scenario's library and strategy use it: what messages wait for and which lanes
// they take, and over TCP what a host's sockets move, which may be less than its wires (then the
// network's efficiency says so). An efficiency or a calibration that is given stays.
struct UsedLinks {
  topology::Cluster cluster;
  std::optional<cost::TcpRate> tcp_rate;  // Scenario::tcp_rate
  bool sums_in_host_memory = false;       // Scenario::sums_in_host_memory
  Assumptions assumptions;
};
// Refuses several nodes without a bandwidth. Precondition: the scenario has its strategy.
[[nodiscard]] UsedLinks used_links(Section& file, const Scenario& scenario);

}  // namespace paceline::loader
