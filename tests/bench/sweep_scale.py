#!/usr/bin/env python3
"""What sweeps take, and what MPI's ranks give and lose.

    sweep_scale.py BIN [POINTS...]

BIN: a folder with paceline and paceline-sweep. POINTS: how many, 10000 and 100000 unless given.
Prints for each number the points a second, the peak memory and the bytes of the store a point; then of the first number what
two ranks of one thread are faster than one; and, with mpirun --enable-recovery, what is in the store when three of
twenty ranks were killed. Exit code 1 when a point is missing or twice.
"""

import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

SCENARIO = """schema: paceline/1
name: a grid
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, repeat: 4, forward: 1ms, backward: 2ms, parameters: [1000000]}
cluster:
  nodes: 2
  gpus_per_node: 4
  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}
  network: {bandwidth: 10Gbps, latency: 5us}
training: {strategy: ddp, optimizer: {kind: sgd, time: 1ms}}
collective: {library: plan, algorithm: ring}
sweep: {workload.batch_per_gpu: [%s], cluster.network.latency: [%s], gpus: [4, 8, 16, 32, 64]}
"""
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def grid(points):
    with open(f"{points}.yaml", "w") as file:
        file.write(SCENARIO % (", ".join(str(i + 1) for i in range(20)),
                               ", ".join(f"{i + 1}ns" for i in range(points // 100))))
    return f"{points}.yaml"


def run(command):
    """Seconds of the wall and KiB of memory."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **MPI})
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command} ended with {status}")
    return time.monotonic() - began, used.ru_maxrss


def points_in(store):
    return sqlite3.connect(store).execute("SELECT count(*), count(DISTINCT key) FROM points").fetchone()


def ranks_of(program):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                variables = dict(one.split(b"=", 1) for one in (entry / "environ").read_bytes().split(b"\0") if b"=" in one)
                found.append((int(variables[b"OMPI_COMM_WORLD_RANK"]), int(entry.name)))
        except (OSError, KeyError):
            continue
    return [process for _, process in sorted(found)]


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    counts = [int(word) for word in sys.argv[2:]] or [10_000, 100_000]
    sweep, ranks = str(programs / "paceline"), str(programs / "paceline-sweep")
    complete = True
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for points in counts:
            seconds, memory = run([sweep, "sweep", grid(points), "--store", f"{points}.db"])
            complete &= points_in(f"{points}.db") == (points, points)
            print(f"{points} points: {points / seconds:.0f} a second, {memory / 1024:.0f} MiB, "
                  f"{os.path.getsize(f'{points}.db') / points:.0f} bytes each in the store", flush=True)
        if not os.path.exists(ranks):
            sys.exit(0 if complete else 1)
        points = counts[0]
        one, two = (run(["mpirun", "--bind-to", "none", "-n", str(n), ranks, grid(points), "--store", f"ranks{n}.db"])[0]
                    for n in (1, 2))
        print(f"MPI: two ranks are {one / two:.2f} times as fast as one", flush=True)
        process = subprocess.Popen(["mpirun", "--enable-recovery", "--bind-to", "none", "-n", "20", ranks, grid(points),
                                    "--store", "killed.db"], stdout=subprocess.DEVNULL, env={**os.environ, **MPI})
        while not os.path.exists("killed.db"):
            time.sleep(0.1)
        time.sleep(one / 5)
        killed = ranks_of(ranks)[1:4]
        for rank in killed:
            os.kill(rank, 9)
        code = process.wait()
        complete &= points_in("killed.db") == (points, points)
        print(f"MPI: {len(killed)} of 20 ranks killed, mpirun ended with {code}, points and keys: {points_in('killed.db')}")
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
