#!/usr/bin/python3
"""A rank of own_hosts.py, or below paceline-testbed one a host: PyTorch's DistributedDataParallel, with something wrong.

Usage: own_hosts_rank.py JSON. Its keys: `layers`, `elements` of each layer's tensor, `compute_ms` of its backward pass (half
of it forward), `cap_mib`, and of what is wrong those that own_hosts.py plants. Rank 0 prints the median step of the
slowest rank, in seconds.
"""
import contextlib
import json
import multiprocessing
import os
import queue
import statistics
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../testbed"))

import recorded_ddp  # noqa: E402

BATCH, WARM_UP, STEPS = 8, 3, 7
SAMPLE = bytes(16384)  # a pipe holds four
BURNT = os.cpu_count() - 1  # the core


def feed(fifo, rate):
    """So many samples a second, for all ranks together."""
    due = time.monotonic()
    with contextlib.suppress(BrokenPipeError), open(fifo, "wb", buffering=0) as pipe:
        while True:
            due = max(due, time.monotonic() - 0.1) + 1 / rate
            time.sleep(max(0, due - time.monotonic()))
            pipe.write(SAMPLE)


def burn():
    os.sched_setaffinity(0, {BURNT})
    while True:
        pass


def loaded(fifo):
    """Batches, of which a thread reads one ahead."""
    batches = queue.Queue(maxsize=1)

    def read():
        with open(fifo, "rb") as pipe:
            while batch := pipe.read(BATCH * len(SAMPLE)):
                batches.put(batch)

    threading.Thread(target=read, daemon=True).start()
    return batches


def main(asked):
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    is_last = 0 < rank == world - 1
    burns = "burn" in asked and rank == world - 1
    if is_last and "shared_core" in asked:
        multiprocessing.Process(target=burn, daemon=True).start()
    if rank == 0 and "input" in asked:
        multiprocessing.Process(target=feed, args=(asked["fifo"], asked["input"]), daemon=True).start()
    import torch
    import torch.distributed as dist
    import ddp_rank

    class Burning(ddp_rank.Schedule):
        def compute(self, seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                pass

    torch.set_num_threads(1)
    schedule = Burning() if burns else ddp_rank.Schedule()
    compute_s = asked["compute_ms"] * 1e-3 * (asked.get("slower", 1) if is_last else 1)
    gradient = torch.full((asked["elements"],), rank + 1.0)
    model = bare = torch.nn.Sequential(*(
        ddp_rank.Layer({"forward_s": compute_s / 2, "backward_s": compute_s}, schedule, gradient)
        for _ in range(asked["layers"])))
    if world > 1:
        dist.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(
            bare, bucket_cap_mb=asked["cap_mib"], gradient_as_bucket_view=True)
    if burns:
        os.sched_setaffinity(0, {BURNT})  # not the threads that there are, of Gloo
    if "hook_ms" in asked:
        for parameter in bare.parameters():
            parameter.register_hook(lambda _: schedule.compute(asked["hook_ms"] * 1e-3))
    batches = loaded(asked["fifo"]) if "input" in asked else None
    in_bucket = max(int(asked["cap_mib"] * 2**20 / 4 / asked["elements"]), 1)

    def backward(reduces):
        schedule.begin_now()
        of = model if reduces else bare
        of(torch.zeros(BATCH, requires_grad=True)).sum().backward()

    def step():
        begin = time.monotonic()
        bare.zero_grad(set_to_none=True)
        if batches:
            batches.get()
        for left in reversed(range(asked.get("passes", 1))):
            backward(left == 0 and "after" not in asked)
        if "after" in asked:
            gradients = [parameter.grad for parameter in reversed(list(bare.parameters()))]
            for first in range(0, len(gradients), in_bucket):
                dist.all_reduce(torch.cat(gradients[first:first + in_bucket]))
        return time.monotonic() - begin

    times = torch.tensor([step() for _ in range(WARM_UP + STEPS)][WARM_UP:])
    if world > 1:
        dist.all_reduce(times, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(json.dumps(statistics.median(times.tolist())), flush=True)
    if world > 1:
        dist.barrier()
        os._exit(0)  # torch's destructors of what both sides still hold may wait for each other


if __name__ == "__main__":
    if "RANK" not in os.environ and "PACELINE_TESTBED_HOSTS" in os.environ:
        sys.exit(recorded_ddp.start_on_hosts(os.path.abspath(__file__)))
    main(json.loads(sys.argv[1]))
