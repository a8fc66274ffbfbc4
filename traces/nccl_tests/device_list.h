#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"

namespace paceline::traces {

// The ranks under "Using devices".
class DeviceList {
 public:
  struct Device {
    std::uint64_t rank, group;
    std::string_view host, name;
  };

  void add(const Device& device);

  // Ranks, nodes and devices of a log; `gpus_each` are behind every rank that is listed. A list
  // that contradicts itself, or of several groups that ran beside each other (NCCL_TESTS_SPLIT),
  // tells neither ranks nor nodes.
  void tell(CollectiveLog& log, std::uint64_t gpus_each) const;

  [[nodiscard]] bool empty() const { return hosts_.empty(); }

 private:
  std::map<std::uint32_t, std::string> hosts_;  // by rank
  std::set<std::uint64_t> groups_;
  std::set<std::string> names_;
  bool contradicts_itself_ = false;
};

// "#  Rank  0 Group  0 Pid   2574 on host device  0 [0x27] A100-SXM4-40GB"; nothing of other lines.
void take_device_line(std::string_view line, const std::vector<std::string_view>& words,
                      DeviceList& list);

[[nodiscard]] bool is_device_line(const std::vector<std::string_view>& words);

}  // namespace paceline::traces
