#pragma once

#include <functional>
#include <string>

#include "scenarios/errors.h"

namespace paceline {

// What is odd in the input of a command and yet no error.

// Takes a line, as InputError has it, without its end.
using WarningSink = std::function<void(const std::string& line)>;

// Who hears of them in this process from now on, each line once, one at a time and on any thread;
// nobody before, as in tests and in programs that have no user.
void hear_warnings(WarningSink sink);

// The line reads "file:line:column: what; hint", without what is 0. `hint` may be empty.
void warn(const Location& where, const std::string& what, const std::string& hint);

}  // namespace paceline
