#include "sim/simgrid_settings.h"

#include <xbt/log.h>

#include <simgrid/s4u.hpp>

namespace paceline::sim {

void configure_engine() {
  using simgrid::s4u::Engine;
  xbt_log_control_set("xbt_cfg.thresh:warning");  // do not announce what follows
  Engine::set_config("network/model:CM02");
  Engine::set_config("network/TCP-gamma:0");
  Engine::set_config("network/crosstraffic:0");
  Engine::set_config("surf/precision:1e-12");
  Engine::set_config("maxmin/precision:1e-9");
}

}  // namespace paceline::sim
