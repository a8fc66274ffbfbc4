#!/usr/bin/python3
"""Does `paceline run --measure` take as long as PyTorch's DistributedDataParallel?

Usage: ddp_against_torch.py [--build FOLDER] [--only WORD]... [--bound PERCENT] [--loopback]

Twelve cases of 2 and 4 ranks over networks of 100 and 400 Mbit/s with up to 5 ms of latency, with
buckets of 1, 5 and 25 MiB. In each, the same 16 layers run twice on the same paceline-testbed: as a
module of torch in DistributedDataParallel over Gloo, a process a rank (ddp_rank.py), and as a
scenario that `paceline run --measure` carries out with its Gloo backend. Prints the medians of the
steps and their ratio. Exits with 1 when one differs by more than the bound (3 %) or buckets differ,
with 2 when something does not run, with 77 when there is no torch.

What is alike on both sides: layers wait instead of computing, on an absolute schedule; a step begins
at a time that all ranks agreed on, and lasts until the last of them is done; the optimizer waits 2 ms.

What is not: DDP copies each gradient into its bucket, which a CPU rank does on the CPU, about 1 ms
for 2 MiB, where the scenario has the few us of an accelerator. The copy delays its own bucket only,
as layers keep to their schedule. gradient_as_bucket_view is set on both sides, for else DDP also
copies the buckets back when the step ends: 10 ms for one of 25 MiB.
"""
import argparse
import dataclasses
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON = "/usr/bin/python3"  # the one that has Debian's torch
# By rate: packets of 0.72 ms, as the testbed works by the packet (tests/testbed/README.md). The last
# is the rate that loopback is taken for.
MTU = {"100Mbps": 9000, "400Mbps": 36000, "8Gbps": 9000}
MISSING = 77  # CTest takes it for a test that was skipped


@dataclasses.dataclass(frozen=True)
class Workload:
    layers: int
    elements: int  # of each layer's parameter, float32
    forward_s: float
    backward_s: float
    optimizer_s: float = 0.002


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases that share a network and processes."""
    ranks: int
    rate: str
    latency: str
    bucket_caps_mib: tuple
    workload: Workload

    def name(self):
        return f"{self.ranks}x{self.rate}x{self.latency}"


BIG = Workload(layers=16, elements=524288, forward_s=0.010, backward_s=0.050)  # 32 MiB
SMALL = dataclasses.replace(BIG, elements=262144)  # 16 MiB, for the slow network
GROUPS = (
    Group(2, "100Mbps", "0s", (1, 25), SMALL),
    Group(2, "100Mbps", "5ms", (5, 25), SMALL),
    Group(2, "400Mbps", "1ms", (1, 5), BIG),
    Group(4, "100Mbps", "1ms", (5, 25), SMALL),
    Group(4, "400Mbps", "0s", (5, 25), BIG),
    Group(4, "400Mbps", "5ms", (1, 5), BIG),
)
LOOPBACK = Group(2, "8Gbps", "0s", (1,), Workload(8, 262144, forward_s=0.01, backward_s=0.03))

SCENARIO = """\
schema: paceline/1
name: The same layers as in ddp_rank.py
workload:
  batch_per_gpu: 1
  device: v100-sxm2-16gb
  layers:
    - {{name: layer, repeat: {layers}, forward: {forward_s}s, backward: {backward_s}s,
       parameters: [{elements}]}}
cluster:
  nodes: {ranks}
  gpus_per_node: 1
  network: {{bandwidth: {rate}, latency: {latency}, transport: tcp, framing: ip-tcp, mtu: {mtu}}}
training:
  strategy: ddp
  bucket_cap: 25MiB
  torch_version: "{torch_version}"
  gradient_as_bucket_view: true
  optimizer: {{time: {optimizer_s}s}}
sweep:
  training.bucket_cap: [{caps}]
real: {{backend: gloo, mode: native, steps: {steps}, warmup: {warmup}}}
"""


def scenario_of(group, steps, torch_version):
    # Of packets that are not delayed on purpose (tests/testbed/README.md).
    latency = "60us" if group.latency == "0s" else group.latency
    return SCENARIO.format(ranks=group.ranks, rate=group.rate, latency=latency, steps=steps,
                           mtu=MTU[group.rate],
                           warmup=3, caps=", ".join(f"{cap}MiB" for cap in group.bucket_caps_mib),
                           torch_version=torch_version, **dataclasses.asdict(group.workload))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def torch_results(group, steps):
    """For each bucket cap what every rank said."""
    prefix = os.environ.get("PACELINE_HOST_PREFIX", "")
    task = dict(dataclasses.asdict(group.workload), steps=steps,
                bucket_caps_mib=group.bucket_caps_mib)
    everyone = dict(os.environ, WORLD_SIZE=str(group.ranks), MASTER_PORT=str(free_port()),
                    MASTER_ADDR=os.environ.get("PACELINE_TESTBED_ADDRESS_0", "127.0.0.1"),
                    GLOO_SOCKET_IFNAME="eth0" if prefix else "lo", OMP_NUM_THREADS="1")
    ranks = []
    for rank in range(group.ranks):
        command = [word.replace("{rank}", str(rank)) for word in prefix.split()]
        command += [PYTHON, os.path.join(HERE, "ddp_rank.py"), json.dumps(task)]
        ranks.append(subprocess.Popen(command, env=dict(everyone, RANK=str(rank)),
                                      stdout=subprocess.PIPE, text=True))
    said = [rank.communicate()[0].splitlines() for rank in ranks]
    if any(rank.returncode != 0 for rank in ranks):
        raise RuntimeError("a torch rank failed")
    return [[json.loads(line) for line in of_cap] for of_cap in zip(*said)]


def paceline_points(group, steps, torch_version, build):
    """For each bucket cap what `paceline run --json` says of it."""
    environment = dict(os.environ)
    if "PACELINE_HOST_PREFIX" in environment:
        environment.update(PACELINE_HOST_ADDRESS=environment["PACELINE_TESTBED_ADDRESS_0"],
                           GLOO_SOCKET_IFNAME="eth0")
    else:
        environment["GLOO_SOCKET_IFNAME"] = "lo"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(scenario_of(group, steps, torch_version))
        file.flush()
        done = subprocess.run([os.path.join(build, "bin/paceline"), "run", file.name, "--measure",
                               "--json", "-", "--quiet"], env=environment, check=True,
                              stdout=subprocess.PIPE)
    return json.loads(done.stdout)["points"]


def row_of(group, cap_mib, said, point):
    """What is known of a case, from torch's ranks and Paceline's point."""
    faults = [rank["fault"] for rank in said if rank["fault"]]
    measured = point["measured"]
    buckets = [call["size_bytes"] for call in measured["calls"]]
    if buckets != said[0]["bucket_sizes"]:
        faults.append(f"buckets differ: torch {said[0]['bucket_sizes']}, Paceline {buckets}")
    return {"name": group.name(), "bucket_cap_mib": cap_mib, "buckets": len(buckets),
            "torch_s": [max(times) for times in zip(*(rank["steps_s"] for rank in said))],
            "paceline_s": measured["samples"], "predicted_s": point["predicted"]["step_s"],
            "torch_busy": said[0]["cpu_busy"], "paceline_busy": measured["cpu_busy"],
            "faults": faults}


def measure_here(group, steps, build):
    said = torch_results(group, steps)
    points = paceline_points(group, steps, said[0][0]["torch_version"], build)
    return [row_of(group, *case) for case in zip(group.bucket_caps_mib, said, points)]


def measure_in_testbed(index, steps, build):
    """The same in a process that has hosts."""
    group = GROUPS[index]
    done = subprocess.run(
        [os.path.join(build, "bin/paceline-testbed"), "--hosts", str(group.ranks), "--rate",
         group.rate, "--latency", group.latency, "--mtu", str(MTU[group.rate]), "--limit", "5m",
         "--",
         PYTHON, os.path.abspath(__file__), "--build", build, "--steps", str(steps),
         "--group", str(index)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def milliseconds(samples):
    spread = (max(samples) - min(samples)) / 2
    return f"{statistics.median(samples) * 1e3:.1f} ± {spread * 1e3:.1f}"


def line_of(row):
    ranks, rate, latency = row["name"].split("x")
    torch, ours = statistics.median(row["torch_s"]), statistics.median(row["paceline_s"])
    return (f"| {ranks} | {rate} | {latency} | {row['bucket_cap_mib']} MiB, {row['buckets']} "
            f"| {milliseconds(row['torch_s'])} | {milliseconds(row['paceline_s'])} "
            f"| {100 * (ours / torch - 1):+.2f} % | {100 * (row['predicted_s'] / torch - 1):+.2f} % "
            f"| {100 * row['torch_busy']:.0f}, {100 * row['paceline_busy']:.0f} % |")


def is_bad(row, asked):
    """By the quickest steps where the machine may do other work, which only adds to a step."""
    typical = min if asked.loopback else statistics.median
    torch, ours = typical(row["torch_s"]), typical(row["paceline_s"])
    return bool(row["faults"]) or abs(ours / torch - 1) > asked.bound / 100


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--only", action="append", default=[],
                        help="of the cases those with one of these in their name: 4x400Mbps")
    parser.add_argument("--bound", type=float, default=3.0, help="percent")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--loopback", action="store_true",
                        help="one short case, without a testbed, by its quickest steps")
    parser.add_argument("--group", type=int, help=argparse.SUPPRESS)  # within a testbed
    return parser.parse_args()


def measured_rows(asked):
    if asked.loopback:
        yield from measure_here(LOOPBACK, asked.steps, asked.build)
        return
    for index, group in enumerate(GROUPS):
        if not asked.only or any(word in group.name() for word in asked.only):
            yield from measure_in_testbed(index, asked.steps, asked.build)


def main():
    asked = arguments()
    if asked.group is not None:
        print(json.dumps(measure_here(GROUPS[asked.group], asked.steps, asked.build)))
        return 0
    if subprocess.run([PYTHON, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("no torch: Debian has it as python3-torch")
        return MISSING
    begun = time.monotonic()
    print("| ranks | rate | latency | bucket cap, buckets | torch, ms | Paceline, ms | difference "
          "| prediction | CPUs busy |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    bad = 0
    for row in measured_rows(asked):
        print(line_of(row), *row["faults"], flush=True)
        bad += is_bad(row, asked)
    print(f"\n{bad} beyond {asked.bound:g} %; all in {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (subprocess.CalledProcessError, RuntimeError) as error:
        print(f"ddp_against_torch.py: {error}", file=sys.stderr)
        sys.exit(2)
