#include "scenarios/run/library_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace paceline {

using collectives::Collective;
using cost::nccl::Release;
using training::CollectiveCall;

LibraryCalls::LibraryCalls(const Scenario& scenario)
    : scenario_(scenario),
      nccl_minor_(scenario.collective.nccl_minor.value_or(Release::unless_said)) {
  const bool is_nccl = scenario.collective.library == cost::Library::nccl;
  if (is_nccl && scenario.cluster.ranks() > RankCount(1)) {
    auto fixed = scenario.collective.nccl;
    fixed.channels = scenario.collective.options.channels;
    nccl_.emplace(scenario.cluster, Release::nearest(nccl_minor_),
                  scenario.workload.device.compute_capability, fixed);
  }
}

std::string LibraryCalls::name(CollectiveCall& call) {
  const CollectiveSettings& settings = scenario_.collective;
  call.options = settings.options;
  if (call.collective == Collective::all_reduce && !settings.algorithm.empty()) {
    call.algorithm = settings.algorithm;
    return "";
  }
  if (nccl_ && call.collective != Collective::all_to_all) return name_nccl(call);
  auto choice = cost::choose_algorithm(settings.library, call.collective, call.size(),
                                       scenario_.cluster.ranks());
  call.algorithm = std::move(choice.algorithm);
  const bool is_new = std::ranges::find(stand_ins_, choice.assumption) == stand_ins_.end();
  if (!choice.assumption.empty() && is_new) stand_ins_.push_back(std::move(choice.assumption));
  return "";
}

std::string LibraryCalls::name_nccl(CollectiveCall& call) {
  const auto made = nccl_->choose(call.collective, call.size());
  call.algorithm = made.algorithm;
  call.wire = made.wire;
  if (call.options.chunk_size == Bytes(0)) call.options.chunk_size = made.chunk_size;
  const std::string_view protocol = to_text(made.choice.protocol);
  nccl_ways_[call.collective].insert(
      fmt::format("{} {}", to_text(made.choice.algorithm), protocol));
  return std::string(protocol);
}

std::vector<std::string> LibraryCalls::assumptions() const {
  std::vector<std::string> all = stand_ins_;
  if (nccl_ways_.empty()) return all;
  std::string chosen;
  for (const auto& [collective, ways] : nccl_ways_) {
    chosen += fmt::format("{}{} by {}", chosen.empty() ? "" : "; ", to_text(collective),
                          fmt::join(ways, ", "));
  }
  const Release release = nccl_->group().release;
  all.push_back(fmt::format("nccl 2.{}{}: {}", release.minor,
                            scenario_.collective.nccl_minor ? "" : ", assumed", chosen));
  if (nccl_minor_ != release.minor) {
    all.push_back(
        fmt::format("nccl 2.{} is not modelled: 2.{} stands for it", nccl_minor_, release.minor));
  }
  all.emplace_back("nccl: channels as the cluster suggests; no NVLS, no CollNet");
  return all;
}

}  // namespace paceline
