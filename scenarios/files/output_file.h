#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>

namespace paceline::files {

// Ends a command for an errno of the system's: with InputError where another path would do, else
// with BackendError: a full disk, no descriptors, a broken device. `what` is what cannot be done.
[[noreturn]] void throw_system_error(const std::string& path, const std::string& what, int error);

// An open file that is closed with it.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }

  explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

// A file that a command writes, as the user named it: nothing, "-" for standard output, or a path.
//
// A regular file is whole, or as it was: what is written goes into a file without a name in the
// same folder, which takes the place of the old one at the end. Links are followed, and permissions
// stay. What is no regular file (a pipe, a terminal, /dev/null) is written as it is.
class OutputFile {
 public:
  explicit OutputFile(std::string its_path = "") : path(std::move(its_path)) {}
  OutputFile(OutputFile&&) = delete;  // registered by address with the options of a command
  ~OutputFile();

  std::string path;  // as given; empty: not asked for

  [[nodiscard]] bool is_asked() const { return !path.empty(); }
  // Also by another name that the system has for it: /dev/stdout.
  [[nodiscard]] bool is_standard_output() const;

  // Finds out whether it can be written, before anything is run. Throws InputError when it cannot,
  // or is another output or an input (files_in_use.h); BackendError when the machine fails.
  void open();
  // Writes whole or not at all. Precondition: open. Throws as open() and `write` do.
  void write(const std::function<void(std::ostream&)>& write);
  // The same of one that is asked for; else nothing.
  void write_if_asked(const std::function<void(std::ostream&)>& write);

 private:
  struct Place {
    std::string path;  // links followed
    bool is_regular = true;
    std::optional<mode_t> mode = std::nullopt;  // of the file that is there
  };

  [[nodiscard]] Place find_place() const;
  void write_to(int file, const std::function<void(std::ostream&)>& write) const;
  void open_beside();
  void put_in_place();

  std::optional<Place> place_;
  FileDescriptor beside_;
  std::string beside_name_;  // where the file system has no files without names
};

// Files of a command in one folder, which is made when the first is written.
class OutputFolder {
 public:
  OutputFolder() = default;
  OutputFolder(OutputFolder&&) = delete;
  ~OutputFolder();

  std::string path;  // as given; empty: not asked for

  [[nodiscard]] bool is_asked() const { return !path.empty(); }

  // Throws InputError when it is no folder, and cannot be one, or is another output.
  void check();
  // In `folder`, which is it or below it.
  static void write(const std::string& folder, const std::string& name,
                    const std::function<void(std::ostream&)>& write);

 private:
  std::string place_;
};

}  // namespace paceline::files
