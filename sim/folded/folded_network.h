#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "models/topology/cluster.h"
#include "models/units/units.h"
#include "sim/folded/fair_rates.h"
#include "sim/folded/network.h"

namespace paceline::sim {

// Links that every flow of a symmetric cluster sees alike.
struct LinkClass {
  BytesPerSecond bandwidth;  // of one
  std::uint64_t links;
};

// A path that `flows` flows take together, spread evenly over the links of each class they cross.
struct FoldedPath {
  topology::MessageTiming timing;
  std::vector<std::uint32_t> link_classes;  // each once
  std::uint64_t flows;

  friend auto operator<=>(const FoldedPath&, const FoldedPath&) = default;
};

// Flows of classes instead of flows between endpoints: our own clock, and rates from Rates.
//
// The rates stay what they are until a flow starts or ends, so the times are those that SimGrid
// would find for all flows of all links, up to rounding.
class FoldedNetwork final : public Network {
 public:
  // Thrown by run() when sharing links between flows takes too long.
  struct TooMuchSharing : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  // Adds its islands to the rates, which must outlive the network. `effort_max` is of
  // Rates::effort().
  FoldedNetwork(std::span<const LinkClass> links, std::vector<FoldedPath> paths,
                std::function<void(void* tag)> on_arrival, Rates& rates, std::uint64_t effort_max);

  [[nodiscard]] Seconds now() const override { return Seconds(now_); }
  void at(Seconds time, std::function<void()> action) override;
  void send(PathId path, double bytes, Seconds extra, void* tag, Connection* connection) override;
  [[nodiscard]] const topology::MessageTiming& timing(PathId path) const override {
    return paths_[path].timing;
  }
  void hand_back_after(Seconds delay, void* tag) override;
  void round_begins() override { round_began_ = true; }

  // Runs until nothing is left to do. `on_round` is called when all that happens at the time of a
  // beginning round has happened.
  void run(const std::function<void()>& on_round);

  // What is left of a flow's present stage, in time: of its latency, of its bytes at the present
  // rate, or of its reduction; 0 while it waits in its connection.
  struct FlowState {
    void* tag;
    enum class Phase : std::uint8_t { latency, waiting, moving, handed_back } phase;
    Seconds left;
  };
  void append_flows(std::vector<FlowState>& flows) const;
  // Happened so far, and to come.
  [[nodiscard]] std::uint64_t events() const { return events_made_; }
  // When the next timer goes off; infinity without one.
  [[nodiscard]] Seconds next_timer() const;
  // Lets time pass after which the flows are in the same state. Precondition: no timer goes off in
  // it.
  void leap(Seconds time);

 private:
  struct Flow {
    void* tag;
    Connection* connection;
    PathId path;
    FlowState::Phase phase;
    bool in_use;
    double left;       // bytes
    double phase_end;  // s; of latency or until it is handed back
  };

  struct Place {
    std::uint32_t island;
    std::uint32_t way;    // of the island
    std::uint64_t flows;  // that the path stands for, in the island's unit
  };

  // An island of the cluster; many have the same shape, whose rates are found as one's.
  struct IslandState {
    IslandId shape;
    std::vector<Flow*> flows;            // moving
    std::vector<std::uint64_t> load;     // what they stand for, by way
    std::vector<double> rates;           // by way
    double updated = 0;                  // when the flows' bytes were counted
    std::uint32_t version = 0;           // of the rates: older completions are void
    std::vector<std::uint32_t> changed;  // ways, since the rates were found
  };

  struct Event {
    double time;
    std::uint64_t number;  // events of one time go in the order of their making
    enum class Kind : std::uint8_t { timer, latency, completion, hand_back } kind;
    std::uint32_t version;
    std::uint64_t subject;  // timer or island
    Flow* flow;

    [[nodiscard]] bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  Flow* new_flow();
  void hand_back(Flow* flow);
  void find_islands(std::span<const LinkClass> links);
  void add_island(const std::vector<PathId>& path_ids, std::span<const LinkClass> links);
  void push(double time, Event::Kind kind, std::uint64_t subject, Flow* flow,
            std::uint32_t version);
  void handle(const Event& event);
  void pass_latency(Flow* flow);
  void move(Flow* flow);
  void count_bytes(IslandState& island);
  void complete(std::uint32_t island);
  void settle();
  void arrived(Flow* flow);

  std::vector<FoldedPath> paths_;
  std::function<void(void*)> on_arrival_;
  std::uint64_t effort_max_;
  std::vector<Place> places_;  // by path
  std::vector<IslandState> islands_;
  Rates& rates_;
  double now_ = 0;
  std::vector<Event> events_;  // a heap: the next one first
  std::uint64_t events_made_ = 0;
  std::vector<std::function<void()>> timers_;
  std::vector<std::uint64_t> free_timers_;
  std::deque<Flow> pool_;  // addresses stay
  std::vector<Flow*> free_;
  std::vector<std::uint32_t> changed_;  // islands
  std::vector<Flow*> arrivals_;         // of one completion; kept for its memory
  bool round_began_ = false;
};

}  // namespace paceline::sim
