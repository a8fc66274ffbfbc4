#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "models/assumption.h"
#include "models/cost/library_choice.h"
#include "models/cost/nccl_call.h"
#include "models/cost/tcp_hosts.h"
#include "models/run/resolved_point.h"
#include "models/topology/cluster.h"
#include "models/training/strategy.h"
#include "models/training/traced_step.h"
#include "models/words.h"
#include "models/workload/workload.h"
#include "scenarios/errors.h"

namespace paceline {

struct CollectiveSettings {
  cost::Library library = cost::Library::nccl;
  // For all-reduces; if none has that name, for those that have it. Empty: the library chooses.
  std::string algorithm;
  collectives::AlgorithmOptions options = {};
  std::optional<std::uint32_t> nccl_minor = std::nullopt;  // 18 of version 2.18
  cost::nccl::Chooser::Fixed nccl = {};
  bool has_nvb = true;  // NCCL uses lanes over a GPU between two: from 2.9 on, unless switched off
  // Where options are given that only some algorithms have: some call must use them. nullopt where
  // the algorithm is an axis.
  std::optional<Location> channels_at = std::nullopt, chunk_size_at = std::nullopt;
};

// How jobs that share a cluster have its nodes.
enum class JobPlacement {
  packed,     // one after the other
  alternate,  // node by node in turn
  random,     // drawn, by the scenario's seed
};

constexpr auto words_of(JobPlacement) {
  return words_up_to<JobPlacement::random>("packed", "alternate", "random");
}

// Other jobs, which do the same on nodes of their own.
struct OtherJobs {
  std::uint32_t count = 0;
  Seconds start;  // after the start of the one asked about
  JobPlacement placement = JobPlacement::packed;
};

struct RealSettings {
  std::string backend = "gloo";  // a name that paceline-worker knows
  MeasureSettings measure;
  Seconds timeout{30.0};  // of every wait of one rank for another
  // A rank at work may be silent for so long, until the system lets it run again.
  static constexpr Seconds timeout_least{0.01};
  static constexpr Seconds timeout_most{1e7};  // four months
};

// How compute and collectives slow each other down (models/cost/contention.h).
struct Contention {
  bool automatic = true;  // as measured runs suggest, where they do (scenarios/prepare/overheads.h)
  bool assumed = false;   // by their channels and memory traffic
  double more = 0;        // than that assumes
  double slowdown = 1;    // of compute; 1: it does not, or what is assumed
  // Of collectives. nullopt: as measured runs suggest (scenarios/prepare/overheads.h).
  std::optional<double> calls = std::nullopt;
};

// How ranks differ.
struct RankSettings {
  std::map<std::uint32_t, double> slowdown = {};  // by rank; others 1
  double jitter = 0;                              // slower or faster by up to this part
  // From step to step, of each rank's compute: the standard deviation as a part of the mean.
  // nullopt: as measured runs suggest (scenarios/prepare/overheads.h).
  std::optional<double> spread = std::nullopt;
};

enum class NetworkKnowledge {
  described,  // figures of its parts, or of machines alike
  measured,   // a log of this network, or rows that were measured on it
};

constexpr auto words_of(NetworkKnowledge) {
  return words_up_to<NetworkKnowledge::measured>("described", "measured");
}
using paceline::to_text;

// A link, named by its section, has no latency.
inline constexpr AssumptionKind no_latency{"{}: no latency is given, so none is modelled"};
// Subject: what joins the GPUs of a node; then a factor.
inline constexpr AssumptionKind class_of_boxes{
    "{}: collective times on machines of this class differ by a factor of {} either way; to "
    "narrow that, run all_reduce_perf on this one (`cluster.calibration`), or set "
    "intra_node.bandwidth and staging_bandwidth"};

// A preset, its devices, the workload's.
inline constexpr AssumptionKind links_of_other_device{
    "{}: taken from {}, whose devices are {}, although the device is {}; for its own links "
    "name another preset, or set cluster.intra_node"};

// Compute is modelled, because nobody measured this network on the device.
inline constexpr AssumptionKind unmeasured_speed{
    "compute: the speed of {} on {} is modelled, not measured ({} to +{} %); to settle it, "
    "measure one GPU and set workload.single_gpu_throughput"};
// The same, where measurements on other devices inform it.
inline constexpr AssumptionKind carried_speed{
    "{}: {} carried over to {}: {} times the modelled step ({} to +{} %); to settle it, "
    "measure one such GPU",
    true};
// The same, where launching kernels takes as long as running them, or longer.
inline constexpr AssumptionKind bound_by_launches{
    "{}: the CPU takes {} to launch a step's kernels and the GPU {} to run them, so smaller "
    "batches and faster GPUs gain little; CPUs differ by a factor of 2.3 either way"};

// The same, where kernels do not hide a strategy's hooks.
inline constexpr AssumptionKind hooks_of_wrapper{
    "{}: hooks of {} take {}, and launching a call {}: {}; for those of your host set "
    "training.host.per_gradient and per_call"};

// How sure compute is: its 90 % interval reaches to ratio times it, and down to ratio^-shorter.
inline constexpr double measured_compute = 1.03, compute_of_other_batch = 1.25;

// One point of a scenario, typed: everything that the file says, with fixed values of its axes.
struct Scenario {
  std::string name;
  workload::Workload workload;                       // timed for its batch, precision and device
  std::shared_ptr<const workload::Network> network;  // whose layers these are; of a model only
  workload::Precision precision = workload::Precision::fp32;  // of its compute
  std::optional<SamplesPerSecond> input_rate = {};  // of a node; nullopt: as much as is trained
  bool one_gpu_is_wrapped = false;  // its measured step has the strategy's copies in it
  double compute_ratio = measured_compute, compute_shorter = 1;
  bool network_is_measured = false;  // the file says that its figures are of this network
  struct GivenHost {                 // by training.host
    bool launches = false, hooks = false, calls = false;
  } host_given;
  // Whether what it does not give is modelled.
  [[nodiscard]] bool models_host() const { return network != nullptr && !traced; }
  [[nodiscard]] bool models_launches() const { return models_host() && !host_given.launches; }
  // What its host does where kernels hide it, and programs have none of it.
  training::HostCosts hidden_host = {};
  // Where the host bounds modelled compute: what launching a step's kernels takes.
  std::optional<Seconds> launches = std::nullopt;
  topology::Cluster cluster;  // sized to the point's GPUs
  cost::TcpHosts tcp_hosts;   // its nodes
  // What a node's NICs move over TCP, where that was looked at; the cluster's efficiency follows
  // from it. nullopt: the wires are taken for what was said.
  std::optional<cost::TcpRate> tcp_rate = std::nullopt;
  // Tensors of steps are on GPUs and the library sums in host memory: unless a reduction_bandwidth
  // is given, resolve() takes that of a class (models/cost/host_sums.h). Not of calls alone.
  bool sums_in_host_memory = false;
  std::optional<training::TracedWork> traced;
  const training::Strategy* strategy = nullptr;  // once it is loaded a row of the registry
  settings::Settings strategy_settings;          // of its keys
  training::CommonSettings training;
  CollectiveSettings collective;
  OtherJobs other_jobs;
  Contention contention;
  RealSettings real;
  RankSettings ranks;
  std::uint64_t seed = 1;
  Fidelity fidelity = Fidelity::folded;
  std::string calibration;          // the path of its file of what logs say; empty: none
  std::string learnt;               // of one of what steps said of the machine; empty: none
  std::set<std::string> set_paths;  // what a sweep or a setting gives, and not the file
  Assumptions assumptions;
};

// Whether calls take what a trace says, so that links, whatever they are, carry nothing.
[[nodiscard]] inline bool is_as_traced(const Scenario& scenario) {
  return scenario.traced && scenario.traced->calls_as_traced;
}

// What a point's figures depend on most, for the head of a report. A text may be empty.
struct PointSetup {
  std::string workload, device;
  std::string_view strategy;
  std::string_view precision, half;             // of compute; what gradients of two bytes are
  std::uint32_t batch_per_gpu = 1, passes = 1;  // samples of a pass; passes of a step
  std::uint32_t gpus_per_node = 1, nics_per_node = 1;
  std::uint64_t sequence = 0;  // tokens of a sample; 0: none
  topology::IntraNodeKind intra_node{};
  topology::Transport transport{};
  bool is_as_traced = false;  // is_as_traced(scenario): its links count for nothing
};
[[nodiscard]] PointSetup setup_of(const Scenario& scenario);

[[nodiscard]] inline training::StrategyRequest strategy_request(const Scenario& scenario) {
  return {scenario.workload, scenario.cluster, scenario.strategy_settings, scenario.training,
          scenario.traced ? &*scenario.traced : nullptr};
}

// A value of a sweep axis, in SI units where it has a unit.
struct AxisValue {
  std::string path;
  std::string text;  // as the file spells it
  std::string unit;  // "1" for plain numbers, "" for words
  std::variant<double, std::string> value;
};

struct MeasuredPoint {
  Location where;
  SamplesPerSecond throughput;
  // Evidence, by which the predictions of all points of the file are conditioned, or to which an
  // input was fitted: shown, never counted as predicted.
  bool known = false;
  // Standard deviation of the measurement over its value; 0: that of measured steps in general.
  double deviation = 0;
  bool is_time = false;  // a step's time was told, and no throughput
};

}  // namespace paceline
