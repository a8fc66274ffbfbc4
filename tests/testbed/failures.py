#!/usr/bin/env python3
"""Loses ranks of measurements at random, and looks at how the runs end.

    tests/testbed/failures.py [--build build/release] [--runs 30] [--seed 1]

Each run is a `paceline run --measure` of 3 ranks in a testbed of its own, a host a rank. At a
random moment a rank is killed or stopped, or its host's link goes down. The run must then end
within the timeout and a grace, with status 3 and one line on standard error that names the rank;
what was measured before must be in the table and the JSON; no process, network or file of the run
may be left. A table of all runs is written; the status is 1 when one of them did otherwise. Needs root.
"""

import argparse
import glob
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 3
TIMEOUT_S = 2.0
GRACE_S = 8.0  # asking mpirun to end, killing it and all that it leaves: 2 + 3 + 3 s
KINDS = ("kill", "stop", "link down")
# The ranks of memory are threads of one process: they are lost together.
CASES = [(kind, backend) for backend in ("gloo", "mpi") for kind in KINDS]
CASES += [("kill", "memory"), ("stop", "memory")]

SCENARIO = """schema: paceline/1
name: a rank is lost
workload:
  batch_per_gpu: 32
  device: v100-sxm2-16gb
  layers:
    - {name: block, repeat: 4, forward: 5ms, backward: 10ms, parameters: [262144]}
cluster:
  nodes: 3
  gpus_per_node: 1
  network: {bandwidth: 400Mbps, latency: 1ms, transport: tcp}
training: {strategy: ddp, bucket_cap: 1MiB, torch_version: "1.13", optimizer: {time: 2ms}}
simulation: {fidelity: folded}
sweep: {training.bucket_cap: [1MiB, 2MiB]}
real: {backend: BACKEND, mode: plan, steps: 15, warmup: 2, timeout: TIMEOUTs}
"""

MPIRUN = (
    "mpirun --mca plm_rsh_agent PROGRAM_--rsh-agent --mca pml ob1 --mca btl tcp,self "
    "--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 "
    "--bind-to none --host host0,host1,host2"
)


def text_of(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def below(process):
    """All processes below one, by what the kernel says now."""
    found = []
    for file in glob.glob(f"/proc/{process}/task/*/children"):
        for child in text_of(file).split():
            found += [int(child)] + below(int(child))
    return found


def is_alive(process):
    state = text_of(f"/proc/{process}/stat").rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def rank_of(process):
    """The rank that a paceline-worker is; None for others and for one that starts ranks."""
    words = text_of(f"/proc/{process}/cmdline").split("\0")
    if not words[0].endswith("paceline-worker") or "--ranks" in words:
        return None
    variables = dict(v.partition("=")[::2] for v in text_of(f"/proc/{process}/environ").split("\0"))
    rank = variables.get("OMPI_COMM_WORLD_RANK") or variables.get("RANK")
    return int(rank) if rank else None


def ranks_below(process, backend):
    if backend == "memory":
        commands = {p: text_of(f"/proc/{p}/cmdline").split("\0") for p in below(process)}
        workers = [p for p, words in commands.items()
                   if words[0].endswith("paceline-worker") and "--ranks" in words]
        return {rank: workers[0] for rank in range(RANKS)} if workers else {}
    return {rank: p for p in below(process) if (rank := rank_of(p)) is not None}


def session_folders(ranks):
    """What Open MPI writes into; other runs on this machine have folders of their own. A run's
    ports end with its processes and the hosts' networks."""
    found = re.findall(r"\0TMPDIR=([^\0]*)",
                       "".join("\0" + text_of(f"/proc/{p}/environ") for p in ranks.values()))
    return set(glob.glob("/dev/shm/paceline-mpi-*")) & set(found)


def networks_of(testbed):
    """The network namespaces of its hosts, as the kernel numbers them."""
    found = {os.readlink(file) for file in glob.glob(f"/proc/{testbed}/fd/51[3-9]")}
    return {link[5:-1] for link in found if link.startswith("net:[")}


def namespaces_now():
    return set(subprocess.run(["lsns", "-t", "net", "-n", "-o", "NS"], capture_output=True,
                              text=True, check=False).stdout.split())


class Run:
    def __init__(self, programs, folder, kind, backend, rank, moment_s):
        self.programs, self.folder = programs, folder
        self.kind, self.backend, self.rank, self.moment_s = kind, backend, rank, moment_s
        self.misses = []
        self.line, self.seconds, self.points, self.steps = "", 0.0, 0, 0

    def expect(self, claim, what):
        if not claim:
            self.misses.append(what)

    def start(self):
        scenario = self.folder / "scenario.yaml"
        scenario.write_text(
            SCENARIO.replace("BACKEND", self.backend).replace("TIMEOUT", str(TIMEOUT_S)))
        # Words of PACELINE_MPIRUN are split at blanks: the agent is a file of its own.
        agent = self.folder / "agent"
        agent.write_text('#!/bin/sh\nexec "$PACELINE_TESTBED_PROGRAM" --rsh-agent "$@"\n')
        agent.chmod(0o755)
        mpirun = MPIRUN.replace("PROGRAM_--rsh-agent", str(agent))
        script = (f'export PACELINE_HOST_ADDRESS="$PACELINE_TESTBED_ADDRESS_0"\n'
                  f'export PACELINE_MPIRUN="{mpirun}"\n'
                  'export PACELINE_MACHINE_ID=\n'
                  f'{self.programs}/paceline run scenario.yaml --measure --quiet '
                  '--json result.json >table 2>errors\n'
                  # What is below COMMAND dies with it, so it stays until it was looked at.
                  'echo $? >status; read -r line\n')
        command = [f"{self.programs}/paceline-testbed", "--hosts", str(RANKS), "--rate", "400Mbps",
                   "--latency", "1ms", "--limit", "60s"]
        if self.backend == "mpi":
            command += ["--inside", "0"]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return subprocess.Popen(command + ["--", "/bin/sh", "-c", script], cwd=self.folder,
                                stdin=subprocess.PIPE, env=environment)

    def wait_for(self, claim, limit_s):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            value = claim()
            if value:
                return value
            time.sleep(0.01)
        return None

    def all_ranks(self, testbed):
        ranks = ranks_below(testbed.pid, self.backend)
        return ranks if len(ranks) == RANKS else None

    def lose(self, testbed, ranks):
        if self.kind == "link down":
            subprocess.run([f"{self.programs}/paceline-testbed", "--link-down", str(testbed.pid),
                            str(self.rank)], check=True)
        else:
            number = signal.SIGKILL if self.kind == "kill" else signal.SIGSTOP
            try:
                os.kill(ranks[self.rank], number)
            except ProcessLookupError:
                self.misses.append("too late: the rank had ended")

    def do(self):
        folders, networks = set(), set()
        testbed = self.start()
        try:
            ranks = self.wait_for(lambda: self.all_ranks(testbed), 15)
            if not ranks:
                self.misses.append("no ranks: " + text_of(self.folder / "errors"))
                return
            networks = networks_of(testbed.pid)
            folders = session_folders(ranks)
            self.expect(bool(folders) == (self.backend == "mpi"), f"session folders: {folders}")
            time.sleep(self.moment_s)
            self.lose(testbed, ranks)
            begin = time.monotonic()
            ended = self.wait_for(lambda: text_of(self.folder / "status"), TIMEOUT_S + GRACE_S)
            self.seconds = time.monotonic() - begin
            self.expect(ended, "it does not end")
            self.look_at_processes(testbed)
        finally:
            testbed.stdin.close()
            try:
                testbed.wait(5)
            except subprocess.TimeoutExpired:
                testbed.kill()
                testbed.wait()
        if ended:
            self.look_at_output()
        self.expect(not any(map(os.path.exists, folders)), f"left: {folders}")
        gone = self.wait_for(lambda: not networks & namespaces_now(), 2)
        self.expect(len(networks) == RANKS and gone, "left: a network namespace")

    def look_at_processes(self, testbed):
        def others():
            alive = filter(is_alive, below(testbed.pid))
            named = {p: text_of(f"/proc/{p}/comm").strip() for p in alive}
            return {p: n for p, n in named.items() if n not in ("sh", "paceline-testbe")}
        self.expect(self.wait_for(lambda: not others(), 0.5), f"left: {others()}")

    def look_at_output(self):
        status = text_of(self.folder / "status").strip()
        self.expect(status == "3", f"status {status}")
        lines = text_of(self.folder / "errors").splitlines()
        self.expect(len(lines) == 1, f"{len(lines)} lines of complaint")
        self.line = lines[0].partition("cap=")[2].partition(": ")[2] if lines else ""
        named = r"with all its ranks" if self.backend == "memory" else rf"\brank {self.rank}\b"
        self.expect(re.search(named, self.line), "the rank is not named: " + " | ".join(lines))
        try:
            points = json.loads(text_of(self.folder / "result.json"))["points"]
        except (ValueError, KeyError) as error:
            self.misses.append(f"no JSON: {error}")
            return
        failed = [p for p in points if "measure_failure" in p]
        self.expect(len(failed) == 1, f"{len(failed)} points say why they failed")
        before = points[:points.index(failed[0])] if failed else points
        self.expect(all(p.get("measured") for p in before), "a point measured before is not there")
        self.steps = sum(len(p.get("steps_measured_s", [])) for p in failed)
        self.points = len(before)
        said = re.search(r"^not measured: .* \((\d+) steps were done\)$",
                         text_of(self.folder / "table"), re.MULTILINE)
        self.expect(said and int(said[1]) == self.steps, "the table does not say what was done")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    programs = pathlib.Path(options.build).resolve() / "bin"
    dice = random.Random(options.seed)
    print(f"{'kind':9}  {'backend':7}  rank  {'after':>6}  {'ended':>6}  points  steps  "
          "what was said")
    missed = 0
    for number in range(options.runs):
        kind, backend = CASES[number % len(CASES)]
        rank = dice.randrange(RANKS)
        with tempfile.TemporaryDirectory(prefix="failures-") as folder:
            # Two points of 17 steps take 2.2 s on threads, some 5 s in this network.
            moment_s = dice.uniform(0, 1.8 if backend == "memory" else 4.5)
            run = Run(programs, pathlib.Path(folder), kind, backend, rank, moment_s)
            run.do()
        missed += bool(run.misses)
        print(f"{kind:9}  {backend:7}  {rank:4}  {run.moment_s:5.2f}s  {run.seconds:5.2f}s  "
              f"{run.points:6}  {run.steps:5}  {run.line}", flush=True)
        for miss in run.misses:
            print(f"    MISS {miss}", flush=True)
    print(f"{options.runs - missed} of {options.runs} runs ended as they must")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
