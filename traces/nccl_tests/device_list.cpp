#include "traces/nccl_tests/device_list.h"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::traces {

void DeviceList::add(const Device& device) {
  if (device.rank >= ranks_most) {
    contradicts_itself_ = true;
    return;
  }
  OfRank of{shown(device.host), shown(device.place)};
  const auto [known, is_new] = ranks_.emplace(static_cast<std::uint32_t>(device.rank), of);
  // The same line twice is harmless: launchers repeat lines.
  if (!is_new && known->second.host != of.host) contradicts_itself_ = true;
  groups_.insert(device.group);
  if (!device.name.empty()) names_.insert(shown(device.name));
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> DeviceList::on_one_gpu() const {
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> gpus;
  for (const auto& [rank, of] : ranks_) {
    if (of.place.empty()) continue;
    const auto [known, is_new] = gpus.try_emplace({of.host, of.place}, rank);
    if (!is_new) return std::pair(known->second, rank);
  }
  return std::nullopt;
}

void DeviceList::tell(CollectiveLog& log, std::uint64_t gpus_each) const {
  log.devices = names_;
  log.ranks = log.nodes = 0;
  if (ranks_.empty() || contradicts_itself_ || groups_.size() > 1) return;
  // Lists are cut short, by nccl-tests and by those who publish them: the last rank counts, and how
  // many hosts there were is unknown.
  const std::uint64_t ranks = ranks_.rbegin()->first + gpus_each;
  if (ranks > ranks_most) return;
  log.ranks = static_cast<std::uint32_t>(ranks);
  if (ranks_.size() * gpus_each != ranks) return;
  if (const auto twice = on_one_gpu()) {
    log.notes.push_back(fmt::format(
        "ranks {} and {} have one GPU, {} of {}: two hosts of one name, which --nodes tells, or "
        "two ranks on one GPU, whose times are no property of links",
        twice->first, twice->second, ranks_.at(twice->first).place, ranks_.at(twice->first).host));
    return;
  }
  std::set<std::string_view> hosts;
  for (const auto& [rank, of] : ranks_) hosts.insert(of.host);
  log.nodes = static_cast<std::uint32_t>(hosts.size());
}

std::optional<DeviceList::Device> device_in(std::string_view line, const Words& words) {
  const std::size_t at = !words.empty() && words[0] == "#" ? 1 : 0;
  const auto on = std::ranges::find(words, "on");
  if (words.size() < at + 7 || words[at] != "Rank" || !is_whole_number(words[at + 1]) ||
      words.end() - on < 5) {
    return std::nullopt;
  }
  const bool has_group = words[at + 2] == "Group";
  const auto from = [&](std::ptrdiff_t word) {
    return static_cast<std::size_t>(on[word].data() - line.data());
  };
  // "device  0 [0x27]" and what follows, the name.
  const std::string_view place = line.substr(from(3), from(4) + on[4].size() - from(3));
  return DeviceList::Device{
      number_of<std::uint64_t>(words[at + 1]).value_or(ranks_most),
      has_group ? number_of<std::uint64_t>(words[at + 3]).value_or(0) : 0, on[1],
      words.end() - on > 5 ? trimmed(line.substr(from(5))) : std::string_view(), place};
}

}  // namespace paceline::traces
