#pragma once

namespace paceline::sim {

// To be called once an engine exists and before it runs.
//
// SimGrid's defaults model TCP on gigabit Ethernet of 2011 (latency x13.01, bandwidth x0.97, a
// window of 4 MiB, 5 % for acknowledgements); none of that is wanted under links whose efficiency
// and framing are given. The precisions are absolute, in seconds and in bytes/s of share.
void configure_engine();

}  // namespace paceline::sim
