#include "real/launch/greeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "models/text/number.h"
#include "models/text/plain_text.h"
#include "real/launch/socket.h"

namespace paceline::real {
namespace {

// The kernel's name for this boot: where two ranks see the same one, they see the same clock.
// PACELINE_MACHINE_ID separates ranks that share a kernel but no clock, as in time namespaces.
std::string machine_identity() {
  if (const auto given = process_environment("PACELINE_MACHINE_ID")) return *given;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line.empty() ? host_name() : line;
}

// With `=VALUE` or `#HASH` behind each.
std::map<std::string, std::string> words_by_name(const std::string& told) {
  std::map<std::string, std::string> words;
  std::istringstream all(told);
  for (std::string word; all >> word;) {
    const auto end = std::min(word.find_first_of("=#"), word.size());
    words[word.substr(0, end)] = word.substr(end);
  }
  return words;
}

}  // namespace

std::string Greeting::process() const {
  constexpr int name_max = 64;  // HOST_NAME_MAX; of a stranger it may be anything
  return fmt::format("pid {} on {:.{}}", pid, host, name_max);
}

std::string Greeting::who() const { return fmt::format("rank {} ({})", rank, process()); }

Greeting own_greeting(const RankIdentity& identity, const std::string& nonce) {
  return {control_version,
          identity.rank.value(),
          identity.world_size.value(),
          static_cast<std::uint32_t>(::getpid()),
          host_name(),
          machine_identity(),
          nonce,
          in_one_line(identity.told),
          in_one_line(identity.fault),
          ""};
}

std::string to_text(const Greeting& greeting) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", greeting.version, greeting.rank,
                     greeting.world_size, greeting.pid, greeting.host, greeting.machine,
                     greeting.nonce, greeting.told, greeting.fault, greeting.challenge);
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::optional<Greeting> parse_greeting(const std::string& text) {
  const auto lines = split_lines(text);
  if (lines.size() < 2) return std::nullopt;
  const auto version = number_of<std::uint32_t>(lines[0]);
  const auto rank = number_of<std::uint32_t>(lines[1]);
  if (!version || !rank) return std::nullopt;
  Greeting greeting;
  greeting.version = *version;
  greeting.rank = *rank;
  if (*version != control_version) return greeting;
  if (lines.size() != greeting_lines) return std::nullopt;
  const auto world_size = number_of<std::uint32_t>(lines[2]);
  const auto pid = number_of<std::uint32_t>(lines[3]);
  if (!world_size || !pid) return std::nullopt;
  greeting.world_size = *world_size;
  greeting.pid = *pid;
  greeting.host = lines[4];
  greeting.machine = lines[5];
  greeting.nonce = lines[6];
  greeting.told = lines[7];
  greeting.fault = lines[8];
  greeting.challenge = lines[9];
  return greeting;
}

std::string find_difference(const std::string& told, const std::string& told_rank_0) {
  if (told.empty() || told_rank_0.empty()) return "";
  const auto words = words_by_name(told), words_of_0 = words_by_name(told_rank_0);
  auto names = words_of_0;
  names.insert(words.begin(), words.end());
  for (const auto& entry : names) {
    const std::string& name = entry.first;
    const auto own = words.find(name), of_0 = words_of_0.find(name);
    const bool has_own = own != words.end(), has_0 = of_0 != words_of_0.end();
    if (has_own && has_0 && own->second == of_0->second) continue;
    if (has_own && has_0 && (own->second[0] == '#' || of_0->second[0] == '#')) {
      return fmt::format("has another {} than rank 0", name);
    }
    const auto shown = [&](bool has, const auto& word) {
      if (!has) return "no " + name;
      return word->second[0] == '#' ? "a " + name : name + word->second;
    };
    return fmt::format("has {}, rank 0 {}", shown(has_own, own), shown(has_0, of_0));
  }
  return "";
}

}  // namespace paceline::real
