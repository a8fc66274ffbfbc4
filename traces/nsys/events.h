#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces::nsys {

// A report of all its processes and devices. Times are nanoseconds of its one clock, at least 0.
// Processes are the report's numbers; 0 where it does not tell them.
struct Events : ReadEvents {
  struct Work {
    TraceTime start, end;
    std::uint64_t process, correlation;  // 0: none
    std::uint32_t device, stream, name;
    DeviceTrace::Work kind;
  };
  struct Launch {
    TraceTime start = 0, end = 0;
    std::uint64_t thread = 0;
    bool of_graph = false;
    bool is_known = false;
  };
  // That makes a stream or the host wait for others.
  struct Wait {
    TraceTime at;
    std::uint64_t process;
  };
  // What NCCL tells of a call, or of a communicator that it made.
  struct Payload {
    std::optional<std::uint64_t> communicator, size;  // bytes, of what a rank gives or gets
    std::optional<std::uint64_t> ranks, rank;
  };
  struct Range {
    TraceTime start, end;
    std::uint64_t process, thread;
    std::uint32_t name;
    std::optional<std::uint32_t> payload;  // in `payloads`
  };
  struct Key {
    std::uint64_t process, correlation;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.process * 0x9e3779b97f4a7c15U ^ key.correlation);
    }
  };

  std::uint32_t number_of(std::string_view name) {
    return number_in(names, name_numbers, std::string(name), name);
  }

  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint32_t> name_numbers;
  std::vector<Work> work;
  std::unordered_map<Key, Launch, HashOfKey> launches;  // of `work`
  std::vector<Wait> waits;
  bool has_waits_of_streams = false;
  std::vector<Range> ranges;
  std::vector<Payload> payloads;
  std::map<std::uint32_t, std::string> devices;  // of the machine: names by number
  std::map<std::uint64_t, std::uint32_t> ranks;  // of processes, as MPI numbers them
};

// Names of ranges and kernels longer than this are cut.
inline constexpr std::size_t name_most = 1024;
// Of a report: some thirty gigabytes of memory.
inline constexpr std::uint64_t events_most = std::uint64_t{1} << 28U;

// Of one report: more than any node has.
inline constexpr std::size_t traces_most = 256;

// Of an SQLite export. Throws FormatError as Database does, for what is no report of Nsight
// Systems, and for more than events_most.
[[nodiscard]] Events events_of_export(std::string_view bytes);

struct ProcessTrace {
  std::uint64_t process;
  std::uint32_t device;
  DeviceTrace trace;
};

// By process, then device. Ranges that are named as steps ("iteration 12", or a word for a step
// that repeats) become DeviceTrace's steps; NCCL's kernels are collectives, with sizes where its
// own ranges tell them.
[[nodiscard]] std::vector<ProcessTrace> traces_of(const Events& events);

}  // namespace paceline::traces::nsys
