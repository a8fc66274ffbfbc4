#!/usr/bin/env python3
"""Whether what `paceline advise` suggests is as fast, when run, as the best of a grid that was run.

    advised.py --build build/release [--markdown FILE]

The step of strategies.py on four hosts of the testbed at 400 Mbit/s, with DistributedDataParallel over MPI and rings to
begin with. What advise suggests that leaves training as it is, is run, and so is a grid of bucket caps and algorithms.
Exit status 1 where the grid's best is faster than all suggestions by more than 3 %.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

import accuracy
import strategies

RANKS, RATE_MBPS, LATENCY_MS = 4, 400, 0
CAPS = ("1MiB", "5MiB", "10MiB", "25MiB", "100MiB")
ALGORITHMS = ("ring", "direct", "halving_doubling", "double_binary_tree")
SLOWER_MAX = 0.03


def measured(testbed, file, settings):
    """The median step of the scenario with these settings, in seconds."""
    result = file + ".json"
    command = [os.path.join(testbed.programs, "paceline-testbed"), "--hosts", str(RANKS),
               "--rate", f"{RATE_MBPS}Mbps", "--latency", f"{LATENCY_MS}ms",
               "--mtu", str(accuracy.MTU[RATE_MBPS]), "--limit", "300s", "--",
               os.path.join(os.path.dirname(os.path.abspath(__file__)), "in_testbed.sh"),
               os.path.join(testbed.programs, "paceline"), "run", file, "--measure", "--json", result]
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, capture_output=True, text=True, check=True)
    with open(result, encoding="utf-8") as text:
        point = json.load(text)["points"][0]
    return point["measured"]["step_s"], point["predicted"]["step_s"]


def suggestions(testbed, file):
    """Settings, of each suggestion that leaves training as it is; where there is none, of what is there."""
    out = subprocess.run([os.path.join(testbed.programs, "paceline"), "advise", file, "--strategies", "all", "--json", "-",
                          "--quiet"],
                         capture_output=True, text=True, check=True).stdout
    return [one["settings"] for one in json.loads(out)["suggestions"] if not one["alters_training"]] or [[]]


def main():
    """Asks, runs everything, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/release", help="the folder of the build")
    parser.add_argument("--markdown", help="write the table to this file")
    options = parser.parse_args()
    testbed = accuracy.Testbed(options.build)
    extra = accuracy.calibrate(testbed, "mpi", RATE_MBPS, RANKS)
    network = accuracy.network(RATE_MBPS, LATENCY_MS * 1e-3 + extra["latency_s"], extra["efficiency"], False)
    lines = ["| what | predicted ms | measured ms |", "|---|---|---|"]
    steps = {"advised": [], "grid": []}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "scenario.yaml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(strategies.STEP.format(ranks=RANKS, training="strategy: ddp, bucket_cap: 5MiB", workload="",
                                             backend="mpi", steps=accuracy.STEPS[RATE_MBPS], network=network))
        grid = [[f"training.bucket_cap={cap}", f"collective.algorithm={algorithm}"]
                for cap, algorithm in itertools.product(CAPS, ALGORITHMS)]
        for kind, settings in [("advised", one) for one in suggestions(testbed, file)] + [("grid", one) for one in grid]:
            step, predicted = measured(testbed, file, settings)
            steps[kind].append(step)
            lines.append(f"| {kind}: {' '.join(settings)} | {predicted * 1e3:.0f} | {step * 1e3:.0f} |")
            print(lines[-1], flush=True)
    slower = min(steps["advised"]) / min(steps["grid"]) - 1
    lines += ["", f"The best that was advised takes {100 * slower:+.1f} % beside the best of the grid."]
    print(lines[-1])
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
    return 0 if slower <= SLOWER_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
