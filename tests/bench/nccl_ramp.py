#!/usr/bin/env python3
"""Fits what NCCL's calls take above their plan (models/cost/nccl_call.h, AbovePlan) to public logs,
and says what it is worth on machines that it was not fitted to.

A call takes cbrt(ramp^2 * bytes / bandwidth) above hops and bytes of its plan. Each machine is left
out in turn: the ramp is fitted to the logs of the others (least mean of |log(predicted/measured)|,
each machine's sizes below 64 KiB and from there on counting alike), and the machine predicted with
it. Prints both ramps and, of each machine, the mean factor max(predicted/measured,
measured/predicted), without a ramp and with that of the others; then quantiles of measured over
predicted on machines left out, from which the interval of such calls is taken
(above_plan, models/cost/nccl_call.cpp), and how many rows lie in the interval of the others.

Left out with EFA is a kind of machine: its latency is then that of the other kind.

Needs data beside the checkout: the logs in ../shared/data/nccl-tests, or where --logs says.

Usage: tests/bench/nccl_ramp.py [--logs FOLDER] [--paceline build/release/bin/paceline]
"""

import argparse
import collections
import math
import pathlib
import tempfile

from uncalibrated_calls import LOGS, NODES, ROOT, Log, predicted

FLAT = """gpus_per_node: 1
intra_node: {kind: pcie, bandwidth: 12GBps, latency: 2.1us}
network: {bandwidth: 100Gbps, latency: 3us}
"""

# Machines without a preset, beside those of NODES: one RTX 3090 and one NIC of 100 Gb/s a node.
MORE = [
    *(Log("abci-a100", n, f"abci2-A100-SXM4-40GB-{n}gpu-{n // 8}node.txt", NODES["abci-a100"][0], "--version", "2.8")
      for n in (16, 32, 64)),
    *(Log("abci-v100", n, f"abci2-V100-SXM2-{n}gpu-{n // 4}node.txt", NODES["abci-v100"][0], "--version", "2.8")
      for n in (8, 16, 32)),
    *(Log("rtx-3090", n, f"rtx3090-{n}node-1gpu-each-rdma-mtu1024.txt", "rtx-3090") for n in (2, 3)),
]

# Whose machine a log is of, by how its file's name begins, and the medium whose ramp it has.
MACHINES = {
    "vtrain-v100": ("vtrain-v100", "links"), "vtrain-a100": ("vtrain-a100", "links"),
    "abci2-A100": ("abci-a100", "links"), "abci2-V100": ("abci-v100", "links"),
    "a100-sxm4-80gb-8gpu-1node-thanos": ("thanos", "links"), "galvatron": ("galvatron", "links"),
    "azure-ND_A100": ("azure-a100", "links"), "azure-ND_H": ("azure-h100-h200", "links"),
    "oci-": ("oci", "links"), "h100-2node": ("h100-8hca", "links"), "h100-clusterB": ("h100-cluster-b", "links"),
    "h100-xe9680": ("h100-xe9680", "links"), "gcp": ("gcp-a3-mega", "links"), "rtx3090": ("rtx-3090", "links"),
    "sheffield-stanage": ("stanage", "links"),
    "aws-2x-p4d": ("aws-p4d", "efa"), "aws-2x-p3dn": ("aws-p3dn", "efa"),
    "sheffield-bessemer": ("bessemer", "pcie"), "autodl": ("autodl", "pcie"), "8xRTX2080Ti": ("jungpu30", "pcie"),
    "azure-2xV100": ("azure-pcie", "pcie"),
}
SHIPPED = {"links": 58e-6, "efa": 440e-6, "pcie": 0.0}  # above_plan()
LATENCY_OF_OTHER = {"aws-p4d": "22us", "aws-p3dn": "75us"}
LIMIT = 64 << 10
LONG = 64 << 30  # bytes of a call whose time is that of its bytes alone


class Row:
    def __init__(self, size, bytes_time, of_plan, measured):
        self.size, self.bytes_time, self.of_plan, self.measured = size, bytes_time, of_plan, measured

    def error(self, ramp):
        """log(predicted/measured)"""
        return math.log((self.of_plan + math.cbrt(ramp * ramp * self.bytes_time)) / self.measured)


def rows_of(paceline, log, folder, clusters, *options):
    medium = machine_of(log)[1]
    cluster = str(clusters / f"{log.preset}.yaml")
    if not pathlib.Path(cluster).exists():
        cluster = str(ROOT / f"models/topology/presets/{log.preset}.yaml")
    options = [*log.options, *options]
    ring = [*options, "--protocol", "simple", *([] if "--algorithm" in options or log.collective != "all_reduce" else ["--algorithm", "ring"])]
    # Its own ramp is 0.3 % of it at most.
    long = predicted(paceline, cluster, log.gpus, [LONG], ring)[LONG]
    measured = log.measured(folder)
    of = predicted(paceline, cluster, log.gpus, measured, options)
    ramp = SHIPPED[medium]
    rows = []
    for size, time in measured.items():
        if size < 8:
            continue
        bytes_time = long * size / LONG
        rows.append(Row(size, bytes_time, of[size] - math.cbrt(ramp * ramp * bytes_time), time))
    return rows


def machine_of(log):
    return next(of for begin, of in MACHINES.items() if log.file.startswith(begin))


def loss(machines, ramp):
    """Mean over machines and the two ranges of sizes."""
    total = []
    for rows in machines:
        for part in ([r for r in rows if r.size < LIMIT], [r for r in rows if r.size >= LIMIT]):
            if part:
                total.append(sum(abs(r.error(ramp)) for r in part) / len(part))
    return sum(total) / len(total)


def fitted(machines):
    """The ramp in seconds, from 0.1 us to 10 ms; 0 where that is no worse."""
    candidates = [0.0] + [1e-7 * 10 ** (i / 100) for i in range(501)]
    return min(candidates, key=lambda ramp: loss(machines, ramp))


def factor(rows, ramp):
    return math.exp(sum(abs(r.error(ramp)) for r in rows) / len(rows)) if rows else None


def told(value):
    return "    -" if value is None else f"{value:5.2f}"


def quantile(weighted, part):
    """Of (value, weight)."""
    weighted = sorted(weighted)
    reached, all_of_it = 0.0, sum(w for _, w in weighted)
    for value, weight in weighted:
        reached += weight
        if reached >= part * all_of_it:
            return value
    return weighted[-1][0]


def interval(errors):
    """Of measured over predicted, 5 to 95 %, each machine counting alike."""
    weighted = [(-e, 1 / len(of)) for of in errors.values() for e in of]
    return math.exp(quantile(weighted, 0.05)), math.exp(quantile(weighted, 0.95))


def judge(medium, of_machine, of_other):
    every = {name: rows for name, rows in of_machine.items()}
    print(f"\n{medium}: all machines' ramp {fitted(list(every.values())) * 1e6:.1f} us")
    print("left out          ramp of others  below 64 KiB: none  others'   from 64 KiB: none  others'")
    errors = {}
    for name, rows in every.items():
        ramp = fitted([r for n, r in every.items() if n != name])
        rows = of_other.get(name, rows)
        below, above = [r for r in rows if r.size < LIMIT], [r for r in rows if r.size >= LIMIT]
        print(f"{name:16} {ramp * 1e6:12.1f} us        {told(factor(below, 0))}    {told(factor(below, ramp))}"
              f"             {told(factor(above, 0))}    {told(factor(above, ramp))}")
        errors[name] = [r.error(ramp) for r in rows]
    low, high = interval(errors)
    held = []
    for name, of in errors.items():
        if len(errors) > 2:  # of two, the other's errors alone say little
            a, b = interval({n: e for n, e in errors.items() if n != name})
            held.append(sum(a <= math.exp(-e) <= b for e in of) / len(of))
    inside = f"mean {sum(held) / len(held):.0%}, least {min(held):.0%}" if held else "-"
    print(f"measured over predicted, left out: 5 % {low:.2f}, 95 % {high:.2f}; rows of a machine inside that "
          f"of the others: {inside}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--logs", type=pathlib.Path, default=ROOT / "../shared/data/nccl-tests")
    arguments = parser.parse_args()
    if not arguments.logs.is_dir():
        raise SystemExit(f"no logs at {arguments.logs}: --logs FOLDER")
    of_machine = collections.defaultdict(lambda: collections.defaultdict(list))
    of_other = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        clusters = pathlib.Path(folder)
        for name, (_, text, _) in [*NODES.items(), ("rtx-3090", ("", FLAT, ()))]:
            (clusters / f"{name}.yaml").write_text("schema: paceline.cluster/1\n" + text)
        for log in [*LOGS, *MORE]:
            if "gb300" in log.file:
                continue  # largest sizes only
            machine, medium = machine_of(log)
            of_machine[medium][machine] += rows_of(arguments.paceline, log, arguments.logs, clusters)
            if machine in LATENCY_OF_OTHER:
                latency = f"cluster.network.latency={LATENCY_OF_OTHER[machine]}"
                of_other[machine] += rows_of(arguments.paceline, log, arguments.logs, clusters, "--set", latency)
    for medium, machines in of_machine.items():
        judge(medium, machines, of_other)


if __name__ == "__main__":
    main()
