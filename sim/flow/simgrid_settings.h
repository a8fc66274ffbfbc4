#pragma once

#include <memory>
#include <simgrid/s4u.hpp>

namespace paceline::sim {

// The engine of this process, one at most, ready for a platform.
//
// SimGrid's defaults model TCP on gigabit Ethernet of 2011 (latency x13.01, bandwidth x0.97, a
// window of 4 MiB, 5 % for acknowledgements); none of that is wanted under links whose efficiency
// and framing are given. The precisions are absolute, in seconds and in bytes/s of share.
[[nodiscard]] std::unique_ptr<simgrid::s4u::Engine> make_engine();

}  // namespace paceline::sim
