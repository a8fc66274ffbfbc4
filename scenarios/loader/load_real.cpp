#include <array>
#include <string_view>

#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array<std::string_view, 5> real_keys{"backend", "mode", "steps", "warmup",
                                                    "timeout"};

}  // namespace

RealSettings load_real(Reader reader) {
  reader.expect_only(real_keys);
  RealSettings real;
  if (const auto backend = reader.find("backend")) real.backend = backend->text();
  if (const auto mode = reader.find("mode")) real.measure.mode = mode->word<CollectiveMode>();
  if (const auto steps = reader.find("steps")) {
    real.measure.steps = static_cast<std::uint32_t>(steps->count(1, 1'000'000));
  }
  if (const auto warmup = reader.find("warmup")) {
    real.measure.warmup = static_cast<std::uint32_t>(warmup->count(2, 1'000'000));
  }
  if (const auto timeout = reader.find("timeout")) real.timeout = timeout->positive_seconds();
  reader.finish();
  return real;
}

cost::Library library_of(const RealSettings& real) {
  if (real.measure.mode == CollectiveMode::plan || real.backend == "memory") {
    return cost::Library::plan;
  }
  if (real.backend == "gloo") return cost::Library::gloo;
  return real.backend == "mpi" ? cost::Library::mpi : cost::Library::nccl;
}

}  // namespace paceline::loader
