#include "traces/learn/traced_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "traces/learn/seen_steps.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

constexpr AssumptionKind late_host{
    "{}: {} all-reduces ended while the GPU waited for its host; compute is assumed not to "
    "wait for them"};
constexpr AssumptionKind work_of_host{
    "{}: the profile contains no GPU; the time of the host's operations is used instead. If "
    "the run used a GPU, record CUDA activities too"};
constexpr AssumptionKind unaligned_clocks{
    "{}: ranks share no collective; all are assumed to begin at the same time"};
constexpr AssumptionKind largest_shares{
    "{}: where ranks have shares of different sizes, all are assumed to have the largest"};
constexpr AssumptionKind no_common_order{
    "{}: their order differs between ranks, so only collectives are replayed"};
constexpr AssumptionKind even_shares{
    "{}: the trace does not say their sizes; each bucket is divided evenly among the "
    "gradients that came before it"};

using training::LaneKind;
using training::OperationKind;
using Task = DeviceTrace::Task;

constexpr training::LaneId compute_lane = 0, communication_lane = 1;

std::vector<std::vector<const StepProfile*>> steps_on_all(
    std::span<const std::vector<StepProfile>> steps) {
  // By name, of each rank the first of that name.
  std::map<std::string, std::vector<const StepProfile*>> by_name;
  for (std::size_t r = 0; r < steps.size(); ++r) {
    for (const StepProfile& step : steps[r]) {
      auto& ranks = by_name[step.name];
      ranks.resize(steps.size());
      if (step.length && ranks[r] == nullptr) ranks[r] = &step;
    }
  }
  std::vector<std::vector<const StepProfile*>> all;
  for (auto& [name, ranks] : by_name) {
    if (!std::ranges::count(ranks, nullptr)) all.push_back(std::move(ranks));
  }
  return all;
}

Seconds longest(const std::vector<const StepProfile*>& ranks) {
  Seconds most;
  for (const StepProfile* step : ranks) most = std::max(most, *step->length);
  return most;
}

std::vector<const StepProfile*> median_step(std::span<const std::vector<StepProfile>> steps) {
  auto all = steps_on_all(steps);
  if (all.empty()) {
    throw FormatError(
        0, "no step of the traces is on every rank with a known length",
        "record several steps with torch.profiler, calling its step() after each, or with "
        "paceline_recorder.py; of Paceline's own runs keep --trace");
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, middle, {}, longest);
  return *middle;
}

// Sums and differences of times up to this do not overflow.
constexpr TraceTime furthest = 1'000'000'000'000'000'000;  // ns: 32 years

RankStep rank_step(const DeviceTrace& trace, const StepProfile& step) {
  if (step.end > furthest || step.host_start < -furthest || *step.length > seconds_of(furthest) ||
      *step.length < Seconds(0)) {
    throw FormatError(0, step.name + " has times that are too far apart", "record it again");
  }
  RankStep made{&trace, &step, 0, step.end, {}, {}};
  made.begin = step.end - static_cast<TraceTime>(step.length->value() * 1e9 + 0.5);
  const auto is_within = [&](TraceTime host) {
    return host >= step.host_start && host < step.host_end;
  };
  for (const Task& task : trace.tasks) {
    if (task.launched && is_within(*task.launched)) made.launched.push_back(&task);
  }
  std::ranges::sort(made.launched, {}, [](const Task* task) { return *task->launched; });
  for (const auto& gradient : trace.gradients) {
    if (is_within(gradient.ready)) made.items.push_back({gradient.ready, &gradient, nullptr});
  }
  for (const ProfiledCall& call : step.calls) {
    const TracedCollective& traced = trace.collectives[call.collective];
    if (traced.device && traced.device->end > step.end) continue;
    made.items.push_back({traced.called, nullptr, &traced});
  }
  std::ranges::stable_sort(made.items, {}, &RankStep::Item::at);
  return made;
}

bool same_order(const RankStep& a, const RankStep& b) {
  const auto is_call = [](const auto& item) { return item.call != nullptr; };
  return std::ranges::equal(a.items, b.items, {}, is_call, is_call);
}

void drop_gradients(RankStep& rank) {
  std::erase_if(rank.items, [](const RankStep::Item& item) { return item.call == nullptr; });
}

void expect_same_calls(const RankStep& first, const RankStep& other) {
  const auto kinds_of = [](const RankStep& rank) {
    std::vector<std::string_view> kinds;
    for (const auto& item : rank.items) {
      if (item.call != nullptr) kinds.emplace_back(item.call->kind);
    }
    return kinds;
  };
  const auto a = kinds_of(first), b = kinds_of(other);
  if (a == b) return;
  std::string what = fmt::format("{} makes {} collectives on one rank and {} on another",
                                 first.step->name, a.size(), b.size());
  if (a.size() == b.size()) {
    const auto [one, two] = std::ranges::mismatch(a, b);
    what = fmt::format("collective {} of {} is {} on one rank and {} on another", one - a.begin(),
                       first.step->name, *one, *two);
  }
  throw FormatError(0, what, "give the traces of ranks that train the same model, or one of them");
}

// When the last of the tasks is done that the host asked for before a time.
class Done {
 public:
  explicit Done(const RankStep& rank) : rank_(rank) {
    TraceTime done = rank.begin;
    for (const Task* task : rank.launched) done_.push_back(done = std::max(done, task->end));
  }

  [[nodiscard]] TraceTime before(TraceTime asked) const {
    if (done_.empty()) return asked;
    const auto later = std::ranges::lower_bound(rank_.launched, asked, {},
                                                [](const Task* task) { return *task->launched; });
    if (later == rank_.launched.begin()) return rank_.begin;
    return done_[static_cast<std::size_t>(later - rank_.launched.begin()) - 1];
  }

 private:
  const RankStep& rank_;
  std::vector<TraceTime> done_;  // up to each task, in the order of launches
};

class Listing {
 public:
  Listing(const RankStep& rank, std::uint32_t world, TraceTime clock, TraceTime origin)
      : rank_(rank), world_(world), shift_(clock - origin), cursor_(rank.begin), done_(rank) {}

  std::vector<TracedSpan> spans(const std::vector<bool>& waits) && {
    add("late", OperationKind::input, compute_lane, -shift_, rank_.begin);
    for (std::size_t i = 0; i < rank_.items.size(); ++i) {
      const auto& item = rank_.items[i];
      if (item.call != nullptr) {
        add_call(*item.call, waits[i]);
      } else {
        add_gradient(*item.gradient);
      }
    }
    add_rest();
    return std::move(spans_);
  }

 private:
  TracedSpan& add(std::string name, OperationKind kind, training::LaneId lane, TraceTime from,
                  TraceTime to) {
    return spans_.emplace_back(TracedSpan{std::move(name), kind, lane, seconds_of(from + shift_),
                                          seconds_of(to + shift_), Bytes(0), ""});
  }

  TracedSpan& add_compute(const std::string& name, TraceTime until) {
    const TraceTime from = std::exchange(cursor_, std::max(cursor_, until));
    const auto kind = has_gradients_ ? OperationKind::backward : OperationKind::forward;
    return add(name, kind, compute_lane, from, cursor_);
  }

  void add_gradient(const DeviceTrace::Gradient& gradient) {
    const auto& parameters = rank_.trace->parameters;
    const bool is_known = gradient.parameter && *gradient.parameter < parameters.size();
    const TraceTime ready =
        std::min(done_.before(std::max(gradient.copied, gradient.ready)), rank_.end);
    TracedSpan& span =
        add_compute(is_known ? parameters[*gradient.parameter].name : "gradient", ready);
    span.gradients = {is_known ? parameters[*gradient.parameter].count : ElementCount(0)};
    has_gradients_ = true;
  }

  void add_call(const TracedCollective& call, bool compute_waits) {
    const TraceTime ready = ready_at(call);
    add_compute("to " + call.kind, ready);
    const auto device = call.device.value_or(TracedCollective::OnDevice{cursor_, cursor_});
    TracedSpan& span =
        add(call.kind, OperationKind::collective, communication_lane, device.start, device.end);
    span.algorithm = call.algorithm;
    const bool is_of_all = world_ <= 1 || call.group_size == 0 || call.group_size == world_;
    if (is_of_all) span.collective = call.collective;
    if (is_of_all && call.count && call.element_size) {
      span.element_size = *call.element_size;
      span.size = *call.count * *call.element_size;
    }
    last_end_ = std::max(last_end_, device.end);
    span.is_waited_for = compute_waits;
    if (compute_waits) cursor_ = std::max(cursor_, device.end);
  }

  // One right behind another may have been ready before; others waited for gradients or the host.
  TraceTime ready_at(const TracedCollective& call) {
    const TraceTime done = std::min(done_.before(call.called), rank_.end);
    if (!call.device) return done;
    const TraceTime start = call.device->start;
    if (last_end_ < start - right_behind) return start;
    return std::clamp(done, std::min(cursor_, start), start);
  }

  void add_rest() {
    const TraceTime waited = std::max(last_end_, cursor_);
    TraceTime before = cursor_;
    for (const Task* task : rank_.launched) {
      if (task->start < waited) before = std::max(before, std::min(task->end, waited));
    }
    if (rank_.launched.empty()) before = waited;
    add_compute("before the last wait", before);
    cursor_ = waited;
    if (is_forward_only(*rank_.trace)) {
      add_compute("after the last wait", std::max(rank_.end, waited));
      return;
    }
    has_gradients_ = true;
    add_compute("optimizer", std::max(rank_.end, waited)).kind = OperationKind::optimizer;
  }

  const RankStep& rank_;
  std::uint32_t world_;  // of the run; 1 at most: not told
  TraceTime shift_;      // to the step's own time
  TraceTime cursor_;     // up to where compute has been emitted
  Done done_;
  TraceTime last_end_ = std::numeric_limits<TraceTime>::min() / 2;
  bool has_gradients_ = false;
  std::vector<TracedSpan> spans_;
};

// What to add to each rank's times; all begin at once where they share no collective.
std::vector<TraceTime> clocks_of(const std::vector<RankStep>& ranks, const MatchedCalls& matched,
                                 Assumptions& assumptions) {
  std::vector<TraceTime> clocks;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (const auto& clock = matched.clocks[r]) clocks.push_back(*clock);
  }
  if (ranks.size() == 1) return {0};
  const auto is_far = [](TraceTime clock) { return clock > furthest || clock < -furthest; };
  if (std::ranges::any_of(clocks, is_far)) {
    throw FormatError(0, "the ranks' collectives are too far apart", "give traces of one run");
  }
  if (clocks.size() == ranks.size()) return clocks;
  assumptions.add({unaligned_clocks, "clocks"});
  clocks.clear();
  for (const RankStep& rank : ranks) clocks.push_back(-rank.begin);
  return clocks;
}

// The most collectives that a rank had in flight: Gloo runs two, streams one. What follows right
// behind another may overlap it by what clocks are worth.
std::uint32_t most_in_flight(const std::vector<TracedRanks>& ranks) {
  const Seconds hardly = seconds_of(right_behind);
  std::uint32_t most = 1;
  for (const TracedRanks& members : ranks) {
    // Of those that are long enough to be seen.
    std::vector<Seconds> starts, ends;
    for (const TracedSpan& one : members.spans) {
      if (one.kind != OperationKind::collective || one.end <= one.start + hardly) continue;
      starts.push_back(one.start);
      ends.push_back(one.end);
    }
    std::ranges::sort(starts);
    std::ranges::sort(ends);
    std::size_t ended = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      while (ends[ended] <= starts[i] + hardly) ++ended;
      most = std::max(most, static_cast<std::uint32_t>(i + 1 - ended));
    }
  }
  return most;
}

// Ranks of an all-to-all may hold different shares: all are given the largest.
void take_largest_sizes(std::vector<TracedRanks>& classes, Assumptions& assumptions) {
  bool differ = false;
  for (std::size_t id = 0; id < classes.front().spans.size(); ++id) {
    const auto size = [id](const TracedRanks& members) { return members.spans[id].size; };
    const TracedSpan largest = std::ranges::max_element(classes, {}, size)->spans[id];
    for (TracedRanks& members : classes) {
      TracedSpan& span = members.spans[id];
      differ = differ || span.size != largest.size;
      span.size = largest.size;
      span.collective = largest.collective;
      span.element_size = largest.element_size;
      span.name = classes.front().spans[id].name;
    }
  }
  if (differ) {
    assumptions.add({largest_shares, "collectives"});
  }
}

}  // namespace

TracedStep traced_step(std::span<const DeviceTrace> traces,
                       std::span<const std::vector<StepProfile>> steps,
                       const MatchedCalls& matched) {
  TracedStep made;
  std::vector<RankStep> ranks;
  const auto chosen = median_step(steps);
  for (std::size_t r = 0; r < traces.size(); ++r) ranks.push_back(rank_step(traces[r], *chosen[r]));
  made.name = chosen.front()->name;
  for (const RankStep& rank : ranks) expect_same_calls(ranks.front(), rank);
  const auto in_order = [&](const RankStep& rank) { return same_order(ranks.front(), rank); };
  if (!std::ranges::all_of(ranks, in_order)) {
    std::ranges::for_each(ranks, drop_gradients);
    made.assumptions.add({no_common_order, "gradients"});
  }
  const auto clocks = clocks_of(ranks, matched, made.assumptions);
  TraceTime origin = std::numeric_limits<TraceTime>::max();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    origin = std::min(origin, ranks[r].begin + clocks[r]);
  }
  if (std::ranges::any_of(traces, &DeviceTrace::work_is_of_host)) {
    made.assumptions.add({work_of_host, "compute"});
  }
  const Waits waits = waits_for_calls(ranks);
  if (waits.unclear > 0) {
    made.assumptions.add({late_host, "waiting", {std::to_string(waits.unclear)}});
  }
  const bool are_numbered =
      traces.size() > 1 &&
      std::ranges::all_of(traces, [](const auto& t) { return t.rank.has_value(); }) &&
      std::ranges::is_sorted(traces, std::ranges::less_equal{}, &DeviceTrace::rank);
  const auto world = std::max(world_of(traces), static_cast<std::uint32_t>(traces.size()));
  std::vector<TracedRanks> listed;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Rank number = are_numbered ? *traces[r].rank : Rank(r);
    listed.push_back({{number}, Listing(ranks[r], world, clocks[r], origin).spans(waits.of_item)});
  }
  take_largest_sizes(listed, made.assumptions);
  made.trace = inferred_step({{"compute", LaneKind::compute},
                              {"communication", LaneKind::communication, most_in_flight(listed)}},
                             listed);
  return made;
}

void share_among_gradients(TracedStep& step) {
  bool shared = false;
  std::vector<ElementCount*> open;
  for (training::Operation& operation : step.trace.program.operations) {
    for (ElementCount& gradient : operation.gradients) {
      if (gradient == ElementCount(0)) open.push_back(&gradient);
    }
    const auto* call = call_of(operation);
    if (call == nullptr || call->is_untold || open.empty()) continue;
    if (call->collective != collectives::Collective::all_reduce) continue;
    const std::uint64_t count = call->count.value();
    for (std::size_t i = 0; i < open.size(); ++i) {
      *open[i] = ElementCount(count * (i + 1) / open.size() - count * i / open.size());
    }
    open.clear();
    shared = true;
  }
  if (shared) {
    step.assumptions.add({even_shares, "gradients"});
  }
}

}  // namespace paceline::traces
