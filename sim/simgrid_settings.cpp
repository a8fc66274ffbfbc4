#include "sim/simgrid_settings.h"

#include <xbt/log.h>

#include <csignal>
#include <simgrid/s4u.hpp>

namespace paceline::sim {

void configure_engine() {
  using simgrid::s4u::Engine;
  xbt_log_control_set("xbt_cfg.thresh:warning");  // do not announce what follows
  // An engine catches these, and writes about its actors before it ends: paceline says what a
  // simulation ended by, in one line.
  for (const int one : {SIGINT, SIGSEGV, SIGABRT, SIGUSR1}) std::signal(one, SIG_DFL);
  Engine::set_config("network/model:CM02");
  Engine::set_config("network/TCP-gamma:0");
  Engine::set_config("network/crosstraffic:0");
  Engine::set_config("surf/precision:1e-12");
  Engine::set_config("maxmin/precision:1e-9");
}

}  // namespace paceline::sim
