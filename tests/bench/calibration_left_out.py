#!/usr/bin/env python3
"""How well a calibration predicts groups that it was not fitted to, on public logs of all-reduces.

Of each machine with logs of several groups, `paceline calibrate` fits some and `paceline validate`
predicts another: each group left out in turn, then those of up to n nodes fitted and 2n and 4n
predicted. Each is done with and without a description of the machine (calibrate's --cluster).
Printed: the geometric mean of max(predicted/measured, measured/predicted) - 1 over sizes of 1 KiB
and more, and how much of what was measured lies in the 90 % interval; then, by how far beyond the
fitted numbers of GPUs the predicted one is, the means over all such logs beside their bars. Where nothing
describes a mesh, `validate` refuses what no log has; such a group is told as refused, and in no mean.

A number of GPUs between the least and the largest fitted is inside; else it is so many times beyond
the nearer of these, above or below. Logs of fewer sizes than a fit takes are not looked at: those of
Jean Zay (one size), of OCI's GB300 and B300 (two to five of each group) and of clouds' pairs of nodes
(one group each).

Needs data beside the checkout: the logs in ../shared/data/nccl-tests, or where --logs says.

Usage: tests/bench/calibration_left_out.py [--logs FOLDER] [--paceline build/release/bin/paceline]
           [--jobs N] [--machine NAME]
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import sys
import tempfile

from uncalibrated_calls import NODES

ROOT = pathlib.Path(__file__).resolve().parents[2]

# By name: the description, a preset or one of NODES, and logs by nodes and GPUs a node.
MACHINES = {
    "V100 mesh (vTrain)": ("dgx1-v100", {(1, g): f"vtrain-v100-{g}gpu-1node.csv" for g in (2, 3, 4, 7, 8)}),
    "A100 (vTrain)": ("dgx-a100", {(1, g): f"vtrain-a100-{g}gpu-1node.csv" for g in (2, 3, 4, 6, 8)}),
    "A100 (ABCI)": ("abci-a100", {
        (1, 4): "abci2-A100-SXM4-40GB-4gpu-1node.txt",
        (1, 8): "abci2-A100-SXM4-40GB-8gpu-1node.txt",
        (2, 8): "abci2-A100-SXM4-40GB-16gpu-2node.txt",
        (4, 8): "abci2-A100-SXM4-40GB-32gpu-4node.txt",
        (8, 8): "abci2-A100-SXM4-40GB-64gpu-8node.txt",
    }),
    "V100 mesh (ABCI)": ("abci-v100", {
        (1, 4): "abci2-V100-SXM2-4gpu-1node.txt",
        (2, 4): "abci2-V100-SXM2-8gpu-2node.txt",
        (4, 4): "abci2-V100-SXM2-16gpu-4node.txt",
        (8, 4): "abci2-V100-SXM2-32gpu-8node.txt",
    }),
    "RTX 3090": ("flat", {
        (2, 1): "rtx3090-2node-1gpu-each-rdma-mtu1024.txt",
        (3, 1): "rtx3090-3node-1gpu-each-rdma-mtu1024.txt",
    }),
}

# Geometric mean errors that a user may ask for, percent, by how far beyond the fitted; coverage.
BARS = {"inside": 6, "up to twice": 12, "up to four times": 18}
COVERAGE = (85, 97)
MESH_BAR = 10  # V100 mesh, 3, 4 and 7 GPUs left out in turn


class Judged:
    """A group that was predicted, from others that were fitted."""

    def __init__(self, machine, how, fitted, left_out):
        self.machine, self.how, self.left_out = machine, how, left_out
        self.fitted = sorted(fitted)
        self.errors = {}  # by whether the machine was described: log ratios, and whether covered; None: refused

    def factor(self):
        gpus = [nodes * each for nodes, each in self.fitted]
        asked = self.left_out[0] * self.left_out[1]
        return max(1, asked / max(gpus), min(gpus) / asked)

    def place(self):
        return next((name for name, most in (("inside", 1), ("up to twice", 2), ("up to four times", 4))
                     if self.factor() <= most), "further")

    def where(self):
        factor = self.factor()
        if factor == 1:
            return "inside"
        below = self.left_out[0] * self.left_out[1] < min(n * g for n, g in self.fitted)
        first = self.left_out[0] > 1 and all(nodes == 1 for nodes, _ in self.fitted)
        return f"x {factor:.3g}{' below' if below else ''}{', no log between nodes' if first else ''}"


def cases():
    for machine, (_, logs) in MACHINES.items():
        for left_out in logs:
            yield Judged(machine, "left out", set(logs) - {left_out}, left_out)
        nodes = sorted({n for n, _ in logs})
        for most in nodes:
            for times in (2, 4):
                asked = [group for group in logs if group[0] == times * most]
                fitted = {group for group in logs if group[0] <= most}
                if asked and fitted != set(logs) - set(asked):
                    yield Judged(machine, f"up to {most}", fitted, asked[0])


def description(machine, folder):
    """What --cluster is given."""
    name = MACHINES[machine][0]
    if name not in NODES:
        return name
    path = folder / f"{name}.yaml"
    path.write_text(f"schema: paceline.cluster/1\nname: {name}\n{NODES[name][1]}")
    return str(path)


def judge(paceline, logs, judged, described):
    of_machine = MACHINES[judged.machine][1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        calibration = str(folder / "calibration.yaml")
        named = ["--cluster", description(judged.machine, folder)] if described else []
        command = [paceline, "calibrate", *(str(logs / of_machine[g]) for g in judged.fitted), "--collective", "all_reduce", "-o", calibration]
        subprocess.run(command + named, check=True, capture_output=True)
        command = [paceline, "validate", "--calibration", calibration, "--collective", "all_reduce", "--json", "-",
                   str(logs / of_machine[judged.left_out])]
        ended = subprocess.run(command, capture_output=True, text=True)
        if not described and ended.returncode == 2 and "cannot be predicted" in ended.stderr:
            return None
        ended.check_returncode()
        told = json.loads(ended.stdout)
    assert not any(log["fitted"] for log in told["collectives"])
    return [(math.log(row["predicted_s"] / row["measured_s"]),
             row["predicted_s_low"] <= row["measured_s"] <= row["predicted_s_high"])
            for log in told["collectives"] for row in log["rows"]]


def error_percent(rows):
    return 100 * math.expm1(sum(abs(ratio) for ratio, _ in rows) / len(rows))


def coverage_percent(rows):
    return 100 * sum(covered for _, covered in rows) / len(rows)


def print_table(all_judged):
    print("| machine | fitted | predicted | beyond | without: error | in interval | with: error | in interval |")
    print("|---|---|---|---|---|---|---|---|")
    for judged in all_judged:
        shapes = ", ".join(f"{n}x{g}" for n, g in judged.fitted)
        told = " | ".join("refused | -" if judged.errors[d] is None else
                          f"{error_percent(judged.errors[d]):.1f} % | {coverage_percent(judged.errors[d]):.0f} %"
                          for d in (False, True))
        print(f"| {judged.machine} | {shapes} | {judged.left_out[0]}x{judged.left_out[1]} | {judged.where()} | {told} |")


def print_bars(all_judged):
    """Each log counts alike, whatever the number of its rows."""
    print(f"\n| beyond | bar | logs | within it, without | with | mean error, without | with | "
          f"in interval ({COVERAGE[0]} to {COVERAGE[1]} %), without | with |")
    print("|---|---|---|---|---|---|---|---|---|")
    for place in (*BARS, "further"):
        of_place = [judged for judged in all_judged if judged.place() == place]
        if not of_place:
            continue
        within, means, coverages = [], [], []
        for described in (False, True):
            known = [judged.errors[described] for judged in of_place if judged.errors[described] is not None]
            if not known:
                within.append("-"), means.append("-"), coverages.append("-")
                continue
            errors = [error_percent(rows) for rows in known]
            within.append(str(sum(error <= BARS[place] for error in errors)) if place in BARS else "-")
            means.append(f"{100 * (math.exp(sum(math.log1p(e / 100) for e in errors) / len(errors)) - 1):.1f} %")
            covered = [coverage_percent(rows) for rows in known]
            coverages.append(f"{sum(covered) / len(covered):.0f} %")
        bar = f"{BARS[place]} %" if place in BARS else "-"
        print(f"| {place} | {bar} | {len(of_place)} | {' | '.join(within)} | {' | '.join(means)} | {' | '.join(coverages)} |")
    mesh = {judged.left_out[1]: error_percent(judged.errors[True]) for judged in all_judged
            if judged.machine == "V100 mesh (vTrain)" and judged.left_out[1] in (3, 4, 7)}
    for gpus, error in sorted(mesh.items()):
        print(f"\nV100 mesh, {gpus} GPUs left out, described: {error:.1f} %, bar {MESH_BAR} %: "
              f"{'met' if error <= MESH_BAR else 'missed'}", end="")
    print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=pathlib.Path, default=ROOT / "../shared/data/nccl-tests")
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--machine", help="only those whose name holds this")
    options = parser.parse_args()
    if not options.logs.is_dir():
        sys.exit(f"no logs at {options.logs}: --logs FOLDER")
    all_judged = [judged for judged in cases() if not options.machine or options.machine in judged.machine]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        work = {pool.submit(judge, options.paceline, options.logs, judged, described): (judged, described)
                for judged in all_judged for described in (False, True)}
        for done in concurrent.futures.as_completed(work):
            judged, described = work[done]
            judged.errors[described] = done.result()
    print_table(all_judged)
    print_bars(all_judged)


if __name__ == "__main__":
    main()
