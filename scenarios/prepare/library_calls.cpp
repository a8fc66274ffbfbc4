#include "scenarios/prepare/library_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "models/collectives/registry.h"
#include "models/training/call_plan.h"
#include "scenarios/errors.h"

namespace paceline {

using collectives::Collective;
using cost::nccl::Release;
using training::CollectiveCall;

LibraryCalls::LibraryCalls(const Scenario& scenario)
    : scenario_(scenario),
      nccl_minor_(scenario.collective.nccl_minor.value_or(Release::unless_said)) {}

const cost::nccl::Chooser* LibraryCalls::chooser_of(training::Group group) {
  if (scenario_.collective.library != cost::Library::nccl) return nullptr;
  const auto known = nccl_.find(group);
  if (known != nccl_.end()) return &known->second;
  const topology::Cluster members = group_cluster(scenario_.cluster, group);
  if (members.ranks() == RankCount(1)) return nullptr;
  auto fixed = scenario_.collective.nccl;
  fixed.chunk_size = scenario_.collective.options.chunk_size;
  return &nccl_
              .try_emplace(group, members, Release::nearest(nccl_minor_),
                           scenario_.workload.device.compute_capability, fixed)
              .first->second;
}

namespace {

constexpr AssumptionKind not_to_be_had{
    "{}: {} is not available for some calls; these use what is available"};

// Whether a scenario that fixes it means such calls.
bool is_for(cost::nccl::Algorithm algorithm, Collective collective) {
  if (algorithm != cost::nccl::Algorithm::pat) return collective == Collective::all_reduce;
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}

constexpr AssumptionKind chosen_by_nccl{"{}: {}"};
constexpr AssumptionKind chosen_by_assumed_nccl{"{}, assumed: {}"};
constexpr AssumptionKind suggested_channels{
    "{}: the cluster's links decide the number of channels; CollNet is not used"};
constexpr AssumptionKind suggested_with_collnet{
    "{}: the cluster's links decide the number of channels; all-reduces can use CollNet, but "
    "not NVLS across nodes"};

using collectives::Traits;

// Of any algorithm that may run the call: another size may have another.
Traits options_of(const CollectiveCall& call, const CollectiveSettings& settings) {
  const training::SimulatedCall* simulated = call.simulated();
  const bool by_nccl = settings.library == cost::Library::nccl;
  const bool nccl_chooses = by_nccl && settings.algorithm.empty() && !settings.nccl.algorithm;
  if (simulated == nullptr || nccl_chooses) return {true, true};
  const auto* row = collectives::find_algorithm(call.collective, simulated->algorithm);
  Traits options = row == nullptr ? Traits{} : row->traits;
  if (by_nccl) options.channels = true;  // it chooses by them
  return options;
}

void expect_used(const Scenario& scenario, const std::optional<Location>& at, const char* key,
                 bool is_used) {
  const std::set<std::string>& set = scenario.set_paths;
  const std::string path = std::string("collective.") + key;
  const bool is_compared = set.contains("training.strategy") ||
                           (!set.contains(path) && (set.contains("collective.algorithm") ||
                                                    set.contains("collective.library")));
  if (!at || is_used || is_compared) return;
  throw InputError(*at, fmt::format("{}: no call here is by an algorithm that has them", path),
                   "leave it out, or name another algorithm");
}

}  // namespace

bool LibraryCalls::is_named(Collective collective) const {
  const std::string& name = scenario_.collective.algorithm;
  const bool is_of_all_reduce =
      collectives::find_algorithm(Collective::all_reduce, name) != nullptr;
  if (is_of_all_reduce) return collective == Collective::all_reduce;
  return collectives::find_algorithm(collective, name) != nullptr;
}

std::string LibraryCalls::plan(CollectiveCall& call) {
  const CollectiveSettings& settings = scenario_.collective;
  if (is_named(call.collective)) {
    plan_by(settings.algorithm, call);
    return "";
  }
  if (cost::nccl::has_algorithms(call.collective)) {
    if (const auto* chooser = chooser_of(call.group)) return plan_nccl(*chooser, call);
  }
  if (scenario_.sums_in_host_memory && settings.library == cost::Library::mpi &&
      call.collective == Collective::all_reduce) {
    plan_by(cost::blocking_mpi_all_reduce(call.size()), call);
    return "";
  }
  const auto choice = cost::choose_algorithm(settings.library, call.collective, call.size(),
                                             group_cluster(scenario_.cluster, call.group).ranks());
  plan_by(choice.algorithm, call);
  if (choice.assumption) stand_ins_.add(*choice.assumption);
  return "";
}

std::vector<cost::nccl::Choice> LibraryCalls::nccl_choices(const CollectiveCall& call) {
  if (is_named(call.collective) || !cost::nccl::has_algorithms(call.collective)) return {};
  const auto* chooser = chooser_of(call.group);
  if (chooser == nullptr) return {};
  return chooser->choices(call.collective, call.size());
}

Release LibraryCalls::nccl_release() const { return Release::nearest(nccl_minor_); }

void LibraryCalls::plan_by(const std::string& algorithm, CollectiveCall& call) const {
  const auto& options = scenario_.collective.options;
  call.range = judged_range;
  if (algorithm == collectives::automatic) {
    call.how = training::AutomaticCall{options};
  } else {
    call.how = training::SimulatedCall{algorithm, options};
  }
  if (training::reduces_in(scenario_.cluster, call) == collectives::Reduces::switches &&
      scenario_.cluster.intra_node.kind != topology::IntraNodeKind::nvswitch) {
    throw InputError({"collective.algorithm"}, "\"" + algorithm + "\" is for nodes on NVSwitch",
                     "name another");
  }
}

std::string LibraryCalls::plan_nccl(const cost::nccl::Chooser& chooser, CollectiveCall& call) {
  const auto made = chooser.choose(call.collective, call.size());
  training::SimulatedCall simulated{std::string(made.algorithm), scenario_.collective.options,
                                    made.wire};
  simulated.options.channels = made.channels;
  if (made.chunk_size > Bytes(0)) simulated.options.chunk_size = made.chunk_size;
  call.how = std::move(simulated);
  call.range = made.range;
  const auto& fixed = scenario_.collective.nccl.algorithm;
  if (fixed && is_for(*fixed, call.collective) && *fixed != made.choice.algorithm) {
    stand_ins_.add({not_to_be_had, "nccl", {std::string(to_text(*fixed))}});
  }
  const std::string_view protocol = to_text(made.choice.protocol);
  nccl_ways_[call.collective].insert(
      fmt::format("{} {}", to_text(made.choice.algorithm), protocol));
  return std::string(protocol);
}

Assumptions LibraryCalls::assumptions() const {
  Assumptions all = stand_ins_;
  if (nccl_ways_.empty()) return all;
  std::string chosen;
  for (const auto& [collective, ways] : nccl_ways_) {
    chosen += fmt::format("{}{} by {}", chosen.empty() ? "" : "; ", to_text(collective),
                          fmt::join(ways, ", "));
  }
  const Release release = nccl_.begin()->second.group().release;
  all.add({scenario_.collective.nccl_minor ? chosen_by_nccl : chosen_by_assumed_nccl,
           fmt::format("nccl 2.{}", release.minor),
           {chosen}});
  if (nccl_minor_ != release.minor) {
    all.add({cost::nccl::unmodelled_release,
             fmt::format("nccl 2.{}", nccl_minor_),
             {fmt::format("2.{}", release.minor)}});
  }
  const bool adds = scenario_.cluster.network.sharp;
  all.add({adds ? suggested_with_collnet : suggested_channels, "nccl"});
  return all;
}

void expect_options_are_used(const Scenario& scenario, const training::StepProgram& program) {
  Traits used;
  bool has_calls = false;
  for (const training::Operation& operation : program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr || call->known() != nullptr) continue;
    has_calls = true;
    const Traits of_call = options_of(*call, scenario.collective);
    used = {used.channels || of_call.channels, used.chunk_size || of_call.chunk_size};
  }
  if (!has_calls || scenario.cluster.ranks() == RankCount(1)) return;
  expect_used(scenario, scenario.collective.channels_at, "channels", used.channels);
  expect_used(scenario, scenario.collective.chunk_size_at, "chunk_size", used.chunk_size);
}

}  // namespace paceline
