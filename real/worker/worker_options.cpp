#include "real/worker/worker_options.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <variant>

#include "models/units/parse.h"
#include "real/errors.h"
#include "real/launch/rank_identity.h"

namespace paceline::real {
namespace {

Seconds positive_seconds(const std::string& option, const std::string& text) {
  const auto parsed = parse_seconds(text);
  const auto* time = std::get_if<Seconds>(&parsed);
  if (time == nullptr || *time <= Seconds(0)) {
    throw UsageError(option + " \"" + text + "\" is not a time above 0; write 30s");
  }
  return *time;
}

}  // namespace

std::optional<WorkerOptions> parse_worker_options(int argc, const char* const* argv) {
  WorkerOptions options;
  std::string timeout = "30s";
  std::string connect_timeout = process_environment("PACELINE_CONNECT_TIMEOUT").value_or("8s");
  std::uint32_t ranks = 0;
  CLI::App app(
      "One rank of a run on hardware. Rank and world size are torchrun's, Open MPI's or Slurm's "
      "variables; rank 0 reads points as JSON lines (`paceline measure` writes them).",
      "paceline-worker");
  app.add_option("--backend", options.backend, "what to run on; --doctor lists them")
      ->capture_default_str();
  app.add_option("--ranks", ranks, "start so many ranks on this machine")
      ->check(CLI::Range(1U, 4096U));
  app.add_option("--rendezvous", options.rendezvous,
                 "where ranks meet: env://, tcp://host:port or file:///path")
      ->capture_default_str();
  app.add_option("--timeout", timeout, "of every wait for another rank")->capture_default_str();
  app.add_option("--connect-timeout", connect_timeout,
                 "for all ranks to find each other; instead of PACELINE_CONNECT_TIMEOUT")
      ->capture_default_str();
  app.add_option("--told", options.told,
                 "words NAME=VALUE that all ranks are given alike: one that is not is refused");
  app.add_option(
      "--fault", options.fault,
      "tell the other ranks that this one takes no part, and why, and end with status 2");
  app.add_option("--secret-file", options.secret_file,
                 "a secret that all ranks share, to prove it when they meet; instead of "
                 "PACELINE_SECRET_FILE");
  app.add_flag("--doctor", options.doctor, "write the backends as JSON and end");
  app.add_flag("--who", options.who,
               "write rank and world size, if a launcher's variables say so, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (options.told.find('\n') != std::string::npos) {
    throw UsageError("--told has a line break; write words");
  }
  if (ranks > 0) options.ranks = RankCount(ranks);
  options.timeout = positive_seconds("--timeout", timeout);
  options.connect_timeout = positive_seconds("--connect-timeout", connect_timeout);
  return options;
}

}  // namespace paceline::real
