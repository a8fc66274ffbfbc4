#include <charconv>

#include "scenarios/loader/sections.h"

namespace paceline::loader {

void load_ranks(Reader reader, Scenario& scenario) {
  Reader slowdown = reader.map("slowdown");
  for (const auto& [key, field] : slowdown.entries()) {
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
    if (error != std::errc{} || end != key.data() + key.size() || rank >= 1'000'000) {
      field.fail("belongs to no rank", "write slowdown: {3: 1.2}");
    }
    scenario.slowdown[rank] = field.number(0.001, 1000);
  }
  if (const auto jitter = reader.find("jitter")) scenario.jitter = jitter->fraction(0.99);
  reader.finish();
}

}  // namespace paceline::loader
