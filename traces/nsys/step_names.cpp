#include "traces/nsys/step_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "traces/text/lines.h"

namespace paceline::traces::nsys {
namespace {

// In lower case, without what joins words and NVTX's mark of a default domain (":step").
std::string plain(std::string_view name) {
  std::string out = in_lower(name);
  std::erase_if(out, [](char c) { return contains("_- #:=.", c); });
  return out;
}

constexpr std::array<std::string_view, 10> step_words{
    "step", "trainstep", "trainingstep",   "globalstep",        "iteration",
    "iter", "trainiter", "trainiteration", "trainingiteration", "batch"};
constexpr std::array<std::string_view, 4> optimizer_words{"optimizer", "optimizerstep", "optstep",
                                                          "optim"};

struct Numbered {
  std::string word;
  std::uint64_t number;
};

std::optional<Numbered> numbered(const std::string& plain_name) {
  const std::size_t last = plain_name.find_last_not_of("0123456789");
  if (last == std::string::npos || last + 1 == plain_name.size()) return std::nullopt;
  const auto number = number_of<std::uint64_t>(std::string_view(plain_name).substr(last + 1));
  if (!number) return std::nullopt;
  return Numbered{plain_name.substr(0, last + 1), *number};
}

constexpr std::size_t longest_name = 64;  // of a step

}  // namespace

StepNames::StepNames(const Events& events)
    : is_(events.names.size(), Is::other), numbers_(events.names.size()) {
  std::vector<std::uint64_t> count(events.names.size());
  for (const Events::Range& range : events.ranges) ++count[range.name];
  bool has_profilers = false;
  std::map<std::string, std::uint64_t> words;  // ranges by their word
  for (std::size_t i = 0; i < events.names.size(); ++i) {
    const std::string& name = events.names[i];
    if (count[i] == 0 || name.size() > longest_name) continue;
    has_profilers = has_profilers || name.starts_with(step_prefix);
    const std::string word = plain(name);
    if (is_one_of(word, optimizer_words)) is_[i] = Is::optimizer;
    if (is_one_of(word, step_words)) words[word] += count[i];
    const auto with_number = numbered(word);
    if (with_number && is_one_of(with_number->word, step_words)) {
      words[with_number->word + "#"] += count[i];
      numbers_[i] = with_number->number;
    }
  }
  if (has_profilers) return;
  // One family: a step may have batches in it. Numbers before words, then the order above.
  std::string chosen;
  for (const char* behind : {"#", ""}) {
    for (const std::string_view word : step_words) {
      const auto found = words.find(std::string(word) + behind);
      const bool repeats = found != words.end() && (behind[0] == '#' || found->second > 1);
      if (chosen.empty() && repeats) chosen = found->first;
    }
  }
  if (chosen.empty()) return;
  for (std::size_t i = 0; i < events.names.size(); ++i) {
    if (count[i] == 0 || events.names[i].size() > longest_name) continue;
    const std::string word = plain(events.names[i]);
    if (word == chosen) is_[i] = Is::step;
    const auto with_number = numbered(word);
    if (with_number && with_number->word + "#" == chosen) is_[i] = Is::numbered;
  }
}

std::optional<std::string> StepNames::name_of(std::uint32_t name, std::uint64_t number) const {
  switch (is_[name]) {
    case Is::numbered: return std::string(step_prefix) + std::to_string(numbers_[name]);
    case Is::step: return std::string(step_prefix) + std::to_string(number);
    case Is::optimizer: return std::string(optimizer_prefix);
    case Is::other: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace paceline::traces::nsys
