#include <array>
#include <cstdint>

#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

// All that predict: the last one is measured.
constexpr auto fidelities =
    std::span<const std::string_view>(texts_of<Fidelity>).first<texts_of<Fidelity>.size() - 1>();
static_assert(words_of(Fidelity{}).back().value == Fidelity::measured);

const Scenario simulation_defaults;

const std::array simulation_table{
    Key{"fidelity", OneOf{fidelities}, value_of(simulation_defaults.fidelity),
        "folded: one rank of each symmetry class is simulated; flow: every transfer, on SimGrid"},
    Key{"seed", Count{0, 1ULL << 53}, simulation_defaults.seed, "of all that is drawn"},
};

}  // namespace

std::span<const Key> simulation_keys() { return simulation_table; }

void load_simulation(Section simulation, Scenario& scenario) {
  scenario.fidelity = simulation.get<Fidelity>("fidelity");
  scenario.seed = simulation.get<std::uint64_t>("seed");
  simulation.finish();
}

}  // namespace paceline::loader
