#!/usr/bin/python3
"""What paceline_recorder costs: steps with and without it, in turns, and the medians of both.

Usage: recorder_overhead.py [--rounds N] [--batch N] [--ranks N] [--collectives]

A model of 161 tensors on one thread, by itself or (--ranks) in DistributedDataParallel over Gloo on
loopback. A round is ten steps without and ten with; the first of each ten is left out.
"""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../traces/torch"))
import paceline_recorder  # pylint: disable=wrong-import-position

STEPS = 10
WIDTH = 128


def make_model():
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(80)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, WIDTH, bias=False))


def timed_steps(step):
    times = []
    for _ in range(STEPS):
        begin, busy = time.perf_counter(), time.thread_time()
        step()
        times.append((time.perf_counter() - begin, time.thread_time() - busy))
    return times[1:]


def measure(asked):
    torch.set_num_threads(1)
    model = make_model()
    recorded = model
    if asked.ranks > 1:
        dist.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
        recorded = model
        if asked.collectives:  # their hook stays: what is recorded is another model
            recorded = torch.nn.parallel.DistributedDataParallel(make_model(), bucket_cap_mb=1)
    inputs = torch.randn(asked.batch, WIDTH)

    def step_of(trained):
        optimizer = torch.optim.SGD(trained.parameters(), lr=1e-4)

        def step():
            optimizer.zero_grad()
            trained(inputs).square().mean().backward()
            optimizer.step()
        return step

    plain_step, recorded_step = step_of(model), step_of(recorded)
    timed_steps(plain_step), timed_steps(recorded_step)
    plain, watched = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(asked.rounds):
            plain += timed_steps(plain_step)
            with paceline_recorder.record(os.path.join(folder, "run.trace"),
                                          collectives=asked.collectives):
                watched += timed_steps(recorded_step)
    return plain, watched


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--collectives", action="store_true")
    asked = parser.parse_args()
    others = []
    if asked.ranks > 1 and "RANK" not in os.environ:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        os.environ.update(RANK="0", WORLD_SIZE=str(asked.ranks), MASTER_ADDR="127.0.0.1",
                          MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        others = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(rank)))
                  for rank in range(1, asked.ranks)]
    plain, watched = measure(asked)
    if os.environ.get("RANK", "0") == "0":
        for what, number in (("time", 0), ("CPU time of the training thread", 1)):
            without, with_it = (statistics.median(step[number] for step in steps)
                                for steps in (plain, watched))
            print(f"{what}: without {without * 1e3:.3f} ms, with {with_it * 1e3:.3f} ms: "
                  f"{100 * (with_it / without - 1):+.2f} %")
        print(f"torch {torch.__version__}, {os.cpu_count()} CPUs")
    for other in others:
        other.wait()


if __name__ == "__main__":
    main()
