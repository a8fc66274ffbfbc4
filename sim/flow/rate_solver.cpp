#include "sim/flow/rate_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <simgrid/kernel/Timer.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/contract.h"
#include "sim/flow/simgrid_settings.h"

namespace paceline::sim {

namespace s4u = simgrid::s4u;

void RateSolver::added(const sim::Island& island) {
  PACELINE_EXPECTS(!engine_);
  islands_.push_back({island, {}, {}});
}

// What was looked at is a set of flows of its own.
void RateSolver::check(sim::IslandId number, std::span<const std::uint64_t> flows,
                       const std::vector<std::uint32_t>& looked_at,
                       const std::vector<double>& rates) {
  if (solves_ >= solves_max_ || looked_at.empty()) return;
  KnownIsland& known = islands_[number];
  Flows together(flows.size());
  for (const std::uint32_t way : looked_at) together[way] = flows[way];
  if (!known.checked.insert(together).second) return;
  constexpr double rounding = 1e-6;
  const std::vector<double> solved = solve(known, together);
  for (const std::uint32_t way : looked_at) {
    if (std::abs(rates[way] - solved[way]) > rounding * solved[way]) {
      throw std::logic_error(
          fmt::format("a flow has {} B/s, and {} B/s by SimGrid", rates[way], solved[way]));
    }
  }
}

// A star: each way is a host of its own whose only route are the way's links; all end in a host
// without any.
void RateSolver::build_engine() {
  engine_ = make_engine();
  s4u::NetZone* star = s4u::create_star_zone("islands");
  std::uint32_t links_made = 0, hosts_made = 0;
  const auto add_host = [&](const std::vector<s4u::LinkInRoute>& way_out) {
    s4u::Host* host = star->create_host("host" + std::to_string(hosts_made++), 1.0);
    auto* point = host->get_netpoint();
    star->add_route(point, nullptr, nullptr, nullptr, way_out, false);
    star->add_route(nullptr, point, nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, false);
    return host;
  };
  for (KnownIsland& known : islands_) {
    std::vector<s4u::Link*> links;
    for (const BytesPerSecond bandwidth : known.island.links) {
      links.push_back(star->create_link("link" + std::to_string(links_made++), bandwidth.value()));
    }
    for (const sim::Island::Way& way : known.island.ways) {
      std::vector<s4u::LinkInRoute> route;
      for (const std::uint32_t link : way) route.emplace_back(links[link]);
      known.sources.push_back(add_host(route));
    }
  }
  sink_ = add_host({});
  star->seal();
}

std::vector<double> RateSolver::solve(const KnownIsland& known, const Flows& flows) {
  if (!engine_) build_engine();
  ++solves_;
  // Large enough that no flow ends within the second in which its rate is read off.
  const auto& links = known.island.links;
  const double size = std::max(1e13, 2 * std::max_element(links.begin(), links.end())->value());
  std::vector<double> rates(flows.size());
  std::vector<std::pair<std::size_t, s4u::CommPtr>> started;
  for (std::size_t way = 0; way < flows.size(); ++way) {
    for (std::uint64_t i = 0; i < flows[way]; ++i) {
      auto flow = s4u::Comm::sendto_init();
      flow->set_payload_size(static_cast<std::uint64_t>(size));
      flow->set_source(known.sources[way]);
      flow->set_destination(sink_);  // completes the description, which starts it
      started.emplace_back(way, std::move(flow));
    }
  }
  simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + 1.0, [&] {
    for (auto& [way, flow] : started) {
      rates[way] = size - flow->get_remaining();
      PACELINE_EXPECTS(rates[way] > 0 && rates[way] < size);
    }
    for (auto& [way, flow] : started) flow->cancel();
  });
  engine_->run();
  return rates;
}

Result simulate_folded(const ResolvedPoint& point, sim::Chunks chunks) {
  RateSolver rates;
  Result result = sim::simulate_folded(point, chunks, rates);
  result.simgrid_solves = rates.solves();
  return result;
}

}  // namespace paceline::sim
