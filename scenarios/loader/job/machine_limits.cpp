#include "scenarios/loader/job/machine_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "scenarios/loader/job/catalogue.h"

namespace paceline::loader {
namespace {

// A list of words that machines are chosen by.
struct Choice {
  const char* key;
  bool (*is_of)(const Machine& machine, const Field& word);
  std::vector<std::string> (*words_of)(const Machine& machine);  // that messages suggest
};

bool is_anywhere(const Machine& machine) { return machine.region.empty() && machine.area.empty(); }

bool is_in(const Machine& machine, const Field& word) {
  const std::string region = word.text();
  return machine.region.starts_with(region) || machine.area == region;
}

bool has_device(const Machine& machine, const Field& word) {
  return machine.device == device_named_by(word);
}

bool is_named(const Machine& machine, const Field& word) {
  const std::string name = word.text();
  return machine.name == name || machine.full_name() == name;
}

constexpr Choice regions{"regions", is_in, [](const Machine& machine) {
                           return std::vector{machine.area, machine.region};
                         }};
constexpr Choice devices{"devices", has_device,
                         [](const Machine& machine) { return std::vector{machine.device}; }};
constexpr Choice names{"machines", is_named,
                       [](const Machine& machine) { return std::vector{machine.name}; }};

[[noreturn]] void fail_unknown(const Field& word, const Choice& choice,
                               const std::vector<Machine>& machines) {
  std::set<std::string> known;
  for (const Machine& machine : machines) {
    for (std::string& one : choice.words_of(machine)) known.insert(std::move(one));
  }
  known.erase("");
  const std::vector<std::string> all(known.begin(), known.end());
  word.fail("matches no machine of the catalogues",
            all.empty() ? "known: none" : known_ones(word.text(), all));
}

// The words of the list, each of a machine or more; empty: there is no list.
std::vector<Field> words_of(Section& limits, const Choice& choice,
                            const std::vector<Machine>& machines) {
  const auto list = limits.field(choice.key);
  if (!list) return {};
  std::vector<Field> words = list->list();
  for (const Field& word : words) {
    if (word.text().empty()) word.fail("is empty", "");
    const bool is_known = std::ranges::any_of(
        machines, [&](const Machine& machine) { return choice.is_of(machine, word); });
    if (!is_known) fail_unknown(word, choice, machines);
  }
  return words;
}

bool is_chosen(const Machine& machine, const std::vector<Field>& words, const Choice& choice) {
  return words.empty() ||
         std::ranges::any_of(words, [&](const Field& word) { return choice.is_of(machine, word); });
}

}  // namespace

WithinLimits within_limits(std::vector<Machine> machines, Section& limits) {
  const auto in = words_of(limits, regions, machines), with = words_of(limits, devices, machines),
             called = words_of(limits, names, machines);
  WithinLimits within;
  const std::size_t count = machines.size();
  for (Machine& machine : machines) {
    if (!is_anywhere(machine) && !is_chosen(machine, in, regions)) {
      ++within.elsewhere;
    } else if (is_chosen(machine, with, devices) && is_chosen(machine, called, names)) {
      within.machines.push_back(std::move(machine));
    }
  }
  if (within.machines.empty()) {
    throw InputError(limits.location(),
                     fmt::format("limits exclude all {} machines of the catalogues", count),
                     "allow more regions, devices or machines");
  }
  return within;
}

}  // namespace paceline::loader
