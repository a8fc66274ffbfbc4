#pragma once

#include <sys/types.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paceline::files {

// Which file it is, whatever it is called: its device and its inode.
using FileIdentity = std::pair<dev_t, ino_t>;

// Remembers regular files that this process reads and writes, so that no output overwrites an input
// or another output. Thread-safe.
class FilesInUse {
 public:
  [[nodiscard]] static FilesInUse& of_process();

  // Throw InputError when an output is the same file. A path that cannot be looked at is no file.
  void add_input(const std::string& path);
  // `place` is what the output will be called once links are followed; it need not exist.
  void add_output(const std::string& path, const std::string& place);
  // A file that is open already, by its number: it stays where it is.
  void add_open_output(const std::string& path, int number);
  void remove_output(const std::string& place);

 private:
  struct Output {
    std::string path, place;                            // as given; links followed
    std::optional<FileIdentity> opened = std::nullopt;  // of one that was open, which has no place

    [[nodiscard]] std::optional<FileIdentity> identity() const;
  };
  void add(Output output);

  std::mutex mutex_;
  std::map<FileIdentity, std::string> inputs_;  // the path that was read
  std::vector<Output> outputs_;
};

}  // namespace paceline::files
