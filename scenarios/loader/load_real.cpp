#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "models/contract.h"
#include "scenarios/loader/backend_kind.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr MeasureSettings real_defaults;

constexpr std::array backends = std::to_array<BackendKind>({PACELINE_BACKENDS});
constexpr std::array backend_names = [] {
  std::array<std::string_view, backends.size()> names;
  std::ranges::transform(backends, names.begin(), &BackendKind::name);
  return names;
}();
constexpr settings::Value gloo{std::uint64_t(
    std::ranges::find(backend_names, std::string_view("gloo")) - backend_names.begin())};

constexpr std::array real_table{
    Key{"backend", OneOf{backend_names}, gloo,
        "memory: ranks are threads; `paceline doctor` says which there are"},
    Key{"mode", OneOf{texts_of<CollectiveMode>}, value_of(real_defaults.mode),
        "native: the library's own collectives; plan: the shared plans on messages between ranks"},
    Key{"steps", Count{1, 1'000'000}, real_defaults.steps, "steps that count"},
    Key{"warmup", Count{2, 1'000'000}, real_defaults.warmup,
        "steps before them; at least 2: the first two iterations of DDP differ"},
    Key{"timeout", Time{.above_zero = true, .least = RealSettings::timeout_least},
        RealSettings{}.timeout, "limit of every wait of one rank for another"},
};

}  // namespace

std::span<const Key> real_keys() { return real_table; }

RealSettings load_real(Section real) {
  RealSettings read;
  read.backend = real.get<std::string_view>("backend");
  read.measure = {.mode = real.get<CollectiveMode>("mode"),
                  .warmup = real.get<std::uint32_t>("warmup"),
                  .steps = real.get<std::uint32_t>("steps")};
  read.timeout = real.get<Seconds>("timeout");
  real.finish();
  return read;
}

cost::Library library_of(const RealSettings& real) {
  if (real.measure.mode == CollectiveMode::plan) return cost::Library::plan;
  return backend_kind(real.backend).calls;
}

std::span<const BackendKind> backend_kinds() { return backends; }

const BackendKind& backend_kind(std::string_view name) {
  const auto found = std::ranges::find(backends, name, &BackendKind::name);
  PACELINE_EXPECTS(found != backends.end());
  return *found;
}

}  // namespace paceline::loader
