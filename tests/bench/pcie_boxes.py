#!/usr/bin/env python3
"""Boxes of PCIe cards, each predicted by the others: training rows of one node, and logs of all-reduces.

A box is a machine of a source. Boxes without peer to peer stage what their GPUs send in host memory:
what one card stages (intra_node.bandwidth) and what the memory of a socket takes of all cards
(staging_bandwidth) are fitted to all boxes of the class but one, each box weighing alike, and the
one is predicted. Boxes with peer to peer have one number. Beside these stand

- perfect scaling, and no overlap: calls after the compute, by numbers fitted likewise under that form,
- one number from the box's own row of two cards, and the two numbers of the class times what makes
  that row right, for its rows of more cards (rows of two cards are inputs there, and not counted).

How far boxes differ (box_spread) comes from the same folds: of the other boxes, each by what is left,
the factor that makes its calls right; their 90 % quantile.

Rows: those of which the source has a one-GPU row of the same box, batch and precision, and that
communication explains: BERT and GNMT of Lambda's boxes, BERT of Sia's nodes, and some of issues.
ResNet-50 of Lambda's is left out: 0.95 to 0.99 of perfect, its input in places. So are boxes whose
one-GPU row is of another machine (2080Ti_trt, 2080TiNVlink_trt: 0.9 for ResNet-50 with any number of cards).
Four V100 of horovod #889 count nowhere: what the thread found is Horovod's cycle, not PCIe.

GNMT is NVIDIA's (DeepLearningExamples at 0663b67c, PyTorch/Translation/GNMT): shapes from
seq2seq/models, apex's DistributedDataParallel and amp O2 from seq2seq/train/trainer.py. A pair of
sentences is taken for 50 tokens: its README's six epochs are 1.75e8 tokens each (264.4 minutes at
66,050 tokens/s), of some 3.5 million pairs. --tokens changes it.

Needs data beside the checkout: the measurements in ../shared/data, or where --data says.

Usage: tests/bench/pcie_boxes.py [--data FOLDER] [--paceline build/release/bin/paceline] [--rows]
           [--tokens N] [--jobs N]
"""

import argparse
import concurrent.futures
import csv
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# GB/s: the places at which all rows are predicted; between them lines in logarithms.
PORTS = [0.6, 0.85, 1.2, 1.7, 2.4, 3.4, 4.8, 6.8, 9.6, 13.6]
MEMORIES = [2.4, 3.4, 4.8, 6.8, 9.6, 13.6, 19.2, 27.2, 38.4, 76.8]

LATENCY = {"staged": "2.1us", "peers": "1.13us", "pairs": "2.1us"}  # as the presets have it

# Of what is not shipped a card of its generation stands in: compute is scaled to the one-GPU row.
DEVICES = {
    "2080Ti": "rtx-2080-ti", "3070": "rtx-3080", "3080": "rtx-3080", "3090": "rtx-3090",
    "4090_v1": "rtx-4090", "A6000_v1": "rtx-a6000", "A6000": "rtx-a6000", "A4000": "rtx-a6000",
    "QuadroRTX8000": "rtx-2080-ti", "V100": "v100-pcie-32gb", "V100_16GB_v1": "v100-sxm2-16gb",
    "2x2080Ti": "rtx-2080-ti", "T4": "tesla-t4",
}


class Row:
    """A measured step of a number of cards, and the published row, where it is at hand."""

    def __init__(self, gpus, step, published=None):
        self.gpus, self.step, self.published = gpus, step, published


class Work:
    """What a box ran, its step on one GPU, and the rows; later its predictions over the grid."""

    def __init__(self, name, scenario, rows):
        self.name, self.scenario, self.rows = name, scenario, rows
        said = lambda key: float(re.search(rf"{key}: (\S+)", scenario).group(1))
        self.one_gpu = said("batch_per_gpu") / said("single_gpu_throughput")
        self.steps = {}  # (gpus, port, memory): step, communication; seconds


class Box:
    def __init__(self, name, kind, works=(), log=None, counts=True):
        self.name, self.kind, self.works, self.log, self.counts = name, kind, list(works), log, counts


def lstm(tensors, inputs, hidden=1024):
    tensors += [4 * hidden * inputs, 4 * hidden * hidden, 4 * hidden, 4 * hidden]
    return tensors


def gnmt_layers():
    """In forward order, with times by their weights: rescaled by the one-GPU row."""
    vocabulary = 32320
    layers = [("embedding", [vocabulary * 1024], 0),
              ("encoder0", lstm(lstm([], 1024), 1024), 1), ("encoder1", lstm([], 2048), 1),
              ("encoder2", lstm([], 1024), 1), ("encoder3", lstm([], 1024), 1),
              ("attention_rnn", lstm([], 1024) + [1024 * 1024, 1024 * 1024, 1024, 1024, 1], 1)]
    layers += [(f"decoder{i}", lstm([], 2048), 1) for i in (1, 2, 3)]
    layers.append(("classifier", [vocabulary * 1024, vocabulary], 1))
    text = ""
    for name, tensors, computes in layers:
        us = 1e-5 * sum(tensors) * computes
        text += (f"    - {{name: {name}, forward: {us:.1f}us, backward: {2 * us:.1f}us, "
                 f"parameters: {tensors}}}\n")
    return "  layers:\n" + text


def scenario_of(workload, device, batch, precision, one_gpu, training):
    return f"""schema: paceline/1
name: bench
workload:
{workload}  batch_per_gpu: {batch}
  precision: {precision}
  device: {device}
  single_gpu_throughput: {one_gpu:.6g} samples/s
{training}collective: {{library: nccl}}
simulation: {{fidelity: folded}}
"""


APEX = "training: {strategy: apex_ddp, optimizer: {kind: adam}}\n"
APEX_O2 = "training: {strategy: apex_ddp, optimizer: {kind: adam, fp32_master: true}}\n"
DDP_WRAPPED = """  single_gpu_wrapped: true
training: {strategy: ddp, torch_version: "1.9", optimizer: {kind: adam}}
"""


def bert(model, sequence=384):
    return f"  model: {model}\n  sequence: {sequence}\n"


# Of Lambda's boxes by name and year and month of the log: class, and how many cards count. A pair
# of RTX 3090 that runs at 0.97 has a bridge; three cards are no pairs.
LAMBDA = {
    ("2080Ti_trt2", "2020"): ("staged", (2, 4, 8)), ("3070", "2021"): ("staged", (2, 4, 8)),
    ("3080", "2020"): ("staged", (2,)), ("3090", "2020"): ("staged", (3,)),
    ("3090", "2021"): ("staged", (2, 4, 8)), ("4090_v1", "2022"): ("staged", (2,)),
    ("A6000_v1", "2022"): ("staged", (2,)), ("Cloud V100_16GB_v1", "2022"): ("staged", (2, 4, 8)),
    ("A4000", "2021"): ("peers", (2, 4, 8)), ("A6000", "2020"): ("peers", (4, 8)),
    ("A6000", "2021"): ("peers", (4, 8)), ("QuadroRTX8000_trt", "2020"): ("peers", (8,)),
    ("V100", "2020"): ("peers", (2, 4, 8)), ("2080TiNVlink_trt2", "2020"): ("pairs", (2, 4, 8)),
    ("QuadroRTX8000NVlink_trt", "2020"): ("pairs", (8,)),
}


def lambda_rows(data):
    for file in ("more.csv", "more3.csv"):
        for row in csv.DictReader(open(data / file)):
            found = re.search(r"box (LambdaCloud_)?(?:\d+x)?(\S+?), log (\S+?)_", row["note"])
            if "lambdal" not in row["source"] or not found or "ResNet" in row["model"]:
                continue
            day, month, year = found.group(3).split("-")
            name = ("Cloud " if found.group(1) else "") + found.group(2)
            yield name, (int(year), int(month), int(day)), row


def samples_per_s(row, tokens):
    return float(row["throughput"]) / (tokens if "GNMT" in row["model"] else 1)


def lambda_boxes(data, tokens):
    """The one-GPU row is that of the nearest day."""
    alone, many = {}, {}
    for name, day, row in lambda_rows(data):
        what = (row["model"].split()[0], row["batch_per_gpu"], row["precision"])
        if int(row["gpus"]) == 1:
            alone.setdefault((name, what), []).append((day, samples_per_s(row, tokens)))
        elif (name, str(day[0])) in LAMBDA and int(row["gpus"]) in LAMBDA[name, str(day[0])][1]:
            many.setdefault((name, str(day[0]), what), []).append((day, row))
    boxes = {}
    for (name, year, what), rows in many.items():
        key = re.sub(r"(NVlink)?_trt2?$", "", name)
        days = alone.get((key, what))
        if not days:
            continue
        as_days = lambda day: day[0] * 372 + day[1] * 31 + day[2]
        one = min(days, key=lambda d: abs(as_days(d[0]) - as_days(rows[0][0])))[1]
        model, batch, precision = what
        measured = [Row(int(row["gpus"]), int(batch) * int(row["gpus"]) / samples_per_s(row, tokens), row)
                    for _, row in rows]
        half = "fp16" in precision
        ampere = re.search(r"30[789]0|4090|A[46]000", name) is not None
        if model == "GNMT-v2":
            workload, training = gnmt_layers(), APEX_O2 if half else APEX
        else:
            workload, training = bert(model.lower()), APEX
        text = scenario_of(workload, DEVICES[key.replace("Cloud ", "")], batch,
                           "fp16" if half else "tf32" if ampere else "fp32", one, training)
        box = boxes.setdefault((name, year), Box(f"Lambda {name} {year}", LAMBDA[name, year][0]))
        box.works.append(Work(f"{model} {'fp16' if half else 'fp32'}", text, measured))
    merge(boxes, ("A6000", "2020"), ("A6000", "2021"))
    return list(boxes.values())


def merge(boxes, one, other):
    if one in boxes and other in boxes:
        boxes[one].works += boxes.pop(other).works


def profile_box(data, file, source, name, device, kind):
    """BERT of adaptdl's wrapper in nodes of one kind: Sia's and Pollux'."""
    by_batch = {}
    for row in csv.DictReader(open(data / file)):
        if source in row["source"] and row["nodes"] == "1" and "BERT" in row["model"]:
            by_batch.setdefault(row["batch_per_gpu"], []).append(
                Row(int(row["gpus"]), float(row["throughput"])))
    works = []
    for batch, rows in by_batch.items():
        one = next(row.step for row in rows if row.gpus == 1)
        text = scenario_of(bert("bert-base"), device, batch, "fp32", int(batch) / one, DDP_WRAPPED)
        works.append(Work(f"BERT-Base {batch}", text, [row for row in rows if row.gpus > 1]))
    return Box(name, kind, works)


# Issues and a README, from questions.md, more.csv and measured.csv: what was asked, and posted.
HOROVOD = "training: {strategy: horovod, version: \"%s\", optimizer: {kind: sgd_momentum}}\n"


def asked_boxes():
    q02 = scenario_of("  model: resnet101\n", "v100-pcie-32gb", 64, "fp32", 202.78, HOROVOD % "0.13")
    q04 = scenario_of("  model: resnet50\n", "v100-pcie-32gb", 64, "fp32", 64 * 3.81, HOROVOD % "0.16")
    # Batch 16 at up to 128 tokens, 3,668 samples an epoch of 21 s (the script's, and MRPC's).
    q23 = scenario_of(bert("bert-base", 128), "rtx-2080-ti", 16, "fp32", 3668 / 21,
                      "training: {strategy: ddp, torch_version: \"1.8\", optimizer: {kind: adam}}\n")
    layers = ("  layers:\n"
              "    - {name: one, forward: 2ms, backward: 4ms, parameters: [16777216, 4096]}\n"
              "    - {name: two, forward: 1ms, backward: 2ms, parameters: [8388608, 2048]}\n")
    ddp = 'training: {strategy: ddp, torch_version: "2.1", bucket_cap: 50MiB, optimizer: {kind: sgd}}\n'
    mlp = [Work(f"MLP {batch}", scenario_of(layers, "v100-pcie-16gb", batch, "fp32", batch / one, ddp),
                [Row(2, two)]) for batch, one, two in ((256, 7.6e-3, 41.4e-3), (4096, 99.77e-3, 114.24e-3))]
    return [Box("a README's MLP, 2 V100", "peers", mlp),
            Box("horovod #416, 4 V100", "peers", [Work("ResNet-101", q02, [Row(4, 256 / 650.92)])]),
            Box("horovod #889, 4 V100", "peers", [Work("ResNet-50", q04, [Row(4, 1 / 2.62)])], counts=False),
            Box("accelerate #71, 2 2080 Ti", "staged", [Work("BERT-Base", q23, [Row(2, 32 * 21 / 3668)])])]


def hkbu_box():
    """The rows of one node after the backward, of measured.csv."""
    plain = lambda kind: f"training: {{strategy: bulk_synchronous, optimizer: {{kind: {kind}}}}}\n"
    large = bert("bert-large", 64) + "  pretraining_heads: true\n"
    works = [Work("BERT-Large", scenario_of(large, "v100-pcie-32gb", 8, "fp32", 49, plain("adam")),
                  [Row(4, 32 / 53.04)]),
             Work("ResNet-50", scenario_of("  model: resnet50\n", "v100-pcie-32gb", 64, "fp32", 253.1,
                                           plain("sgd_momentum")), [Row(4, 256 / 925.02)])]
    return Box("HKBU 4 V100", "peers", works)


# Bus bandwidths of the largest sizes, GB/s: of a ring, what its slowest link has.
LOGS = [
    ("AutoDL 2 2080 Ti", "staged", 2, "autodl-2xRTX2080Ti-pcie-all-collectives.txt"),
    ("jungpu30 8 2080 Ti", "staged", 8, "8xRTX2080Ti-pcie-1node-jungpu30.txt"),
    ("Azure 2 V100, through memory", "staged", 2, "azure-2xV100-PCIE-16GB-1node-shm.txt"),
    ("AzureML 4 K80", "peers", 4, "azureml-4xK80-1node.txt"),
    ("Sheffield 4 V100", "peers", 4, "sheffield-bessemer-4xV100-PCIE-32GB-nccl0.txt"),
]


def bus_bandwidth(path):
    """Of the largest size of the file's first table."""
    last = None
    for line in open(path):
        words = line.split()
        if len(words) >= 8 and words[0].isdigit() and words[2] == "float":
            # In place and out: the former, time, algbw and busbw after the root where there is one.
            if last and int(words[0]) < last[0]:
                break
            times = words[5:] if words[4] == "-1" else words[4:]
            last = (int(words[0]), float(times[2]))
    return last[1]


def log_boxes(logs):
    return [Box(name, kind, log=(gpus, bus_bandwidth(logs / file))) for name, kind, gpus, file in LOGS]


# Predictions.


def cluster_text(box, gpus, port, memory):
    """One number with peer to peer, else a slot and the memory of one socket."""
    node = f"kind: pcie, bandwidth: {port}GBps, latency: {LATENCY[box.kind]}"
    if box.kind == "staged":
        node += (", gpus_per_switch: 1, switch_bandwidth: 64GBps, peer_to_peer: false, "
                 f"staging_bandwidth: {memory}GBps")
    if box.kind == "pairs":
        lanes = [[2 * int(i // 2 == j // 2 and i != j) for j in range(gpus)] for i in range(gpus)]
        node = (f"kind: nvlink_mesh, bandwidth: 22.5GBps, latency: 2.1us, host_bandwidth: {port}GBps, "
                f"lanes: {lanes}, gpus_per_switch: 1, switch_bandwidth: 64GBps, peer_to_peer: false, "
                f"staging_bandwidth: {memory}GBps")
    return f"cluster:\n  gpus_per_node: {gpus}\n  intra_node: {{{node}}}\n"


def run(paceline, text, sets=()):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "box.yaml"
        path.write_text(text)
        command = [str(paceline), "run", str(path), "--json", "-", "--quiet"]
        done = subprocess.run(command + [f"--set={one}" for one in sets], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}\n{text}")
    return json.loads(done.stdout)["points"]


def axis(point, path):
    return next(axis["value"] for axis in point["axes"] if axis["path"] == path)


def host_key(box):
    return "cluster.intra_node." + ("host_bandwidth" if box.kind == "pairs" else "bandwidth")


def fill_grid(paceline, box, work):
    """All numbers of cards at all places of the grid."""
    gpus = sorted({row.gpus for row in work.rows})
    memory_key = "cluster.intra_node.staging_bandwidth"
    axes = f"  gpus: {gpus}\n  {host_key(box)}: [{', '.join(f'{p}GBps' for p in PORTS)}]\n"
    if box.kind != "peers":
        axes += f"  {memory_key}: [{', '.join(f'{m}GBps' for m in MEMORIES)}]\n"
    text = work.scenario + cluster_text(box, max(gpus), PORTS[0], MEMORIES[0]) + "sweep:\n" + axes
    for point in run(paceline, text):
        memories = [axis(point, memory_key) / 1e9] if box.kind != "peers" else MEMORIES
        port = axis(point, host_key(box)) / 1e9
        for memory in memories:
            key = (point["gpus"], PORTS.index(nearest(PORTS, port)),
                   MEMORIES.index(nearest(MEMORIES, memory)))
            work.steps[key] = (point["predicted"]["step_s"], point["predicted"]["communication_s"])


def nearest(values, value):
    return min(values, key=lambda v: abs(math.log(v / value)))


def place(values, value):
    """Index and fraction of a value among values, held to their ends."""
    value = min(max(value, values[0]), values[-1])
    i = max(k for k in range(len(values) - 1) if values[k] <= value or k == 0)
    return i, math.log(value / values[i]) / math.log(values[i + 1] / values[i])


def predicted(work, gpus, port, memory, which=0):
    (i, f), (j, g) = place(PORTS, port), place(MEMORIES, memory)
    at = lambda a, b: math.log(max(work.steps[gpus, a, b][which], 1e-9))
    return math.exp((1 - f) * ((1 - g) * at(i, j) + g * at(i, j + 1)) +
                    f * ((1 - g) * at(i + 1, j) + g * at(i + 1, j + 1)))


def left(box, port, memory, rows=lambda row: True, overlap=True):
    """Logarithms of predicted over measured time, row by row."""
    if box.log:
        gpus, busbw = box.log
        carried = min(port, memory / gpus) if box.kind == "staged" else port
        return [math.log(busbw / carried)] if rows(Row(gpus, 0)) else []
    step = lambda work, gpus: (predicted(work, gpus, port, memory) if overlap else
                               work.one_gpu + predicted(work, gpus, port, memory, 1))
    return [math.log(step(work, row.gpus) / row.step)
            for work in box.works for row in work.rows if rows(row)]


FINE = [0.6 * 1.1 ** k for k in range(33)]
FINE_MEMORIES = [2.4 * 1.15 ** k for k in range(25)]


class Fitted:
    """What each box is off by at all fine places, found once."""

    def __init__(self, boxes, overlap=True):
        self.boxes = boxes
        memories = FINE_MEMORIES if boxes[0].kind != "peers" else [MEMORIES[-1]]
        self.places = [(p, m) for p in FINE for m in memories]
        self.off = {box.name: [statistics.mean(abs(x) for x in left(box, p, m, overlap=overlap))
                               for p, m in self.places] for box in boxes}

    def without(self, names):
        others = [self.off[box.name] for box in self.boxes if box.name not in names]
        best = min(range(len(self.places)), key=lambda k: sum(off[k] for off in others))
        return self.places[best]


def own_factor(box, port, memory):
    """What makes the calls of a box right, on its rows: on the numbers of its class."""
    factors = [1.05 ** k for k in range(-50, 51)]
    off = lambda k: statistics.mean(abs(x) for x in left(box, port * k, memory * k))
    return min(factors, key=off)


def quantile_90(values):
    """Of a further one of their kind: the ceil(0.9 (n + 1))-th, or the last."""
    values = sorted(values)
    return values[min(len(values), math.ceil(0.9 * (len(values) + 1))) - 1]


def spread_without(fitted, name):
    others = [box for box in fitted.boxes if box.name != name]
    factors = []
    for box in others:
        factor = own_factor(box, *fitted.without({name, box.name}))
        factors.append(max(factor, 1 / factor))
    return quantile_90(factors)


class Judged:
    """A row of a box that was left out."""

    def __init__(self, box, work, row, point, scaling, no_overlap):
        self.box, self.work, self.row = box, work, row
        self.step = point["step_s"]
        self.low, self.high = point["step_s_low"], point["step_s_high"]
        self.scaling, self.no_overlap = scaling, no_overlap

    def error(self, step=None):
        """Of throughput, percent."""
        return 100 * (self.row.step / (step or self.step) - 1)

    def is_inside(self):
        return self.low <= self.row.step <= self.high


def judge(paceline, box, port, memory, spread, without_overlap):
    """`without_overlap`: the numbers fitted under that form."""
    judged = []
    for work in box.works:
        gpus = sorted({row.gpus for row in work.rows})
        text = work.scenario + cluster_text(box, max(gpus), round(port, 4), round(memory, 4))
        text += f"sweep:\n  gpus: {[1] + gpus}\n"
        points = run(paceline, text, [f"cluster.intra_node.box_spread={max(spread, 1.01):.4f}"])
        by_gpus = {point["gpus"]: point["predicted"] for point in points}
        one = by_gpus[1]["step_s"]
        for row in work.rows:
            at = by_gpus[row.gpus]
            serial = work.one_gpu + predicted(work, row.gpus, *without_overlap, 1)
            judged.append(Judged(box, work, row, at, one, serial))
    return judged


# Tables.


def mean_abs(values):
    values = list(values)
    return f"{statistics.mean(abs(x) for x in values):.1f}" if values else ""


def print_box(name, judged, note):
    rows = [row for row in judged]
    width = statistics.median(row.high / row.low for row in rows)
    print(f"| {name} | {len(rows)} | {note} | {mean_abs(r.error() for r in rows)} "
          f"({min(r.error() for r in rows):+.0f} to {max(r.error() for r in rows):+.0f}) | "
          f"{sum(r.is_inside() for r in rows)} | {width:.2f} | "
          f"{mean_abs(r.error(r.no_overlap) for r in rows)} | {mean_abs(r.error(r.scaling) for r in rows)} |")


def print_total(boxes):
    """Boxes weigh alike."""
    mean = lambda of: statistics.mean(statistics.mean(abs(of(r)) for r in rows) for rows in boxes)
    rows = [row for rows in boxes for row in rows]
    inside = sum(row.is_inside() for row in rows)
    print(f"| mean of {len(boxes)} boxes | {len(rows)} | | {mean(lambda r: r.error()):.1f} | "
          f"{inside} ({100 * inside / len(rows):.0f}%) | "
          f"{statistics.median(r.high / r.low for r in rows):.2f} | "
          f"{mean(lambda r: r.error(r.no_overlap)):.1f} | {mean(lambda r: r.error(r.scaling)):.1f} |")


def judge_class(paceline, kind, boxes, show_rows):
    fitted, serial = (Fitted([box for box in boxes if box.counts], form) for form in (True, False))
    port, memory = fitted.without(set())
    spread = quantile_90([max(f, 1 / f) for f in (own_factor(b, *fitted.without({b.name})) for b in fitted.boxes)])
    print(f"\n{kind}: {len(fitted.boxes)} boxes; of all a card has {port:.2f} GB/s"
          + (f", the memory of a node {memory:.1f} GB/s" if kind == "staged" else "")
          + f", boxes differ by {spread:.2f}\n")
    own = lambda fits: 100 * statistics.mean(min(fits.off[box.name]) for box in fits.boxes if not box.log)
    print(f"by its own numbers a box is {own(fitted):.1f} % off in the mean, without overlap {own(serial):.1f}\n")
    print("| left out | rows | numbers of the others | error %, mean (from, to) | inside 90 % | high / low | "
          "no overlap | perfect scaling |\n|---|---|---|---|---|---|---|---|")
    of_boxes, logs = [], []
    for box in boxes:
        port, memory = fitted.without({box.name})
        spread = spread_without(fitted, box.name)
        note = f"{port:.2f}, {memory:.1f}, x{spread:.2f}" if kind == "staged" else f"{port:.2f}, x{spread:.2f}"
        if box.log:
            off = left(box, port, memory)[0]
            logs.append((box.name, note, off, abs(off) <= math.log(spread)))
            continue
        judged = judge(paceline, box, port, memory, spread, serial.without({box.name}))
        if box.counts:
            of_boxes.append(judged)
        print_box(box.name + ("" if box.counts else ", not counted"), judged, note)
        for row in judged if show_rows else []:
            print(f"|   {row.work.name}, {row.row.gpus} | | | {row.error():+.1f} | {row.is_inside()} | "
                  f"{row.high / row.low:.2f} | {row.error(row.no_overlap):+.1f} | {row.error(row.scaling):+.1f} |")
    print_total(of_boxes)
    for name, note, off, inside in logs:
        print(f"log {name}: {note}: predicted {math.exp(off):.2f} of measured time, "
              f"{'inside' if inside else 'outside'} the spread")
    return fitted, serial


def judge_from_two(fitted):
    """Rows of more than two cards, when the box's own of two are known."""
    print("\nKnown: the rows of two cards. Of the others of a box, error %:\n\n"
          "| box | rows | one number | the class's two, times a factor | nothing known |\n|---|---|---|---|---|")
    totals = []
    for box in fitted.boxes:
        two = lambda row: row.gpus == 2
        more = lambda row: row.gpus > 2
        if box.log or not left(box, 1, 10, two) or not left(box, 1, 10, more):
            continue
        port, memory = fitted.without({box.name})
        off = lambda p, m: statistics.mean(abs(x) for x in left(box, p, m, two))
        one = min(FINE, key=lambda p: off(p, MEMORIES[-1]))
        factor = min((1.05 ** k for k in range(-50, 51)), key=lambda k: off(port * k, memory * k))
        errors = [[100 * (math.exp(-x) - 1) for x in left(box, p, m, more)]
                  for p, m in ((one, MEMORIES[-1]), (port * factor, memory * factor), (port, memory))]
        totals.append([statistics.mean(abs(x) for x in e) for e in errors])
        print(f"| {box.name} | {len(errors[0])} | " + " | ".join(
            f"{mean_abs(e)} ({min(e):+.0f} to {max(e):+.0f})" for e in errors) + " |")
    if totals:
        print(f"| mean of {len(totals)} boxes | | " + " | ".join(
            f"{statistics.mean(t[k] for t in totals):.1f}" for k in range(3)) + " |")


def judge_pairs(paceline, boxes, staged, serial, spread_of_class):
    """Boxes of bridged pairs, by what the boxes without bridges have. One of them is the same box
    without its bridges, or a like one, and is left out."""
    port, memory = staged.without({"Lambda 2080Ti_trt2 2020"})
    print("\npairs: the numbers of boxes without peer to peer, and a bridge of two lanes of 22.5 GB/s in each pair\n\n"
          "| box | rows | numbers | error %, mean (from, to) | inside 90 % | high / low | no overlap | "
          "perfect scaling |\n|---|---|---|---|---|---|---|---|")
    for box in boxes:
        judged = judge(paceline, box, port, memory, spread_of_class, serial.without(set()))
        print_box(box.name, judged, f"{port:.2f}, {memory:.1f}")
        for row in judged:
            print(f"|   {row.work.name}, {row.row.gpus} | | | {row.error():+.1f} | {row.is_inside()} | "
                  f"{row.high / row.low:.2f} | {row.error(row.no_overlap):+.1f} | {row.error(row.scaling):+.1f} |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    beside = [ROOT.parent / "shared/data", ROOT / "shared/data"]
    parser.add_argument("--data", type=pathlib.Path,
                        default=next((path for path in beside if path.is_dir()), beside[0]))
    parser.add_argument("--paceline", default=ROOT / "build/release/bin/paceline")
    parser.add_argument("--tokens", type=float, default=50, help="of a pair of sentences")
    parser.add_argument("--rows", action="store_true", help="each row, too")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main():
    args = arguments()
    if not (args.data / "training").is_dir():
        print(f"skipped: no measurements in {args.data}")
        return
    training = args.data / "training"
    boxes = lambda_boxes(training, args.tokens) + asked_boxes() + log_boxes(args.data / "nccl-tests")
    boxes.append(profile_box(training, "more3.csv", "Sia", "Sia 8 2080 Ti", "rtx-2080-ti", "staged"))
    boxes.append(hkbu_box())
    boxes.append(profile_box(training, "more.csv", "Pollux", "Pollux 4 T4", "tesla-t4", "peers"))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda pair: fill_grid(args.paceline, *pair),
                      [(box, work) for box in boxes for work in box.works]))
    of_class = lambda kind: [box for box in boxes if box.kind == kind]
    staged, serial = judge_class(args.paceline, "staged", of_class("staged"), args.rows)
    judge_from_two(staged)
    judge_class(args.paceline, "peers", of_class("peers"), args.rows)
    factors = [own_factor(box, *staged.without({box.name})) for box in staged.boxes]
    judge_pairs(args.paceline, of_class("pairs"), staged, serial, quantile_90([max(f, 1 / f) for f in factors]))


if __name__ == "__main__":
    main()
