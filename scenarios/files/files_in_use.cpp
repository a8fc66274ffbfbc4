#include "scenarios/files/files_in_use.h"

#include <sys/stat.h>
#include <unistd.h>

#include "scenarios/errors.h"
#include "traces/archive/input.h"

namespace paceline::files {
namespace {

std::optional<FileIdentity> identity_in(const struct stat& found) {
  return S_ISREG(found.st_mode) ? std::optional(FileIdentity{found.st_dev, found.st_ino})
                                : std::nullopt;
}

std::optional<FileIdentity> identity_of_open(int file) {
  struct stat found {};
  return ::fstat(file, &found) == 0 ? identity_in(found) : std::nullopt;
}

// Of a regular file; links are followed. Places of outputs are whole paths: "-" is an input.
std::optional<FileIdentity> identity_of(const std::string& path) {
  if (path == traces::standard_input) return identity_of_open(STDIN_FILENO);
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? identity_in(found) : std::nullopt;
}

}  // namespace

std::optional<FileIdentity> FilesInUse::Output::identity() const {
  return opened ? opened : identity_of(place);
}

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
    throw InputError({traces::name_of_input(path)},
                     "is an input, and would be overwritten as " + given,
                     "give the output a file of its own");
  };
  for (const Output& output : outputs_) {
    if (output.identity() == identity) refuse(output.path);
  }
  if (identity_of_open(STDOUT_FILENO) == identity) refuse("standard output");
}

void FilesInUse::add(Output output) {
  const std::lock_guard lock(mutex_);
  const auto identity = output.identity();
  const auto input = identity ? inputs_.find(*identity) : inputs_.end();
  // A file that is gone may have left its number to another.
  if (input != inputs_.end() && identity_of(input->second) == identity) {
    throw InputError({output.path}, "is an input, and would be overwritten",
                     "give the output a file of its own");
  }
  for (const Output& other : outputs_) {
    const bool is_one_place = !output.place.empty() && other.place == output.place;
    if (!is_one_place && !(identity && other.identity() == identity)) continue;
    throw InputError({output.path}, "is named for two outputs", "give each a file of its own");
  }
  outputs_.push_back(std::move(output));
}

void FilesInUse::add_output(const std::string& path, const std::string& place) {
  const auto identity = identity_of(place);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!identity || identity_of_open(stream) != identity) continue;
    throw InputError({path}, "is standard output or standard error, too",
                     "give each a file of its own");
  }
  add({path, place});
}

void FilesInUse::add_open_output(const std::string& path, int number) {
  if (const auto identity = identity_of_open(number)) add({path, "", identity});
}

void FilesInUse::remove_output(const std::string& place) {
  const std::lock_guard lock(mutex_);
  std::erase_if(outputs_, [&](const Output& output) { return output.place == place; });
}

}  // namespace paceline::files
