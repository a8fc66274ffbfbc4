#include "real/launch/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#include "real/errors.h"
#include "real/launch/socket.h"

namespace paceline::real {
namespace {

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("the secret file {} {}", path, why));
}

// `by` keeps the two proofs apart: neither can be sent back as the other.
std::string proof(std::string_view secret, std::string_view by, const std::string& rank_nonce,
                  const std::string& center_nonce, const std::string& greeting) {
  return hmac_sha256(
      secret, fmt::format("paceline {}\n{}\n{}\n{}", by, rank_nonce, center_nonce, greeting));
}

}  // namespace

std::string shared_secret(const Environment& environment) {
  const auto path = environment("PACELINE_SECRET_FILE");
  return path ? read_secret(*path) : "";
}

std::string read_secret(const std::string& path) {
  const Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (file.file() < 0 || ::fstat(file.file(), &found) != 0) {
    refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  if (!S_ISREG(found.st_mode)) refuse(path, "is no regular file");
  constexpr mode_t of_others = 077;
  if ((found.st_mode & of_others) != 0) {
    refuse(path, "can be read or written by others; chmod 600 it");
  }
  std::string secret(secret_bytes_most + 2, '\0');
  const ssize_t size = ::read(file.file(), secret.data(), secret.size());
  if (size < 0) refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  secret.resize(static_cast<std::size_t>(size));
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.size() < secret_bytes_least || secret.size() > secret_bytes_most) {
    refuse(path, fmt::format("does not have {} to {} bytes; write head -c 32 /dev/urandom into it",
                             secret_bytes_least, secret_bytes_most));
  }
  return secret;
}

std::string random_nonce() {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (count < 0 && errno != EINTR) {
      throw BackendError("", std::nullopt, "getrandom", std::strerror(errno));
    }
    if (count > 0) filled += static_cast<std::size_t>(count);
  }
  return to_hex(bytes);
}

std::string hmac_sha256(std::string_view secret, std::string_view text) {
  hmac_sha256_ctx state{};
  hmac_sha256_set_key(&state, secret.size(), bytes_of(secret));
  hmac_sha256_update(&state, text.size(), bytes_of(text));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  hmac_sha256_digest(&state, digest.size(), digest.data());
  return to_hex(digest);
}

std::string proof_of_center(std::string_view secret, const std::string& rank_nonce,
                            const std::string& center_nonce, const std::string& greeting) {
  return proof(secret, "center", rank_nonce, center_nonce, greeting);
}

std::string proof_of_rank(std::string_view secret, const std::string& rank_nonce,
                          const std::string& center_nonce, const std::string& greeting) {
  return proof(secret, "rank", rank_nonce, center_nonce, greeting);
}

bool is_same_proof(const std::string& a, const std::string& b) {
  return a.size() == b.size() && memeql_sec(a.data(), b.data(), a.size()) != 0;
}

}  // namespace paceline::real
