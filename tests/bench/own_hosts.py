#!/usr/bin/python3
"""Does `paceline run` name what was planted in a real run, which its description does not know of?

    own_hosts.py [--build FOLDER] [--keep FOLDER] [--only WORD] [--again]

PyTorch's DistributedDataParallel (Gloo) trains on 2 and 4 hosts of paceline-testbed (own_hosts_rank.py), each time with one
thing wrong: on the links, a rank, the input, the program, or in how its throughput is told. Layers compute by waiting
(ddp_rank.py); where the last rank burns, its thread takes that time of one core.

What was measured is put into a scenario of the healthy machine, as `measured.points`. It has one rank's measured samples/s
and what the testbed was told of the network; in a second column also what `paceline calibrate` makes of measured
all-reduces, and in a third of healthy steps of another workload. In each: the measured steps over those described, for
2 and 4 hosts, the causes that are named, and whether the planted one is first, named or missed.

Scenarios stay in --keep (build/own_hosts); --again only predicts, of those that are there. Needs what the testbed
needs, and python3-torch (77 without). 6 minutes; leave the machine alone meanwhile.
"""
import argparse
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(HERE, "../testbed"))

import recorded_ddp  # noqa: E402
from own_hosts_rank import BATCH  # noqa: E402

SIZES = (2, 4)
RATE_MBIT, MTU = 200, 9000
WAITING = {"layers": 24, "elements": 65536, "compute_ms": 4, "cap_mib": 1}  # for its network, mostly
COMPUTING = dict(WAITING, compute_ms=10)
# Of as many torch's own time is most of a core's: with two hosts only.
SMALL_TENSORS = {"layers": 400, "elements": 1024, "compute_ms": 0.2, "cap_mib": 0.25}
BURNING = dict(COMPUTING, burn=True)
HEALTHY = dict(WAITING, elements=98304, compute_ms=6)  # steps that `calibrate` learns from
# What is planted, in what, the causes that are right, and the numbers of hosts.
CASES = {
    "nothing": (WAITING, {}, set()),
    "nothing, more compute": (COMPUTING, {}, set()),
    "nothing, burning": (BURNING, {}, set(), (2,)),
    "nothing, small tensors": (SMALL_TENSORS, {}, set(), (2,)),
    "links of 50 Mbit/s": (WAITING, {"rate_mbit": 50}, {"network"}),
    "links of 50 Mbit/s, more compute": (COMPUTING, {"rate_mbit": 50}, {"network"}),
    "a rank of 1.8 times the compute": (COMPUTING, {"slower": 1.8}, {"straggler"}),
    "a core that another program has half of": (BURNING, {"shared_core": True}, {"straggler"}, (2,)),
    "input of 20 samples/s": (COMPUTING, {"input": 20}, {"input"}),
    "input of 42 samples/s": (COMPUTING, {"input": 42}, {"input"}),
    "0.2 ms in each gradient's hook": (SMALL_TENSORS, {"hook_ms": 0.2}, {"host"}, (2,)),
    "buckets of 0.25 MiB, not 1": (WAITING, {"cap_mib": 0.25}, {"host"}),
    "all-reduces after the backward pass": (COMPUTING, {"after": True}, {"overlap"}),
    "two accumulated passes": (COMPUTING, {"passes": 2}, {"work"}),
    "throughput in steps/s": (COMPUTING, {"told": "steps"}, {"unit"}),
}
SCENARIO = """\
schema: paceline/1
name: "{name}"
workload:
  batch_per_gpu: {batch}
  device: v100-sxm2-16gb   # for copies only, of which there are none with gradient_as_bucket_view
  single_gpu_throughput: {alone:.5g} samples/s
  layers: [{{name: layer, repeat: {layers}, parameters: [{elements}]}}]
cluster:
  nodes: 4
  gpus_per_node: 1
  network: {{bandwidth: {rate}Mbps, latency: 1.4ms, transport: tcp, framing: ip-tcp, mtu: {mtu}, provider: own}}
training: {{strategy: ddp, bucket_cap: {cap_mib}MiB, torch_version: "1.13", gradient_as_bucket_view: true}}
collective: {{library: gloo}}
sweep: {{gpus: [{gpus}]}}
measured:
  source: hosts of the testbed
  points:
{points}"""


def on_hosts(programs, hosts, rate_mbit, command):
    """What it prints; it ends with the testbed, which ends with this program or its limit."""
    prefix = [os.path.join(programs, "paceline-testbed"), "--hosts", str(hosts), "--rate", f"{rate_mbit}Mbps",
              "--latency", "1ms", "--mtu", str(MTU), "--limit", "120s", "--"] if hosts > 1 else []
    return subprocess.run([*prefix, *command], check=True, timeout=150, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, GLOO_SOCKET_IFNAME="eth0")).stdout


def step_s(programs, hosts, asked):
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "samples")
        os.mkfifo(fifo)
        return json.loads(on_hosts(programs, hosts, asked.get("rate_mbit", RATE_MBIT), [
            recorded_ddp.PYTHON, os.path.join(HERE, "own_hosts_rank.py"), json.dumps(dict(asked, fifo=fifo))]))


@functools.cache
def alone_s(programs, described):
    return step_s(programs, 1, json.loads(described))


def paceline(programs, *words):
    return subprocess.run([os.path.join(programs, "paceline"), *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def measured_logs(programs, folder):
    """Logs of all-reduces, which `calibrate` reads."""
    for hosts in SIZES:
        path = os.path.join(folder, f"all-reduce-{hosts}.log")
        text = on_hosts(programs, hosts, RATE_MBIT, [
            os.path.join(HERE, "../testbed/in_testbed.sh"), os.path.join(programs, "paceline"), "collective", "--measure",
            "--backend", "gloo", "--gpus", str(hosts), "--min", "16KiB", "--max", "1MiB"])
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# nodes: {hosts}\n" + text)
        yield path


def path_of(folder, name):
    return os.path.join(folder, name.translate(str.maketrans(" /", "--", ",")) + ".yaml")


def measured(programs, path, name, described, planted, sizes=SIZES):
    """Runs a case and writes its scenario."""
    told = 1 if planted.get("told") == "steps" else BATCH
    steps = {hosts: step_s(programs, hosts, {**described, **planted}) for hosts in sizes}
    points = "".join(f"    - {{gpus: {hosts}, throughput: {told * (hosts if told > 1 else 1) / step:.5g} samples/s}}\n"
                     for hosts, step in steps.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(SCENARIO.format(name=name, batch=BATCH, alone=BATCH / alone_s(programs, json.dumps(described)), mtu=MTU,
                                   rate=RATE_MBIT, gpus=", ".join(map(str, sizes)), points=points, **described))


def said(programs, path, right, *settings):
    """Of a scenario: the steps measured over those described, and what is said."""
    result = json.loads(paceline(programs, "run", path, "--json", "-", *settings))
    found = result.get("contradictions", [])
    causes = [one["cause"] for of in found for one in of["explained_by"]]
    verdict = "first" if right & set(causes[:1]) else "named" if right & set(causes) else "missed" if right else "false"
    if not found:
        verdict = "silent" if right else "right"
    ratios = ", ".join(f"{p['measured']['step_s'] / p['predicted']['step_s']:.2f}" for p in result["points"])
    return f"{ratios}: {', '.join(causes) or 'no cause' if found else 'nothing'}: {verdict}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--keep", default=os.path.join(ROOT, "build/own_hosts"))
    parser.add_argument("--only", default="", help="cases whose name has it")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if subprocess.run([recorded_ddp.PYTHON, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        print("no torch: Debian has it as python3-torch")
        return recorded_ddp.MISSING
    os.nice(-10)  # ranks wake up before other work on this machine
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends what runs
    os.makedirs(asked.keep, exist_ok=True)
    programs = os.path.join(os.path.abspath(asked.build), "bin")
    fits = {kind: os.path.join(asked.keep, kind) for kind in ("of-logs.yaml", "of-steps.yaml")}
    if not asked.again:
        paceline(programs, "calibrate", *measured_logs(programs, asked.keep), "-o", fits["of-logs.yaml"])
        healthy = path_of(asked.keep, "healthy")
        measured(programs, healthy, "healthy", HEALTHY, {})
        paceline(programs, "calibrate", healthy, "--all-rows", "-o", fits["of-steps.yaml"])
    print("| planted | as described | calibrated by all-reduces | by steps |\n|---|---|---|---|", flush=True)
    for name, (described, planted, right, *sizes) in CASES.items():
        if asked.only in name:
            path = path_of(asked.keep, name)
            if not asked.again:
                measured(programs, path, name, described, planted, *sizes)
            columns = [said(programs, path, right)]
            columns += [said(programs, path, right, "--set", f"cluster.calibration={fit}") for fit in fits.values()]
            print("| " + name, *columns, sep=" | ", end=" |\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
