#pragma once

#include "traces/chakra/node.h"

namespace paceline::traces::chakra {

// Gives every node the earliest start that its dependencies allow, from 0 on; what durations say is
// all that takes time. Nodes are walked in the order of their ids as far as dependencies allow, so
// that the same file has the same times:
//   - a node waits for the end of its data_deps;
//   - and for that of its ctrl_deps: those are the calls that it is inside of, which converters
//     split into parts before and after it, so that a node may wait for itself. Where no node can
//     go on, the one of the lowest id whose data_deps are done does not wait for its ctrl_deps; nor
//     does any for those that are not in the file;
//   - a node waits for the one before it on its stream, or its thread of the host, in the order of
//     the walk. Files lack many of these; made so, they cannot wait for each other.
// Throws FormatError for data_deps that the file lacks or that wait for each other, naming nodes,
// and for what ends later than a trace can.
void schedule(File& file);

}  // namespace paceline::traces::chakra
