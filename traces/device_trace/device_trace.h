#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/plan.h"
#include "models/units/units.h"

namespace paceline::traces {

// Ranks of a traced run: more were never traced. A file that says more is refused before anything
// is made as large.
inline constexpr std::uint32_t traced_ranks_most = 65'536;

// "100000, more than the 65536 that a run may have", for messages.
[[nodiscard]] inline std::string more_than_a_run_has(std::uint64_t ranks) {
  return std::to_string(ranks) + ", more than the " + std::to_string(traced_ranks_most) +
         " that a run may have";
}

// Nanoseconds since the earliest event of a trace: a double does not keep parts of a microsecond
// since an epoch. Hosts' clocks disagree, so ranks' times are not compared, but by calls_by_clock
// (learn/).
using TraceTime = std::int64_t;

inline Seconds seconds_of(TraceTime time) { return Seconds(static_cast<double>(time) * 1e-9); }

// One collective as the host called it, as far as the trace records it.
struct TracedCollective {
  std::string name;  // of what ran it; empty where the format has none, or a kernel's
  std::string kind;  // as the trace spells it: allreduce, all_to_allv, send
  std::optional<collectives::Collective> collective;  // when it is one of ours
  std::optional<ElementCount> count;  // of the larger of its two buffers: of the whole array
  std::optional<ElementSize> element_size;
  std::uint32_t group_size = 0;           // 0: not recorded
  std::string group;                      // its name; may be empty
  std::vector<Rank> ranks;                // of the group, as far as they are listed
  std::optional<std::uint64_t> sequence;  // in its group, when the trace counts them
  std::string algorithm;                  // such as RING_LL, from the kernel's name: a hint
  TraceTime called = 0, returned = 0;     // on the host
  // On the device; nullopt where nothing ran there (a group of one) or it was cut off.
  struct OnDevice {
    TraceTime start, end;
    std::optional<std::uint32_t> stream = std::nullopt;  // where the trace tells it
  };
  std::optional<OnDevice> device;
  // How far it had come when the trace was written, where the format tells.
  enum class State : std::uint8_t { scheduled, started, completed };
  std::optional<State> state;
};

// Ranges of this name, a number behind it, are steps.
inline constexpr std::string_view step_prefix = "ProfilerStep#";

// What optimizers name the range in which they update parameters begins with this.
inline constexpr std::string_view optimizer_prefix = "Optimizer.step";

// How much of a file was read.
struct ReadEvents {
  std::uint64_t events = 0, skipped = 0;             // of the file; those that could not be read
  std::map<std::string, std::uint64_t> skipped_for;  // by what is wrong with them

  void skip(const char* what_is_wrong, std::uint64_t of_events = 1) {
    if (of_events == 0) return;
    skipped += of_events;
    skipped_for[what_is_wrong] += of_events;
  }
};

// What a profiler saw of one rank. Lists are in the order of their starts.
struct DeviceTrace : ReadEvents {
  enum class Work : std::uint8_t { kernel, copy, set };
  // Work of the device other than collectives.
  struct Task {
    TraceTime start, end;
    std::uint32_t stream;
    Work work;
    std::optional<TraceTime> launched;  // on the host; some are before (CUPTI)
    std::uint32_t name;                 // in `names`
  };
  // Ranges that the host marked: ProfilerStep#4, DistributedDataParallel.forward, Optimizer.step.
  struct Range {
    TraceTime start, end;
    std::uint64_t thread;
    std::uint32_t name;
  };
  struct Parameter {
    std::string name;
    ElementCount count;
    ElementSize element_size;
  };
  // A gradient became ready on the host (its AccumulateGrad began), and was copied to its bucket,
  // whose collective may have been called meanwhile.
  struct Gradient {
    TraceTime ready;
    std::optional<std::uint32_t> parameter = std::nullopt;  // in `parameters`
    TraceTime copied = ready;
  };

  // A stream, or the host, was told to go on only after what another stream had been given.
  struct Wait {
    TraceTime at;                     // on the host; what it launches later waits, if on `stream`
    TraceTime recorded;               // on the host; waited for is what was launched before
    std::optional<std::uint32_t> of;  // the stream that is waited for; not recorded: any
    std::optional<std::uint32_t> stream = std::nullopt;  // that waits; not recorded: any
  };

  // Under the name that collectives have as their group.
  struct Group {
    std::string name;
    std::vector<Rank> ranks;
  };

  std::optional<Rank> rank;
  std::uint32_t world_size = 0;     // 0: not recorded
  std::uint32_t devices = 0;        // of the rank's node, as listed; 0: not recorded
  std::string device;               // its name; may be empty
  std::uint32_t batch = 0;          // samples a step of this rank; 0: not recorded
  std::optional<Bytes> bucket_cap;  // of DistributedDataParallel, where it is recorded
  std::vector<std::string> names;
  std::vector<Task> tasks;
  bool work_is_of_host = false;  // tasks are operations of the host, as there was no device
  std::vector<Range> ranges;
  // In the order of registration, or one per gradient; empty where not all are recorded.
  std::vector<Parameter> parameters;
  std::vector<Gradient> gradients;
  std::vector<TracedCollective> collectives;
  std::vector<Group> groups;  // where the format lists them apart from calls
  // In the order of the host, without those made by calls of collectives where streams are not
  // recorded. Empty where the trace tells nothing of waiting.
  std::vector<Wait> waits;
  // Whether operations of the host are recorded, and anything of a backward pass or an optimizer.
  bool has_operations = false, has_training = false;
  // Without, those of its collectives are the order of what the host did, and it has nothing else.
  bool has_times = true;
  // Of time 0, nanoseconds since 1970 by the host's clock, where the format tells.
  std::optional<TraceTime> since_epoch;
  // The host looked now and then whether collectives had ended: their ends are up to so much late.
  bool has_late_ends = false;
  bool is_cut = false;  // the file ends in the middle
};

// The number of a name in a list, at whose end it is put if `numbers` does not have its key.
template <class Numbers, class Key>
[[nodiscard]] std::uint32_t number_in(std::vector<std::string>& names, Numbers& numbers,
                                      const Key& key, std::string_view name) {
  const auto [found, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(names.size()));
  if (is_new) names.emplace_back(name);
  return found->second;
}

// Moves all times so that `zero` is 0, and brings lists into the order of their starts.
void count_from(DeviceTrace& trace, TraceTime zero);

// One of the traces of a file that holds several, as of all GPUs of a machine.
struct TracePart {
  std::string part;  // which: "process 4711, GPU 1"; empty for the only one
  DeviceTrace trace;
};

}  // namespace paceline::traces
