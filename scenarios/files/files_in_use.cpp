#include "scenarios/files/files_in_use.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "scenarios/errors.h"
#include "traces/archive/input.h"

namespace paceline::files {
namespace {

std::optional<FileIdentity> identity_of_open(int file) {
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

// Of a regular file; links are followed. Places of outputs are whole paths: "-" is an input.
std::optional<FileIdentity> identity_of(const std::string& path) {
  if (path == traces::standard_input) return identity_of_open(STDIN_FILENO);
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

bool is_open_as(int file, const FileIdentity& identity) {
  return identity_of_open(file) == identity;
}

bool is_standard_output(const FileIdentity& identity) {
  return is_open_as(STDOUT_FILENO, identity);
}

bool is_standard_stream(const FileIdentity& identity) {
  return is_standard_output(identity) || is_open_as(STDERR_FILENO, identity);
}

}  // namespace

FilesInUse& FilesInUse::of_process() {
  static FilesInUse all;
  return all;
}

void FilesInUse::add_input(const std::string& path) {
  const auto identity = identity_of(path);
  if (!identity) return;
  const std::lock_guard lock(mutex_);
  inputs_.insert_or_assign(*identity, path);
  const auto refuse = [&](const std::string& given) {
    throw InputError({traces::name_of_input(path), 0, 0},
                     "is an input, and would be overwritten as " + given,
                     "give the output a file of its own");
  };
  for (const auto& [place, given] : outputs_) {
    if (identity_of(place) == identity) refuse(given);
  }
  if (const auto open = open_outputs_.find(*identity); open != open_outputs_.end()) {
    refuse(open->second);
  }
  if (is_standard_output(*identity)) refuse("standard output");
}

void FilesInUse::add_output(const std::string& path, const std::string& place) {
  const std::lock_guard lock(mutex_);
  const auto identity = identity_of(place);
  if (identity && is_standard_stream(*identity)) {
    throw InputError({path, 0, 0}, "is standard output or standard error, too",
                     "give each a file of its own");
  }
  const auto input = identity ? inputs_.find(*identity) : inputs_.end();
  // A file that is gone may have left its number to another.
  if (input != inputs_.end() && identity_of(input->second) == identity) {
    throw InputError({path, 0, 0}, "is an input, and would be overwritten",
                     "give the output a file of its own");
  }
  for (const auto& [other, given] : outputs_) {
    if (other == place || (identity && identity_of(other) == identity)) {
      throw InputError({path, 0, 0}, "is named for two outputs", "give each a file of its own");
    }
  }
  outputs_.emplace(place, path);
}

void FilesInUse::add_open_output(const std::string& path, int number) {
  struct stat found {};
  if (::fstat(number, &found) != 0 || !S_ISREG(found.st_mode)) return;
  const FileIdentity identity{found.st_dev, found.st_ino};
  const std::lock_guard lock(mutex_);
  for (const auto& [place, given] : outputs_) {
    if (identity_of(place) == identity) {
      throw InputError({path, 0, 0}, "is named for two outputs", "give each a file of its own");
    }
  }
  if (const auto input = inputs_.find(identity); input != inputs_.end()) {
    throw InputError({path, 0, 0}, "is an input, and would be overwritten",
                     "give the output a file of its own");
  }
  if (!open_outputs_.emplace(identity, path).second) {
    throw InputError({path, 0, 0}, "is named for two outputs", "give each a file of its own");
  }
}

void FilesInUse::remove_output(const std::string& place) {
  const std::lock_guard lock(mutex_);
  outputs_.erase(place);
}

}  // namespace paceline::files
