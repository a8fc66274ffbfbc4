#include "real/launch/greeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "models/text/number.h"
#include "models/text/plain_text.h"
#include "real/errors.h"
#include "real/launch/socket.h"

namespace paceline::real {
namespace {

// The lines of a greeting: numbers, version and rank first, then texts.
constexpr std::array numbers{&Greeting::version, &Greeting::rank, &Greeting::world_size,
                             &Greeting::pid, &Greeting::has_secret};
constexpr std::array texts{&Greeting::host, &Greeting::machine, &Greeting::meeting,
                           &Greeting::told, &Greeting::fault,   &Greeting::nonce};

// The kernel's name for this boot: where two ranks see the same one, they see the same clock.
// PACELINE_MACHINE_ID separates ranks that share a kernel but no clock, as in time namespaces.
std::string machine_identity() {
  if (const auto given = process_environment("PACELINE_MACHINE_ID")) return *given;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  return std::getline(file, line) ? line : host_name();
}

std::map<std::string, std::string> words_by_name(const std::string& told) {
  std::map<std::string, std::string> words;
  std::istringstream all(told);
  for (std::string word; all >> word;) {
    const auto end = std::min(word.find_first_of("=#"), word.size());
    words[word.substr(0, end)] = word.substr(end);
  }
  return words;
}

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

std::string Greeting::process() const {
  constexpr int name_max = 64;  // HOST_NAME_MAX; of a stranger it may be anything
  return fmt::format("pid {} on {:.{}}", pid, host, name_max);
}

std::string Greeting::who() const {
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, process());
}

Greeting own_greeting(const RankIdentity& identity, const std::string& meeting, bool has_secret) {
  Greeting own;
  own.version = control_version;
  own.rank = identity.rank.value();
  own.world_size = identity.world_size.value();
  own.pid = static_cast<std::uint32_t>(::getpid());
  own.has_secret = has_secret ? 1 : 0;
  own.host = host_name();
  own.machine = machine_identity();
  own.meeting = meeting;
  own.told = in_one_line(identity.told);
  own.fault = in_one_line(identity.fault);
  own.nonce = random_nonce();
  return own;
}

std::string to_text(const Greeting& greeting) {
  std::string lines;
  for (const auto member : numbers) lines += fmt::format("{}\n", greeting.*member);
  for (const auto member : texts) lines += greeting.*member + '\n';
  return lines;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::optional<Greeting> parse_greeting(const std::string& text) {
  const auto lines = split_lines(text);
  Greeting greeting;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = i < lines.size() ? number_of<std::uint32_t>(lines[i]) : std::nullopt;
    if (!number) return std::nullopt;
    greeting.*numbers[i] = *number;
    if (i == 1 && greeting.version != control_version) return greeting;
  }
  if (lines.size() != numbers.size() + texts.size()) return std::nullopt;
  for (std::size_t i = 0; i < texts.size(); ++i) greeting.*texts[i] = lines[numbers.size() + i];
  return greeting;
}

std::string find_difference(const std::string& told, const std::string& told_rank_0) {
  if (told.empty() || told_rank_0.empty()) return "";
  auto words = words_by_name(told), words_of_0 = words_by_name(told_rank_0), names = words_of_0;
  names.insert(words.begin(), words.end());
  for (const auto& entry : names) {
    const std::string &name = entry.first, &own = words[name], &of_0 = words_of_0[name];
    if (own == of_0) continue;
    const bool is_hashed = own.starts_with('#') || of_0.starts_with('#');
    if (!own.empty() && !of_0.empty() && is_hashed) return "has another " + name + " than rank 0";
    const auto shown = [&name](const std::string& value) {
      if (value.empty()) return "no " + name;
      return value.starts_with('#') ? "a " + name : name + value;
    };
    return fmt::format("has {}, rank 0 {}", shown(own), shown(of_0));
  }
  return "";
}

std::string random_nonce() {
  std::array<std::uint8_t, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    throw BackendError(std::string("getentropy: ") + std::strerror(errno));
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string hmac_sha256(std::string_view secret, std::string_view text) {
  hmac_sha256_ctx state{};
  hmac_sha256_set_key(&state, secret.size(), bytes_of(secret));
  hmac_sha256_update(&state, text.size(), bytes_of(text));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  hmac_sha256_digest(&state, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string proof_of(std::string_view side, std::string_view secret, std::string_view greeting,
                     std::string_view greeting_of_rank_0) {
  return hmac_sha256(secret, fmt::format("{}\n{}{}", side, greeting, greeting_of_rank_0));
}

bool is_same_proof(std::string_view a, std::string_view b) {
  return a.size() == b.size() && memeql_sec(a.data(), b.data(), a.size()) != 0;
}

}  // namespace paceline::real
