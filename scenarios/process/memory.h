#pragma once

#include <optional>
#include <string>

#include "models/units/units.h"

namespace paceline {

// What this machine has of memory, or less where a group of processes that this one is in may only
// have less (cgroups, of either version). nullopt where the system does not say.
[[nodiscard]] std::optional<Bytes> memory_of_machine();

// Of that what one program may take: seven eighths.
[[nodiscard]] std::optional<Bytes> memory_to_take();

// Holds this process to that, so that one that needs more is told so
// (std::bad_alloc) in place of being ended, with others perhaps, by the kernel. PACELINE_MEMORY in
// the environment stands in: a size. A lower limit that it has already stays. Once, at the start of
// a process. Throws InputError where PACELINE_MEMORY is no size.
void hold_memory();

// What this process is held to; nullopt: nothing.
[[nodiscard]] std::optional<Bytes> memory_held();

// "there is not enough memory for this: ..."
[[nodiscard]] std::string out_of_memory_text();

// Gives a child, or with 0 this process, the limit that held before hold_memory(): drivers of GPUs
// reserve more than there is.
void release_memory(int process);
// Limits the address space of a child, unless a lower limit holds.
void limit_memory(int process, Bytes most);

}  // namespace paceline
