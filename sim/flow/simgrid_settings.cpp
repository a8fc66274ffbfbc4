#include "sim/flow/simgrid_settings.h"

#include <xbt/log.h>

#include <array>
#include <csignal>

namespace paceline::sim {
namespace {

using simgrid::s4u::Engine;

// An engine catches these, and writes about its actors before it ends: paceline says what a
// simulation ended by, in one line.
constexpr std::array caught{SIGINT, SIGSEGV, SIGABRT, SIGUSR1};

// Signals that come meanwhile wait until it does not.
std::unique_ptr<Engine> make_engine_that_catches_nothing() {
  sigset_t held{}, before{};
  sigemptyset(&held);
  for (const int one : caught) sigaddset(&held, one);
  ::sigprocmask(SIG_BLOCK, &held, &before);
  auto engine = std::make_unique<Engine>("paceline-sim");
  for (const int one : caught) std::signal(one, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return engine;
}

}  // namespace

std::unique_ptr<Engine> make_engine() {
  auto engine = make_engine_that_catches_nothing();
  xbt_log_control_set("xbt_cfg.thresh:warning");  // do not announce what follows
  Engine::set_config("network/model:CM02");
  Engine::set_config("network/TCP-gamma:0");
  Engine::set_config("network/crosstraffic:0");
  Engine::set_config("surf/precision:1e-12");
  Engine::set_config("maxmin/precision:1e-9");
  return engine;
}

}  // namespace paceline::sim
