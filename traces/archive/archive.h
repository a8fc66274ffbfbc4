#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace paceline::traces {

struct UnpackedFile {
  // The path, or "standard input"; in an archive, its path there behind a colon:
  // a.tar.gz:run/0.json
  std::string name;
  std::string text;
  std::string file;  // the path as it was given, - too; of an archive the archive's
  std::string cut;   // why there is no more of it, where it is cut off; else empty
};

// Bytes of one file: what a reader of JSON takes. Of what is more than 64 MiB, no more than 500
// times what it is packed in: public traces unpack to up to 38 times theirs.
inline constexpr std::uint64_t unpacked_most = std::uint64_t{4} << 30;
// What can be read only once, a pipe or a device, is held in memory as it comes.
inline constexpr std::uint64_t piped_most = std::uint64_t{1} << 30;
inline constexpr std::uint64_t unpacked_unasked = std::uint64_t{64} << 20;
inline constexpr std::uint64_t unpacked_ratio_most = 500;

// What a file is judged by.
inline constexpr std::size_t first_bytes = std::size_t{1} << 20;

// Calls `take` for each regular file of a path, unpacked: a plain file, one that is compressed
// (gzip, zstd and whatever libarchive reads), each of an archive (tar, compressed or not; zip),
// and those in a folder and the folders in it, by name. What a path is shows its content, not its
// name; "-" is standard input (input.h). Several at a time are never held. Links and devices in
// folders are passed over.
//
// Of a file of more than `first_bytes`, unpacked, these are shown to `is_wanted`; where it says no,
// no more of it is read, and `take` is given what was read.
//
// What is packed and cut off, or damaged, is shown up to there, with the reason: of gzip to the
// last byte, of others without the last block of up to 128 KiB that libarchive unpacks at a time.
//
// Calls `refuse` with the path and a reason for what is missing or unreadable, of which nothing is
// left where it is cut off, or which unpacks to more than the limits; of an archive that is cut
// off, files before have been taken. Throws only what the two throw, and SilentInput (input.h).
void for_each_file(const std::string& path,
                   const std::function<bool(std::string_view first)>& is_wanted,
                   const std::function<void(UnpackedFile)>& take,
                   const std::function<void(std::string path, std::string why)>& refuse);

}  // namespace paceline::traces
