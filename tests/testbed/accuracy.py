#!/usr/bin/env python3
"""How well predictions agree with what is measured on the testbed.

For every combination of ranks, rate, added latency and bucket cap, a DDP step of 32 MiB of gradients
in 16 tensors is predicted and measured with two of eight ways to reduce them (Gloo or MPI; the
library's own all-reduce, or a plan on messages: ring, halving-doubling, double binary tree), which
take turns. Nothing is fitted to these points: the network is what the testbed was told, and what a
message costs beyond it comes from two separate all-reduces for each backend, rate and number of
ranks, one of a small buffer and one of a large, without added latency and before anything else.

    accuracy.py --build build/release [--points N] [--json FILE] [--markdown FILE]
    accuracy.py --build build/release --again tests/testbed/accuracy.json    # only predicts once more

Needs what the testbed needs (README.md), but for --again. Points where the machine's CPUs were busier than 80 % are
listed, and not counted: there the machine was measured, not the network.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
RANKS = (2, 4, 8)
RATES_MBPS = (100, 400)
LATENCIES_MS = (0, 1, 5)
CAPS_MIB = (1, 5, 25)
WAYS = (
    ("gloo", "native", None),
    ("mpi", "plan", "ring"),
    ("gloo", "plan", "halving_doubling"),
    ("mpi", "native", None),
    ("gloo", "plan", "ring"),
    ("mpi", "plan", "halving_doubling"),
    ("gloo", "plan", "double_binary_tree"),
    ("mpi", "plan", "double_binary_tree"),
)
BUSY_MAX = 0.8
# A packet takes 0.72 ms at either rate, so that the testbed's switch, which works by the packet, has
# as much to do.
MTU = {100: 9000, 400: 36000}
STEPS = {100: 3, 400: 5}  # that count, of 4 to 8 s and of 1 to 2 s
HEADERS = 52  # of a packet: IP and TCP with time stamps
# What is calibrated with, at 100 Mbit/s: 4 times as much at 400.
SMALL, LARGE = MIB // 4, 4 * MIB

STEP = """\
schema: paceline/1
name: a DDP step on the testbed
workload:
  batch_per_gpu: 32
  device: v100-sxm2-16gb
  layers:
    - {{name: block, repeat: 16, forward: 10ms, backward: 25ms, parameters: [524288]}}
cluster:
  nodes: 8
  gpus_per_node: 1
  network: {network}
training:
  strategy: ddp
  bucket_cap: {cap}MiB
  torch_version: "1.13"
  gradient_as_bucket_view: true
  optimizer: {{time: 5ms}}
collective: {collective}
sweep: {{gpus: [{ranks}]}}
real: {{backend: {backend}, mode: {mode}, steps: {steps}, warmup: 2, timeout: 60s}}
"""

ONE_ALL_REDUCE = """\
schema: paceline/1
name: one all-reduce
workload:
  batch_per_gpu: 1
  device: v100-sxm2-16gb
  layers: [{{name: buffer, forward: 1ms, backward: 1ms, parameters: [{elements}]}}]
cluster:
  nodes: 8
  gpus_per_node: 1
  network: {network}
training: {{strategy: bulk_synchronous, optimizer: {{time: 1ms}}}}
collective: {collective}
sweep: {{gpus: [{ranks}]}}
real: {{backend: {backend}, mode: {mode}, steps: 9, warmup: 3, timeout: 60s}}
"""


class Testbed:
    """Runs scenarios of so many ranks on a testbed's hosts."""

    def __init__(self, build):
        self.programs = os.path.join(os.path.abspath(build), "bin")

    def measured(self, scenario, ranks, rate_mbps, latency_ms):
        """The point that the scenario has, predicted and measured, as the result JSON has it."""
        return self.run(
            scenario, ["--measure"],
            [os.path.join(self.programs, "paceline-testbed"), "--hosts", str(ranks),
             "--rate", f"{rate_mbps}Mbps", "--latency", f"{latency_ms}ms",
             "--mtu", str(MTU[rate_mbps]), "--limit", "300s", "--",
             os.path.join(os.path.dirname(os.path.abspath(__file__)), "in_testbed.sh")])

    def predicted(self, scenario):
        """The same, predicted only."""
        return self.run(scenario, [], [])

    def run(self, scenario, arguments, prefix):
        """The first point of the result of a scenario."""
        with tempfile.TemporaryDirectory() as folder:
            file, result = os.path.join(folder, "scenario.yaml"), os.path.join(folder, "result.json")
            with open(file, "w", encoding="utf-8") as out:
                out.write(scenario)
            done = subprocess.run(
                [*prefix, os.path.join(self.programs, "paceline"), "run", file, "--json", result,
                 *arguments], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return {"failure": done.stderr.strip().splitlines()[-1:] or done.returncode}
            with open(result, encoding="utf-8") as text:
                return json.load(text)["points"][0]


def network(rate_mbps, latency_s, efficiency, rendezvous):
    """The network section: what the testbed was told, and what separate all-reduces added."""
    handshake = ", rendezvous_above: 64KiB" if rendezvous else ""
    return (f"{{bandwidth: {rate_mbps}Mbps, latency: {latency_s * 1e6:.3f}us, "
            f"efficiency: {efficiency:.5f}, transport: tcp, framing: ip-tcp, "
            f"mtu: {MTU[rate_mbps]}{handshake}}}")


def collective(mode, algorithm, backend):
    """The collective section."""
    if mode == "native":
        return f"{{library: {backend}}}"
    return f"{{library: plan, algorithm: {algorithm}}}"


def calibrate(testbed, backend, rate_mbps, ranks):
    """Latency and efficiency beyond what the testbed was told, from two separate ring all-reduces of
    S bytes: t = 2(p-1) (S / (p e B) + l), and one l more where receivers say first that they are
    ready."""
    bandwidth = rate_mbps * 1e6 / 8 * (MTU[rate_mbps] - HEADERS) / MTU[rate_mbps]
    rounds = 2 * (ranks - 1)
    latencies = rounds + (backend == "gloo")
    rows = []
    for size in (SMALL * rate_mbps // 100, LARGE * rate_mbps // 100):
        point = testbed.measured(
            ONE_ALL_REDUCE.format(elements=size // 4, ranks=ranks, backend=backend, mode="plan",
                                  collective=collective("plan", "ring", backend),
                                  network=network(rate_mbps, 0, 1, False)), ranks, rate_mbps, 0)
        call = point["measured"]["calls"][0]
        rows.append((rounds * size / ranks / bandwidth, call["end_s"] - call["start_s"]))
    (small, small_taken), (large, large_taken) = rows
    slowness = max(1.0, (large_taken - small_taken) / (large - small))
    fit = {"latency_s": max(0.0, (small_taken - small * slowness) / latencies),
           "efficiency": 1 / slowness}
    print(f"{backend}, {ranks} ranks, {rate_mbps} Mbit/s: {small_taken * 1e3:.2f} and "
          f"{large_taken * 1e3:.1f} ms for {small * 1e3:.2f} and {large * 1e3:.1f} at the full rate: "
          f"{1e6 * fit['latency_s']:.0f} us a message, {fit['efficiency']:.2%} of the rate",
          file=sys.stderr, flush=True)
    return fit


def calibration_key(backend, rate_mbps, ranks):
    """How a calibration is called in a --json file."""
    return f"{backend} {rate_mbps} {ranks}"


def points():
    """Every combination, each with two ways that take turns; the quick ones mixed with the slow."""
    grid = itertools.product(RATES_MBPS, LATENCIES_MS, CAPS_MIB, RANKS)
    for number, (rate, latency, cap, ranks) in enumerate(grid):
        for way in (number, number + 3):
            yield {"ranks": ranks, "rate_mbps": rate, "latency_ms": latency, "cap_mib": cap,
                   "way": WAYS[way % len(WAYS)]}


def scenario_of(point, calibration):
    """The scenario of a point."""
    backend, mode, algorithm = point["way"]
    extra = calibration[calibration_key(backend, point["rate_mbps"], point["ranks"])]
    return STEP.format(
        cap=point["cap_mib"], ranks=point["ranks"], backend=backend, mode=mode,
        collective=collective(mode, algorithm, backend), steps=STEPS[point["rate_mbps"]],
        network=network(point["rate_mbps"], point["latency_ms"] * 1e-3 + extra["latency_s"],
                        extra["efficiency"], backend == "mpi" and mode == "native"))


def compare(row, predicted):
    """Adds a prediction, and its errors against what the row has measured. The error of throughput
    is that of the step's inverse."""
    row.update(
        predicted_s=predicted["step_s"],
        predicted_exposed_s=predicted["exposed_communication_s"],
        error_percent=100 * (row["measured_s"] / predicted["step_s"] - 1),
        exposed_error_percent=100 * (predicted["exposed_communication_s"]
                                     / row["measured_exposed_s"] - 1))
    return row


def outcome(testbed, point, calibration):
    """The point with its prediction and measurement."""
    result = testbed.measured(scenario_of(point, calibration), point["ranks"], point["rate_mbps"],
                              point["latency_ms"])
    row = dict(point)
    if "failure" in result or not result.get("measured"):
        row["failure"] = str(result.get("failure") or result.get("measure_failure"))
        return row
    measured = result["measured"]
    row.update(measured_s=measured["step_s"], mad_s=measured["mad_s"],
               measured_exposed_s=measured["exposed_communication_s"], busy=measured["cpu_busy"])
    return compare(row, result["predicted"])


def again(testbed, earlier):
    """Rows of an earlier run with predictions of now."""
    for row in earlier["rows"]:
        if "failure" not in row:
            result = testbed.predicted(scenario_of(row, earlier["calibration"]))
            if "failure" in result:
                sys.exit(f"accuracy.py: {result['failure']}")
            compare(row, result["predicted"])
        yield row


def measure(testbed, calibration, count):
    """Rows of so many points, spread over all of them; None: all."""
    chosen = list(points())
    step = len(chosen) / (count or len(chosen))
    for i in range(count or len(chosen)):
        yield outcome(testbed, chosen[int(i * step)], calibration)


def line(row):
    """A row of the table."""
    backend, mode, algorithm = row["way"]
    head = (f"| {backend} {algorithm or mode} | {row['ranks']} | {row['rate_mbps']} | "
            f"{row['latency_ms']} | {row['cap_mib']} |")
    if "failure" in row:
        return f"{head} failed: {row['failure']} | | | | | |"
    return (f"{head} {row['predicted_s'] * 1e3:.0f} | {row['measured_s'] * 1e3:.0f} | "
            f"{row['error_percent']:+.1f}% | {row['measured_exposed_s'] / row['measured_s']:.0%} | "
            f"{row['exposed_error_percent']:+.1f}% | {row['busy']:.0%} |")


HEAD = ("| reduced by | ranks | Mbit/s | ms | cap MiB | predicted ms | measured ms | error | exposed |"
        " its error | CPUs |\n|---|---|---|---|---|---|---|---|---|---|---|")


def counts(row):
    """Whether a point's measurement is one of the network."""
    return "failure" not in row and row["busy"] <= BUSY_MAX


def mean_errors(rows):
    """In percent, of the step and of exposed communication, over the points that count."""
    counted = [row for row in rows if counts(row)]
    return tuple(statistics.mean(abs(row[error]) for row in counted)
                 for error in ("error_percent", "exposed_error_percent"))


def is_within(rows, percent):
    """Whether errors stay within so many percent on average; see --max-mean-error."""
    mean, mean_exposed = mean_errors(rows)
    largest = max(abs(row["error_percent"]) for row in rows if counts(row))
    return mean <= percent and mean_exposed <= 2 * percent and largest <= 10 / 3 * percent


def summary(rows):
    """What the points that count say together."""
    done = [row for row in rows if "failure" not in row]
    counted = [row for row in done if counts(row)]
    if not counted:
        return "no point counts"
    errors = [row["error_percent"] for row in counted]
    exposed = [abs(row["exposed_error_percent"]) for row in counted]
    mean, mean_exposed = mean_errors(rows)
    by_communication = sum(row["measured_exposed_s"] >= 0.4 * row["measured_s"] for row in counted)
    return (f"{len(counted)} points count, {len(done) - len(counted)} were measured with CPUs busier "
            f"than {BUSY_MAX:.0%}, {len(rows) - len(done)} failed; "
            f"in {by_communication} exposed communication is at least 40 % of the step\n"
            f"error of the step: mean {mean:.2f} %, "
            f"median {statistics.median(map(abs, errors)):.2f} %, max {max(map(abs, errors)):.2f} %, bias {statistics.mean(errors):+.2f} %\n"
            f"error of exposed communication: mean {mean_exposed:.2f} %, "
            f"max {max(exposed):.2f} %")


def write_json(file, calibration, rows):
    """A row a line."""
    lines = ",\n".join(map(json.dumps, rows))
    file.write(f'{{"calibration": {json.dumps(calibration)},\n"rows": [\n{lines}\n]}}\n')


def main():
    """Calibrates, goes through the points, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/release", help="the folder of the build")
    parser.add_argument("--points", type=int, help="only so many points, spread over all")
    parser.add_argument("--again", help="a --json file: predict its points again, measure nothing")
    parser.add_argument("--json", help="write all rows to this file")
    parser.add_argument("--markdown", help="write the table to this file")
    parser.add_argument("--max-mean-error", type=float, metavar="PERCENT",
                        help="exit 1 where the step's mean error is larger, the mean error of exposed "
                        "communication above twice that, or one step's above 10/3 of it")
    options = parser.parse_args()
    begun = time.monotonic()
    testbed = Testbed(options.build)
    if options.again:
        with open(options.again, encoding="utf-8") as text:
            earlier = json.load(text)
        calibration = earlier["calibration"]
        outcomes = again(testbed, earlier)
    else:
        calibration = {calibration_key(*of): calibrate(testbed, *of)
                       for of in itertools.product(("gloo", "mpi"), RATES_MBPS, RANKS)}
        outcomes = measure(testbed, calibration, options.points)
    rows = []
    print(HEAD)
    for row in outcomes:
        rows.append(row)
        print(line(row), flush=True)
    text = summary(rows)
    if not options.again:
        text += f"\n{(time.monotonic() - begun) / 60:.0f} minutes"
    print(f"\n{text}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            write_json(out, calibration, rows)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as out:
            out.write("\n".join([HEAD, *map(line, rows), "", text, ""]))
    return 0 if options.max_mean_error is None or is_within(rows, options.max_mean_error) else 1


if __name__ == "__main__":
    sys.exit(main())
