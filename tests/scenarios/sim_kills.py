#!/usr/bin/env python3
"""Ends paceline-sim at every request of every command that asks it, in every way, and looks at what the command makes of it.

    sim_kills.py BIN [COMMAND...]

BIN: a folder with paceline and paceline-sim. COMMAND: names of the commands below, all unless given.
Ways: it is killed, ends by SIGTERM or SIGSEGV, ends well, is stopped and killed, answers garbage, half an answer with or
without its line's end, or the same answer twice.
The command must end with 3 and a line on standard error, or with 0 and the output of an undisturbed run; a check by
SimGrid that could not be made is a line of its own ("not checked: paceline-sim ..."). Prints a line for each that does
neither, and a table. Exit code 1 when there is one.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SCENARIO = """schema: paceline/1
name: ended
workload: {batch_per_gpu: 32, device: v100-sxm2-16gb, layers: [{name: b, repeat: 2, forward: 5ms, backward: 10ms, parameters: [524288]}]}
cluster: {name: c, nodes: 4, gpus_per_node: 1, network: {bandwidth: 10Gbps, latency: 20us, transport: tcp}}
training: {strategy: ddp, bucket_cap: 4MiB}
collective: {library: plan, algorithm: ring}
"""
FLOW = "simulation: {fidelity: flow}\n"
SWEPT = "sweep: {gpus: [1, 2, 4]}\n"
MEASURED = """measured:
  source: a test
  by: %s
  points: [{gpus: 2, throughput: 1000 samples/s}, {gpus: 4, throughput: 1900 samples/s%s}]
"""
CLAIM = """schema: paceline.claim/1
claim: 8 GPUs reach a speedup of 5-7
source: a test
base: {workload.model: resnet50, workload.batch_per_gpu: 32, workload.device: v100-sxm2-32gb, cluster.preset: dgx1-v100,
  gpus: 8, training.strategy: ddp, simulation.fidelity: flow}
quantity: speedup
range: {least: 5, most: 7}
conditions: {workload.precision: [fp32, amp]}
"""
FILES = {"flow.yaml": SCENARIO + FLOW + "gpus: 4\n", "swept.yaml": SCENARIO + FLOW + SWEPT,
         "folded.yaml": SCENARIO + "gpus: 4\n",
         "a.yaml": SCENARIO + FLOW + SWEPT + MEASURED % ("a", ""),
         "b.yaml": (SCENARIO + FLOW + SWEPT + MEASURED % ("b", "")).replace("10Gbps", "25Gbps"),
         "two.yaml": SCENARIO.replace("repeat: 2", "repeat: 1").replace("plan, algorithm: ring", "mpi") + FLOW + "gpus: 2\n",
         "claim.yaml": CLAIM, "known.yaml": SCENARIO + FLOW + SWEPT + MEASURED % ("a", ", known: true")}
COMMANDS = {
    "run": "run swept.yaml --json - --jobs 1 --quiet",
    "run, known": "run known.yaml --json - --jobs 1 --quiet",
    "run, table": "run swept.yaml --jobs 1 --quiet",
    "run, folded": "run folded.yaml --quiet",
    "explain": "explain flow.yaml --quiet",
    "advise": "advise two.yaml --jobs 1 --quiet",
    "strategies": "strategies flow.yaml --jobs 1 --quiet",
    "validate": "validate a.yaml b.yaml --jobs 1 --quiet",
    "leave-out": "validate a.yaml b.yaml --leave-out source --choose contention=off,1.2 --jobs 1 --quiet",
    "sweep": "sweep swept.yaml --store NEW --csv - --jobs 1 --quiet",
    "collective": "collective dgx1-v100 --gpus 8 --min 1MiB --fidelity flow --jobs 1 --quiet",
    "claims": "claims claim.yaml",
    "calibrate": "calibrate known.yaml -o - --quiet",
    "replay": "replay step.trace --set cluster.preset=dgx1-v100 --set gpus=2 --fidelity flow --jobs 1 --quiet",
}
REQUESTS_ALL = 40  # of a command that has more, so many are ended, spread evenly, each in one of the ways
WAYS = ["kill", "term", "segv", "ends", "stop", "garbage", "half", "halfline", "twice"]

WRAPPER = """#!%s
import fcntl, os, signal, subprocess, sys
here = os.path.dirname(os.path.abspath(__file__))
real = subprocess.Popen([here + "/simgrid"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
at, way, count = int(os.environ["END_AT"]), os.environ["END_BY"], os.environ["ASKED"]
signals = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "segv": signal.SIGSEGV}
def end(text=b""):
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    real.kill()
    os._exit(0)
for line in sys.stdin.buffer:
    with open(count, "a") as file:  # a byte a request, of whichever process
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(".")
        file.flush()
        asked = file.tell()
    is_it = asked == at
    if is_it and way in signals:
        real.kill()
        os.kill(os.getpid(), signals[way])
    if is_it and way == "stop":  # by whoever limits its time
        real.kill()
        os.kill(os.getpid(), signal.SIGSTOP)
    if is_it and way == "ends": end()
    if is_it and way == "garbage": end(b"\\x1b[2J{garbage\\n")
    real.stdin.write(line)
    real.stdin.flush()
    answer = real.stdout.readline()
    if is_it and way == "half": end(answer[:len(answer) // 2])
    if is_it and way == "halfline": end(answer[:len(answer) // 2] + b"\\n")
    sys.stdout.buffer.write(answer * (2 if is_it and way == "twice" else 1))
    sys.stdout.buffer.flush()
"""


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(COMMANDS)
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(programs / "paceline", folder / "paceline")
        shutil.copy(programs / "paceline-sim", folder / "simgrid")
        (folder / "paceline-sim").write_text(WRAPPER % sys.executable)
        (folder / "paceline-sim").chmod(0o755)
        for file, text in FILES.items():
            (folder / file).write_text(text)

        def run(command, at, way):
            (folder / "asked").write_text("")
            for old in folder.glob("new.db*"):
                old.unlink()
            words = [word.replace("NEW", "new.db") for word in command.split()]
            more = {"END_AT": str(at), "END_BY": way, "ASKED": str(folder / "asked"), "PACELINE_SIM_TIMEOUT": "5"}
            if way == "stop":
                more["PACELINE_SIM_TIMEOUT"] = "0.5"
            try:
                ended = subprocess.run(["./paceline", *words], cwd=folder, capture_output=True, text=True,
                                       timeout=120, env={**os.environ, **more})
            except subprocess.TimeoutExpired:
                ended = subprocess.CompletedProcess(words, "none: it hangs", "", "")
            return ended, (folder / "asked").stat().st_size

        run("run flow.yaml --trace step.trace", 0, "")
        for name in names:
            whole, asked = run(COMMANDS[name], 0, "")
            if whole.returncode != 0:
                print(f"{name}: exit code {whole.returncode} undisturbed: {whole.stderr.strip()}")
                wrong += 1
            checked = re.compile(r"SimGrid agrees at \d+ GPUs|not checked: paceline-sim [^;]*(; PACELINE_SIM_TIMEOUT sets the seconds it has)?")
            right = checked.sub("", whole.stdout)
            trouble = same = 0
            ends = [(at, way) for at in range(1, asked + 1) for way in WAYS]
            if asked > REQUESTS_ALL:
                ends = [(1 + i * asked // REQUESTS_ALL, WAYS[i % len(WAYS)]) for i in range(REQUESTS_ALL)]
            for at, way in ends:
                ended, _ = run(COMMANDS[name], at, way)
                if ended.returncode == 3 and ended.stderr.startswith("paceline: "):
                    trouble += 1
                elif ended.returncode == 0 and checked.sub("", ended.stdout) == right:
                    same += 1
                else:
                    wrong += 1
                    print(f"{name}, request {at}, {way}: exit code {ended.returncode}, {ended.stderr[:200]!r}", flush=True)
            print(f"{name}: {asked} requests, {len(ends)} ends: {trouble} are trouble, {same} change nothing", flush=True)
    print(f"{wrong} broke a rule")
    sys.exit(wrong > 0)


main()
