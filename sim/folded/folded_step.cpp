#include "sim/folded/folded_step.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/cost/effort.h"
#include "models/text/number.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "models/units/parse.h"
#include "sim/folded/collective_run.h"
#include "sim/folded/folded_network.h"
#include "sim/folded/step_run.h"

namespace paceline::sim {
namespace {

using training::CollectiveCall;

// Of Rates::effort(), of which each takes about 5 ns: a second where nothing but a refusal is
// left to fall back to, else what following all flows on SimGrid takes (cost::flow_time).
std::uint64_t sharing_effort_max(const ResolvedPoint& point, double transfers) {
  constexpr double a_second = 2e8;
  if (point.force) return std::numeric_limits<std::uint64_t>::max();
  if (transfers > cost::flow_transfers_max) return static_cast<std::uint64_t>(a_second);
  const double flow_s = cost::flow_time(point, {transfers}).value();
  return static_cast<std::uint64_t>(a_second * std::max(1.0, flow_s));
}

// About fifteen seconds, at 0.3 us a transfer that is followed (tests/bench/README.md).
constexpr double work_max = 5e7;

bool is_rooted(const CollectiveCall& call) { return collectives::has_root(call.collective); }

std::vector<StepActor> actors_of(const ResolvedPoint& point, std::size_t job,
                                 const JobActors& actors) {
  std::vector<StepActor> step;
  for (Actor a = 0; a < actors.rank_actors; ++a) {
    const auto& members = actors.members[a];
    step.push_back({members, job == 0 ? slowdown_of(point, members.front()) : 1.0});
  }
  step.resize(actors.members.size(), {{}, 0});
  return step;
}

bool calls_in_turn(const ResolvedPoint& point) {
  std::uint64_t in_flight = 0;
  for (const training::Lane& lane : point.program.lanes) {
    if (lane.kind == training::LaneKind::communication) in_flight += lane.in_flight;
  }
  return in_flight <= 1;
}

// Pairs of sender and receiver of data, and those whose sender waits for a ready notification.
struct SendingPairs {
  std::set<std::pair<Rank, Rank>> data, notified;

  void add(const ResolvedPoint& point, const topology::Fabric& fabric,
           const collectives::Plan& plan) {
    const std::vector<Job> jobs = jobs_of(point);
    const auto place = [&](Rank endpoint) { return place_of(point, jobs.front(), endpoint); };
    for (const collectives::Channel& channel : plan.channels) {
      collectives::for_each_round(channel, [&](const auto& round, const auto* before) {
        collectives::for_each_send(round, plan.endpoints(), [&](Rank from, const auto& send) {
          const std::pair pair(from, send.to);
          data.insert(pair);
          const bool were_peers =
              before == nullptr || collectives::were_peers(before, from, send.to);
          const topology::Path path = fabric.path(place(from), place(send.to));
          if (path.timing.needs_notification(were_peers)) notified.insert(pair);
        });
      });
    }
  }

  // Whether a notification and data go from the same rank to the same rank.
  [[nodiscard]] bool share_a_connection() const {
    return std::ranges::any_of(notified, [&](const auto& pair) {
      return data.contains({pair.second, pair.first});
    });
  }
};

}  // namespace

bool notifications_queue(const ResolvedPoint& point) {
  if (point.cluster.network.receives == topology::Receives::ready) return false;
  const topology::Cluster nodes = job_cluster(point);
  const training::Planner planner(nodes);
  const topology::Fabric fabric(point.cluster);
  const bool in_turn = calls_in_turn(point);
  std::set<CollectiveCall> calls;
  SendingPairs pairs;
  for (const CollectiveCall* call : calls_in(point.program)) {
    if (!calls.insert(*call).second) continue;
    const collectives::Plan plan = planner.plan_of(*call);
    if (in_turn && plan.channels.size() == 1 && plan.channels.front().window == 1) continue;
    if (in_turn) pairs = {};
    pairs.add(point, fabric, plan);
    if (pairs.share_a_connection()) return true;
  }
  return false;
}

namespace {

// The effort of following a call's classes, in transfers: rounds that repeat are skipped.
double work_of(const CallTable& table) {
  constexpr std::uint64_t until_alike = 64;
  double work = 0;
  for (const ChannelTable& channel : table.channels) {
    for (const RoundShape& shape : channel.shapes) {
      for (const PlannedTransfer& transfer : shape.transfers()) {
        const std::uint64_t times = transfer.size.chunks_in(shape.repeats());
        work += static_cast<double>(shape.may_leap() ? std::min(times, until_alike) : times);
      }
    }
  }
  return work;
}

using TakesPart = std::function<bool(const CollectiveCall&)>;

// Unless forced. `work` is work_of() all calls that the step makes.
void refuse_too_much_work(const ResolvedPoint& point, const FoldedCalls& calls, double work) {
  if (work <= work_max || point.force) return;
  std::size_t classes = 0;
  for (const JobActors& actors : calls.actors()) classes += actors.members.size();
  throw NotFolded(std::to_string(point.cluster.ranks().value()) + " ranks fall into " +
                  std::to_string(classes) + " symmetry classes");
}

// The same before calls of many sizes are folded, which takes long: it would be too much if all
// calls that differ in their sizes were as small as the smallest.
void refuse_many_sizes(const ResolvedPoint& point, Chunks chunks, const TakesPart& takes_part) {
  constexpr std::size_t few = 16;
  struct Kind {
    CollectiveCall smallest;
    std::set<ElementCount> sizes = {};
    double calls = 0;
  };
  std::map<CollectiveCall, Kind> kinds;  // by a call without its size
  std::size_t sizes = 0;
  for (const CollectiveCall* call : calls_in(point.program)) {
    if (call->simulated() == nullptr || !takes_part(*call)) continue;
    CollectiveCall of_kind = *call;
    of_kind.count = ElementCount(0);
    Kind& kind = kinds.try_emplace(of_kind, Kind{*call}).first->second;
    if (call->count < kind.smallest.count) kind.smallest = *call;
    if (kind.sizes.insert(call->count).second) ++sizes;
    ++kind.calls;
  }
  if (sizes <= few) return;
  const FoldedCalls calls(point, chunks, [&](const CollectiveCall& call) {
    CollectiveCall of_kind = call;
    of_kind.count = ElementCount(0);
    const auto kind = kinds.find(of_kind);
    return kind != kinds.end() && kind->second.smallest == call;
  });
  double work = 0;
  for (const auto& tables : calls.tables()) {
    for (const auto& [of_kind, kind] : kinds)
      work += work_of(tables.at(kind.smallest)) * kind.calls;
  }
  refuse_too_much_work(point, calls, work);
}

// Skips rounds that repeat exactly.
//
// Rounds of the same shape and size settle into a steady state: after a period of a few rounds
// every flow and every actor is in the same state again. All periods are the same until the next
// timer, shape or size, so the clock is set forward by whole periods.
//
// Where many calls wait while few move, comparing states takes longer than simulating a round. Some
// rounds are not compared then, so that comparing takes at most as long as simulating.
class Regime {
 public:
  // `steps` are all that run on the network; they must outlive this.
  Regime(std::span<const std::unique_ptr<StepRun>> steps, FoldedNetwork& network)
      : steps_(steps), network_(network) {}

  // Skips what repeats earlier states. Call it when all events of a round's begin have happened.
  void look();

 private:
  struct Snapshot {
    Seconds time;
    std::vector<const CollectiveRun*> calls;  // that are in flight
    std::vector<std::uint64_t> rounds;        // posted: by call, channel and part
    std::vector<std::uint64_t> state;         // what must be the same
    std::vector<std::uint64_t> flow_rounds;   // of each flow in flight
    std::vector<std::size_t> flow_channels;   // likewise, counted over all calls
    std::vector<Seconds> left;                // ages of posted rounds, then of each flow

    [[nodiscard]] std::size_t size() const {
      return calls.size() + rounds.size() + state.size() + flow_rounds.size() + left.size();
    }
  };

  // Returns by how many rounds each part of each channel has moved on; empty where states differ.
  [[nodiscard]] static std::vector<std::uint64_t> moved(std::span<CollectiveRun* const> calls,
                                                        const Snapshot& before,
                                                        const Snapshot& now);
  [[nodiscard]] bool has_looked_enough() const;
  [[nodiscard]] Snapshot take(std::span<CollectiveRun* const> calls) const;
  void append_flows(std::span<CollectiveRun* const> calls, Snapshot& snapshot) const;
  bool leap(std::span<CollectiveRun* const> calls, const Snapshot& before, const Snapshot& now);

  std::span<const std::unique_ptr<StepRun>> steps_;
  FoldedNetwork& network_;
  std::deque<Snapshot> recent_;  // the latest ones, newest last
  Snapshot anchor_;              // for longer periods: renewed after 1, 2, 4, ... looks
  std::uint64_t looks_ = 0;
  std::uint64_t looked_at_ = 0;  // sizes of all snapshots
};

// Two snapshots are the same when what is left differs by less than this part of the time between
// them. A leap's error is no more than this part of its time.
constexpr double same_part = 1e-8;

// Rounding of a clock that has come this far.
double rounding(Seconds time) { return 16 * std::numeric_limits<double>::epsilon() * time.value(); }

constexpr std::size_t recent_max = 4;  // periods are mostly of one round

// An event takes 0.3 to 1 us to follow, an entry of a snapshot some nanoseconds to take and to
// compare. Rounds in which all moves, and those of short simulations, always may be looked at.
constexpr std::uint64_t entries_an_event = 16, entries_free = 10'000'000;

bool Regime::has_looked_enough() const {
  return looked_at_ > entries_free + entries_an_event * network_.events_made();
}

Regime::Snapshot Regime::take(std::span<CollectiveRun* const> calls) const {
  Snapshot snapshot{network_.now(), {calls.begin(), calls.end()}, {}, {}, {}, {}, {}};
  for (const CollectiveRun* call : calls) {
    snapshot.state.push_back(call->round_counters());
    call->append_rounds(snapshot.rounds);
    call->append_state(snapshot.state);
    call->append_ages(snapshot.left);
  }
  // Calls that came and went between two snapshots do not come again.
  for (const auto& step : steps_) snapshot.state.push_back(step->calls_begun());
  append_flows(calls, snapshot);
  return snapshot;
}

// In an order of their own: by call, channel, shape, number and round.
void Regime::append_flows(std::span<CollectiveRun* const> calls, Snapshot& snapshot) const {
  struct Place {
    std::size_t call, first_channel;
  };
  std::unordered_map<const CollectiveRun*, Place> places;
  std::size_t channels = 0;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    places.emplace(calls[number], Place{number, channels});
    channels += calls[number]->channels();
  }
  struct PlacedFlow {
    Place place;
    const CollectiveRun::Transfer* transfer;
    FoldedNetwork::FlowState state;

    [[nodiscard]] auto order() const {
      return std::tuple(place.call, transfer->channel, transfer->shape, transfer->number,
                        transfer->round);
    }
  };
  std::vector<FoldedNetwork::FlowState> states;
  network_.append_flows(states);
  std::vector<PlacedFlow> flows;
  for (const FoldedNetwork::FlowState& state : states) {
    const auto* transfer = static_cast<const CollectiveRun::Transfer*>(state.tag);
    flows.push_back({places.at(transfer->run), transfer, state});
  }
  std::ranges::sort(flows, {}, &PlacedFlow::order);
  for (const auto& [place, transfer, state] : flows) {
    for (const std::uint64_t part :
         {std::uint64_t{place.call}, std::uint64_t{transfer->channel},
          std::uint64_t{transfer->shape}, std::uint64_t{transfer->number},
          static_cast<std::uint64_t>(transfer->stage), static_cast<std::uint64_t>(state.phase)}) {
      snapshot.state.push_back(part);
    }
    snapshot.flow_rounds.push_back(transfer->round);
    snapshot.flow_channels.push_back(place.first_channel + transfer->channel);
    snapshot.left.push_back(state.left);
  }
}

std::vector<std::uint64_t> Regime::moved(std::span<CollectiveRun* const> calls,
                                         const Snapshot& before, const Snapshot& now) {
  const Seconds period = now.time - before.time;
  if (before.calls != now.calls || before.state != now.state ||
      before.left.size() != now.left.size() || period <= Seconds(0)) {
    return {};
  }
  const double grain = std::max(same_part * period.value(), rounding(now.time));
  for (std::size_t i = 0; i < now.left.size(); ++i) {
    if (std::abs((now.left[i] - before.left[i]).value()) > grain) return {};
  }
  // In a channel all move by as many rounds, or stand.
  std::vector<std::uint64_t> moved(now.rounds.size());
  std::vector<std::uint64_t> by_channel;
  std::size_t counter = 0;
  for (const CollectiveRun* call : calls) {
    for (std::size_t c = 0; c < call->channels(); ++c) {
      std::uint64_t& of_channel = by_channel.emplace_back();
      for (std::size_t part = 0; part < call->parts(c); ++part, ++counter) {
        moved[counter] = now.rounds[counter] - before.rounds[counter];
        if (moved[counter] == 0) continue;
        if (of_channel != 0 && moved[counter] != of_channel) return {};
        of_channel = moved[counter];
      }
    }
  }
  for (std::size_t i = 0; i < now.flow_rounds.size(); ++i) {
    if (now.flow_rounds[i] - before.flow_rounds[i] != by_channel[now.flow_channels[i]]) return {};
  }
  return moved;
}

bool Regime::leap(std::span<CollectiveRun* const> calls, const Snapshot& before,
                  const Snapshot& now) {
  const auto moved_by = moved(calls, before, now);
  if (moved_by.empty()) return false;
  const Seconds period = now.time - before.time;
  const Seconds next_timer(network_.next_timer());
  std::uint64_t times =
      static_cast<std::uint64_t>(std::min(1e18, (next_timer - now.time) / period));
  // The quotient may be rounded up to a whole number.
  while (times > 0 && now.time + period * static_cast<double>(times) > next_timer) --times;
  std::size_t first = 0;
  for (const CollectiveRun* call : calls) {
    times =
        std::min(times, call->leaps(std::span(moved_by).subspan(first, call->round_counters())));
    first += call->round_counters();
  }
  if (times == 0) return false;
  network_.leap(period * static_cast<double>(times));
  first = 0;
  for (CollectiveRun* call : calls) {
    call->leap(std::span(moved_by).subspan(first, call->round_counters()), times,
               period * static_cast<double>(times));
    first += call->round_counters();
  }
  return true;
}

void Regime::look() {
  if (has_looked_enough()) return;
  std::vector<CollectiveRun*> calls;
  for (const auto& step : steps_) {
    const auto live = step->live_calls();
    calls.insert(calls.end(), live.begin(), live.end());
  }
  Snapshot now = take(calls);
  looked_at_ += now.size();
  bool leapt = false;
  for (auto before = recent_.rbegin(); before != recent_.rend() && !leapt; ++before) {
    leapt = leap(calls, *before, now);
  }
  if (!leapt && looks_ > 0) leapt = leap(calls, anchor_, now);
  if (leapt) {
    recent_.clear();
    looks_ = 0;
    return;
  }
  if (std::has_single_bit(++looks_)) anchor_ = now;
  recent_.push_back(std::move(now));
  if (recent_.size() > recent_max) recent_.pop_front();
}

// A simulation of some of a point's operations, which shares its rates with others.
class FoldedSimulation {
 public:
  using TableOf = std::function<const CallTable&(std::size_t job, const CollectiveCall&)>;

  // Throws NotFolded.
  FoldedSimulation(const ResolvedPoint& point, Chunks chunks, Rates& rates,
                   std::uint64_t sharing_effort, const TakesPart& takes_part)
      : point_(point),
        calls_(point, chunks, takes_part),
        network_(calls_.links(), calls_.paths(), CollectiveRun::arrived, rates, sharing_effort) {}

  [[nodiscard]] const FoldedCalls& calls() const { return calls_; }

  // The first `jobs` jobs; returns the first one's trace. Throws NotFolded, also for too much work.
  StepTrace run(const training::StepProgram& program, std::span<const Job> jobs,
                const TableOf& table_of) {
    double work = 0;
    for (const CollectiveCall* call : calls_in(program)) {
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!table_of(j, *call).together) work += work_of(table_of(j, *call));
      }
    }
    refuse_too_much_work(point_, calls_, work);
    std::vector<std::unique_ptr<StepRun>> steps;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const auto table = [&, j](training::OperationId id) -> const CallTable& {
        return table_of(j, *call_of(program.operations[id]));
      };
      steps.push_back(std::make_unique<StepRun>(program, actors_of(point_, j, calls_.actors()[j]),
                                                network_, table));
      network_.at(jobs[j].start, [step = steps.back().get()] { step->start(); });
    }
    Regime regime(steps, network_);
    try {
      network_.run([&regime] { regime.look(); });
    } catch (const FoldedNetwork::TooMuchSharing& reason) {
      throw NotFolded(reason.what());
    }
    return steps.front()->trace();
  }

 private:
  const ResolvedPoint& point_;
  FoldedCalls calls_;
  FoldedNetwork network_;
};

// A call simulated apart: one job's, all ranks starting together.
struct ApartCall {
  std::unique_ptr<FoldedSimulation> simulation;
  std::vector<CallTable> tables;  // by job; `together` once it has run
  Seconds first_end;

  void run(const CollectiveCall& call) {
    const training::StepProgram program = training::one_call_program(call);
    const std::array<Job, 1> now{Job{{}, Seconds(0)}};
    const StepTrace trace =
        simulation->run(program, now, [&](std::size_t job, const auto& one) -> const CallTable& {
          return simulation->calls().tables()[job].at(one);
        });
    Seconds last;
    first_end = Seconds(std::numeric_limits<double>::infinity());
    for (const RankClass& members : trace.classes) {
      first_end = std::min(first_end, members.intervals.front().end);
      last = std::max(last, members.intervals.front().end);
    }
    for (CallTable& table : tables) table.together = last;
  }
};

// Tables without channels, for the actors of the step that a call is apart from.
std::vector<CallTable> empty_tables(const std::vector<JobActors>& jobs) {
  std::vector<CallTable> tables;
  for (const JobActors& actors : jobs) {
    CallTable& table = tables.emplace_back();
    table.actors = static_cast<Actor>(actors.members.size());
  }
  return tables;
}

// How ranks are taken as more alike than they are.
struct Evened {
  double unevenness = 0;                  // FoldedCalls::unevenness(), of all calls
  SharedPace pace = SharedPace::nowhere;  // where transfers would drift apart that are not alike
  bool calls_meet = false;                // several are in flight

  [[nodiscard]] bool drifts_far() const {
    return pace == SharedPace::core || (calls_meet && pace != SharedPace::nowhere);
  }
};

Evened evened(const ResolvedPoint& point, const FoldedCalls& calls,
              const std::map<CollectiveCall, ApartCall>& apart) {
  Evened all{calls.unevenness(), {}, !one_call_at_a_time(point)};
  if (all.unevenness > 0 || !apart.empty()) all.pace = calls.shared_pace();
  for (const auto& [call, one] : apart) {
    const FoldedCalls& own = one.simulation->calls();
    if (own.unevenness() > 0) all.pace = std::max(all.pace, own.shared_pace());
    all.unevenness = std::max(all.unevenness, own.unevenness());
  }
  return all;
}

void add_notes(const ResolvedPoint& point, const Evened& evened, Result& result) {
  if (evened.pace != SharedPace::nowhere || (evened.calls_meet && evened.unevenness > 0)) {
    result.notes.push_back(
        "folded: transfers that share links are assumed to stay in step; where ranks drift apart "
        "the step may be shorter (by up to " +
        std::string(evened.drifts_far() || evened.calls_meet ? "16" : "2") + " % so far)");
  }
  if (evened.unevenness > 0) {
    result.notes.push_back("folded, " + std::to_string(job_cluster(point).ranks().value()) +
                           " GPUs: the chunks of a round are assumed to be equal; some transfers "
                           "take up to " +
                           text_of(100 * evened.unevenness, 2) + " % longer");
  }
}

void add_counts_and_notes(const ResolvedPoint& point, const FoldedCalls& calls,
                          const std::map<CollectiveCall, ApartCall>& apart, Result& result) {
  std::map<CollectiveCall, std::uint64_t> transfers;
  for (const auto& tables : calls.tables()) {
    for (const auto& [call, table] : tables) transfers[call] += table.transfers();
  }
  for (const auto& [call, one] : apart) {
    const auto& tables = one.simulation->calls().tables();
    transfers[call] = tables.front().at(call).transfers() * tables.size();
    const Seconds spread = *one.tables.front().together - one.first_end;
    if (spread > Seconds(0)) {
      result.notes.push_back("folded: all ranks leave a " + std::string(to_text(call.collective)) +
                             " of " + to_text(call.size()) + " together, " + to_text(spread) +
                             " later than the first could");
    }
  }
  for (const CollectiveCall* call : calls_in(point.program)) {
    result.transfers += transfers.at(*call);
  }
}

}  // namespace

bool one_call_at_a_time(const ResolvedPoint& point) {
  return jobs_of(point).size() == 1 && calls_in_turn(point);
}

Result simulate_folded(const ResolvedPoint& point, Chunks chunks) {
  PACELINE_EXPECTS(!find_fault(point.program));
  if (notifications_queue(point)) {
    throw NotFolded("ready notifications queue behind data to the same rank");
  }
  const bool all_take_part = chunks == Chunks::exact || !one_call_at_a_time(point);
  const auto takes_part = [&](const CollectiveCall& call) {
    return all_take_part || !is_rooted(call) || call.known() != nullptr;
  };
  const double transfers = cost::work_about(point).transfers;
  const std::uint64_t sharing_effort = sharing_effort_max(point, transfers);
  if (!point.force) refuse_many_sizes(point, chunks, takes_part);
  Rates rates;
  FoldedSimulation step(point, chunks, rates, sharing_effort, takes_part);
  std::map<CollectiveCall, ApartCall> apart;
  for (const CollectiveCall* call : calls_in(point.program)) {
    if (step.calls().tables().front().contains(*call)) continue;
    const auto [entry, is_new] = apart.try_emplace(*call);
    if (!is_new) continue;
    entry->second.simulation = std::make_unique<FoldedSimulation>(
        point, chunks, rates, sharing_effort,
        [&](const CollectiveCall& other) { return other == *call; });
    entry->second.tables = empty_tables(step.calls().actors());
  }
  const Evened alike = evened(point, step.calls(), apart);
  if (alike.drifts_far() && transfers <= cost::flow_transfers_max) {
    throw NotFolded("transfers that set the pace share links, and drift apart");
  }
  for (auto& [call, one] : apart) one.run(call);
  Result result;
  result.id = point.id;
  result.trace = step.run(point.program, jobs_of(point),
                          [&](std::size_t job, const CollectiveCall& call) -> const CallTable& {
                            const auto found = apart.find(call);
                            return found != apart.end() ? found->second.tables[job]
                                                        : step.calls().tables()[job].at(call);
                          });
  result.totals = totals_of(result.trace);
  add_counts_and_notes(point, step.calls(), apart, result);
  add_notes(point, alike, result);
  return result;
}

}  // namespace paceline::sim
