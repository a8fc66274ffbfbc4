#include "scenarios/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "scenarios/errors.h"
#include "scenarios/files/file_descriptor.h"
#include "scenarios/files/files_in_use.h"
#include "scenarios/files/system_error.h"

namespace paceline::files {
namespace {

// Sizes in messages are whole powers of 1,024.
std::string in_words(std::size_t bytes) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20, gibibyte = std::size_t{1} << 30;
  if (bytes % gibibyte == 0) return std::to_string(bytes / gibibyte) + " GiB";
  return std::to_string(bytes / mebibyte) + " MiB";
}

}  // namespace

std::string read_text(const std::string& path, std::size_t bytes_max) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_system_error(path, "cannot be read", errno);
  constexpr std::size_t block = std::size_t{1} << 18;
  std::string text;
  while (text.size() <= bytes_max) {
    const std::size_t before = text.size();
    text.resize(before + block);
    const ssize_t count = ::read(file.number(), text.data() + before, block);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error(path, "cannot be read", errno);
    const bool is_no_text = before == 0 && text.find('\0') != std::string::npos;
    if (count == 0 || is_no_text) {
      note_input(path);
      return text;
    }
  }
  throw InputError({path, 0, 0}, "is larger than " + in_words(bytes_max), "");
}

void expect_each_once(std::span<const std::string> paths) {
  std::map<std::string, std::string> seen;
  for (const std::string& path : paths) {
    struct stat found {};
    const bool is_there = ::stat(path.c_str(), &found) == 0;
    if (is_there && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) continue;  // a pipe goes on
    // What is not there is shipped, or nothing.
    const std::string identity =
        is_there ? std::to_string(found.st_dev) + "/" + std::to_string(found.st_ino) : path;
    const auto [first, is_new] = seen.try_emplace(identity, path);
    if (is_new) continue;
    const std::string other = first->second == path ? "" : ", as " + first->second + ", too";
    throw InputError({path, 0, 0}, "is given twice" + other, "leave one of them out");
  }
}

void note_input(const std::string& path) { FilesInUse::of_process().add_input(path); }

}  // namespace paceline::files
