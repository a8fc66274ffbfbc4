#include <array>

#include "models/text/number.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using settings::Key;

std::span<const settings::Form> slowdown_forms() {
  using settings::Form;
  static constexpr std::array forms{
      Form{settings::Number{0.001, 1000}, Form::Of::map, "^[0-9]{1,6}$"}};
  return forms;
}

const std::array ranks_table{
    Key{"slowdown", settings::Structure{"a map", slowdown_forms}, "none",
        "`{3: 1.2}`: rank 3 takes 1.2 times as long to compute; 0.001 to 1000 by rank", "{0: 1.2}"},
    Key{"jitter", settings::Fraction{0, 0.99}, Scenario{}.jitter,
        "each rank is slower or faster by up to that part, seeded"},
    Key{"spread", settings::Fraction{0, 0.5}, settings::automatic,
        "of each rank's compute from step to step, a standard deviation: a step waits for the "
        "slowest of its ranks. auto: with `library: nccl` what measured runs suggest "
        "(scenarios/prepare/overheads.h), else 0"},
};

}  // namespace

std::span<const Key> ranks_keys() { return ranks_table; }

void load_ranks(Section ranks, Scenario& scenario) {
  Reader slowdown = ranks.map().map("slowdown");
  for (const auto& [key, field] : slowdown.entries()) {
    const auto rank = number_of<std::uint32_t>(key);
    if (!rank || *rank >= 1'000'000) {
      field.fail("belongs to no rank", "write slowdown: {3: 1.2}");
    }
    scenario.slowdown[*rank] = field.number(0.001, 1000);
  }
  scenario.jitter = ranks.get<double>("jitter");
  scenario.spread = ranks.find<double>("spread");
  ranks.finish();
}

}  // namespace paceline::loader
