#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "real/launch/rank_identity.h"

namespace paceline::real {

// Sent by a rank when it joins, and by rank 0 when all have joined.
struct Greeting {
  std::uint32_t version = 0;  // of what the control plane speaks
  std::uint32_t rank = 0;
  std::uint32_t world_size = 0;
  std::uint32_t pid = 0;
  std::string host;
  std::string machine;    // differs where the clock may
  std::string nonce;      // of the file that led here
  std::string told;       // RankIdentity's
  std::string fault;      // likewise
  std::string challenge;  // a nonce that rank 0 has to answer; empty: the rank has no secret

  [[nodiscard]] std::string who() const;      // rank 3 (pid 4711 on host)
  [[nodiscard]] std::string process() const;  // pid 4711 on host
};

// Raised when frames or greetings change: ranks of two versions do not join.
constexpr std::uint32_t control_version = 3;

[[nodiscard]] Greeting own_greeting(const RankIdentity& identity, const std::string& nonce);
[[nodiscard]] std::string to_text(const Greeting& greeting);
// nullopt for what is no greeting; of one of another version the version and the rank only.
[[nodiscard]] std::optional<Greeting> parse_greeting(const std::string& text);

// Where a rank was not told what rank 0 was (RankIdentity): what follows its name in a sentence, as
// "has real.steps=5, rank 0 real.steps=3". Empty: they were told the same, or one of them nothing,
// and goes by what rank 0 says.
[[nodiscard]] std::string find_difference(const std::string& told, const std::string& told_rank_0);

constexpr std::size_t greeting_lines = 10;
[[nodiscard]] std::vector<std::string> split_lines(const std::string& text);

}  // namespace paceline::real
