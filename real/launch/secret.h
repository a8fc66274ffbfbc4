#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "real/launch/rank_identity.h"

// Ranks that share a secret tell each other so when they meet, without saying it: each proves by an
// HMAC over numbers that both have just drawn that it has the secret. What follows is as open as
// without one (SECURITY.md).
namespace paceline::real {

inline constexpr std::size_t secret_bytes_least = 16, secret_bytes_most = 4096;

// The secret in the file that PACELINE_SECRET_FILE names, without a line break at its end; empty
// where the variable is not set. Throws UsageError for a file that cannot be read, is no regular
// file, is open to others than its owner, or is too short or too long.
[[nodiscard]] std::string shared_secret(const Environment& environment);
// The same of a file.
[[nodiscard]] std::string read_secret(const std::string& path);

// 16 bytes of the system's random numbers, in hexadecimal.
[[nodiscard]] std::string random_nonce();

// HMAC-SHA-256 (RFC 2104) of `text`, in hexadecimal.
[[nodiscard]] std::string hmac_sha256(std::string_view secret, std::string_view text);

// What rank 0, and another rank, say to prove that they have the secret: over the nonce of each,
// and the greeting.
[[nodiscard]] std::string proof_of_center(std::string_view secret, const std::string& rank_nonce,
                                          const std::string& center_nonce,
                                          const std::string& greeting);
[[nodiscard]] std::string proof_of_rank(std::string_view secret, const std::string& rank_nonce,
                                        const std::string& center_nonce,
                                        const std::string& greeting);

// In a time that does not tell where they differ.
[[nodiscard]] bool is_same_proof(const std::string& a, const std::string& b);

}  // namespace paceline::real
