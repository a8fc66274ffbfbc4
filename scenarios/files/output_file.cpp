#include "scenarios/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <streambuf>
#include <string_view>
#include <system_error>
#include <vector>

#include "models/contract.h"
#include "models/text/number.h"
#include "scenarios/errors.h"
#include "scenarios/files/files_in_use.h"

namespace paceline::files {

void throw_system_error(const std::string& path, const std::string& what, int error) {
  constexpr std::array of_the_path{ENOENT, ENOTDIR, EISDIR, EACCES, EPERM,   ENAMETOOLONG,
                                   ELOOP,  EROFS,   EINVAL, ENXIO,  ETXTBSY, EBADF};
  const std::string sentence = what + ": " + std::strerror(error);
  if (std::ranges::find(of_the_path, error) != of_the_path.end()) {
    throw InputError({path}, sentence, "");
  }
  throw BackendError(path, sentence);
}

namespace {

namespace fs = std::filesystem;

constexpr const char* not_written = "cannot be written";
constexpr int links_max = 40;  // as Linux follows them, path_resolution(7)

// Writes to an open file, and keeps the first error.
class FileBuffer : public std::streambuf {
 public:
  explicit FileBuffer(int file) : file_(file), block_(std::size_t{1} << 16) {
    setp(block_.data(), block_.data() + block_.size());
  }

  // 0: none.
  [[nodiscard]] int error() const { return error_; }

 private:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    return sputc(traits_type::to_char_type(c));
  }

  int sync() override {
    const char* at = pbase();
    while (error_ == 0 && at < pptr()) {
      const ssize_t count = ::write(file_, at, static_cast<std::size_t>(pptr() - at));
      if (count >= 0) {
        at += count;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(block_.data(), block_.data() + block_.size());
    return error_ == 0 ? 0 : -1;
  }

  int file_;
  int error_ = 0;
  std::vector<char> block_;
};

// The number of an open file that the path names, as writing it anew would begin at its start.
std::optional<int> open_file_of(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    if (const auto number = number_of<int>(path.substr(folder.size()))) return number;
  }
  return std::nullopt;
}

// Short, since the name it is to have may be as long as names can be.
std::string name_beside(const std::string& place) {
  static std::atomic<int> made = 0;
  const std::string name = ".paceline-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
  return (fs::path(place).parent_path() / name).string();
}

std::string folder_of(const std::string& place) {
  const std::string folder = fs::path(place).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

bool OutputFile::is_standard_output() const {
  return path == "-" || open_file_of(path) == STDOUT_FILENO;
}

OutputFile::~OutputFile() {
  if (!beside_name_.empty()) ::unlink(beside_name_.c_str());
  if (place_) FilesInUse::of_process().remove_output(place_->path);
}

// Of a link that leads nowhere, where it leads.
OutputFile::Place OutputFile::find_place() const {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path), error);
  if (error) throw_system_error(path, not_written, error.value());
  Place place{real.string()};
  for (int links = 0; fs::is_symlink(place.path, error); ++links) {
    if (links > links_max) throw_system_error(path, not_written, ELOOP);
    place.path = (fs::path(place.path).parent_path() / fs::read_symlink(place.path)).string();
  }
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) throw_system_error(path, not_written, EISDIR);
    if (::access(path.c_str(), W_OK) != 0) throw_system_error(path, not_written, errno);
    place.is_regular = S_ISREG(found.st_mode);
    if (place.is_regular) place.mode = found.st_mode & 07777U;
  }
  return place;
}

void OutputFile::open() {
  PACELINE_EXPECTS(is_asked() && !place_);
  if (is_standard_output()) return;
  if (const auto number = open_file_of(path)) {
    FilesInUse::of_process().add_open_output(path, *number);
    return;
  }
  Place place = find_place();
  if (!place.is_regular) return;  // it may be a pipe whose reader is not there yet
  FilesInUse::of_process().add_output(path, place.path);
  place_ = std::move(place);
  open_beside();
}

void OutputFile::open_beside() {
  constexpr mode_t as_umask_has_it = 0666;
  beside_ = FileDescriptor(
      ::open(folder_of(place_->path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, as_umask_has_it));
  if (beside_) return;
  constexpr std::array no_such_files{EOPNOTSUPP, EISDIR, EINVAL};  // open(2), O_TMPFILE
  if (std::ranges::find(no_such_files, errno) != no_such_files.end()) {
    beside_name_ = name_beside(place_->path);
    beside_ = FileDescriptor(
        ::open(beside_name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, as_umask_has_it));
    if (beside_) return;
    beside_name_.clear();
  }
  throw_system_error(path, not_written, errno);
}

void OutputFile::write(const std::function<void(std::ostream&)>& write) {
  if (is_standard_output()) {
    write(std::cout);
    return;  // run_main sees whether it arrived
  }
  if (place_) {
    write_to(beside_.number(), write);
    put_in_place();
    return;
  }
  const auto number = open_file_of(path);
  const FileDescriptor stream(number ? ::fcntl(*number, F_DUPFD_CLOEXEC, 0)
                                     : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!stream) throw_system_error(path, not_written, errno);
  write_to(stream.number(), write);
}

void OutputFile::write_if_asked(const std::function<void(std::ostream&)>& write) {
  if (is_asked()) this->write(write);
}

void OutputFile::write_to(int file, const std::function<void(std::ostream&)>& write) const {
  FileBuffer buffer(file);
  std::ostream out(&buffer);
  write(out);
  out.flush();
  if (buffer.error() != 0) throw_system_error(path, not_written, buffer.error());
}

void OutputFile::put_in_place() {
  const int file = beside_.number();
  if (place_->mode && ::fchmod(file, *place_->mode) != 0) {
    throw_system_error(path, not_written, errno);
  }
  if (::fdatasync(file) != 0) throw_system_error(path, not_written, errno);
  if (beside_name_.empty()) {
    const std::string name = name_beside(place_->path);
    const std::string opened = "/proc/self/fd/" + std::to_string(file);
    if (::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      throw_system_error(path, not_written, errno);
    }
    beside_name_ = name;
  }
  if (std::rename(beside_name_.c_str(), place_->path.c_str()) != 0) {
    throw_system_error(path, not_written, errno);
  }
  beside_name_.clear();
}

OutputFolder::~OutputFolder() {
  if (!place_.empty()) FilesInUse::of_process().remove_output(place_);
}

void OutputFolder::check() {
  std::error_code error;
  const std::string place = fs::weakly_canonical(fs::absolute(path), error).string();
  if (error) throw_system_error(path, not_written, error.value());
  FilesInUse::of_process().add_output(path, place);
  place_ = place;
  fs::path there = path;
  while (!fs::exists(there, error) && there.has_relative_path()) {
    there = there.has_parent_path() ? there.parent_path() : fs::path(".");
  }
  const char* const name = there.c_str();
  if (!fs::is_directory(there, error)) throw_system_error(path, "is no folder", ENOTDIR);
  if (::access(name, W_OK | X_OK) != 0) throw_system_error(path, not_written, errno);
}

void OutputFolder::write(const std::string& folder, const std::string& name,
                         const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_system_error(folder, "is no folder", error.value());
  OutputFile file;
  file.path = (fs::path(folder) / name).string();
  file.open();
  file.write(write);
}

}  // namespace paceline::files
