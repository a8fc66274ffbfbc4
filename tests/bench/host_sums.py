#!/usr/bin/env python3
"""What a rank's host copies and sums of what arrives (models/cost/host_sums.h), each source by the others.

Of Horovod's README of 2017 and Theano-MPI the rate at which each row by MPI is predicted best, and the median of a source's
rows; beside them the rate between two processes of this project's own run of Open MPI. Then each source, and Azure's rows,
which no rate is taken from, with the geometric mean of the others: mean of |ln(predicted/measured)| of steps, and of
predictions without the limit. What of the steps is predicted is the described machine, unconditioned.

Needs data beside the checkout: the measurements in ../shared/data, or where --data says.

Usage: tests/bench/host_sums.py [--data FOLDER] [--paceline build/release/bin/paceline]
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

import judged_rows
import judged_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
# MPI_Allreduce of 64 MiB of float in place, two processes on two cores of an EPYC, Open MPI 4.1.4 through shared memory:
# the best of eight calls in three runs is 40.8, 53.2 and 67.4 ms. Bytes summed at each are half of all.
TWO_PROCESSES = 0.5 * 64 * 2**20 / 53.2e-3 / 1e9
RATES_GB_S = [0.15 * 1.15**i for i in range(24)]
NO_LIMIT = 1e4


def errors(paceline, folder, scenarios, rate):
    """By scenario and point: ln(predicted/measured) of the step."""
    judged_rows.write(folder, scenarios)
    for scenario in scenarios:
        text = scenario.text.replace("cluster: {", f"cluster: {{reduction_bandwidth: {rate:.4f}GBps, ", 1)
        (folder / scenario.file).write_text(text)
    files = [str(folder / scenario.file) for scenario in scenarios]
    done = subprocess.run([paceline, "validate", *files, "--json", "-", "--quiet"], stdout=subprocess.PIPE, text=True, check=True)
    return {(row["scenario"], row["point"]): math.log(row["predicted_step_s"] / row["measured_step_s"])
            for row in json.loads(done.stdout)["rows"]}


def mean(of_rows):
    return statistics.fmean(map(abs, of_rows.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    arguments = parser.parse_args()
    if not (arguments.data / "training").is_dir():
        print(f"skipped: no measurements in {arguments.data}")
        return
    made, _ = judged_sources.every(arguments.data / "training")
    by_mpi = [scenario for scenario in made if "{library: mpi}" in scenario.text]
    with tempfile.TemporaryDirectory() as name:
        at = lambda by, rate: errors(arguments.paceline, pathlib.Path(name), [s for s in by_mpi if s.by == by], rate)
        rates = {"two processes": TWO_PROCESSES}
        for by in ("horovod-2017", "theano-mpi"):
            tried = {rate: at(by, rate) for rate in RATES_GB_S}
            best = [min(RATES_GB_S, key=lambda rate, row=row: abs(tried[rate][row])) for row in tried[RATES_GB_S[0]]]
            rates[by] = statistics.median(best)
        for by, rate in rates.items():
            print(f"{by}: {rate:.2f} GB/s")
        logarithms = [math.log(rate) for rate in rates.values()]
        spread = statistics.stdev(logarithms)
        print(f"all: {math.exp(statistics.fmean(logarithms)):.2f} GB/s, logarithms deviate by {spread:.2f}, factor "
              f"{math.exp(2.920 * spread * math.sqrt(1 + 1 / 3)):.1f}\n")
        for by in ("horovod-2017", "theano-mpi", "azure"):
            rate = statistics.geometric_mean(value for other, value in rates.items() if other != by)
            print(f"{by} by the others, {rate:.2f} GB/s: {mean(at(by, rate)):.3f}; without a limit {mean(at(by, NO_LIMIT)):.3f}")


if __name__ == "__main__":
    main()
