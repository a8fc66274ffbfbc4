#!/usr/bin/python3
"""Training with DistributedDataParallel over Gloo, a rank a host of the testbed, recorded.

    paceline-testbed --hosts 4 --rate 200Mbps --latency 1ms --mtu 9000 -- \\
      tests/testbed/recorded_ddp.py --cap-mb 5 --record /somewhere/run

Below paceline-testbed it starts a rank on each host; elsewhere it is one rank, of --rank and --world
or RANK and WORLD_SIZE, and meets the others at --address and --port or MASTER_ADDR and MASTER_PORT.

Each layer has one tensor, of 262144 floats unless told otherwise, and waits instead of computing, on
a schedule of its own (tests/bench/ddp_rank.py): half of --compute-ms forward, all of it backward.
Rank 0 prints the median step, its own and the slowest rank's, and their spread. With --record the
timed steps are in PREFIX.<rank>.trace, or PREFIX.trace of one rank. With --profile they are in that
file as torch.profiler exports them by default: without shapes, so without the sizes of gradients.
"""
import argparse
import contextlib
import datetime
import json
import os
import socket
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../bench"), os.path.join(HERE, "../../traces/torch")]
PYTHON = "/usr/bin/python3"  # the one that has Debian's torch
WARM_UP_STEPS = 3  # the first has one bucket for all, the second makes the buckets
MISSING = 77


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cap-mb", type=float, default=25.0)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--elements", default="262144",
                        help="of each layer's tensor; of several, A,B,C, in turn")
    parser.add_argument("--compute-ms", type=float, default=4.0,
                        help="of a layer's backward pass; half of it forward")
    parser.add_argument("--optimizer-ms", type=float, default=2.0)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--passes", type=int, default=1, help="forward and backward passes a step")
    parser.add_argument("--reduce-every-pass", action="store_true", help="no no_sync around them")
    parser.add_argument("--fp16-hook", action="store_true", help="gradients travel as float16")
    parser.add_argument("--find-unused", action="store_true")
    parser.add_argument("--zero-redundancy", choices=("parameters", "views"),
                        help="ZeroRedundancyOptimizer, and what it broadcasts: parameters, or views")
    parser.add_argument("--record", metavar="PREFIX")
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--collectives", action="store_true", help="record when each one ended")
    parser.add_argument("--rank", type=int, default=int(os.environ.get("RANK", "-1")))
    parser.add_argument("--world", type=int, default=int(os.environ.get("WORLD_SIZE", "1")))
    parser.add_argument("--address", default=os.environ.get("MASTER_ADDR", "127.0.0.1"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("MASTER_PORT", "29400")))
    return parser.parse_args()


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def start_on_hosts(program=os.path.abspath(__file__)):
    """A rank of it a host; the exit status of the first that failed."""
    hosts = int(os.environ["PACELINE_TESTBED_HOSTS"])
    everyone = dict(os.environ, WORLD_SIZE=str(hosts), MASTER_PORT=str(free_port()),
                    MASTER_ADDR=os.environ["PACELINE_TESTBED_ADDRESS_0"],
                    GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1")
    ranks = []
    for rank in range(hosts):
        prefix = os.environ["PACELINE_HOST_PREFIX"].replace("{rank}", str(rank)).split()
        ranks.append(subprocess.Popen([*prefix, PYTHON, program, *sys.argv[1:]],
                                      env=dict(everyone, RANK=str(rank))))
    statuses = [rank.wait() for rank in ranks]
    return next((status for status in statuses if status != 0), 0)


def make_optimizer(asked, torch, parameters, schedule):
    """It takes --optimizer-ms for all parameters, and for some the part that they are."""
    parameters = list(parameters)
    seconds = asked.optimizer_ms / 1e3 / sum(parameter.numel() for parameter in parameters)

    class Waiting(torch.optim.Optimizer):
        def __init__(self, of):
            super().__init__(of, {})
            self.elements = sum(one.numel() for group in self.param_groups
                                for one in group["params"])

        def step(self, closure=None):
            schedule.begin_now()
            schedule.compute(self.elements * seconds)

    if asked.zero_redundancy and asked.world > 1:
        from torch.distributed.optim import ZeroRedundancyOptimizer
        return ZeroRedundancyOptimizer(parameters, Waiting,
                                       parameters_as_bucket_view=asked.zero_redundancy == "views")
    return Waiting(parameters)


def recorder(asked, torch):
    """What records the timed steps, and what to call after each of them."""
    if asked.profile:
        profiler = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            on_trace_ready=lambda of: of.export_chrome_trace(asked.profile))
        return profiler, profiler.step
    if asked.record:
        import paceline_recorder
        return paceline_recorder.record(asked.record + ".trace", steps=asked.steps,
                                        collectives=asked.collectives), lambda: None
    return contextlib.nullcontext(), lambda: None


def make_model(asked, schedule, torch):
    import ddp_rank
    workload = {"forward_s": asked.compute_ms / 2e3, "backward_s": asked.compute_ms / 1e3}
    sizes = [int(size) for size in asked.elements.split(",")]
    gradients = [torch.full((size,), asked.rank + 1.0) for size in sizes]
    return torch.nn.Sequential(*(
        ddp_rank.Layer(workload, schedule, gradients[layer % len(gradients)])
        for layer in range(asked.layers)))


def train(asked, torch, dist):
    import ddp_rank
    schedule = ddp_rank.Schedule()
    model = make_model(asked, schedule, torch)
    if asked.world > 1:
        model = torch.nn.parallel.DistributedDataParallel(
            model, bucket_cap_mb=asked.cap_mb, gradient_as_bucket_view=True,
            find_unused_parameters=asked.find_unused)
    if asked.world > 1 and asked.fp16_hook:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    optimizer = make_optimizer(asked, torch, model.parameters(), schedule)
    inputs = torch.zeros(asked.batch)

    def step():
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        for number in range(asked.passes):
            reduces = asked.world == 1 or asked.reduce_every_pass or number == asked.passes - 1
            with contextlib.nullcontext() if reduces else model.no_sync():
                schedule.begin_now()
                model(inputs).sum().backward()
        optimizer.step()
        return time.perf_counter() - begin

    for _ in range(WARM_UP_STEPS):
        step()
    recording, step_done = recorder(asked, torch)
    times = torch.zeros(asked.steps, dtype=torch.float64)
    with recording:
        for number in range(asked.steps):
            times[number] = step()
            step_done()
    slowest = times.clone()
    if asked.world > 1:
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return times.tolist(), slowest.tolist()


def main():
    asked = arguments()
    if subprocess.run([PYTHON, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("no torch: Debian has it as python3-torch")
        return MISSING
    if asked.rank < 0 and "PACELINE_TESTBED_HOSTS" in os.environ:
        return start_on_hosts()
    import torch
    import torch.distributed as dist
    asked.rank = max(asked.rank, 0)
    torch.set_num_threads(1)
    if asked.world > 1:
        dist.init_process_group("gloo", init_method=f"tcp://{asked.address}:{asked.port}",
                                rank=asked.rank, world_size=asked.world,
                                timeout=datetime.timedelta(seconds=60))
    own, slowest = train(asked, torch, dist)
    if asked.rank == 0:
        print(json.dumps({"ranks": asked.world, "steps": asked.steps,
                          "step_s": statistics.median(own),
                          "slowest_step_s": statistics.median(slowest),
                          "least_s": min(slowest), "most_s": max(slowest)}), flush=True)
    if asked.world > 1:
        dist.barrier()
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
