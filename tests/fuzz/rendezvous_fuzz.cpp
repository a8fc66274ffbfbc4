// What ranks say when they meet: every text is a greeting, a rendezvous or refused with a
// UsageError; and a greeting that was read and written is read again as the same.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "real/errors.h"
#include "real/launch/greeting.h"
#include "real/launch/rendezvous.h"

namespace {

using namespace paceline::real;

void round_trip(const std::string& text) {
  const auto greeting = parse_greeting(text);
  if (!greeting || greeting->version != control_version) return;
  const std::string once = to_text(*greeting);
  const auto again = parse_greeting(once);
  if (!again || to_text(*again) != once) {
    std::fputs("a greeting changes when it is read and written again\n", stderr);
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  round_trip(text);
  (void)first_host(text);
  try {
    (void)parse_rendezvous(text, [](const std::string&) { return std::nullopt; });
  } catch (const UsageError&) {
    return 0;
  }
  return 0;
}
