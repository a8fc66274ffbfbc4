#!/usr/bin/env python3
"""What a thread of a host moves through TCP, source by source, and steps over TCP with their own source left out.

First the rate of each source: the median, over rows across nodes whose step grows by half or more
when the rate is halved, of that at which a row is predicted as measured. Then the two classes of
models/cost/tcp_hosts.h (hosts of one's own, virtual machines): centres, spread within them, factors.
Then each source with the centre and the factor that the others alone give, whose hosts they are
known and not known: mean |error| of throughput, rows inside the 90 % interval, and its width, high
over low, at most.

Shipped rows are HKBU's, Horovod's of 2017 and Pollux's; those of Azure (four K80 or P100 a node) and Sia's (one
RTX 2080 Ti of each of two nodes) are read from the measurements beside the checkout.

Needs data beside the checkout: the measurements in ../shared/data, or where --data says.

Usage: tests/bench/tcp_hosts.py [--data FOLDER] [--paceline build/release/bin/paceline]
"""

import argparse
import csv
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "scenarios/library"
RATES_GB_S = [0.15 * 2 ** (i / 2) for i in range(11)]  # 0.15 to 4.8
GROWS = 1.5
# AWS p3.2xlarge, Gloo over 4 and 8 hosts, 128 and 256 MB, 10 Gb/s: 2(n-1)/n x size / time of
# nccl-tests/tc-aws-p3.2xlarge (327, 657, 382, 765 ms).
GLOO_GB_S = statistics.median(
    [1.5 * 0.128 / 0.327, 1.5 * 0.256 / 0.657, 1.75 * 0.128 / 0.382, 1.75 * 0.256 / 0.765])
# By source: whether its hosts are virtual.
VIRTUAL = {"hkbu": False, "horovod-2017": False, "sia": False, "azure p100": True, "azure k80": True, "pollux": True,
           "aws gloo": True}
# K80 rows over TCP are noisy (data/training/more2-SOURCES.md), and of the same cloud as the P100's.
NOT_IN_CLASSES = {"azure k80"}
# Two-sided 90 % and 80 % points of Student's distribution by degrees of freedom.
T95 = {1: 6.314, 2: 2.920, 3: 2.353, 4: 2.132, 5: 2.015}
T90 = {1: 3.078, 2: 1.886, 3: 1.638, 4: 1.533, 5: 1.476}


AZURE_MODELS = {"ResNet-50": "resnet50", "ResNet-101": "resnet101"}


def azure(data, gpu, models=None):
    """Horovod 0.13 and NCCL 2.3 over eth0; hosts of 24 Gb/s; PCIe 3.0 as NCCL counts it. `models`: networks by
    the names of the rows."""
    devices = {"k80": ("K80", "k80"), "p100": ("P100-PCIE-16GB", "p100-pcie-16gb")}
    name, device = devices[gpu]
    rows = [r for r in csv.DictReader((data / "training/more2.csv").open())
            if "BatchAI" in r["source"] and r["gpu"] == name]
    for model, network in (models or AZURE_MODELS).items():
        of = [r for r in rows if r["model"] == model]
        if not of:
            continue
        one = next(r for r in of if r["strategy"].startswith("single GPU"))
        points = [{"gpus": int(r["gpus"]), "throughput": f"{r['throughput']} samples/s"} for r in of
                  if "eth0" in r["network"] and int(r["nodes"]) > 1]
        yield {
            "name": f"{model} {gpu}",
            "workload": {"model": network, "batch_per_gpu": 64, "precision": "fp32",
                         "device": device, "single_gpu_throughput": f"{one['throughput']} samples/s"},
            "cluster": {"gpus_per_node": 4, "intra_node": {"kind": "pcie", "bandwidth": "12GBps", "latency": "2us"},
                        "network": {"bandwidth": "24Gbps", "latency": "25us", "transport": "tcp", "provider": "azure",
                                    "framing": "ethernet-tcp"}},
            "training": {"strategy": "horovod", "version": "0.13", "optimizer": {"kind": "sgd_momentum"}},
            "collective": {"library": "nccl", "version": "2.3"},
            "sweep": {"gpus": [p["gpus"] for p in points]},
            "measured": {"source": "msalvaris/BatchAIHorovodBenchmark", "points": points}}


def sia(data):
    """DDP of torch 1.9; the one-GPU row ran in the wrapper."""
    rows = [r for r in csv.DictReader((data / "training/more3.csv").open()) if "2080 Ti" in r["network"]]
    models = {"BERT-Base SQuAD seq384": ({"model": "bert-base", "sequence": 384}, "fp32", "adam"),
              "ResNet-18 CIFAR10": ({"model": str(LIBRARY / "networks/resnet18-cifar.yaml")}, "fp32", "sgd_momentum"),
              "ResNet-50": ({"model": "resnet50"}, "fp32", "sgd_momentum")}
    for model, (workload, precision, optimizer) in models.items():
        for batch in sorted({r["batch_per_gpu"] for r in rows if r["model"] == model}, key=int):
            of = {(r["nodes"], r["gpus"]): float(r["throughput"]) for r in rows
                  if r["model"] == model and r["batch_per_gpu"] == batch}
            if ("1", "1") not in of or ("2", "2") not in of:
                continue
            one = of["1", "1"]
            yield {
                "name": f"{model} {batch}",
                "workload": {**workload, "batch_per_gpu": int(batch), "precision": precision, "device": "rtx-2080-ti",
                             "single_gpu_throughput": f"{int(batch) / one:.6g} samples/s",
                             "single_gpu_wrapped": True},
                "cluster": {"gpus_per_node": 1, "network": {"bandwidth": "50Gbps", "latency": "25us", "transport": "tcp",
                                                            "provider": "own", "framing": "ethernet-tcp"}},
                "training": {"strategy": "ddp", "torch_version": "1.9", "optimizer": {"kind": optimizer}},
                "collective": {"library": "nccl"},
                "sweep": {"gpus": [2]},
                "measured": {"source": "Sia", "points": [{"gpus": 2, "step": f"{of['2', '2']}s"}]}}


class Source:
    """Scenarios, and their rows with other words of the network, those that change with the rate."""

    def __init__(self, paceline, folder, name, texts):
        self.paceline, self.folder, self.name, self.texts = paceline, folder, name, texts
        ends = [self.all_rows(stream_of(rate)) for rate in (RATES_GB_S[0], RATES_GB_S[-1])]
        self.moved = [i for i, (low, high) in enumerate(zip(*ends))
                      if low["predicted_step_s"] > 1.001 * high["predicted_step_s"]]

    def all_rows(self, words):
        """Points that are measured stay so only in files that say all: settings on top are other runs."""
        files = []
        for i, text in enumerate(self.texts):
            text = re.sub(r", stream_bandwidth: [^,}]*", "", text)
            if words.startswith('"stream_bandwidth"'):  # a thread's own rate, whoever runs the host
                vendor = ", nic: ena" if "provider: aws" in text and "nic: " not in text else ""
                text = re.sub(r", provider: [^,}]*", vendor, text)
            files.append(self.folder / f"{i}.yaml")
            files[-1].write_text(re.sub(r'(\n  network"?|"network"): \{', r"\g<0>" + words + ", ", text, count=1))
        done = subprocess.run([self.paceline, "validate", *map(str, files), "--json", "-", "--set",
                               "simulation.fidelity=folded"], capture_output=True, text=True, check=False)
        if not done.stdout.startswith("{"):
            raise SystemExit(f"{self.name}: {done.stderr.strip()}")
        return json.loads(done.stdout)["rows"]

    def rows(self, words):
        every = self.all_rows(words)
        return [every[i] for i in self.moved]


def stream_of(rate_gb_s):
    return f'"stream_bandwidth": {rate_gb_s:.5g}GBps, "provider": own'


def at(rate, steps):
    """The step at a rate, on straight lines of logarithms between those of RATES_GB_S."""
    x = math.log(rate / RATES_GB_S[0]) / math.log(2) * 2
    i = min(max(int(x), 0), len(steps) - 2)
    return math.exp(math.log(steps[i]) + (x - i) * (math.log(steps[i + 1]) - math.log(steps[i])))


def implied(measured, steps):
    """The rate at which the row is predicted as measured, if the network then decides it."""
    for i in range(len(steps) - 1):
        if steps[i] >= measured > steps[i + 1]:
            part = math.log(steps[i] / measured) / math.log(steps[i] / steps[i + 1])
            rate = RATES_GB_S[i] * 2 ** (part / 2)
            return rate if at(rate / 2, steps) >= GROWS * measured else None
    return None


def rate_of(source):
    by_rate = [source.rows(stream_of(rate)) for rate in RATES_GB_S]
    rates = []
    for i, row in enumerate(by_rate[0]):
        rate = implied(row["measured_step_s"], [rows[i]["predicted_step_s"] for rows in by_rate])
        if rate:
            rates.append(rate)
    return statistics.median(rates), len(rates), len(by_rate[0])


def classes_of(rates):
    """Centres of both classes, GB/s, and the logarithms that hold a new host of a class, and of one unknown."""
    logs = {kind: [math.log(r) for s, r in rates.items() if VIRTUAL[s] == kind] for kind in (False, True)}
    centres = {kind: statistics.fmean(of) for kind, of in logs.items()}
    freedom = sum(map(len, logs.values())) - 2
    spread = math.sqrt(sum((x - centres[kind]) ** 2 for kind, of in logs.items() for x in of) / freedom)
    wider = spread * math.sqrt(1 + 1 / statistics.fmean(map(len, logs.values())))
    return centres, spread, T95[freedom] * wider, T90[freedom] * wider


def ends(source, likely, low, high):
    """(row, low, high) of the steps: the interval without hosts and what hosts move it by, as independent."""
    for row, slow, fast in zip(source.rows(stream_of(likely)), source.rows(stream_of(low)), source.rows(stream_of(high))):
        step = row["predicted_step_s"]
        down = math.hypot(math.log(row["predicted_step_s_low"] / step), math.log(fast["predicted_step_s"] / step))
        up = math.hypot(math.log(row["predicted_step_s_high"] / step), math.log(slow["predicted_step_s"] / step))
        yield row, step * math.exp(-down), step * math.exp(up)


def summary(source, likely, low, high):
    judged = list(ends(source, likely, low, high))
    errors = [abs(row["error_percent"]) for row, _, _ in judged]
    inside = sum(low_s <= row["measured_step_s"] <= high_s for row, low_s, high_s in judged)
    width = max(high_s / low_s for _, low_s, high_s in judged)
    return f"{statistics.fmean(errors):6.1f} % (max {max(errors):5.1f}) {inside:3} of {len(judged):3} width {width:4.2f}"


def sources_of(arguments, folder):
    shipped = {"hkbu": "hkbu-*-100gbe.yaml", "horovod-2017": "horovod-2017-*.yaml", "pollux": "pollux-*.yaml"}
    texts = {name: [path.read_text().replace("model: networks/", f"model: {LIBRARY}/networks/")
                    for path in sorted(LIBRARY.glob(pattern))] for name, pattern in shipped.items()}
    if (arguments.data / "training/more2.csv").is_file():
        made = {"azure p100": azure(arguments.data, "p100"), "azure k80": azure(arguments.data, "k80"),
                "sia": sia(arguments.data)}
        for name, scenarios in made.items():
            texts[name] = [json.dumps({"schema": "paceline/1", **scenario}) for scenario in scenarios]
    else:
        print(f"no measurements at {arguments.data}: shipped sources only")
    return {name: Source(arguments.paceline, folder, name, of) for name, of in texts.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        sources = sources_of(arguments, pathlib.Path(temporary))
        rates = {"aws gloo": GLOO_GB_S}
        print("GB/s a thread, of rows that the rate decides")
        for name, source in sources.items():
            rate, count, of = rate_of(source)
            rates[name] = rate
            print(f"  {name:14} {rate:5.2f}   {count} of {of} rows", flush=True)
        print(f"  {'aws gloo':14} {GLOO_GB_S:5.2f}   4 calls")
        used = {s: r for s, r in rates.items() if s not in NOT_IN_CLASSES}
        centres, spread, known, unknown = classes_of(used)
        print(f"own {math.exp(centres[False]):.2f}, virtual {math.exp(centres[True]):.2f} GB/s, apart within by {spread:.3f}, "
              f"factor {math.exp(known):.2f}, of either {math.exp(unknown):.2f}")
        print("own source left out: mean |error| of throughput, rows inside, width (high over low, at most)")
        for name, source in sources.items():
            others = {s: r for s, r in used.items() if s.split()[0] != name.split()[0] or s == "aws gloo"}
            centres, _, known, unknown = classes_of(others)
            centre = math.exp(centres[VIRTUAL[name]])
            print(f"  {name:14} hosts known,   {centre:4.2f} GB/s: "
                  + summary(source, centre, centre / math.exp(known), centre * math.exp(known)), flush=True)
            low, high = math.exp(centres[True] - unknown), math.exp(centres[False] + unknown)
            middle = math.exp((centres[True] + centres[False]) / 2)
            print(f"  {'':14} hosts unknown, {middle:4.2f} GB/s: " + summary(source, middle, low, high), flush=True)


if __name__ == "__main__":
    main()
