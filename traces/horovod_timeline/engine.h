#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/units/units.h"
#include "traces/device_trace/device_trace.h"

// The events of Horovod's timeline, and what its engine did by them.
namespace paceline::traces::horovod {

// Texts are views of the file, or of what is gone after the next event.
struct TimelineEvent {
  char phase = 0;                        // B, E, X, i, M
  std::string_view name;                 // of what begins; of a rank's tick its number
  std::optional<TraceTime> at;           // none of metadata
  std::optional<std::uint64_t> process;  // a tensor is one; none of marks
  // Of the arguments: a tensor's name, its type and shape, the start of a timeline since 1970.
  std::string_view process_name, type, shape, since_epoch_us;
};

struct TimelineText {
  std::uint64_t events = 0, broken = 0;
  std::size_t first_broken_line = 0;
  std::string first_broken;  // its beginning
  bool is_cut = false;       // in the middle of the last event
};

// Calls `take` with each event, in the order of the file. The list need not be closed, nor have
// commas or line breaks; what is no event is counted and passed over. One pass; O(1) memory.
[[nodiscard]] TimelineText for_each_event(std::string_view text,
                                          const std::function<void(const TimelineEvent&)>& take);

using Times = std::vector<TraceTime>;  // lengths

// A rank's ticks: when the coordinator heard that a tensor is ready there.
struct RankTicks {
  Times behind;             // the first rank, of each negotiation with ticks of several
  std::uint64_t first = 0;  // negotiations that it began
  std::uint64_t last = 0;   // that it held up
  Seconds held_up;          // from the last rank in time to it: together
};

// What is sent in one call of a library: a tensor, or several in a fusion buffer.
struct FusedCall {
  std::uint32_t operation = 0;  // its name: ALLREDUCE; in Engine::names
  std::uint32_t library = 0;    // the name of its first transfer: NCCL_ALLREDUCE
  std::uint32_t tensors = 0, sized = 0;
  std::uint64_t bytes = 0;  // of those that tell their size
  Seconds transfer;         // of all of its transfers
  bool has_ended = false;
};

struct TimelineTensor {
  std::string name, shape, type;
  std::optional<Bytes> size;
  std::uint64_t operations = 0;
  Times negotiations, transfers;
  std::optional<TraceTime> last_began;
  // Began and has not ended: a negotiation, an operation, an activity of it.
  struct Open {
    std::uint32_t name;
    TraceTime start;
  };
  std::vector<Open> open;
  std::vector<std::pair<std::uint32_t, TraceTime>> ticks;  // of the negotiation that is open
  std::optional<std::size_t> call;                         // of the operation that is open
  std::uint64_t together = 0;                              // Engine's: its latest
};

class Engine {
 public:
  void take(const TimelineEvent& event);

  // Of the names that the members below count by.
  [[nodiscard]] const std::string& name(std::uint32_t number) const { return *names_[number]; }
  [[nodiscard]] bool is_negotiation(std::uint32_t number) const;

  std::map<std::uint64_t, TimelineTensor> tensors;  // by process
  std::map<std::uint32_t, Times> lengths;           // of negotiations, operations and activities
  std::map<std::uint32_t, RankTicks> ranks;
  std::vector<FusedCall> calls;
  std::uint64_t negotiations = 0, with_ticks = 0;
  Times cycles;             // from mark to mark
  Times until_operation;    // from a mark to the first operation of its cycle
  Times between;            // from an operation of a tensor to its next
  std::uint64_t ended = 0;  // what had no beginning: the file begins later
  std::optional<TraceTime> first, last;
  std::optional<TraceTime> since_epoch;

 private:
  // Tensors that began a transfer of one name, and of which none has ended it.
  struct Together {
    TraceTime start;
    std::size_t call;
    std::uint64_t number;  // from 1
  };

  std::uint32_t number_of_name(std::string_view name);
  void mark_cycle(TraceTime at);
  void begin(const TimelineEvent& event, TimelineTensor& tensor);
  void begin_operation(TimelineTensor& tensor, TraceTime at);
  void begin_transfer(std::uint32_t name, TimelineTensor& tensor, TraceTime at);
  void end(const TimelineEvent& event, TimelineTensor& tensor);
  void end_transfer(std::uint32_t name, TimelineTensor& tensor, TraceTime start, TraceTime at);
  void end_operation(const TimelineEvent& event, TimelineTensor& tensor);
  void end_negotiation(TimelineTensor& tensor);

  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<const std::string*> names_;
  std::unordered_map<std::uint32_t, Together> together_;  // by name
  std::uint64_t last_together_ = 0;
  std::optional<TraceTime> cycle_;
  bool is_cycle_used_ = false;
};

// Ticks further apart than half of Horovod's least usual cycle (1 ms) tell late ranks; others only
// the order in which messages were read.
inline constexpr TraceTime late_ns = 500'000;

// NCCL_ALLREDUCE, MPI_BCAST: what moves data between ranks.
[[nodiscard]] bool is_transfer(std::string_view activity);

}  // namespace paceline::traces::horovod
