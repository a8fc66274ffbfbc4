#!/usr/bin/env python3
"""How well steps of strategies beyond DDP are predicted on the testbed.

For every strategy of the table below, backend and network, a step of 32 MiB of gradients in 16 tensors is
predicted and measured on 4 ranks, or as many as asked for, by the shared plans; servers have hosts of their own
behind those of the ranks. Nothing is fitted to these points: the network is what the testbed was told, and what a
message costs beyond it comes from the separate all-reduces of accuracy.py, before anything else.

    strategies.py --build build/release [--only WORD] [--json FILE] [--markdown FILE]

Needs what the testbed needs (README.md). Points where the machine's CPUs were busier than 80 % are listed, and not
counted.
"""

import argparse
import json
import statistics
import sys
import time

import accuracy

AS_MANY = -1  # hosts beside those of the ranks: as many
BACKENDS = ("gloo", "mpi")
NETWORKS = ((100, 1), (400, 0))  # Mbit/s, added ms

# A strategy: its training section, the hosts that it takes beside those of the ranks, and what else its scenario
# says of the workload. A new one is a row.
STRATEGIES = {
    "ddp, find_unused_parameters": ("strategy: ddp, bucket_cap: 5MiB, find_unused_parameters: true", 0, ""),
    "ddp, no_sync, two passes": ("strategy: ddp, bucket_cap: 5MiB, gradient_accumulation: 2", 0, ""),
    "ddp, bf16 on the wire": ("strategy: ddp, bucket_cap: 5MiB", 0, "precision: {compute: fp32, gradient: bf16}"),
    "horovod, 5 ms, 64 MiB": ("strategy: horovod, version: '0.20'", 0, ""),
    "horovod, 5 ms, 4 MiB": ("strategy: horovod, version: '0.20', fusion_threshold: 4MiB", 0, ""),
    "horovod, 100 ms, 64 MiB": ("strategy: horovod, version: '0.20', cycle_time: 100ms", 0, ""),
    "horovod, 100 ms, 4 MiB": (
        "strategy: horovod, version: '0.20', cycle_time: 100ms, fusion_threshold: 4MiB", 0, ""),
    "apex_ddp, delayed": ("strategy: apex_ddp, delay_allreduce: true", 0, ""),
    "apex_ddp, 1,000,000 elements": ("strategy: apex_ddp, message_size: 1000000", 0, ""),
    "fsdp": ("strategy: fsdp", 0, ""),
    "parameter servers, own hosts": ("strategy: parameter_server", AS_MANY, ""),
    "one parameter server": ("strategy: parameter_server, servers: 1", 1, ""),
    "parameter servers beside workers": ("strategy: parameter_server, server_hosts: beside_workers", 0, ""),
}

STEP = """\
schema: paceline/1
name: a step on the testbed
workload:
  batch_per_gpu: 32
  device: v100-sxm2-16gb
  {workload}
  layers:
    - {{name: block, repeat: 16, forward: 10ms, backward: 25ms, parameters: [524288]}}
cluster:
  nodes: {ranks}
  gpus_per_node: 1
  network: {network}
training: {{{training}, optimizer: {{time: 5ms}}}}
collective: {{library: plan, algorithm: ring}}
sweep: {{gpus: [{ranks}]}}
real: {{backend: {backend}, mode: plan, steps: {steps}, warmup: 2, timeout: 60s}}
"""


def outcome(testbed, name, ranks, backend, rate_mbps, latency_ms, extra):
    """A point with its prediction and measurement, and their errors."""
    training, hosts, workload = STRATEGIES[name]
    scenario = STEP.format(
        ranks=ranks, training=training, workload=workload, backend=backend, steps=accuracy.STEPS[rate_mbps],
        network=accuracy.network(rate_mbps, latency_ms * 1e-3 + extra["latency_s"],
                                 extra["efficiency"], False))
    all_hosts = ranks + (ranks if hosts == AS_MANY else hosts)
    result = testbed.measured(scenario, all_hosts, rate_mbps, latency_ms)
    row = {"strategy": name, "ranks": ranks, "backend": backend, "rate_mbps": rate_mbps, "latency_ms": latency_ms}
    if "failure" in result or not result.get("measured"):
        row["failure"] = str(result.get("failure") or result.get("measure_failure"))
        return row
    measured = result["measured"]
    row.update(measured_s=measured["step_s"], mad_s=measured["mad_s"],
               measured_exposed_s=measured["exposed_communication_s"], busy=measured["cpu_busy"])
    return accuracy.compare(row, result["predicted"])


HEAD = ("| strategy | ranks | backend | Mbit/s | ms | predicted ms | measured ms | error | exposed | its error | CPUs |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|")


def line(row):
    """A row of the table."""
    head = f"| {row['strategy']} | {row['ranks']} | {row['backend']} | {row['rate_mbps']} | {row['latency_ms']} |"
    if "failure" in row:
        return f"{head} failed: {row['failure']} | | | | | |"
    return (f"{head} {row['predicted_s'] * 1e3:.0f} | {row['measured_s'] * 1e3:.0f} | "
            f"{row['error_percent']:+.1f}% | {row['measured_exposed_s'] / row['measured_s']:.0%} | "
            f"{row['exposed_error_percent']:+.1f}% | {row['busy']:.0%} |")


def summary(rows):
    """What the points that count say together."""
    counted = [row for row in rows if accuracy.counts(row)]
    if not counted:
        return f"none of {len(rows)} points counts"
    errors = [abs(row["error_percent"]) for row in counted]
    return (f"{len(counted)} of {len(rows)} points count; error of the step: mean "
            f"{statistics.mean(errors):.2f} %, max {max(errors):.2f} %")


def main():
    """Calibrates, goes through the points, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/release", help="the folder of the build")
    parser.add_argument("--only", default="", metavar="WORD", help="strategies whose name has it")
    parser.add_argument("--ranks", type=int, action="append", help="how many; again for others too")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="only this one")
    parser.add_argument("--network", choices=[str(rate) for rate, _ in NETWORKS], action="append",
                        help="only that of so many Mbit/s")
    parser.add_argument("--json", help="write all rows to this file")
    parser.add_argument("--markdown", help="write the table to this file")
    options = parser.parse_args()
    names = [name for name in STRATEGIES if options.only in name]
    if not names:
        sys.exit(f"strategies.py: no strategy has \"{options.only}\" in its name; there are {', '.join(STRATEGIES)}")
    begun = time.monotonic()
    testbed = accuracy.Testbed(options.build)
    rows = []
    print(HEAD)
    for backend in options.backend or BACKENDS:
        for rate, latency in NETWORKS:
            if options.network and str(rate) not in options.network:
                continue
            for ranks in options.ranks or [4]:
                extra = accuracy.calibrate(testbed, backend, rate, ranks)
                for name in names:
                    rows.append(outcome(testbed, name, ranks, backend, rate, latency, extra))
                    print(line(rows[-1]), flush=True)
    text = f"{summary(rows)}\n{(time.monotonic() - begun) / 60:.0f} minutes"
    print(f"\n{text}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            out.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as out:
            out.write("\n".join([HEAD, *map(line, rows), "", text, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
