#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "real/launch/rank_identity.h"

namespace paceline::real {

// What a rank says when it joins, and what rank 0 answers.
struct Greeting {
  std::uint32_t version = 0;  // of the control plane's protocol
  std::uint32_t rank = 0;
  std::uint32_t world_size = 0;
  std::uint32_t pid = 0;
  std::uint32_t has_secret = 0;  // 1: proves that it has the shared secret
  std::string host;
  std::string machine;  // differs where the clock may
  std::string meeting;  // the number in the file that led here
  std::string told;     // RankIdentity's
  std::string fault;    // RankIdentity's
  std::string nonce;    // drawn for this greeting

  [[nodiscard]] std::string who() const;      // rank 3 (pid 4711 on host), or rank 3
  [[nodiscard]] std::string process() const;  // pid 4711 on host
};

// Raised when frames or greetings change: ranks of two versions do not join.
constexpr std::uint32_t control_version = 4;

[[nodiscard]] Greeting own_greeting(const RankIdentity& identity, const std::string& meeting,
                                    bool has_secret);
[[nodiscard]] std::string to_text(const Greeting& greeting);
// nullopt for what is no greeting; of one of another version the version and the rank only.
[[nodiscard]] std::optional<Greeting> parse_greeting(const std::string& text);

// Where a rank was told something else than rank 0 (RankIdentity): "has real.steps=5, rank 0
// real.steps=3". Empty: the same, or one was told nothing and goes by what rank 0 says.
[[nodiscard]] std::string find_difference(const std::string& told, const std::string& told_rank_0);

[[nodiscard]] std::vector<std::string> split_lines(const std::string& text);

// 16 random bytes of the system's, in hexadecimal.
[[nodiscard]] std::string random_nonce();

// HMAC-SHA-256 (RFC 2104) of `text`, in hexadecimal.
[[nodiscard]] std::string hmac_sha256(std::string_view secret, std::string_view text);

// A proof of the secret (empty: none) that does not say it: an HMAC over both greetings, whose
// nonces make it good for once, and over the side, "rank 0" or "other rank", so that it cannot be
// sent back.
[[nodiscard]] std::string proof_of(std::string_view side, std::string_view secret,
                                   std::string_view greeting, std::string_view greeting_of_rank_0);

// Takes a time that does not tell where they differ.
[[nodiscard]] bool is_same_proof(std::string_view a, std::string_view b);

}  // namespace paceline::real
