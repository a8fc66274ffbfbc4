#pragma once

#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Over TCP nodes move what their library's sockets do (models/cost/tcp_hosts.h), where that may be
// less than the wires: the network's efficiency becomes that, `tcp_rate` its interval, and the
// scenario's assumptions say it. Not where the efficiency or a calibration is given, nor of plans
// of Paceline's own, nor where nothing crosses to another host. Where the wires are less,
// `tcp_rate` is theirs.
void limit_by_sockets(bool has_efficiency, Scenario& scenario);

}  // namespace paceline::loader
