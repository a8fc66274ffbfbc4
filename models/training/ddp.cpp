#include "models/training/ddp.h"

#include <array>
#include <string>
#include <utility>

#include "models/assumption.h"
#include "models/training/step_builder.h"
#include "models/units/parse.h"

namespace paceline::training {
namespace {

// Which bucket each tensor is in, and how many gradients each bucket still waits for.
struct Pending {
  std::vector<std::size_t> bucket_of;
  std::vector<std::size_t> missing;

  Pending(const std::vector<Bucket>& buckets, std::size_t tensors) : bucket_of(tensors) {
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      missing.push_back(buckets[b].size());
      for (const std::size_t tensor : buckets[b]) bucket_of[tensor] = b;
    }
  }
};

// Rank 0's buffers go to all before every forward: per type one coalesced broadcast (below the 250
// MiB of broadcast_coalesced), then a copy into each buffer. Returns what forward waits for.
std::vector<OperationId> broadcast_buffers(StepBuilder& step, const workload::Workload& workload) {
  std::vector<OperationId> broadcasts;
  Seconds copies;
  for (const auto type : {workload::DataType::float32, workload::DataType::int64}) {
    ElementCount count;
    for (const workload::TimedLayer& layer : workload.layers) {
      for (const workload::BufferTensor& buffer : layer.buffers) {
        if (buffer.type != type) continue;
        count += buffer.count;
        copies += kernel_time(workload.device, buffer.count * element_size(type) * 2);
      }
    }
    if (count == ElementCount(0)) continue;
    broadcasts.push_back(step.call(
        "buffers " + std::string(to_text(type)),
        {collectives::Collective::broadcast, count, element_size(type), Rank(0), {}}, {}));
  }
  if (broadcasts.empty()) return {};
  return {step.compute("copy buffers", OperationKind::copy, copies, broadcasts)};
}

BuiltStep build_ddp(const StrategyRequest& request) {
  const DdpSettings ddp = ddp_settings(request.settings);
  StepBuilder step(request);
  const auto& tensors = step.tensors();
  const std::vector<Bucket> buckets = ddp_buckets(tensors, ddp);
  Pending pending(buckets, tensors.size());

  std::vector<OperationId> before_forward;
  if (ddp.broadcast_buffers) before_forward = broadcast_buffers(step, request.workload);
  step.forward(std::move(before_forward));

  std::vector<OperationId> reduced;
  const auto launch_ready_buckets = [&](OperationId ready) {
    while (reduced.size() < buckets.size() && pending.missing[reduced.size()] == 0) {
      const std::size_t b = reduced.size();
      reduced.push_back(step.all_reduce("bucket " + std::to_string(b), buckets[b], {ready}));
    }
  };
  step.backward([&](const workload::TimedLayer& layer, std::size_t first, OperationId) {
    const std::size_t count = layer.parameters.size();
    const OperationId copied =
        step.copies(layer.name + (ddp.gradient_as_bucket_view ? " divide" : " to bucket"),
                    std::span(tensors).subspan(first, count), 2, {});
    for (std::size_t i = 0; i < count; ++i) --pending.missing[pending.bucket_of[first + i]];
    launch_ready_buckets(copied);
  });

  if (ddp.find_unused_parameters && !ddp.static_graph) {
    // The map of locally used parameters: one int32 a parameter.
    reduced.push_back(step.call("used parameters",
                                {collectives::Collective::all_reduce,
                                 ElementCount(tensors.size()),
                                 ElementSize(4),
                                 Rank(0),
                                 {}},
                                {}));
  }
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    step.cast_back(buckets[b], reduced[b]);
    if (ddp.gradient_as_bucket_view) continue;
    std::vector<workload::ParameterTensor> bucket;
    for (const std::size_t i : buckets[b]) bucket.push_back(tensors[i]);
    step.copies("bucket " + std::to_string(b) + " copy back", bucket, 2, {reduced[b]});
  }
  return {step.finish(reduced), ddp_assumptions(ddp)};
}

// Buckets stay from step to step; a gradient that is a view has its bucket's memory.
ModelMemory ddp_memory(const StrategyRequest& request) {
  const bool are_views = request.settings.get<bool>("gradient_as_bucket_view");
  return are_views ? model_and_wire_copies(request) : model_and_flat_gradients(request);
}

constexpr DdpSettings ddp_defaults;

enum class Iteration { steady, first };

constexpr auto words_of(Iteration) {
  using enum Iteration;
  return std::array{Word{steady, "steady"}, Word{first, "first"}};
}

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
    Key{"iteration", settings::OneOf{settings::texts_of<Iteration>},
        settings::value_of(Iteration::steady), "steady is after the buckets were rebuilt"},
};

}  // namespace

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
          .first_iteration = settings.get<Iteration>("iteration") == Iteration::first};
}

namespace {

constexpr AssumptionKind free_search{"{}: the search for unused parameters takes no time"};
constexpr AssumptionKind never_rebuilt{"{}: buckets are never rebuilt before torch 1.6 (assumed)"};
constexpr AssumptionKind first_bucket_limit{
    "{}: the first bucket's limit is {} (torch {}.{}; from 2.5 on, assumed, a cap that was set "
    "holds "
    "for it too)"};

}  // namespace

Assumptions ddp_assumptions(const DdpSettings& ddp) {
  Assumptions assumptions;
  if (ddp.find_unused_parameters && !ddp.static_graph) assumptions.add({free_search, "ddp"});
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

constinit const Strategy ddp_strategy{
    .name = "ddp",
    .summary = "PyTorch DistributedDataParallel: buckets, overlapped",
    .keys = ddp_keys,
    .build = build_ddp,
    .memory = ddp_memory,
};

}  // namespace paceline::training
