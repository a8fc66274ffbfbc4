#include "sim/rate_solver.h"

#include <algorithm>
#include <simgrid/kernel/Timer.hpp>
#include <string>

#include "models/contract.h"
#include "sim/simgrid_settings.h"

namespace paceline::sim {

namespace s4u = simgrid::s4u;

IslandId RateSolver::add(const Island& island) {
  PACELINE_EXPECTS(!engine_);
  const auto [entry, is_new] = numbers_.try_emplace(island, static_cast<IslandId>(islands_.size()));
  if (is_new) {
    islands_.push_back(island);
    known_.emplace_back();
  }
  return entry->second;
}

std::span<const double> RateSolver::rates(IslandId island,
                                          const std::vector<std::uint32_t>& times) {
  const auto known = known_[island].find(times);
  if (known != known_[island].end()) return known->second;
  return known_[island].emplace(times, solve(island, times)).first->second;
}

// A star: each path is a host of its own whose only route are the path's links; all end in a host
// without any.
void RateSolver::build_engine() {
  engine_ = std::make_unique<s4u::Engine>("paceline-sim");
  configure_engine();
  s4u::NetZone* star = s4u::create_star_zone("islands");
  std::uint32_t links_made = 0, hosts_made = 0;
  const auto add_host = [&](const std::vector<s4u::LinkInRoute>& way_out) {
    s4u::Host* host = star->create_host("host" + std::to_string(hosts_made++), 1.0);
    auto* point = host->get_netpoint();
    star->add_route(point, nullptr, nullptr, nullptr, way_out, false);
    star->add_route(nullptr, point, nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, false);
    return host;
  };
  for (const Island& island : islands_) {
    std::vector<s4u::Link*> links;
    for (const BytesPerSecond bandwidth : island.links) {
      links.push_back(star->create_link("link" + std::to_string(links_made++), bandwidth.value()));
    }
    auto& sources = sources_.emplace_back();
    for (const Island::Path& path : island.paths) {
      std::vector<s4u::LinkInRoute> route;
      for (const std::uint32_t link : path.links) route.emplace_back(links[link]);
      sources.push_back(add_host(route));
    }
  }
  sink_ = add_host({});
  star->seal();
}

std::vector<double> RateSolver::solve(IslandId island, const std::vector<std::uint32_t>& times) {
  if (!engine_) build_engine();
  ++solves_;
  // Large enough that no flow ends within the second in which its rate is read off.
  const auto& links = islands_[island].links;
  const double size = std::max(1e13, 2 * std::max_element(links.begin(), links.end())->value());
  std::vector<double> rates(times.size());
  std::vector<std::pair<std::size_t, s4u::CommPtr>> flows;
  for (std::size_t path = 0; path < times.size(); ++path) {
    for (std::uint64_t i = 0; i < times[path] * islands_[island].paths[path].flows; ++i) {
      auto flow = s4u::Comm::sendto_init();
      flow->set_payload_size(static_cast<std::uint64_t>(size));
      flow->set_source(sources_[island][path]);
      flow->set_destination(sink_);  // completes the description, which starts it
      flows.emplace_back(path, std::move(flow));
    }
  }
  simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + 1.0, [&] {
    for (auto& [path, flow] : flows) {
      rates[path] = size - flow->get_remaining();
      PACELINE_EXPECTS(rates[path] > 0 && rates[path] < size);
    }
    for (auto& [path, flow] : flows) flow->cancel();
  });
  engine_->run();
  return rates;
}

}  // namespace paceline::sim
