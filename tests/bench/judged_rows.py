#!/usr/bin/env python3
"""Writes scenarios of the published rows that scenarios/library does not have, for `paceline validate --leave-out source`.

A file has one source, machine, workload and strategy (or several as an axis). Written are rows on more than one GPU whose
one-GPU row is of the same machine and batch, on a network that is told; which rows are not, and why, is LEFT_OUT.
How each machine is described, and why so, is in judged_sources.py; networks are in judged_networks.py. What is new in the
descriptions was written before any row was predicted; classes of boxes and hosts over TCP are pcie_boxes.py's and tcp_hosts.py's.
Rows of the library, these, and those described beside the data (known_rows.py) are all that is at hand.

With --paceline, all are predicted, and a table says by source and by slowest link of a row how far off they are: node nvlink,
node pcie, network rdma, network tcp. Ends with how many rows are written, shipped, and left out, by reason.

Needs data beside the checkout: the measurements in ../shared/data, or where --data says.

Usage: tests/bench/judged_rows.py --out FOLDER [--data FOLDER] [--paceline build/release/bin/paceline] [--tokens N]
"""

import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess

import judged_networks
import judged_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "scenarios/library"

SHIPPED = "shipped in scenarios/library"
REPORTED = "shipped in scenarios/library/reported: a model stands in for a framework's own merging, scheduling or input"
SUSPECT = "suspect: nearly repeat those of 10 Gb/s Ethernet"
OWN_MERGING = "a framework's own merging, or ByteScheduler's, which nobody describes"
INPUT = "bound by input, in places at least"
NO_BASE = "no row of one GPU of the same machine and batch"
HALF = "suspect: half of what 8 and 32 GPUs say, on three kinds of GPUs"
SERVERS = "TensorFlow's parameter servers: number and place, and what gRPC moves, are not told"
NO_MODEL = "network not told, or not at hand"
NO_BATCH = "batch not told"
NO_GPU = "GPU or network not told"
NO_STRATEGY = "what was run is not told, or no strategy here"
LOGGING = "times with logging, saving or sentences of differing length in them"
DESCRIBED = "described beside the data (known_rows.py judges them)"
ANOTHER_BATCH = "another micro-batch than the other rows of its model, or another optimizer than the one-GPU row"
OFFLOAD = "parameters offloaded to the CPU, which nothing describes"
FLOAT8 = "float8, which nothing describes"
IN_BOX = "TensorFlow's parameter server in the box, which nothing describes"
CONV3D = "three-dimensional convolutions, whose kernel is not told"
EXCLUDED = "no test of a model: stress test, assumed placements, or quantised weights"

# The first that fits: patterns of a row's source, and of its model, precision, framework, strategy, network and note.
LEFT_OUT = [
    ("HKBU", r"ByteScheduler.*(10GbE|100GbIB)", REPORTED),
    ("HKBU", "ByteScheduler", OWN_MERGING),
    ("HKBU", "-PS;.*100GbE", SUSPECT),
    ("HKBU", "", SHIPPED),
    ("Oneflow", "OneFlow", OWN_MERGING),
    ("Oneflow", r"BERT.*amp.*PaddlePaddle", INPUT),
    ("Oneflow", r"apex", SHIPPED),
    ("Oneflow", "", REPORTED),
    ("pytorch/pytorch benchmarks|pull/30660|abci2|Impact of GPU Networking", "", SHIPPED),
    ("ml-benchmarks", "DeepSpeed", NO_STRATEGY),
    ("ml-benchmarks", "run_clm", LOGGING),
    ("ml-benchmarks", "", SHIPPED),
    ("osdi21", "NCF|DeepSpeech2|YOLOv3", NO_MODEL),  # YOLOv3 is bound by its loader as well, on several GPUs of a node
    ("osdi21", "", SHIPPED),
    ("FleetX", "", NO_BASE),
    ("distributed-tensorflow-benchmarks", "", SERVERS),
    ("accelerate|transformers 0|issues/(2581|476|762)|cs336-assignment2-systems", "", NO_BASE),
    ("horovod/horovod README", "TF parameter server", SERVERS),
    ("horovod/horovod README", "ResNet-101|VGG16", SHIPPED),
    ("issues/659|cortwave", "", NO_BATCH),
    ("issues/2686", "", NO_GPU),
    ("issues/17159|10181054447", "", NO_MODEL),
    ("21484024852", "", NO_GPU),  # whose 100 Gb/s, and over what, is not told
    ("BatchAI", "ResNet-152;.*MPI all-reduce", HALF),
    ("Theano-MPI", "older release", NO_STRATEGY),
    ("Theano-MPI", "MPI all-reduce", NO_MODEL),  # a second node over InfiniBand of a rate that is not told
    ("argonne|gavel|fsdp_qlora", "", EXCLUDED),
    ("pocket-tts", "", INPUT),
    ("CS336 commentary", "", NO_BASE),
    ("52558044727", "", NO_GPU),  # the GPUs and their link are assumed
    ("66485721884", "naive", NO_STRATEGY),  # a call each after the backward
    # Lambda's boxes: judged_sources.py has which ResNet-50 rows are of synthetic pictures on one GPU, too.
    ("lambdal", "ResNet-50.*A6000, log.*synthetic", SHIPPED),
    ("lambdal", "ResNet-50.*3090, log .*-07-2021.*synthetic", NO_BASE),
    ("lambdal", "ResNet-50", INPUT),
    ("lambdal", r"box \d+x(2080Ti_trt|2080TiNVlink_trt),|1080Ti,|16xA4000,", NO_BASE),
    ("lambdal", r"box 2x3090, log \d\d-10-2020", NO_GPU),  # pcie_boxes.py: a bridge, or none
    ("lambdal", r"BERT.*box (2x3080|2x4090_v1|\dxA6000|2xA6000_v1|LambdaCloud_.*V100_16GB_v1),", SHIPPED),
    ("sparticlesteve", "^CNN3D", CONV3D),
    ("lai-proj", "", OFFLOAD),
    ("torchtitan", "float8", FLOAT8),
    ("tensorpack", "parameter_server", IN_BOX),
    ("llm-foundry|OpenTau", "another batch|fused AdamW", ANOTHER_BATCH),
    ("willgpaik|llm-foundry|torchtitan|tensorpack|benoriol|Lengfeng88|vectorlm|server-gear|Nebius|OpenTau", "", DESCRIBED),
]


def key(row):
    return json.dumps(row)


def told(row):
    return "; ".join(row[k] for k in ("model", "precision", "framework", "strategy", "network", "note"))


def reason(row):
    for source, rest, why in LEFT_OUT:
        if re.search(source, row["source"]) and re.search(rest, told(row)):
            return why
    raise SystemExit(f"neither written nor left out: {row}")


def write(folder, scenarios):
    (folder / "networks").mkdir(parents=True, exist_ok=True)
    for name, make in judged_networks.ALL.items():
        (folder / f"networks/{name}.yaml").write_text(make())
    shipped = "networks/resnet18-cifar.yaml"
    (folder / shipped).write_text((LIBRARY / shipped).read_text())
    for scenario in scenarios:
        (folder / scenario.file).write_text(scenario.text)


def link(scenario, point):
    """The slowest of what a row's ranks are joined by: across nodes the network, within one what joins its GPUs. A row's
    point has the last parts of its axes' paths."""
    axes = dict(re.findall(r"([\w.]+)=([\w.]+)", point))
    nodes = int(axes.get("nodes", 0)) or -(-int(axes["gpus"]) // scenario.gpus_per_node)
    if nodes > 1:
        return "network " + axes.get("transport", scenario.network)
    bridged = "nvlink-pair" in scenario.text and axes.get("gpus") == "2"
    return "node nvlink" if scenario.inside == "nvlink" or bridged else "node pcie"


def predict(paceline, folder, scenarios):
    files = [str(folder / scenario.file) for scenario in scenarios]
    done = subprocess.run([paceline, "validate", *files, "--json", "-", "--quiet"], capture_output=True, text=True,
                          check=False)
    if not done.stdout.startswith("{"):
        raise SystemExit(done.stderr.strip())
    print(done.stderr, end="")
    return json.loads(done.stdout)["rows"]


def print_judged(scenarios, judged):
    by_name = {scenario.name: scenario for scenario in scenarios}
    points = sum(scenario.points for scenario in scenarios)
    if len(judged) != points or set(by_name) != {row["scenario"] for row in judged}:
        raise SystemExit(f"{len(judged)} rows are predicted of {points}")
    groups = collections.defaultdict(list)
    for row in judged:
        scenario = by_name[row["scenario"]]
        where = link(scenario, row["point"])
        for group in ((scenario.by, where), ("all", where)):
            groups[group].append(row)
    print("| source | slowest link | rows | mean abs error | largest | inside 90 % | perfect scaling | no overlap |\n"
          "|---|---|---|---|---|---|---|---|")
    for (source, where), rows in sorted(groups.items(), key=lambda group: (group[0][0] == "all", group[0])):
        mean = lambda what: statistics.fmean(abs(row[what]) for row in rows)
        inside = sum(row["in_interval"] for row in rows)
        print(f"| {source} | {where} | {len(rows)} | {mean('error_percent'):.1f} % | "
              f"{max(abs(row['error_percent']) for row in rows):.1f} % | {inside} | "
              f"{mean('perfect_scaling_percent'):.1f} % | {mean('no_overlap_percent'):.1f} % |")


def print_counts(scenarios, rows):
    written = {key(row) for scenario in scenarios for row in scenario.rows}
    many = [row for row in rows.all if int(row["gpus"]) > 1]
    found = sum(key(row) in written for row in many)
    if found != sum(len(scenario.rows) for scenario in scenarios):
        raise SystemExit("a row is in two files, or in none of the measurements")
    print("\n| source | files | rows |\n|---|---|---|")
    for by in sorted({scenario.by for scenario in scenarios}):
        of = [scenario for scenario in scenarios if scenario.by == by]
        print(f"| {by} | {len(of)} | {sum(len(scenario.rows) for scenario in of)} |")
    print(f"| all | {len(scenarios)} | {found} |")
    reasons = collections.Counter(reason(row) for row in many if key(row) not in written)
    print(f"\n{len(rows.all)} published rows, {len(rows.all) - len(many)} of them of one GPU, which are inputs. "
          "Of the others not written:\n\n| rows | why |\n|---|---|")
    for why, count in reasons.most_common():
        print(f"| {count} | {why} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    parser.add_argument("--paceline", help="predict them, too")
    parser.add_argument("--tokens", type=float, default=50, help="of GNMT's pairs of sentences, as pcie_boxes.py")
    arguments = parser.parse_args()
    if not (arguments.data / "training").is_dir():
        print(f"skipped: no measurements in {arguments.data}")
        return
    scenarios, rows = judged_sources.every(arguments.data / "training", arguments.tokens)
    write(arguments.out, scenarios)
    if arguments.paceline:
        print_judged(scenarios, predict(arguments.paceline, arguments.out, scenarios))
    print_counts(scenarios, rows)


if __name__ == "__main__":
    main()
