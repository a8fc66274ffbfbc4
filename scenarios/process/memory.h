#pragma once

#include <optional>
#include <string>

#include "models/units/units.h"

namespace paceline {

// This machine's memory, or what cgroups (v1 or v2) leave of it. nullopt: the system does not say.
[[nodiscard]] std::optional<Bytes> memory_of_machine();

// Of that what one program may take: seven eighths.
[[nodiscard]] std::optional<Bytes> memory_to_take();

// Holds this process to that, once at its start, so that it gets std::bad_alloc before the kernel
// ends it. PACELINE_MEMORY, a size, stands in; a lower limit stays. Throws InputError where
// PACELINE_MEMORY is no size.
void hold_memory();

// What this process is held to; nullopt: nothing.
[[nodiscard]] std::optional<Bytes> memory_held();

// "there is not enough memory for this: ..."
[[nodiscard]] std::string out_of_memory_text();

// Restores a child's (0: this process's) limit from before hold_memory(): drivers reserve more.
void release_memory(int process);
// Limits the address space of a child, unless a lower limit holds.
void limit_memory(int process, Bytes most);

}  // namespace paceline
