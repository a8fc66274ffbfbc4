#include "tests/testbed/testbed_options.h"

#include <charconv>
#include <variant>

#include "models/units/parse.h"
#include "tests/testbed/host_entry.h"

namespace paceline::testbed {
namespace {

// Below, IPv4 need not work (RFC 791 asks for 576); above, TUN devices refuse it.
constexpr std::uint32_t mtu_least = 576, mtu_most = 65000;
constexpr std::uint32_t mtu_usual = 9000;       // jumbo frames, as training clusters have
constexpr Seconds limit_usual = Seconds(3600);  // a forgotten testbed ends within the hour
constexpr Seconds latency_most = Seconds(10);   // more is a slip of the unit
constexpr BytesPerSecond rate_least(12.5e3);    // 100 kbps: a packet of 9000 takes 0.7 s
constexpr BytesPerSecond rate_most(12.5e9);     // 100 Gbps: no limit for user space

template <class T>
T quantity(const std::string& option, const std::string& text, Parsed<T> parsed) {
  if (const auto* error = std::get_if<UnitError>(&parsed)) {
    throw UsageError(option + ": " + text + " " + error->what + "; " + error->hint);
  }
  return std::get<T>(parsed);
}

void check(const RunOptions& options) {
  if (options.hosts == 0) throw UsageError("--hosts is missing");
  const LinkOptions& link = options.link;
  if (link.rate.value() == 0) throw UsageError("--rate is missing");
  if (link.rate < rate_least || link.rate > rate_most) {
    throw UsageError("--rate: must be between 100kbps and 100Gbps");
  }
  if (link.latency > latency_most) throw UsageError("--latency: must be at most 10s");
  if (options.inside && *options.inside >= options.hosts) {
    throw UsageError("--inside: there are hosts 0 to " + std::to_string(options.hosts - 1));
  }
  if (options.command.empty()) throw UsageError("COMMAND is missing");
}

}  // namespace

const char* usage() {
  return "usage: paceline-testbed --hosts N --rate RATE [--latency TIME] [--mtu BYTES]\n"
         "           [--inside HOST] [--limit TIME] [--stats FILE] -- COMMAND ARGS...\n"
         "       paceline-testbed --enter PID HOST -- COMMAND ARGS...\n"
         "       paceline-testbed --rsh-agent HOST COMMAND...   (PID: $PACELINE_TESTBED_PID)\n"
         "       paceline-testbed --link-down PID HOST | --link-up PID HOST\n";
}

std::uint32_t parse_count(const std::string& what, const std::string& text, std::uint32_t least,
                          std::uint32_t most) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) {
    throw UsageError(what + ": " + text + " is no whole number from " + std::to_string(least) +
                     " to " + std::to_string(most));
  }
  return value;
}

RunOptions parse_run_options(const std::vector<std::string>& arguments) {
  RunOptions options;
  options.link.mtu = mtu_usual;
  options.limit = limit_usual;
  std::size_t i = 0;
  for (; i < arguments.size() && arguments[i].rfind("--", 0) == 0; i += 2) {
    const std::string& option = arguments[i];
    if (option == "--") break;
    if (i + 1 == arguments.size()) throw UsageError(option + ": its value is missing");
    const std::string& text = arguments[i + 1];
    if (option == "--hosts") {
      options.hosts = parse_count(option, text, 1, hosts_most);
    } else if (option == "--rate") {
      options.link.rate = quantity(option, text, parse_bandwidth(text));
    } else if (option == "--latency") {
      options.link.latency = quantity(option, text, parse_seconds(text));
    } else if (option == "--mtu") {
      options.link.mtu = parse_count(option, text, mtu_least, mtu_most);
    } else if (option == "--inside") {
      options.inside = parse_count(option, text, 0, hosts_most - 1);
    } else if (option == "--limit") {
      options.limit = quantity(option, text, parse_seconds(text));
    } else if (option == "--stats") {
      options.stats_file = text;
    } else {
      throw UsageError(option + " is no option");
    }
  }
  if (i < arguments.size() && arguments[i] == "--") ++i;
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  check(options);
  return options;
}

}  // namespace paceline::testbed
