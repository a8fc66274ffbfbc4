#include "real/launch/join.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "real/errors.h"
#include "real/launch/join_center.h"
#include "real/launch/join_other.h"

namespace paceline::real {

[[noreturn]] void fail_to_join(const std::string& line) {
  throw BackendError("", std::nullopt, "", line);
}

PublishedFile::PublishedFile(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)) {
  std::error_code ignored;
  const auto there = std::filesystem::status(path_, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    const std::string path_meant = std::exchange(path_, {});  // a device or a pipe stays
    fail_to_join(fmt::format(
        "the rendezvous file {} is no regular file; name one that rank 0 may write", path_meant));
  }
  // Written aside and renamed, so that no reader sees half of it.
  const std::string aside = fmt::format("{}.{}", path_, ::getpid());
  std::ofstream file(aside, std::ios::trunc);
  file << text_;
  file.close();
  if (!file || std::rename(aside.c_str(), path_.c_str()) != 0) {
    const std::string why = std::error_code(errno, std::generic_category()).message();
    ::unlink(aside.c_str());
    const std::string path_meant = std::exchange(path_, {});
    fail_to_join(
        fmt::format("the rendezvous file {} cannot be written: {}; meet at a path that all "
                    "ranks can read and rank 0 can write",
                    path_meant, why));
  }
}

PublishedFile::PublishedFile(PublishedFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), text_(std::exchange(other.text_, {})) {}

PublishedFile& PublishedFile::operator=(PublishedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(text_, other.text_);
  return *this;
}

PublishedFile::~PublishedFile() {
  if (path_.empty()) return;
  std::ifstream file(path_);
  std::ostringstream now;
  now << file.rdbuf();
  if (now.str() == text_) ::unlink(path_.c_str());
}

Joined join_group(const RankIdentity& identity, const Rendezvous& rendezvous, Seconds connect) {
  if (identity.rank == Rank(0)) return join_as_center(identity, rendezvous, connect);
  return join_center(identity, rendezvous, connect);
}

}  // namespace paceline::real
