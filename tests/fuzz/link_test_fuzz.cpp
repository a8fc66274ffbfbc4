// What programs measure of links: any bytes are rates above 0, or a FormatError.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "traces/link_test/link_test.h"
#include "traces/text/format_error.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)traces::is_link_test(text);
  try {
    for (const traces::LinkTest& one : traces::read_link_tests(text)) {
      if (std::isfinite(one.rate.value()) && one.rate.value() > 0) continue;
      std::fprintf(stderr, "a rate is none\n");
      std::abort();
    }
  } catch (const traces::FormatError& error) {
    if (*error.what() == '\0' || error.hint().empty()) std::abort();
  }
  return 0;
}
