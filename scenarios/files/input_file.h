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

// A file's text, of a pipe's as well; "-" is standard input. Reads no more than tells that there is
// more than `bytes_max`, and no more than a first block where that has a zero byte, which no text
// has: callers refuse it. Throws InputError when it cannot be read, is a folder, is larger, or is
// an output of this command; BackendError when the machine fails, or a pipe sends nothing for as
// long as traces/archive/input.h says.
[[nodiscard]] std::string read_text(const std::string& path,
                                    std::size_t bytes_max = text_bytes_max);

// Files, archives and folders, as traces::for_each_file takes them, each noted. Throws InputError
// where one is an output of this command; BackendError of a pipe that sends nothing; what the
// functions throw.
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
