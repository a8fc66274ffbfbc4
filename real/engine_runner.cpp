#include "real/engine_runner.h"

#include <algorithm>
#include <climits>
#include <cstddef>

#include "real/errors.h"

namespace paceline::real {

using training::CollectiveCall;
using training::Fused;
using training::OperationId;

// Bits on the wire, in whole elements.
struct EngineRunner::Exchange {
  std::unique_ptr<Buffer> sent, received;
  std::vector<std::byte> bytes;
};

namespace {

constexpr ElementSize bit_element(4);
constexpr std::size_t plans_kept = 1000;

training::CollectiveCall call_on(const CollectiveCall& like, ElementCount count) {
  CollectiveCall call = like;
  call.count = count;
  return call;
}

}  // namespace

EngineRunner::EngineRunner(const ResolvedPoint& point, Communicator& communicator,
                           PlanRunner& plans, std::pair<Stream, Stream> streams)
    : point_(point),
      communicator_(communicator),
      plans_(plans),
      planner_(job_cluster(point)),
      is_native_(point.measure.value_or(MeasureSettings{}).mode == CollectiveMode::native),
      exchange_stream_(streams.first),
      call_stream_(streams.second),
      exchange_(std::make_unique<Exchange>()) {
  if (lane().rule.is_hierarchical) {
    throw UsageError(
        "an engine's hierarchical all-reduce is predicted, not run; leave out "
        "training.hierarchical_allreduce");
  }
  if (is_native_ && !communicator.has_native(collectives::Collective::all_reduce)) {
    throw UsageError("the backend has no all_reduce of its own; set real.mode: plan");
  }
  std::map<ElementSize, ElementCount> counts;
  for (OperationId id = 0; id < point.program.operations.size(); ++id) {
    const training::Operation& operation = point.program.operations[id];
    if (operation.lane != lane().lane) continue;
    operations_.push_back(id);
    const CollectiveCall& call = *call_of(operation);
    if (call.known() != nullptr) throw UsageError("an engine's calls are carried out, not known");
    counts[call.element_size] += call.count;
  }
  for (const auto& [size, count] : counts) {
    buffers_[size] = communicator.allocate(gradient_type(size), count);
  }
  constexpr std::size_t bits = CHAR_BIT * 4;
  const ElementCount words((operations_.size() + bits - 1) / bits);
  exchange_->sent = communicator.allocate(gradient_type(bit_element), words);
  exchange_->received = communicator.allocate(gradient_type(bit_element), words);
  exchange_->bytes.resize((words * bit_element).value());
}

EngineRunner::~EngineRunner() = default;

std::uint64_t EngineRunner::begin_step() {
  fault_.reset();
  seed_ = std::exchange(next_seed_, std::nullopt);
  return steps_++;
}

// Each rank tells the one 1, then 2, 4.. places behind it what it and all that it heard of have;
// after log2(n) rounds all know it (dissemination: Hensgen, Finkel, Manber, 1988).
std::vector<bool> EngineRunner::agree(const std::vector<bool>& has) {
  auto& [sent, received, bytes] = *exchange_;
  std::ranges::fill(bytes, std::byte{0});
  for (std::size_t i = 0; i < has.size(); ++i) {
    if (has[i]) bytes[i / CHAR_BIT] |= std::byte{1} << (i % CHAR_BIT);
  }
  const std::uint32_t ranks = communicator_.size().value(), rank = communicator_.rank().value();
  const ElementRange whole{ElementCount(0), sent->count()};
  std::vector<std::byte> heard(bytes.size());
  for (std::uint32_t apart = 1; apart < ranks; apart *= 2) {
    sent->write(whole, bytes);
    const Message messages[] = {
        {Message::Kind::receive, Rank((rank + ranks - apart) % ranks), received.get(), whole},
        {Message::Kind::send, Rank((rank + apart) % ranks), sent.get(), whole}};
    finish(communicator_.post(messages, exchange_stream_), exchange_stream_);
    received->read(whole, heard);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] &= heard[i];
  }
  std::vector<bool> all_have(has.size());
  for (std::size_t i = 0; i < has.size(); ++i) {
    all_have[i] = (bytes[i / CHAR_BIT] & (std::byte{1} << (i % CHAR_BIT))) != std::byte{0};
  }
  return all_have;
}

void EngineRunner::finish(const std::vector<EventPtr>& events, Stream stream) {
  if (communicator_.in_order()) return communicator_.finish(stream);
  for (const EventPtr& event : events) event->wait();
}

// Carried out as the longest of the tensors would be.
const collectives::Plan& EngineRunner::plan_of(const Fused& together, const Kind& kind) {
  if (made_.size() >= plans_kept) made_.clear();
  const auto [entry, is_new] = made_.try_emplace(kind);
  if (!is_new) return entry->second;
  const std::size_t longest = *std::ranges::max_element(
      together, {}, [&](std::size_t one) { return lane().tensors[one].count; });
  const auto& like = *call_of(point_.program.operations[operations_[longest]]);
  entry->second = planner_.plan_of(call_on(like, kind.first));
  return entry->second;
}

void EngineRunner::wait(Seconds time) {
  if (time > Seconds(0)) communicator_.compute(steady_now(), time)->wait();
}

void EngineRunner::reduce(const Fused& together) {
  const Kind kind{count_of(lane().tensors, together),
                  lane().tensors[together.front()].element_size};
  const Pattern pattern{collectives::Collective::all_reduce, communicator_.size(), kind.first,
                        Rank(0), seed_.value_or(0) + together.front()};
  Buffer& buffer = *buffers_.at(kind.second);
  if (seed_) real::fill(pattern, communicator_.rank(), buffer);
  wait(copy_in_time(lane().tensors, together));
  if (is_native_) {
    communicator_.native({pattern.collective, &buffer, pattern.count, Rank(0), call_stream_})
        ->wait();
  } else {
    plans_.run(plan_of(together, kind), buffer, call_stream_);
  }
  wait(copy_out_time(lane().tensors, together));
  if (seed_ && !fault_) fault_ = real::find_fault(pattern, communicator_.rank(), buffer);
}

}  // namespace paceline::real
