#!/usr/bin/python3
"""What halves cost the CPUs of this machine, with torch: casts, and Gloo's sums of them.

    tests/testbed/torch_halves.py [--ranks 4] [--bytes 5242880]

So many processes, of one thread each, do the same at the same time, without a testbed: what
fp16_compress_hook does to a bucket of floats of that size and back, and an all-reduce of as many
halves, and of floats of the same bytes, over the loopback interface. Prints, in bytes a second of a
process: `cast`, read and written by both casts and the division; `sum`, of halves that are added, by
what their all-reduce takes beyond that of floats.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

PYTHON = "/usr/bin/python3"  # the one that has Debian's torch
REPETITIONS = 15
PORT = 29480


def of_this_rank(asked, torch, dist):
    floats = torch.ones(asked.bytes // 4)
    halves = floats.to(torch.float16)
    as_many_bytes = torch.ones(halves.numel() // 2)

    def casts():
        floats.copy_(floats.to(torch.float16).div_(asked.ranks))

    def seconds(action):
        times = []
        for _ in range(REPETITIONS):
            dist.barrier()
            begin = time.monotonic()
            action()
            times.append(time.monotonic() - begin)
        return statistics.median(times)

    return [seconds(casts), seconds(lambda: dist.all_reduce(halves.zero_())),
            seconds(lambda: dist.all_reduce(as_many_bytes.zero_()))]


def rank_main(asked):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=asked.rank,
                            world_size=asked.ranks)
    times = torch.tensor(of_this_rank(asked, torch, dist), dtype=torch.float64)
    dist.all_reduce(times)
    cast, halves, floats = (times / asked.ranks).tolist()
    elements = asked.bytes // 4
    if asked.rank == 0:
        # Each cast reads one type and writes the other. A ring adds all but one part of a buffer.
        added = 2 * elements * (asked.ranks - 1) / asked.ranks
        print(json.dumps({"cast": 2 * (4 + 2) * elements / cast, "sum": added / (halves - floats),
                          "cast_s": cast, "halves_s": halves, "floats_s": floats}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--bytes", type=int, default=5 << 20, help="of a bucket of floats")
    parser.add_argument("--rank", type=int, default=-1, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.rank >= 0:
        rank_main(asked)
        return 0
    everyone = dict(os.environ, GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    ranks = [subprocess.Popen([PYTHON, os.path.abspath(__file__), *sys.argv[1:], "--rank",
                               str(rank)], env=everyone) for rank in range(asked.ranks)]
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
