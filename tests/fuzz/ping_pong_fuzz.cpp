// Ping-pongs: any bytes are tables or a FormatError; each row of a table has a time that can have
// been measured; and a table is fitted, with a latency and a bandwidth above 0, or refused.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "models/cost/link_fit.h"
#include "traces/ping_pong/ping_pong.h"
#include "traces/text/format_error.h"

namespace {

using paceline::traces::PingPong;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool is_measure(double value) { return std::isfinite(value) && value > 0; }

void check_fit(const PingPong& table) {
  constexpr std::size_t rows_most = 64;  // a fit of more takes time and tells no more
  if (table.rows.size() > rows_most) return;
  std::vector<paceline::cost::LinkSample> samples;
  for (const PingPong::Row& row : table.rows) samples.push_back({row.size, row.time});
  const auto fitted = paceline::cost::fit_link(samples);
  if (const auto* fault = std::get_if<paceline::cost::LinkFault>(&fitted)) {
    return require(!fault->what.empty() && !fault->hint.empty(), "a fault says nothing");
  }
  const auto& estimate = std::get<paceline::cost::LinkFit>(fitted).estimate;
  require(is_measure(estimate.latency.value()), "a latency is none");
  require(is_measure(estimate.bandwidth.value()), "a bandwidth is none");
  for (std::size_t i = 0; i < 2; ++i) {
    const double variance = estimate.covariance[i][i];
    require(std::isfinite(variance) && variance >= 0, "a variance is none");
  }
}

void check(const PingPong& table) {
  require(!table.rows.empty() || !table.skipped.empty(), "a table has neither rows nor skipped");
  for (const PingPong::Row& row : table.rows) {
    require(row.line > 0, "a row has no line");
    require(is_measure(row.time.value()), "a time is none");
  }
  for (const PingPong::Skipped& skipped : table.skipped) {
    require(skipped.line > 0 && !skipped.why.empty(), "a line is skipped without a reason");
  }
  check_fit(table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto tables = paceline::traces::read_ping_pongs(text);
    require(!tables.empty(), "a text is read, and has no table");
    for (const PingPong& table : tables) check(table);
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
