#include "traces/nccl_tests/device_list.h"

#include <algorithm>

#include "traces/collective_log/comments.h"
#include "traces/text/lines.h"

namespace paceline::traces {

void DeviceList::add(const Device& device) {
  if (device.rank >= ranks_most) {
    contradicts_itself_ = true;
    return;
  }
  const auto [known, is_new] =
      hosts_.emplace(static_cast<std::uint32_t>(device.rank), shown(device.host));
  // The same line twice is harmless: launchers repeat lines.
  if (!is_new && known->second != shown(device.host)) contradicts_itself_ = true;
  groups_.insert(device.group);
  if (!device.name.empty()) names_.insert(shown(device.name));
}

void DeviceList::tell(CollectiveLog& log, std::uint64_t gpus_each) const {
  log.devices = names_;
  log.ranks = log.nodes = 0;
  if (hosts_.empty() || contradicts_itself_ || groups_.size() > 1) return;
  // Lists are cut short, by nccl-tests and by those who publish them: the last rank counts. How
  // many hosts there were is not known then.
  const std::uint64_t ranks = hosts_.rbegin()->first + gpus_each;
  if (ranks > ranks_most) return;
  std::set<std::string_view> hosts;
  for (const auto& [rank, host] : hosts_) hosts.insert(host);
  log.ranks = static_cast<std::uint32_t>(ranks);
  const bool is_whole = hosts_.size() * gpus_each == ranks;
  log.nodes = is_whole ? static_cast<std::uint32_t>(hosts.size()) : 0;
}

bool is_device_line(const std::vector<std::string_view>& words) {
  return words.size() >= 8 && words[0] == "#" && words[1] == "Rank" && is_whole_number(words[2]);
}

void take_device_line(std::string_view line, const std::vector<std::string_view>& words,
                      DeviceList& list) {
  if (!is_device_line(words)) return;
  const auto on = std::find(words.begin(), words.end(), "on");
  if (words.end() - on < 5) return;
  const std::uint64_t rank = number_of<std::uint64_t>(words[2]).value_or(ranks_most);
  const std::uint64_t group =
      words[3] == "Group" ? number_of<std::uint64_t>(words[4]).value_or(0) : 0;
  // The name is all that follows "host device 0 [0x27]".
  std::string_view name;
  if (words.end() - on > 5) {
    name = line.substr(static_cast<std::size_t>(on[5].data() - line.data()));
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
  }
  list.add({rank, group, on[1], name});
}

}  // namespace paceline::traces
