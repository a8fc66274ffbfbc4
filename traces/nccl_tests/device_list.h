#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"
#include "traces/text/lines.h"

namespace paceline::traces {

class DeviceList {
 public:
  struct Device {
    std::uint64_t rank, group;
    std::string_view host, name;
    std::string_view place;  // its number and bus id on the host; empty: not told
  };

  void add(const Device& device);

  void lose_one() { contradicts_itself_ = true; }  // a line of it cannot be read

  // Ranks, nodes and devices of a log; `gpus_each` are behind every listed rank. A list that
  // contradicts itself, or of several groups side by side (NCCL_TESTS_SPLIT), tells neither ranks
  // nor nodes; one with a GPU of a host twice no nodes, and notes why.
  void tell(CollectiveLog& log, std::uint64_t gpus_each) const;

  [[nodiscard]] bool empty() const { return ranks_.empty(); }
  [[nodiscard]] std::size_t listed() const { return ranks_.size(); }

  friend bool operator==(const DeviceList&, const DeviceList&) = default;

 private:
  struct OfRank {
    std::string host, place;

    friend bool operator==(const OfRank&, const OfRank&) = default;
  };

  // Two ranks on one GPU, as (lower, higher); nullopt: none are.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> on_one_gpu() const;

  std::map<std::uint32_t, OfRank> ranks_;
  std::set<std::uint64_t> groups_;
  std::set<std::string> names_;
  bool contradicts_itself_ = false;
};

// "#  Rank  0 Group  0 Pid   2574 on host device  0 [0x27] A100-SXM4-40GB", perhaps without the #.
[[nodiscard]] std::optional<DeviceList::Device> device_in(std::string_view line,
                                                          const Words& words);

}  // namespace paceline::traces
