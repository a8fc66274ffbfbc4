#!/usr/bin/env python3
"""Ends runs of many points and measured runs at random moments, by any signal, and looks at what they leave.

    random_kills.py BUILD [RUNS] [SEED]

BUILD: a folder with bin/paceline. RUNS: how many, 100 unless given; those that are over before are not counted, and
the moment is drawn from what an undisturbed run takes. Every run has a result from before in its place.
It, or one of its processes (an executor, a rank), gets SIGKILL, SIGTERM or SIGINT, or is stopped and then killed.
Then must hold: the result is the old one to the byte, or whole; where the run was not killed itself, points that are
done are in it, and it says that it is not complete; no process, no file of ours and nothing in /dev/shm is left.
Prints a line for each run that breaks a rule, and a table. Exit code 1 when there is one.

Result, two cores, Debian 12, November 2026: seeds 1 and 23, 100 runs each, none broke a rule; seed 7, 100 runs, one of which had not begun. Found by it before: SimGrid wrote about
its actors, and ended by a segmentation fault, where a simulation got SIGINT (sim/flow/flow_network.cpp).
"""

import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from marked_processes import end, end_what_is_left, processes_of

PREDICTED = """schema: paceline/1
name: many points
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: block, repeat: 20, forward: 1ms, backward: 2ms, parameters: [3000000]}
cluster:
  nodes: 64
  gpus_per_node: 1
  network: {bandwidth: 10Gbps, latency: 5us}
training: {strategy: ddp, optimizer: {kind: sgd, time: 1ms}}
collective: {library: plan, algorithm: ring}
simulation: {fidelity: flow}
sweep: {gpus: [2, 4, 8, 16, 24, 32, 40, 48, 56, 64]}
"""

MEASURED = """schema: paceline/1
name: measured points
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: block, repeat: 4, forward: 2ms, backward: 4ms, parameters: [100000]}
cluster:
  nodes: 3
  gpus_per_node: 1
  network: {bandwidth: 1GBps, latency: 50us, transport: tcp}
training: {strategy: ddp, optimizer: {time: 1ms}}
simulation: {fidelity: folded}
sweep: {gpus: [1, 2, 3], workload.batch_per_gpu: [8, 16]}
real: {backend: gloo, mode: plan, warmup: 2, timeout: 2s, steps: 8}
"""

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP]
START_S = 0.1  # in which a program is loaded and its scenario read, with other work on the machine
GONE_WITHIN_S = 12  # a stopped rank is given up after its timeout, and its run ends after


def faults_of(folder, before, was_killed, run):
    text = (folder / "result.json").read_bytes()
    if text == before:
        return [] if was_killed or not run["points_seen"] else ["done points are lost"]
    try:
        result = json.loads(text)
    except ValueError:
        return ["the result is broken"]
    faults = []
    key = "measured" if run["is_measured"] else "predicted"
    done = sum(point[key] is not None for point in result["points"])
    if result["complete"] != (done == len(result["points"])):
        faults.append(f"complete is {result['complete']} with {done} points done")
    run["done"] = done
    return faults


def command_of(program, is_measured):
    return [program, "measure" if is_measured else "run", "scenario.yaml", "--json", "result.json"]


def duration_of(program, folder, is_measured):
    (folder / "scenario.yaml").write_text(MEASURED if is_measured else PREDICTED)
    begin = time.monotonic()
    subprocess.run(command_of(program, is_measured), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def one_run(program, folder, draw, number, durations):
    """Returns what broke, and what became of the run."""
    is_measured = draw.random() < 0.5
    (folder / "scenario.yaml").write_text(MEASURED if is_measured else PREDICTED)
    before = f'old {number}'.encode()
    (folder / "result.json").write_bytes(before)
    there = set(os.listdir("/dev/shm")), set(os.listdir(folder))
    mark = f"PACELINE_RANDOM_KILL={os.getpid()}-{number}".encode()
    name, value = mark.decode().split("=")
    started = subprocess.Popen(command_of(program, is_measured), cwd=folder, env={**os.environ, name: value},
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    moment = draw.uniform(0.0, durations[is_measured])
    time.sleep(moment)
    alive = processes_of(mark)
    if not alive:
        started.communicate()
        return None
    how = draw.choice(SIGNALS)
    victim = draw.choice([started.pid] + alive)
    end(victim, how)
    if how == signal.SIGSTOP:
        time.sleep(draw.uniform(0, 4))
        end(victim, signal.SIGKILL)
    was_killed = victim == started.pid and how in (signal.SIGKILL, signal.SIGSTOP)
    try:
        _, said = started.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        end_what_is_left(mark, 0)
        return ["did not end within 60 s"], "hung"
    run = {"is_measured": is_measured, "points_seen": b"done: " in said and b"done: 0 of" not in said}
    faults = faults_of(folder, before, was_killed, run)
    lines = said.decode(errors="replace").splitlines()
    # Before it has read its scenario a signal ends it as it ends any program; later it says what is done.
    had_not_begun = moment < START_S and started.returncode == -how and not lines
    if started.returncode != 0 and not was_killed and not had_not_begun and len(lines) != 1:
        faults.append(f"said {len(lines)} lines: {lines[:3]}")
    if left := end_what_is_left(mark, time.monotonic() + GONE_WITHIN_S):
        faults.append(f"left processes: {left}")
    if set(os.listdir("/dev/shm")) - there[0]:
        faults.append(f"left {set(os.listdir('/dev/shm')) - there[0]} in /dev/shm")
    if set(os.listdir(folder)) - there[1]:
        faults.append(f"left {set(os.listdir(folder)) - there[1]}")
    what = "paceline" if victim == started.pid else "one of its processes"
    kind = "measured" if is_measured else "predicted"
    return faults, f"{kind}, {what}, {how.name}: exit {started.returncode}, {run.get('done', 'old result')}"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve() / "bin" / "paceline")
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    broken = 0
    table = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        durations = [duration_of(program, folder, is_measured) for is_measured in (False, True)]
        number = done = 0
        while done < runs:
            number += 1
            ended = one_run(program, folder, draw, number, durations)
            if ended is None:
                continue
            faults, became = ended
            done += 1
            table[became.split(":")[0]] += 1
            broken += bool(faults)
            if faults:
                print(f"run {number}: {became}: {'; '.join(faults)}", flush=True)
    for became, count in sorted(table.items()):
        print(f"{count:4} {became}")
    print(f"{runs} runs, {broken} broke a rule")
    sys.exit(broken > 0)


main()
