#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/chakra/node.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces::chakra {
namespace {

constexpr const char* what_can_be_scheduled = "give a trace whose nodes wait for earlier ones only";

class Walk {
 public:
  explicit Walk(File& file)
      : file_(file), waits_(file.nodes.size()), earliest_(file.nodes.size(), 0) {
    number_nodes();
    link();
  }

  void go() {
    for (std::size_t i = 0; i < waits_.size(); ++i) offer(i);
    std::size_t done = 0;
    while (!ready_.empty() || !without_callers_.empty()) {
      Queue& queue = ready_.empty() ? without_callers_ : ready_;
      const std::size_t node = queue.top().second;
      queue.pop();
      if (std::exchange(waits_[node].is_done, true)) continue;
      place(node);
      ++done;
    }
    if (done < waits_.size()) throw cycle();
  }

 private:
  struct Waits {
    std::size_t data = 0, ctrl = 0;
    bool is_done = false;
    std::vector<std::size_t> data_of, ctrl_of;  // the nodes that wait for it
  };
  using Entry = std::pair<std::uint64_t, std::size_t>;  // its id, and where it is
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  [[nodiscard]] std::string name_of(const Node& node) const {
    return std::to_string(node.id) + " (" + shown(file_.names[node.name]) + ")";
  }

  void number_nodes() {
    for (std::size_t i = 0; i < file_.nodes.size(); ++i) numbers_[file_.nodes[i].id] = i;
  }

  void link() {
    for (std::size_t i = 0; i < file_.nodes.size(); ++i) {
      const Node& node = file_.nodes[i];
      for (const std::uint64_t id : node.data_deps) {
        const auto found = numbers_.find(id);
        if (found == numbers_.end()) {
          throw FormatError(0,
                            "node " + name_of(node) + " waits for the data of node " +
                                std::to_string(id) + ", which is not there",
                            what_can_be_scheduled);
        }
        waits_[found->second].data_of.push_back(i);
        ++waits_[i].data;
      }
      for (const std::uint64_t id : node.ctrl_deps) {
        const auto found = numbers_.find(id);
        if (found == numbers_.end() || found->second == i) continue;
        waits_[found->second].ctrl_of.push_back(i);
        ++waits_[i].ctrl;
      }
    }
  }

  void offer(std::size_t node) {
    const Waits& waits = waits_[node];
    if (waits.data > 0 || waits.is_done) return;
    (waits.ctrl == 0 ? ready_ : without_callers_).emplace(file_.nodes[node].id, node);
  }

  void place(std::size_t number) {
    Node& node = file_.nodes[number];
    TraceTime& before = queue_ends_[{node.role == Role::host, node.stream}];
    node.start = std::max(earliest_[number], before);
    if (node.duration > pytorch::furthest_time - node.start) {
      throw FormatError(0, "node " + name_of(node) + " ends later than a trace can",
                        what_can_be_scheduled);
    }
    const TraceTime end = node.start + node.duration;
    before = end;
    for (const std::size_t next : waits_[number].data_of) {
      earliest_[next] = std::max(earliest_[next], end);
      if (--waits_[next].data == 0) offer(next);
    }
    for (const std::size_t next : waits_[number].ctrl_of) {
      // One that went on without it is done.
      if (!waits_[next].is_done) earliest_[next] = std::max(earliest_[next], end);
      if (--waits_[next].ctrl == 0) offer(next);
    }
  }

  // From the lowest id left along the data that each waits for, until one comes again.
  [[nodiscard]] FormatError cycle() const {
    constexpr std::size_t named_most = 8;
    std::size_t at = waits_.size();
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i].is_done) continue;
      if (at == waits_.size() || file_.nodes[i].id < file_.nodes[at].id) at = i;
    }
    std::vector<std::size_t> path;
    std::vector<bool> seen(waits_.size());
    while (!seen[at]) {
      seen[at] = true;
      path.push_back(at);
      const auto& deps = file_.nodes[at].data_deps;
      at = numbers_.at(*std::ranges::find_if(
          deps, [&](std::uint64_t id) { return !waits_[numbers_.at(id)].is_done; }));
    }
    path.erase(path.begin(), std::ranges::find(path, at));
    std::string nodes;
    for (std::size_t i = 0; i < std::min(path.size(), named_most); ++i) {
      nodes += (i == 0 ? "" : ", ") + name_of(file_.nodes[path[i]]);
    }
    if (path.size() > named_most) nodes += ", " + std::to_string(path.size()) + " in all";
    return {0, "has nodes that wait for each other: " + nodes, what_can_be_scheduled};
  }

  File& file_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<Waits> waits_;
  std::vector<TraceTime> earliest_;  // by what is done
  // The end of the last on each thread of the host and each stream.
  std::map<std::pair<bool, std::uint32_t>, TraceTime> queue_ends_;
  Queue ready_, without_callers_;
};

}  // namespace

void schedule(File& file) { Walk(file).go(); }

}  // namespace paceline::traces::chakra
