#!/usr/bin/env python3
"""Ends ranks of paceline-worker at random moments, on all backends of hosts and at all meeting places.

    rank_kills.py BIN [RUNS] [SEED]

BIN: a folder with paceline and paceline-worker. RUNS: of each case, 5 unless given. A case is a backend (memory, gloo, mpi),
2 or 4 ranks, and how they start: by the worker itself (--ranks), or by a launcher and met at env://, tcp:// or file://.
A process of the run gets SIGKILL, SIGTERM or SIGSEGV, or is stopped, and killed once the others have ended.
Then must hold: all others end in time; a result is whole, with all its steps, none shorter than its compute; whoever
ends with 0 is of a run that has its result; no process and nothing in /dev/shm is left, but for what mpirun or
who supervises it leaves when it is killed itself. Prints a line for each run that breaks a rule, and a table. Exit code 1 when
there is one.
"""

import collections
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parent / "../scenarios"))
from marked_processes import end, end_what_is_left, processes_of  # noqa: E402

STEPS = 10
COMPUTE_S = 4 * 0.006  # of a step
SCENARIO = """schema: paceline/1
name: ranks that are lost
workload: {batch_per_gpu: 8, device: v100-sxm2-16gb, layers: [{name: b, repeat: 4, forward: 2ms, backward: 4ms, parameters: [65536]}]}
cluster: {name: c, nodes: 4, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 50us, transport: tcp}}
training: {strategy: ddp, bucket_cap: 1MiB}
gpus: %d
real: {backend: gloo, mode: plan, steps: 10, warmup: 2, timeout: 2s}
"""
# In place of the worker, it keeps the point that it is asked for.
RECORDER = '#!/bin/sh\ncase "$*" in *--who*) exit 0;; esac\nhead -n 1 > points.jsonl\n'
ENDS_WITHIN_S = 40  # a stopped rank is given up after its timeout, and mpirun has 5 s to end
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGSTOP]
CASES = [("memory", ranks, "local") for ranks in (2, 4)]
CASES += [(backend, ranks, how) for backend in ("gloo", "mpi") for ranks in (2, 4)
          for how in ("local", "env", "tcp", "file")]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def point_of(program, folder, ranks):
    (folder / "paceline-worker").write_text(RECORDER)
    (folder / "paceline-worker").chmod(0o755)
    (folder / "s.yaml").write_text(SCENARIO % ranks)
    link = folder / "paceline"
    if not link.exists():
        link.write_bytes(program.read_bytes())
        link.chmod(0o755)
    subprocess.run([str(link), "measure", "s.yaml", "--quiet"], cwd=folder, capture_output=True)
    return (folder / "points.jsonl").read_bytes()


def start(worker, case, number, folder, points, mark):
    backend, ranks, how = case
    name, value = mark.decode().split("=")
    environment = {**os.environ, name: value, "PACELINE_CONNECT_TIMEOUT": "10s", "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": free_port(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    words = [worker, "--backend", backend, "--timeout", "2s"]
    if how == "local":
        words += ["--ranks", str(ranks)]
    else:
        words += ["--rendezvous", {"env": "env://", "tcp": "tcp://127.0.0.1:" + free_port(),
                                   "file": f"file://{folder}/meet-{number}"}[how]]
    started = []
    is_one = how == "local" or backend == "mpi"
    if is_one and how != "local":
        words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] + words
    for rank in range(1 if is_one else ranks):
        own = {} if is_one else {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank)}
        started.append(subprocess.Popen(words, cwd=folder, env={**environment, **own}, stdin=subprocess.PIPE,
                                        stdout=open(folder / f"out{rank}", "wb"), stderr=open(folder / f"err{rank}", "wb")))
        try:
            started[-1].stdin.write(points if rank == 0 else b"")
            started[-1].stdin.close()
        except BrokenPipeError:
            pass
    return started


def results_in(folder, started):
    """Whole results, and what is wrong with them."""
    results, faults = 0, []
    for rank in range(len(started)):
        for line in (folder / f"out{rank}").read_bytes().split(b"\n"):
            if not line.startswith(b"{") or b'"step":' in line[:40]:
                continue
            try:
                result = json.loads(line)
            except ValueError:
                continue  # cut: its reader knows
            if "measurement" not in result:
                continue
            results += 1
            steps = result["measurement"]["steps_s"]
            if len(steps) != STEPS or min(steps) < COMPUTE_S or result["totals"]["step_s"] < COMPUTE_S:
                faults.append(f"a wrong result: {steps}")
    return results, faults


def one_run(worker, case, number, folder, points, draw, takes):
    mark = f"PACELINE_RANK_KILL={os.getpid()}-{number}".encode()
    before = set(os.listdir("/dev/shm"))
    started = start(worker, case, number, folder, points, mark)
    time.sleep(draw.uniform(0, takes))
    alive = processes_of(mark)
    victim, how = (draw.choice(alive), draw.choice(SIGNALS)) if alive else (0, signal.SIGKILL)
    is_supervisor = victim in [one.pid for one in started]
    if victim:
        end(victim, how)
    faults, deadline = [], time.monotonic() + ENDS_WITHIN_S
    for one in started:
        if how == signal.SIGSTOP and one.pid == victim:
            continue
        try:
            one.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            faults.append("does not end")
    if how == signal.SIGSTOP:
        end(victim, signal.SIGKILL)
    if left := end_what_is_left(mark, deadline):
        faults.append(f"left processes: {left}")
    codes = [one.wait() for one in started]
    results, wrong = results_in(folder, started)
    faults += wrong
    # A launched rank that has left may end well where another is ended after it.
    if 0 in codes and results == 0:
        faults.append(f"ended with {codes} and has no result")
    left = set(os.listdir("/dev/shm")) - before
    if left and not is_supervisor:
        faults.append(f"left {left} in /dev/shm")
    for one in left:
        subprocess.run(["rm", "-r", f"/dev/shm/{one}"])
    became = "right" if results else "failure"
    return faults, became, f"{how.name} of {'a process that was started' if is_supervisor else 'another'}: {codes}"


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    broken = number = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        points = {ranks: point_of(programs / "paceline", folder, ranks) for ranks in (2, 4)}
        for case in CASES:
            table = collections.Counter()
            for at in range(runs + 1):
                number += 1
                begin = time.monotonic()
                is_first = at == 0  # undisturbed, for how long it takes
                if is_first:
                    started = start(str(programs / "paceline-worker"), case, number, folder, points[case[1]], b"PACELINE_RANK_KILL=none")
                    codes = [one.wait(60) for one in started]
                    takes = time.monotonic() - begin
                    if any(codes) or results_in(folder, started) != (1, []):
                        broken += 1
                        print(f"{case}, undisturbed: {codes} {(folder / 'err0').read_text()[-200:]}")
                    continue
                faults, became, what = one_run(str(programs / "paceline-worker"), case, number, folder, points[case[1]],
                                               draw, takes)
                table[became] += 1
                broken += bool(faults)
                if faults:
                    print(f"{case}, run {number}: {what}: {'; '.join(faults)}", flush=True)
            print(f"{case[0]}, {case[1]} ranks, {case[2]}: {runs} ends, {table['right']} right, {table['failure']} failures",
                  flush=True)
    print(f"{number - len(CASES)} runs, {broken} broke a rule")
    sys.exit(broken > 0)


main()
