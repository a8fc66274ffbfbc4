#!/usr/bin/env python3
"""NCCL's choice over 2,000 points of BERT-Large on 8 to 64 GPUs of DGX A100: how long `paceline run`
takes, and how far 50 points drawn at random are from following every transfer (flow).

Usage: nccl_points.py [--paceline PROGRAM] [--points 50] [--seed 1]. Takes about 15 minutes.
"""
import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIO = """schema: paceline/1
name: NCCL's choice over 2,000 points
workload: {model: bert-large, pretraining_heads: true, batch_per_gpu: 8, precision: amp,
           device: a100-sxm4-40gb}
cluster: {preset: dgx-a100}
training: {strategy: ddp, bucket_cap: 25MiB, optimizer: {kind: adam}}
collective: {library: nccl}
simulation: {fidelity: FIDELITY}
sweep:
"""
SWEEP = {
    "gpus": [8, 16, 24, 32, 40, 48, 56, 64],
    "cluster.network.latency": ["1us", "2us", "5us", "10us", "20us"],
    "cluster.network.bandwidth": ["25Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps"],
    "training.bucket_cap": ["1MiB", "2MiB", "5MiB", "10MiB", "25MiB", "40MiB", "64MiB", "100MiB",
                            "200MiB", "400MiB"],
}


def all_points():
    points = [{}]
    for axis, values in SWEEP.items():
        points = [dict(point, **{axis: value}) for point in points for value in values]
    return points


def run(program, folder, fidelity, sweep):
    """Rows of the table, in the order of the sweep, and the seconds that they took."""
    scenario = os.path.join(folder, "points.yaml")
    table = os.path.join(folder, "points.csv")
    with open(scenario, "w", encoding="utf-8") as file:
        file.write(SCENARIO.replace("FIDELITY", fidelity))
        for axis, values in sweep.items():
            file.write(f"  {axis}: [{', '.join(map(str, values))}]\n")
    begin = time.monotonic()
    subprocess.run([program, "run", scenario, "--quiet", "--csv", table], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    taken = time.monotonic() - begin
    with open(table, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", default=os.path.join(HERE, "../../build/release/bin/paceline"))
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    points = all_points()
    drawn = sorted(random.Random(asked.seed).sample(range(len(points)), asked.points))
    with tempfile.TemporaryDirectory() as folder:
        rows, taken = run(asked.paceline, folder, "folded", SWEEP)
        assert len(rows) == len(points)
        kinds = {row["fidelity"] for row in rows}
        print(f"{len(rows)} points in {taken:.0f} s: {len(rows) / taken:.0f} a second, {kinds}",
              flush=True)
        errors = []
        for number in drawn:
            sweep = {axis: [value] for axis, value in points[number].items()}
            (flow,), _ = run(asked.paceline, folder, "flow", sweep)
            assert flow["fidelity"] == "flow"
            error = float(rows[number]["predicted_step_s"]) / float(flow["predicted_step_s"]) - 1
            errors.append(error)
            print(f"{100 * error:+.4f} %  {json.dumps(points[number])}", flush=True)
    sizes = sorted(map(abs, errors))
    print(f"{len(errors)} points against flow: median {100 * statistics.median(sizes):.4f} %, "
          f"most {100 * sizes[-1]:.4f} %")


if __name__ == "__main__":
    sys.exit(main())
