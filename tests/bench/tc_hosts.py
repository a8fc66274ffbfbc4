#!/usr/bin/env python3
"""Large collectives by Gloo and NCCL over TCP on four and eight hosts, delayed and shaped by tc,
beside what `paceline collective` predicts of the description alone.

The log is of AWS p3.2xlarge, one V100 each; a delay is added one way, on top of 25 us. Its sizes are
taken as decimal. Prints the geometric mean of max(predicted/measured, measured/predicted), and
predicted over measured by delay, each for 4 and 8 nodes and 128 and 256 MB.

Usage: tests/bench/tc_hosts.py [--logs FOLDER] [--paceline build/release/bin/paceline]
"""

import argparse
import collections
import csv
import json
import math
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = {"allreduce": "all_reduce"}


def predicted(paceline, library, collective, nodes, size, delay_ms, gbps):
    network = {"bandwidth": f"{gbps}Gbps", "latency": f"{25 + 1000 * delay_ms:g}us", "transport": "tcp",
               "framing": "ethernet-tcp", "mtu": "9001", "provider": "aws"}
    command = [paceline, "collective", "flat", "--gpus", nodes, "--min", f"{size}B", "--max", f"{size}B",
               "--device", "v100-sxm2-16gb", "--collective", NAMES.get(collective, collective), "--library", library,
               "--quiet", "--json", "-"]
    for key, value in network.items():
        command += ["--set", f"cluster.network.{key}={value}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"][0]["time_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--logs", type=pathlib.Path, default=ROOT / "../shared/data/nccl-tests")
    arguments = parser.parse_args()
    log = arguments.logs / "tc-aws-p3.2xlarge/collectives-4-8-nodes.csv"
    if not log.is_file():
        raise SystemExit(f"no log at {log}: --logs FOLDER")
    lines = [line for line in log.read_text().splitlines() if not line.startswith("#")]
    by_delay = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in csv.DictReader(lines):
        delay = float(row["delay_ms"])
        time = predicted(arguments.paceline, row["backend"], row["collective"], row["nodes"],
                         int(row["size_MB"]) * 10**6, delay, row["bandwidth_Gbps"])
        by_delay[row["backend"], row["collective"]][delay].append(1000 * time / float(row["time_ms"]))
    print("library  collective  rows  mean factor  predicted/measured by delay")
    for (library, collective), of in sorted(by_delay.items()):
        ratios = [ratio for some in of.values() for ratio in some]
        factor = math.exp(sum(abs(math.log(ratio)) for ratio in ratios) / len(ratios))
        told = "; ".join(f"{delay:g} ms {' '.join(f'{ratio:.2f}' for ratio in some)}" for delay, some in sorted(of.items()))
        print(f"{library:8} {collective:10} {len(ratios):5} {factor:12.2f}  {told}")


if __name__ == "__main__":
    main()
