#include <array>
#include <string_view>

#include "scenarios/loader/sections.h"

namespace paceline::loader {

void load_simulation(Reader reader, Scenario& scenario) {
  if (const auto fidelity = reader.find("fidelity")) {
    // All that predict.
    constexpr std::array fidelities{to_text(Fidelity::flow), to_text(Fidelity::folded),
                                    to_text(Fidelity::closed)};
    scenario.fidelity = *from_text<Fidelity>(fidelities[fidelity->word(fidelities)]);
  }
  if (const auto seed = reader.find("seed")) scenario.seed = seed->count(0, 1ULL << 53);
  reader.finish();
}

}  // namespace paceline::loader
