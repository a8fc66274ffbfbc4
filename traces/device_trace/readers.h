#pragma once

#include <string_view>
#include <vector>

#include "traces/device_trace/device_trace.h"
#include "traces/text/format_error.h"

// Readers of device traces, each in the folder of its format.
namespace paceline::traces {

// An object that begins with keys of what PyTorch's profiler (Kineto) writes. So do others' Chrome
// timelines: those are read, and have nothing in them.
[[nodiscard]] bool is_kineto(std::string_view json);

// One rank's trace. What is cut off is read up to its last whole event (`is_cut`), from a copy of
// the text. Throws FormatError, with the byte in its message, for what is not JSON, has no
// traceEvents, or is cut off before any whole event, and with the event for more ranks than
// traced_ranks_most. Events whose time or correlation cannot be are counted in `skipped`, by reason
// in `skipped_for`.
//
// A collective's host call is found by `record_param_comms`, in older files by "nccl:...";
// README.md tells how its kernel is found, and what each release of torch records.
[[nodiscard]] DeviceTrace read_kineto(std::string_view json);

// Whether a text begins as a file of paceline_recorder.py: a line with its schema.
[[nodiscard]] bool is_recording(std::string_view text);

// One rank's recording. Throws FormatError, with the line, for what is no such file, is cut off, or
// has times out of their step.
//
// Steps are ranges of step_prefix. Tasks fill them on stream 0, each launched when it starts:
// "forward", "backward" from one gradient or call to the next, "optimizer", and "between" for the
// script's own rest; not the wait for collectives at the end of the backward pass. A
// DistributedDataParallel bucket is a call when its last gradient was ready. On the device it
// starts when it is called and one before it has ended (NCCL: the last one; Gloo: one of two
// threads is free). Where no hook told ends, the last bucket alone has such a time, to the end of
// the backward pass, with waiting behind the others.
[[nodiscard]] DeviceTrace read_recording(std::string_view text);

// An object that begins with the keys of what PyTorch's ExecutionTraceObserver writes.
[[nodiscard]] bool is_execution_trace(std::string_view json);

// One rank's trace, of schema 1.0.0 (attributes beside a node's name) to 1.1.1-chakra.0.0.4 (in a
// list): collectives only, without times: `called` and `returned` are how many nodes began before
// the first and the last of a call. Throws FormatError, with the byte in its message, for what is
// not JSON, is cut off or has no nodes. Nodes without a name or an id of their own are counted in
// `skipped`.
[[nodiscard]] DeviceTrace read_execution_trace(std::string_view json);

// Protocol Buffers, the first of them Chakra's metadata; or its graph in JSON, which is refused.
[[nodiscard]] bool is_chakra(std::string_view bytes);

// One rank's trace. Nodes on the device are tasks, or collectives; those on the host take time and
// tell launches: `launched` and `called` are the latest start of a host node that one waits for.
// Times are the file's, or where no node has a start those that dependencies allow (node.cpp).
// Bytes recorded without a type are elements of one byte; an all-gather there has no count, as the
// file records a rank's part. Throws FormatError, with the byte or node in its message, for what is
// cut off, too large or no such trace, and for dependencies that cannot be.
[[nodiscard]] DeviceTrace read_chakra(std::string_view bytes);

// What PyTorch's flight recorder dumps: the last collectives of one rank, with how far each had
// come. Source: torch/csrc/distributed/c10d/FlightRecorder.hpp, FlightRecorderDetail.hpp (before:
// NCCLUtils.hpp, TraceUtils.h), versions 1.1 to 2.10 of the dump, PyTorch 2.2 to 2.9.

// JSON whose first 64 KiB have keys of a dump, or a pickle that has.
[[nodiscard]] bool is_flight_recorder(std::string_view text);

// The collectives of one rank in the order of their calls, with their states; on a device where the
// recorder has lengths (TORCH_NCCL_ENABLE_TIMING=1). The rank is not told; broken entries are
// counted in `skipped`. Throws FormatError for what is not JSON or is cut off, with the byte; for a
// group of more than traced_ranks_most ranks; and for a pickle, with the line of Python that writes
// it as JSON.
[[nodiscard]] DeviceTrace read_flight_recorder(std::string_view text);

// A report of Nsight Systems: its SQLite export, or tables of `nsys stats` with cuda_gpu_trace; or
// its own file (.nsys-rep, .qdrep), which is refused with the command that exports it.
[[nodiscard]] bool is_nsys_trace(std::string_view bytes);

// One trace for each device of each process, in their order: all of one clock. Throws FormatError
// for a file without kernels, or one that is damaged or cut off.
//
// Sources: "SQLite Schema Reference" of Nsight Systems 2021.5 to 2026.4 (schema 3.28), its reports
// cuda_gpu_trace.py and nvtx_pushpop_trace.py, and NCCL's nvtx_payload_schemas.h.
[[nodiscard]] std::vector<TracePart> read_nsys_traces(std::string_view bytes);

}  // namespace paceline::traces
