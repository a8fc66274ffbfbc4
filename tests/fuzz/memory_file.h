#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace paceline {

// A file without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : file_(::memfd_create(name, 0)) {
    if (file_ < 0) throw std::runtime_error("no file in memory");
  }
  void set(std::string_view text) const {
    if (::ftruncate(file_, 0) != 0 ||
        ::pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      throw std::runtime_error("the file in memory cannot be written");
    }
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace paceline
