#include "sim/folded/call_form.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/contract.h"

namespace paceline::sim {
namespace {

// In place of none, which has no logarithm.
constexpr Seconds lead_least{1e-12};

// Of what a time may be off: less is no lead.
constexpr double lead_part = 0.1;

std::vector<std::size_t> differing(const LinkNumbers& least, const LinkNumbers& most) {
  std::vector<std::size_t> numbers;
  for (std::size_t n = 0; n < LinkNumbers::count; ++n) {
    PACELINE_EXPECTS(least.values[n] <= most.values[n]);
    if (least.values[n] != most.values[n]) numbers.push_back(n);
  }
  return numbers;
}

}  // namespace

LinkNumbers LinkNumbers::of(const topology::Cluster& cluster) {
  const auto a_byte = [](BytesPerSecond rate) { return rate.value() > 0 ? 1 / rate.value() : 0; };
  return {{cluster.network.latency.value(), cluster.intra_node.latency.value(),
           a_byte(cluster.network.bandwidth), a_byte(cluster.intra_node.bandwidth)}};
}

void LinkNumbers::give_to(topology::Cluster& cluster) const {
  cluster.network.latency = Seconds(values[0]);
  cluster.intra_node.latency = Seconds(values[1]);
  if (values[2] > 0) cluster.network.bandwidth = BytesPerSecond(1 / values[2]);
  if (values[3] > 0) cluster.intra_node.bandwidth = BytesPerSecond(1 / values[3]);
}

PlainCall plain_call(training::CollectiveCall call) {
  PACELINE_EXPECTS(call.simulated() != nullptr);
  topology::Wire& wire = std::get<training::SimulatedCall>(call.how).wire;
  const Seconds start = std::exchange(wire.start, Seconds(0));
  // A ratio of bandwidths, whose last digits are not the same on all links.
  wire.bytes = std::round(wire.bytes * 1e9) / 1e9;
  return {std::move(call), start};
}

CallForm::CallForm(const CallDomain& domain, training::CollectiveCall call)
    : domain_(domain),
      call_(std::move(call)),
      differing_(differing(domain.least, domain.most)),
      time_(place_of(domain.least), place_of(domain.most)),
      lead_(place_of(domain.least), place_of(domain.most)) {}

CallTime CallForm::at(const LinkNumbers& numbers) {
  if (known_.empty()) find_whether_it_leads();
  const Place place = place_of(numbers);
  const Seconds time(time_.at(place, [this](const Place& one) {
    const CallTime& found = simulated_at(one);
    return LongestPath::Known{found.time.value(), within(found).value()};
  }));
  const Seconds lead(lead_.at(place, [this](const Place& one) {
    const CallTime& found = simulated_at(one);
    return LongestPath::Known{std::max(found.lead, lead_least).value(), within(found).value()};
  }));
  return {time, lead};
}

// One that leads by next to nothing at both ends of all numbers is simulated without a second one.
void CallForm::find_whether_it_leads() {
  const auto is_little = [this](const LinkNumbers& numbers) {
    const CallTime& found = simulated_at(place_of(numbers));
    return found.lead <= within(found) * lead_part;
  };
  leads_ = !(is_little(domain_.least) && is_little(domain_.most));
}

CallForm::Place CallForm::place_of(const LinkNumbers& numbers) const {
  Place place;
  for (const std::size_t n : differing_) place.push_back(numbers.values[n]);
  return place;
}

Seconds CallForm::within(const CallTime& found) const {
  const Seconds compute = domain_.beside * static_cast<double>(call_.size().value());
  return std::max(found.time * part_of_call, compute * part_of_compute);
}

const CallTime& CallForm::simulated_at(const Place& place) {
  const auto found = known_.find(place);
  if (found != known_.end()) return found->second;
  LinkNumbers numbers = domain_.least;
  for (std::size_t d = 0; d < differing_.size(); ++d) numbers.values[differing_[d]] = place[d];
  topology::Cluster cluster = domain_.cluster;
  numbers.give_to(cluster);
  return known_.emplace(place, domain_.simulate(cluster, call_, leads_)).first->second;
}

}  // namespace paceline::sim
