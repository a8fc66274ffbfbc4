#include "models/training/ddp.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "models/training/strategies.h"
#include "models/units/parse.h"

// PyTorch's DistributedDataParallel, torch/csrc/distributed/c10d/reducer.cpp (2023-24):
// - per parameter, when its gradient is ready, one kernel divides by the world size and copies into
//   the bucket (read and write), or divides in place when the gradient is a view of the bucket;
// - buckets launch strictly in order, each when all its gradients are in and all buckets before it
//   have launched, on one communication stream;
// - after the backward each bucket, in order, is waited for and copied back per parameter (not with
//   views); then the optimizer runs;
// - when gradients accumulate, forward and backward of all passes but the last are in no_sync, or
//   all of the above happens in every pass. Buffers are broadcast before a forward that follows one
//   outside of no_sync: the first of a step (nn/parallel/distributed.py);
// - with comm_hook: powersgd gradients are not divided, and ddp.h says how a bucket is sent;
// - with zero_redundancy_optimizer each rank updates some of the parameters (ddp.h).
namespace paceline::training {
namespace {

using workload::DataType;
using workload::ParameterTensor;
using workload::TimedLayer;

enum class CommHook { none, powersgd };

constexpr auto words_of(CommHook) { return words_up_to<CommHook::powersgd>("none", "powersgd"); }

// nullopt: buckets are all-reduced, or cast for it.
std::optional<PowerSgd> power_sgd_of(const settings::Settings& settings) {
  if (settings.get<CommHook>("comm_hook") == CommHook::none) return std::nullopt;
  return PowerSgd{settings.get<std::uint64_t>("matrix_approximation_rank"),
                  settings.get<double>("min_compression_rate"),
                  settings.get<bool>("use_error_feedback"),
                  settings.find<Seconds>("orthogonalization_time")};
}

constexpr AssumptionKind compressing{
    "{}: PowerSGD of rank {} compresses every step: start_powerSGD_iter is past, and its "
    "state is warm"};
constexpr AssumptionKind thin_products{
    "{}: PowerSGD's products take the time of their memory traffic, or of their arithmetic "
    "at the share of peak that training attains"};
constexpr AssumptionKind no_factorization{
    "{}: PowerSGD makes vectors orthogonal with Gram-Schmidt kernels, where torch uses QR"};

class DdpStep {
 public:
  explicit DdpStep(const StrategyRequest& request)
      : request_(request),
        workload_(request.workload),
        ddp_(ddp_settings(request.settings)),
        hook_(power_sgd_of(request.settings)),
        passes_(ddp_.no_sync ? 1 : request.common.gradient_accumulation),
        common_(ddp_.no_sync ? request.common : with_one_pass(request.common)),
        step_({request.workload, request.cluster, request.settings, common_, request.traced}),
        buckets_(ddp_buckets(step_.tensors(), ddp_)) {}

  BuiltStep build() {
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      forward(pass == 0);
      backward();
    }
    Assumptions assumptions = ddp_assumptions(ddp_);
    if (hook_) assumptions.add(hook_assumptions());
    if (!request_.settings.get<bool>("zero_redundancy_optimizer")) {
      return {step_.finish(reduced_), std::move(assumptions)};
    }
    update_in_parts(step_, request_, request_.settings.get<bool>("parameters_as_bucket_view"),
                    reduced_);
    return {step_.take(), std::move(assumptions)};
  }

 private:
  [[nodiscard]] Assumptions hook_assumptions() const {
    Assumptions assumptions;
    assumptions.add({compressing, "ddp", {std::to_string(hook_->rank)}});
    assumptions.add({thin_products, "ddp"});
    constexpr std::uint64_t by_gram_schmidt = 2;  // at most, of fp32 (_orthogonalize)
    if (!hook_->orthogonalization && hook_->rank > by_gram_schmidt) {
      assumptions.add({no_factorization, "ddp"});
    }
    assumptions.add({unmeasured_strategy, "ddp with comm_hook: powersgd"});
    return assumptions;
  }

  void forward(bool is_first) {
    auto after = ddp_.broadcast_buffers ? broadcast_buffers() : std::vector<OperationId>{};
    after.insert(after.end(), reduced_.begin(), reduced_.end());
    if (is_first) {
      step_.forward(std::move(after));
    } else {
      step_.forward_pass(std::move(after));
    }
    if (!ddp_.looks_for_unused() || ddp_.unused_search_time == Seconds(0)) return;
    step_.compute("search for unused parameters", OperationKind::forward,
                  ddp_.unused_search_time * static_cast<double>(step_.tensors().size()), {});
  }

  // Rank 0's buffers go to all: per type one coalesced broadcast (below the 250 MiB of
  // broadcast_coalesced), then a copy into each buffer. Returns what forward waits for.
  std::vector<OperationId> broadcast_buffers() {
    std::vector<OperationId> broadcasts;
    Seconds copies;
    for (const auto type : {workload::DataType::float32, workload::DataType::int64}) {
      ElementCount count;
      for (const TimedLayer& layer : workload_.layers) {
        for (const workload::BufferTensor& buffer : layer.buffers) {
          if (buffer.type != type) continue;
          count += buffer.count;
          copies += step_.kernel(buffer.count, type, 2);
        }
      }
      if (count == ElementCount(0)) continue;
      broadcasts.push_back(
          step_.call("buffers " + std::string(to_text(type)),
                     {collectives::Collective::broadcast, count, element_size(type)}, reduced_));
    }
    if (broadcasts.empty()) return {};
    return {step_.compute("copy buffers", OperationKind::copy, copies, broadcasts)};
  }

  void backward() {
    const auto& tensors = step_.tensors();
    reduced_.clear();
    LaunchOrder order(buckets_, tensors.size());
    step_.backward([&](const TimedLayer& layer, std::size_t first, OperationId done) {
      const std::size_t count = layer.parameters.size();
      // A hook divides, so that a view has nothing to be done with.
      const bool is_left = hook_ && ddp_.gradient_as_bucket_view;
      const OperationId copied =
          is_left
              ? done
              : step_.copies(layer.name + (ddp_.gradient_as_bucket_view ? " divide" : " to bucket"),
                             std::span(tensors).subspan(first, count), 2, {});
      for (std::size_t i = 0; i < count; ++i) order.gradient_came(first + i);
      while (const auto b = order.next()) reduced_.push_back(reduce(*b, copied));
    });
    if (ddp_.looks_for_unused()) reduced_.push_back(reduce_used_parameters());
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      step_.cast_back(buckets_[b], reduced_[b]);
      if (ddp_.gradient_as_bucket_view) continue;
      std::vector<workload::ParameterTensor> bucket;
      for (const std::size_t i : buckets_[b]) bucket.push_back(tensors[i]);
      step_.copies("bucket " + std::to_string(b) + " copy back", bucket, 2, {reduced_[b]});
    }
  }

  // The operation after which it is reduced.
  OperationId reduce(std::size_t bucket, OperationId ready) {
    const std::string name = "bucket " + std::to_string(bucket);
    if (!hook_) return step_.all_reduce(name, buckets_[bucket], {ready});
    return reduce_compressed(step_, workload_.device, name, buckets_[bucket], *hook_);
  }

  // The map of locally used parameters: one int32 a parameter.
  OperationId reduce_used_parameters() {
    return step_.call(
        "used parameters",
        {collectives::Collective::all_reduce, ElementCount(step_.tensors().size()), ElementSize(4)},
        {});
  }

  const StrategyRequest& request_;
  const workload::Workload& workload_;
  DdpSettings ddp_;
  std::optional<PowerSgd> hook_;
  std::uint32_t passes_;  // that reduce
  CommonSettings common_;
  StepBuilder step_;
  std::vector<Bucket> buckets_;
  std::vector<OperationId> reduced_;  // the calls of the last pass, by bucket
};

BuiltStep build_ddp(const StrategyRequest& request) { return DdpStep(request).build(); }

// Buckets stay from step to step; a gradient that is a view has its bucket's memory.
ModelMemory ddp_memory(const StrategyRequest& request) {
  const bool are_views = request.settings.get<bool>("gradient_as_bucket_view");
  ModelMemory memory =
      are_views ? model_and_wire_copies(request) : model_and_flat_gradients(request);
  if (request.settings.get<bool>("zero_redundancy_optimizer")) {
    memory.optimizer = fullest_states(request);
  }
  if (const auto hook = power_sgd_of(request.settings)) {
    const auto tensors = gradient_tensors(request.workload);
    memory.buckets +=
        compression_memory(tensors, ddp_buckets(tensors, ddp_settings(request.settings)), *hook);
  }
  return memory;
}

constexpr DdpSettings ddp_defaults;

enum class Iteration { steady, first };

constexpr auto words_of(Iteration) { return words_up_to<Iteration::first>("steady", "first"); }

using settings::Flag;
using settings::Key;
using settings::Size;
using settings::Value;

constexpr std::array ddp_keys{
    Key{"bucket_cap", Size{}, Value(ddp_defaults.bucket_cap),
        "bucket_cap_mb: a bucket that has reached it is closed"},
    Key{"first_bucket", Size{}, settings::automatic,
        "the same of the first bucket; auto is 1 MiB, or the cap from torch 2.5 on when a cap is "
        "set"},
    Key{"torch_version", settings::VersionNumber{},
        Value(settings::Version{ddp_defaults.torch_major, ddp_defaults.torch_minor}),
        "before 1.6 buckets are never rebuilt, before 1.12 not even the first iteration differs"},
    Key{"gradient_as_bucket_view", Flag{}, Value(ddp_defaults.gradient_as_bucket_view),
        "gradients are not copied"},
    Key{"find_unused_parameters", Flag{}, Value(ddp_defaults.find_unused_parameters),
        "buckets stay as built first, and a map of what was used is reduced"},
    Key{"static_graph", Flag{}, Value(ddp_defaults.static_graph),
        "unused parameters are not looked for"},
    Key{"broadcast_buffers", Flag{}, Value(ddp_defaults.broadcast_buffers),
        "rank 0's go to all before every forward"},
    Key{"no_sync", Flag{}, Value(ddp_defaults.no_sync),
        "with gradient_accumulation above 1: only the last backward reduces; false: every one "
        "does, "
        "as without no_sync, or with it around the backward alone"},
    Key{"unused_search_time", settings::Time{}, Value(ddp_defaults.unused_search_time),
        "time per parameter to search for unused ones, between forward and backward", "",
        settings::Needs{"find_unused_parameters", {"true"}}},
    Key{"zero_redundancy_optimizer", Flag{}, Value(false),
        "each rank has the optimizer's states of some parameters, updates those, and sends them to "
        "all"},
    Key{"parameters_as_bucket_view", Flag{}, Value(false),
        "with zero_redundancy_optimizer: one broadcast a rank, not one a parameter"},
    Key{"comm_hook", settings::OneOf{settings::texts_of<CommHook>},
        settings::value_of(CommHook::none),
        "powersgd: powerSGD_hook sends low-rank parts of gradients that are matrices, past its "
        "start_powerSGD_iter"},
    Key{"matrix_approximation_rank", settings::Count{1, 1'000}, Value(PowerSgd{}.rank),
        "with comm_hook: powersgd: of those parts"},
    Key{"min_compression_rate", settings::Number{0, 1e9}, Value(PowerSgd{}.min_compression_rate),
        "with comm_hook: powersgd: a matrix is sent whole unless its parts have so many times "
        "fewer elements"},
    Key{"use_error_feedback", Flag{}, Value(PowerSgd{}.uses_error_feedback),
        "with comm_hook: powersgd: what was lost is added to the next step's gradients"},
    Key{"orthogonalization_time", settings::Time{}, settings::automatic,
        "with comm_hook: powersgd: what one part takes to be made orthogonal; auto: Gram-Schmidt, "
        "a kernel at a time"},
    Key{"iteration", settings::OneOf{settings::texts_of<Iteration>},
        settings::value_of(Iteration::steady), "steady is after the buckets were rebuilt"},
};

constexpr AssumptionKind free_search{
    "{}: the search for unused parameters is assumed to take no time"};
constexpr AssumptionKind never_rebuilt{
    "{}: buckets are assumed never to be rebuilt before torch 1.6"};
constexpr AssumptionKind first_bucket_limit{
    "{}: the first bucket's limit is {} (torch {}.{}; from 2.5 on, a bucket_cap that was set "
    "is assumed to limit it too)"};

std::optional<Refusal> refuse_hook(const StrategyRequest& request) {
  const auto& settings = request.settings;
  if (!power_sgd_of(settings)) {
    for (const char* key : {"matrix_approximation_rank", "min_compression_rate",
                            "use_error_feedback", "orthogonalization_time"}) {
      if (!settings.is_given(key)) continue;
      return Refusal{"ignores " + std::string(key) + " without comm_hook: powersgd",
                     "add comm_hook: powersgd, or leave it out"};
    }
    return std::nullopt;
  }
  if (request.common.wire_type) {
    return Refusal{"takes one communication hook, for compression or for another type",
                   "leave out precision.gradient, or comm_hook"};
  }
  if (settings.get<Iteration>("iteration") == Iteration::first) {
    return Refusal{"does not compress in the first iteration", "leave out comm_hook"};
  }
  for (const workload::ParameterTensor& tensor : gradient_tensors(request.workload)) {
    if (tensor.rows) continue;
    return Refusal{"needs the first dimension of " + tensor.name + " to compress gradients",
                   "take workload.model, or give rows: to each of layers:"};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_ddp(const StrategyRequest& request) {
  const auto& settings = request.settings;
  if (auto refusal = refuse_hook(request)) return refusal;
  if (!settings.get<bool>("parameters_as_bucket_view")) return std::nullopt;
  if (settings.get<bool>("zero_redundancy_optimizer")) return std::nullopt;
  return Refusal{"ignores parameters_as_bucket_view without zero_redundancy_optimizer",
                 "add zero_redundancy_optimizer: true, or leave it out"};
}

CollectiveCall broadcast_of(ElementCount count, DataType type, Rank owner) {
  return {collectives::Collective::broadcast, count, element_size(type), owner};
}

}  // namespace

std::vector<Bucket> partition_parameters(std::span<const ParameterTensor> tensors,
                                         RankCount ranks) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return tensors[i].count; });
  std::vector<Bucket> owned(ranks.value());
  std::vector<ElementCount> counts(ranks.value());
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(counts);
    *least += tensors[i].count;
    owned[static_cast<std::size_t>(least - counts.begin())].push_back(i);
  }
  return owned;
}

void update_in_parts(StepBuilder& step, const StrategyRequest& request, bool are_bucket_views,
                     std::vector<OperationId> after) {
  const auto& tensors = step.tensors();
  const auto parts = partition_parameters(tensors, request.cluster.ranks());
  std::uint64_t all = 0, most = 0;
  for (const Bucket& part : parts) {
    const std::uint64_t count = bucket_count(tensors, part).value();
    all += count;
    most = std::max(most, count);
  }
  const double share = all == 0 ? 1 : static_cast<double>(most) / static_cast<double>(all);
  const OperationId updated =
      step.optimizer("optimizer", request.workload.optimizer * share, std::move(after));
  for (std::uint32_t owner = 0; owner < parts.size(); ++owner) {
    std::map<DataType, ElementCount> buckets;
    for (const std::size_t i : parts[owner]) {
      const ParameterTensor& tensor = tensors[i];
      buckets[tensor.type] += tensor.count;
      if (are_bucket_views) continue;
      step.call(tensor.name, broadcast_of(tensor.count, tensor.type, Rank(owner)), {updated});
    }
    if (!are_bucket_views) continue;
    for (const auto& [type, count] : buckets) {
      step.call("parameters of rank " + std::to_string(owner),
                broadcast_of(count, type, Rank(owner)), {updated});
    }
  }
}

Bytes fullest_states(const StrategyRequest& request) {
  const auto tensors = gradient_tensors(request.workload);
  Bytes most;
  for (const Bucket& part : partition_parameters(tensors, request.cluster.ranks())) {
    Bytes states;
    for (const std::size_t i : part) {
      states +=
          optimizer_memory(request.workload.optimizer_states, tensors[i].count, tensors[i].type);
    }
    most = std::max(most, states);
  }
  return most;
}

DdpSettings ddp_settings(const settings::Settings& settings) {
  const auto version = settings.get<settings::Version>("torch_version");
  return {.bucket_cap = settings.get<Bytes>("bucket_cap"),
          .bucket_cap_was_set = settings.is_given("bucket_cap"),
          .first_bucket = settings.find<Bytes>("first_bucket"),
          .torch_major = version.major,
          .torch_minor = version.minor,
          .gradient_as_bucket_view = settings.get<bool>("gradient_as_bucket_view"),
          .find_unused_parameters = settings.get<bool>("find_unused_parameters"),
          .static_graph = settings.get<bool>("static_graph"),
          .broadcast_buffers = settings.get<bool>("broadcast_buffers"),
          .first_iteration = settings.get<Iteration>("iteration") == Iteration::first,
          .no_sync = settings.get<bool>("no_sync"),
          .unused_search_time = settings.get<Seconds>("unused_search_time")};
}

Assumptions ddp_assumptions(const DdpSettings& ddp) {
  Assumptions assumptions;
  if (ddp.looks_for_unused() && ddp.unused_search_time == Seconds(0)) {
    assumptions.add({free_search, "ddp"});
  }
  if (ddp.torch_is_before(1, 6)) assumptions.add({never_rebuilt, "ddp"});
  if (!ddp.first_bucket && (!ddp.first_iteration || ddp.buckets_are_initial())) {
    const bool as_cap = ddp.bucket_cap_was_set && !ddp.torch_is_before(2, 5);
    assumptions.add({first_bucket_limit,
                     "ddp",
                     {as_cap ? "the cap" : to_text(ddp.first_bucket_limit()),
                      std::to_string(ddp.torch_major), std::to_string(ddp.torch_minor)}});
  }
  return assumptions;
}

constexpr TriedKey ddp_tries[]{
    {"bucket_cap", {"1MiB", "5MiB", "10MiB", "25MiB", "50MiB", "100MiB", "200MiB"}},
    {"gradient_as_bucket_view", {"true"}, true},
    {"static_graph", {"true"}, true},
    {"zero_redundancy_optimizer", {"true"}, true}};

constinit const Strategy ddp_strategy{
    .name = "ddp",
    .summary = "PyTorch DistributedDataParallel: buckets, overlapped",
    .framework = "PyTorch",
    .keys = ddp_keys,
    .build = build_ddp,
    .refuse = refuse_ddp,
    .memory = ddp_memory,
    .is_measured = true,
    .hooks = {.is_measured = true},
    .tries = ddp_tries,
};

}  // namespace paceline::training
