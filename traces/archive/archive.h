#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace paceline::traces {

struct UnpackedFile {
  // The path, or "standard input"; in an archive a.tar.gz:run/0.json
  std::string name;
  std::string text;
  std::string file;  // the path as it was given, - too; of an archive the archive's
  std::string cut;   // why there is no more of it, where it is cut off; else empty
};

// Bytes of one file: what a reader of JSON takes. Above 64 MiB no more than 500 times the packed
// size: public traces unpack to up to 38 times theirs.
inline constexpr std::uint64_t unpacked_most = std::uint64_t{4} << 30;
// What can be read only once, a pipe or a device, is held in memory as it comes.
inline constexpr std::uint64_t piped_most = std::uint64_t{1} << 30;
inline constexpr std::uint64_t unpacked_unasked = std::uint64_t{64} << 20;
inline constexpr std::uint64_t unpacked_ratio_most = 500;

inline constexpr std::size_t first_bytes = std::size_t{1} << 20;

// Calls `take` for each regular file of a path, unpacked: a plain file, a compressed one (gzip,
// zstd and whatever libarchive reads), each of an archive (tar, compressed or not; zip), and those
// in a folder and below, by name. The content shows what a path is; "-" is standard input
// (input.h). Files are held one at a time. Links and devices in folders are passed over.
//
// The first `first_bytes` of a larger file are shown to `is_wanted`; where it says no, they are all
// that `take` is given. What is packed and cut off, or damaged, is taken up to there, with the
// reason: gzip to the last byte, others without the last block of up to 128 KiB.
//
// Calls `refuse` with the path and a reason for what is missing or unreadable, of which nothing is
// left where it is cut off, or which exceeds the limits; files of a cut archive before have been
// taken. Throws only what the two throw, and SilentInput (input.h).
void for_each_file(const std::string& path,
                   const std::function<bool(std::string_view first)>& is_wanted,
                   const std::function<void(UnpackedFile)>& take,
                   const std::function<void(std::string path, std::string why)>& refuse);

}  // namespace paceline::traces
