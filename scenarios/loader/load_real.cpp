#include <array>
#include <string_view>

#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

using settings::Count;
using settings::Key;

constexpr MeasureSettings real_defaults;

constexpr std::array real_table{
    Key{"backend", settings::Text{"the name of a backend"}, "gloo",
        "memory (ranks are threads), gloo, mpi, nccl or cuda-local; `paceline doctor` says which "
        "there are",
        "mpi"},
    Key{"mode", settings::OneOf{settings::texts_of<CollectiveMode>},
        settings::value_of(real_defaults.mode),
        "native: the library's own collectives; plan: the shared plans on messages between ranks"},
    Key{"steps", Count{1, 1'000'000}, real_defaults.steps, "steps that count"},
    Key{"warmup", Count{2, 1'000'000}, real_defaults.warmup,
        "steps before them; at least 2: the first two iterations of DDP differ"},
    Key{"timeout", settings::Time{.above_zero = true, .least = RealSettings::timeout_least},
        RealSettings{}.timeout, "of every wait of one rank for another"},
};

}  // namespace

std::span<const Key> real_keys() { return real_table; }

RealSettings load_real(Section real) {
  RealSettings read;
  if (const auto backend = real.field("backend")) read.backend = backend->text();
  read.measure = {.mode = real.get<CollectiveMode>("mode"),
                  .warmup = real.get<std::uint32_t>("warmup"),
                  .steps = real.get<std::uint32_t>("steps")};
  read.timeout = real.get<Seconds>("timeout");
  real.finish();
  return read;
}

cost::Library library_of(const RealSettings& real) {
  if (real.measure.mode == CollectiveMode::plan || real.backend == "memory") {
    return cost::Library::plan;
  }
  if (real.backend == "gloo") return cost::Library::gloo;
  return real.backend == "mpi" ? cost::Library::mpi : cost::Library::nccl;
}

}  // namespace paceline::loader
