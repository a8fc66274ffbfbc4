// Jobs and catalogues of machines: every text is one, whose amount and prices are finite, or throws
// InputError. Texts with the schema of a catalogue are read as one, others as jobs.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "scenarios/loader/job/catalogue.h"
#include "scenarios/loader/job/job.h"
#include "tests/fuzz/memory_file.h"

namespace paceline {
namespace {

void expect_finite(double value, const char* what) {
  if (std::isfinite(value) && value >= 0) return;
  std::fprintf(stderr, "%s of %g\n", what, value);
  std::abort();
}

void check(const Machine& machine) {
  if (machine.price) expect_finite(machine.price->value(), "a price");
  if (machine.spot) {
    expect_finite(machine.spot->price.value(), "a spot price");
    expect_finite(machine.spot->preemptions_per_s.value_or(0), "preemptions");
  }
}

void read_job(const std::string& path) {
  const PlannedJob job = load_job(path, {});
  expect_finite(job.samples, "samples");
  for (const Machine& machine : job.machines) check(machine);
  const auto& [strategy, cap] = job.strategies.front();
  (void)job.scenario(job.machines.front(), 1,
                     {{"training.strategy", strategy}, {"workload.batch_per_gpu", "4"}});
}

void read_catalogue(std::string_view text) {
  const auto document = loader::parse_document("catalogue", text);
  if (!document->root.is_map()) return;
  loader::Prices currency;
  for (const Machine& machine : loader::read_catalogue(document, currency).machines) {
    check(machine);
  }
}

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const paceline::MemoryFile file("job");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (text.find("schema: paceline.catalogue") != text.npos) {
      paceline::read_catalogue(text);
    } else {
      file.set(text);
      paceline::read_job(file.path());
    }
  } catch (const paceline::InputError&) {  // what bad input gets; anything else is a finding
  }
  return 0;
}
