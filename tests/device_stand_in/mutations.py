#!/usr/bin/env python3
"""Breaks the GPU backends one line at a time and says which test on the stand-in finds it.

    mutations.py TREE [NAME...]

TREE: a checkout that may be changed, configured in build/release. Each file is put back after its mutation.
The exit code is 1 when one was not found. By hand: some 20 s for each.
"""

import pathlib
import re
import subprocess
import sys

CUDA = "real/cuda/device_communicator.cpp"
KERNELS = "real/cuda/kernels.cu"
NCCL = "real/nccl/communicator.cpp"
LOCAL = "real/cuda_local/communicator.cpp"

# Name, file, what stands there (once), what stands there then.
MUTATIONS = [
    ("none: nothing may be found", NCCL, "bool take(", "bool take("),
    ("a receive does not wait for the sender's stream", LOCAL,
     'cuda::check(owner(), "cudaStreamWaitEvent", cudaStreamWaitEvent(on, taken->ready->event(), 0));', ""),
    ("a sender's stream does not wait for the copy", LOCAL,
     'cuda::check(owner(), "cudaStreamWaitEvent", cudaStreamWaitEvent(on, copied->event(), 0));', ""),
    ("a copy is announced before it is in flight", LOCAL,
     "world_->copy_is_under_way(*taken, std::make_shared<Mark>(owner(), on));",
     "world_->copy_is_under_way(*taken, taken->ready);"),
    ("a write is not waited for", CUDA,
     "cudaMemcpy(memory_ + first_byte, host.data(), host.size(), cudaMemcpyHostToDevice));\n  settle(owner_);",
     "cudaMemcpy(memory_ + first_byte, host.data(), host.size(), cudaMemcpyHostToDevice));"),
    ("new memory is not zero", CUDA, "cudaMemset(memory_, 0, size.value())", "cudaMemset(memory_, 0, 1)"),
    ("sums on a wrong stream", CUDA, "range.count,\n                   on));", "range.count,\n                   (static_cast<void>(on), compute_)));"),
    ("copies on a wrong stream", CUDA, "cudaMemcpyDeviceToDevice,\n                        on));",
     "cudaMemcpyDeviceToDevice,\n                        (static_cast<void>(on), compute_)));"),
    ("a sum begins one element late", KERNELS, "static_cast<const Element*>(from) + done,",
     "static_cast<const Element*>(from) + done + 1,"),
    ("a sum is one element short", KERNELS, "count - done, stream);", "count - done - (count > done), stream);"),
    ("vectors where they are not aligned", KERNELS,
     "if (!is_aligned(to) || !is_aligned(from))", "if (!is_aligned(to))"),
    ("finishing a stream does not wait", CUDA, 'wait_for(Mark(owner_, on), "finish");', ""),
    ("a thread keeps the device that it had", CUDA,
     "void DeviceCommunicator::use_device() const {\n  check(", "void DeviceCommunicator::use_device() const {\n  if (compute_ == nullptr) check("),
    ("waits do not look for failures", CUDA,
     "if (const std::string wrong = trouble(); !wrong.empty()) fail(call, wrong);", ""),
    ("waits never give up", CUDA, "if (steady_now() - start > timeout_) {", "if (steady_now() - start > timeout_ * 1e3) {"),
    ("no end of the group", NCCL, "const ncclResult_t ended = ncclGroupEnd();", "const ncclResult_t ended = ncclSuccess;"),
    ("a group is not waited for", NCCL, "return wrong.empty() ? settle() : wrong;", "return wrong;"),
    ("two threads inside a communicator", NCCL,
     "const std::lock_guard lock(inside_);\n        const ncclResult_t state", "const ncclResult_t state"),
    ("two threads issue on a device", NCCL, "const std::scoped_lock lock(issuing_, inside_);", "const std::scoped_lock lock(inside_);"),
    ("no abort", NCCL, "for (const auto& lane : lanes_) lane->abort();", ""),
    ("an event before what it is to end", NCCL,
     "    return event_at(std::make_shared<Mark>(owner(), native_stream_), \"wait\");",
     "    return event_at(std::make_shared<Mark>(owner(), new_stream()), \"wait\");"),
    ("a wrong chunk is gathered", NCCL, "ncclAllGather(input_.at(mine.begin)", "ncclAllGather(input_.at(ElementCount(0))"),
    ("bfloat16 is sent as float16", NCCL, "return ncclBfloat16;", "return ncclFloat16;"),
    ("a wrong root", NCCL, "ncclBroadcast(from, to, count, type_, root,", "ncclBroadcast(from, to, count, type_, 0,"),
    ("all calls of plans on one communicator", NCCL, "Lane& lane = *lanes_.at(1 + *number);", "Lane& lane = *lanes_.at(1);"),
    ("a lane is not released", NCCL, "lanes_.at(1 + *number)->release(stream);",
     "static_cast<void>(number);"),
    ("ranks on one device are not refused", NCCL, "if (shared) {", "if (false) {"),
]


def run(tree, *command):
    return subprocess.run(command, cwd=tree, capture_output=True, text=True)


def first_failure(tree):
    """The first test that fails, "does not compile", or nothing."""
    targets = ["stand_in_programs", "stand_in_test"]
    built = run(tree, "cmake", "--build", "build/release", "--target", *targets)
    if built.returncode != 0:
        return "does not compile: " + built.stdout[-1500:]
    said = run(tree, "ctest", "--test-dir", "build/release", "-R", "StandIn", "-E", "CheckOfAMachine",
               "--stop-on-failure", "-j2", "--timeout", "60").stdout
    found = re.search(r"Test +#\d+: (\S+).*\*\*\*(\S+)", "\n".join(
        line for line in said.splitlines() if "***" in line and "Skipped" not in line))
    return f"{found[1]} ({found[2]})" if found else ""


def main():
    tree = pathlib.Path(sys.argv[1])
    wanted = sys.argv[2:]
    missed = 0
    for name, path, old, new in MUTATIONS:
        if wanted and name not in wanted:
            continue
        file = tree / path
        text = file.read_text()
        assert text.count(old) == 1, f"{name}: stands {text.count(old)} times in {path}"
        file.write_text(text.replace(old, new))
        try:
            found = first_failure(tree)
        finally:
            file.write_text(text)
        missed += bool(found) if name.startswith("none") else not found
        print(f"| {name} | {path} | {found or 'nothing found'} |", flush=True)
    sys.exit(missed > 0)


main()
