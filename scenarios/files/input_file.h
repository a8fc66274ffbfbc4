#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "traces/archive/archive.h"

namespace paceline::files {

// The limit of files that are read whole; no user's log or result is larger.
inline constexpr std::size_t text_bytes_max = std::size_t{1} << 30;

// The text of a file, a pipe or, for "-", standard input. Stops beyond `bytes_max`, and after a
// first block with a zero byte, which no text has: callers refuse it. Throws InputError for what
// cannot be read, is a folder, larger, or an output of this command; BackendError when the machine
// fails or a pipe stays silent (traces/archive/input.h).
[[nodiscard]] std::string read_text(const std::string& path,
                                    std::size_t bytes_max = text_bytes_max);

// From now on, once per process: told the name of what is read, of archives and folders file by
// file, and "" where reading ends.
void hear_reading(std::function<void(const std::string&)> hear);

// Files, archives and folders, as traces::for_each_file takes them, each noted. Throws InputError
// for an output of this command; BackendError for a silent pipe; what the functions throw.
void for_each_input(const std::string& path,
                    const std::function<bool(std::string_view first)>& is_wanted,
                    const std::function<void(traces::UnpackedFile)>& take,
                    const std::function<void(std::string path, std::string why)>& refuse);

// Notes a file that other code reads, so that no output overwrites it. Ignores folders and missing
// files. Throws InputError where it is an output of this command.
void note_input(const std::string& path);

// Throws InputError where a file is given twice, also by another name: it would count twice.
void expect_each_once(std::span<const std::string> paths);

}  // namespace paceline::files
