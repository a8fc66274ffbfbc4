"""Scenarios of the published rows that scenarios/library does not have, source by source; judged_rows.py writes them.

A machine is described by what its source says of it, by NCCL's own counts, and by presets of machines of which
no more is known. Presets geforce-pcie-8, peer-pcie-8 and rtx-2080-ti-nvlink-pair, and what hosts move over TCP, are
classes' figures that rows here were among the sources of: those say `network: measured`; so is what hosts sum.
"""

import csv
import json
import pathlib
import re
import statistics

import pcie_boxes
import tcp_hosts

FILES = ("measured.csv", "more.csv", "more2.csv", "more3.csv", "more4.csv")


class Rows:
    """The published rows; each has `file` beside its columns."""

    def __init__(self, training):
        self.training = training
        self.all = [{**row, "file": name} for name in FILES for row in csv.DictReader((training / name).open())]

    def of(self, source, **columns):
        """Columns are patterns, and of gpus and nodes numbers."""
        def matches(row):
            return re.search(source, row["source"]) and all(
                int(row[key]) == pattern if isinstance(pattern, int) else re.search(pattern, row[key])
                for key, pattern in columns.items())
        return [row for row in self.all if matches(row)]

    def one(self, source, **columns):
        found = self.of(source, **columns)
        if len(found) != 1:
            raise SystemExit(f"{len(found)} rows of {source} {columns}, not 1")
        return found[0]


class Scenario:
    """One file. `points`: (axes, row or None, text of the figure); `inside`: nvlink or pcie."""

    def __init__(self, by, slug, name, head, sections, sweep, points, source, inside="pcie", fitted=""):
        self.by, self.name, self.inside = by, name, inside
        self.file = f"{by}-{slug}.yaml"
        self.rows = [row for _, row, _ in points if row is not None and int(row["gpus"]) > 1]
        self.points = sum(row is not None and int(row["gpus"]) > 1 for _, row, _ in points)
        cluster = re.search(r"^cluster: .*$", sections, re.M).group(0)
        found = re.search(r"transport: (\w+)", cluster)
        self.network = found.group(1) if found else "rdma"
        found = re.search(r"{gpus_per_node: (\d+)", cluster)
        self.gpus_per_node = int(found.group(1)) if found else 4 if "v100-pcie-4" in cluster else 8  # as presets have it
        lines = [f"# {line}" for line in head.splitlines()]
        lines += ["schema: paceline/1", f"name: {name}", sections.rstrip(), "sweep:"]
        lines += [f"  {path}: {flow(values)}" for path, values in sweep.items()]
        lines += ["measured:", f"  by: {by}"] + ([f"  network: measured   # {fitted}"] if fitted else [])
        lines += [f"  source: {source}", "  points:"]
        lines += [f"    - {{{', '.join(f'{k}: {v}' for k, v in axes.items())}, {figure}}}" for axes, _, figure in points]
        self.text = "\n".join(lines) + "\n"


def flow(value):
    """YAML on one line; text in quotes where it would be read as a number."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and re.fullmatch(r"[\d.]+", value):
        return json.dumps(value)
    return str(value)


def sections(workload, cluster, training, collective):
    return "".join(f"{key}: {flow(value)}\n" for key, value in
                   (("workload", workload), ("cluster", cluster), ("training", training), ("collective", collective)))


def figure(row):
    """As a scenario has it: the row's own number where its unit allows."""
    number, unit = row["throughput"], row["unit"]
    if unit in ("samples/s", "img/s", "sentences/s"):
        return f"throughput: {number} samples/s"
    if unit == "tokens/s":
        return f"throughput: {number} tokens/s"
    if unit == "s/step":
        return f"step: {number}s"
    if unit == "ms/step":
        return f"step: {number}ms"
    if unit == "steps/s":
        return f"step: {1 / float(number):.6g}s"
    if unit == "s/5120 samples":
        return f"throughput: {5120 / float(number):.6g} samples/s"
    raise SystemExit(f"unit {unit}")


def by_gpus(one, rows):
    """Sweep and points of rows that differ in nothing but their number of GPUs."""
    rows = sorted(rows, key=lambda row: int(row["gpus"]))
    points = [({"gpus": int(row["gpus"])}, row, figure(row)) for row in [one] + rows]
    return {"gpus": [axes["gpus"] for axes, _, _ in points]}, points


AZURE_NETWORKS = {**tcp_hosts.AZURE_MODELS, "ResNet-152": "networks/resnet152.yaml",
                  "ResNet-50 v2": "networks/resnet50-v2.yaml", "ResNet-101 v2": "networks/resnet101-v2.yaml",
                  "MobileNet (tf_cnn_benchmarks mobilenet)": "mobilenet-v2"}


def azure(rows):
    """Rows by NCCL, within a host and across: tcp_hosts.py's description."""
    data = rows.training.parent
    for gpu, name in (("k80", "K80"), ("p100", "P100-PCIE-16GB")):
        for model in AZURE_NETWORKS:
            for made in tcp_hosts.azure(data, gpu, {model: AZURE_NETWORKS[model]}):
                columns = {"model": f"^{re.escape(model)}$", "gpu": f"^{name}$"}
                one = rows.one("BatchAI", strategy="^single GPU", **columns)
                of = [row for row in rows.of("BatchAI", network="eth0", **columns) if int(row["gpus"]) > 1]
                sweep, points = by_gpus(one, of)
                short = model.split(" (")[0]
                yield Scenario(
                    "azure", f"{gpu}-" + short.lower().replace(" ", "-"), f"Azure {name}, {short}, Horovod by NCCL over TCP",
                    "tf_cnn_benchmarks on eight virtual machines of four GPUs, synthetic pictures; tcp_hosts.py has why it is"
                    "\ndescribed so. The one-GPU row ran without Horovod.",
                    sections(made["workload"], made["cluster"], made["training"], made["collective"]), sweep, points,
                    one["source"].split(":")[0])
                yield azure_by_mpi(rows, gpu, made, one, columns, short)


def azure_by_mpi(rows, gpu, made, one, columns, short):
    """The same hosts by Intel MPI 2017, in host memory: FDR InfiniBand carries 56 Gb/s of signals, 54.3 of data, and
    messages take 3 us between virtual machines."""
    suspect = lambda row: row["model"] == "ResNet-152" and row["gpus"] == "16"
    of = [row for row in rows.of("BatchAI", strategy="MPI all-reduce", **columns)
          if int(row["gpus"]) > 1 and not suspect(row)]
    sweep, points = by_gpus(one, of)
    cluster = {**made["cluster"], "network": {"bandwidth": "54.3Gbps", "latency": "3us", "transport": "rdma",
                                              "provider": "azure"}}
    return Scenario(
        "azure", f"{gpu}-{short.lower().replace(' ', '-')}-mpi", f"Azure {one['gpu']}, {short}, Horovod by MPI over FDR",
        "As the rows by NCCL, with a build of Horovod that has no NCCL: Intel MPI 2017 sums in host memory.",
        sections(made["workload"], cluster, made["training"], {"library": "mpi"}), sweep, points,
        one["source"].split(":")[0])


def sia(rows):
    """All placements: tcp_hosts.py's network and workloads, a box of which no more is known than that its cards are GeForce."""
    for made in tcp_hosts.sia(rows.training.parent):
        model, batch = made["name"].rsplit(" ", 1)
        of = rows.of("Sia", model=f"^{re.escape(model)}$", batch_per_gpu=f"^{batch}$")
        # tcp_hosts.py has fp32 for ResNet-50, too; the rows say amp O1.
        made["workload"]["precision"] = "amp" if of[0]["precision"].startswith("amp") else of[0]["precision"]
        made["workload"]["model"] = re.sub(r"^.*/networks/", "networks/", made["workload"]["model"])
        network = made["cluster"]["network"]
        placed = {(int(row["gpus"]) // int(row["nodes"]), int(row["nodes"])): row for row in of}
        yield Scenario(
            "sia", f"{model.split()[0].lower()}-batch{batch}", f"Sia {model}, 2080 Ti, batch {batch}",
            "DistributedDataParallel of PyTorch 1.9 inside adaptdl's wrapper, as the one-GPU row. Nodes of eight RTX 2080 Ti, of\n"
            "which no more is said; 50 Gb/s Ethernet.",
            sections(made["workload"], {"preset": "geforce-pcie-8", "network": network}, made["training"],
                     made["collective"]),
            {"cluster.gpus_per_node": sorted({p[0] for p in placed}), "cluster.nodes": sorted({p[1] for p in placed})},
            [({"cluster.gpus_per_node": p[0], "cluster.nodes": p[1]}, row, figure(row)) for p, row in sorted(placed.items())],
            "siasosp23/artifacts at aaf7a0de, sia-simulator/traces",
            fitted="the preset's figures and what hosts of one's own move over TCP are of sources with this one among them")


# The three classes of pcie_boxes.py, of which no more is known.
CLASS_PRESETS = {"staged": "geforce-pcie-8", "peers": "peer-pcie-8", "pairs": "rtx-2080-ti-nvlink-pair"}
HOSTS_FITTED = "what hosts sum and copy is of sources with this one among them"
CLASS_FITTED = "the preset's figures are of a class of boxes with this one among them"
# Devices that are shipped; pcie_boxes.py has stand-ins for some.
OWN_DEVICES = {"3070": "rtx-3070", "3090": "rtx-3090", "A4000": "rtx-a4000", "QuadroRTX8000": "quadro-rtx-8000"}
# Boxes whose BERT is in scenarios/library as lambda-bert-*.
SHIPPED_BERT = {("3080", "2020"), ("4090_v1", "2022"), ("A6000", "2020"), ("A6000_v1", "2022"),
                ("V100_16GB_v1", "2022")}


def plain(text):
    """Workload, training and collective of one of pcie_boxes.py's scenarios."""
    text = re.sub(r"^(schema|name|simulation): .*\n", "", text, flags=re.M)
    return text


def lambda_boxes(rows, tokens):
    published = {json.dumps({k: v for k, v in row.items() if k != "file"}): row for row in rows.all}
    works = {}
    for box in pcie_boxes.lambda_boxes(rows.training, tokens):
        for work in box.works:
            works.setdefault((box.name, work.name), []).append((box, work))
    for (box_name, work_name), parts in works.items():
        box, work = parts[0]
        name, year = re.fullmatch(r"Lambda (?:Cloud )?(\S+) (\d+)", box_name).groups()
        model, precision = work_name.rsplit(" ", 1)
        if model.startswith("BERT") and (name, year) in SHIPPED_BERT:
            continue
        text = plain(work.scenario)
        device = OWN_DEVICES.get(re.sub(r"(NVlink)?_trt2?$", "", name))
        if device:
            text = re.sub(r"device: \S+", f"device: {device}", text)
        text += f"cluster: {{preset: {CLASS_PRESETS[box.kind]}}}\n"
        of = sorted((row for _, part in parts for row in part.rows), key=lambda row: row.gpus)
        points = [({"gpus": 1}, None, f"step: {work.one_gpu:.6g}s")]
        points += [({"gpus": row.gpus}, published[json.dumps(row.published)], f"step: {row.step:.6g}s") for row in of]
        yield Scenario(
            "lambda", f"box-{name.lower().replace('_', '-')}-{year}-{model.lower()}-{precision}",
            f"Lambda {name} {year}, {model}, {precision}",
            "A box of Lambda's, NVIDIA's DeepLearningExamples for PyTorch; pcie_boxes.py has what ran, and which one-GPU row is\n"
            f"taken. How its cards are joined is not said: {box.kind}, by that script.",
            text, {"gpus": [axes["gpus"] for axes, _, _ in points]}, points,
            "lambdal/deeplearning-benchmark at aa5addb6, raw logs", fitted=CLASS_FITTED)


# Boxes with synthetic pictures on one GPU and on several in the same days; those of other ResNet-50 rows come from disk,
# or have no such one-GPU row. Dates as in the logs' names.
SYNTHETIC = {"3070": ("staged", "03-2021"), "3090": ("staged", "02-2021"), "A4000": ("peers", "06-2021")}


def lambda_pictures(rows):
    """ResNet-50 with synthetic pictures: as lambda-resnet50-a6000-2020.yaml; medians where there are several logs."""
    for name, (kind, month) in SYNTHETIC.items():
        of = rows.of("lambdal", model="ResNet-50", note=rf"box \d*x?{name}, log \d\d-{month}_.*synthetic")
        for batch, precision in sorted({(row["batch_per_gpu"], row["precision"]) for row in of}):
            logs = {}
            for row in of:
                if (row["batch_per_gpu"], row["precision"]) == (batch, precision):
                    logs.setdefault(int(row["gpus"]), []).append(row)
            medians = {gpus: statistics.median(float(row["throughput"]) for row in some) for gpus, some in logs.items()}
            # "fp16/amp" is Lambda's run with a model of fp16 and masters of fp32.
            compute = {"fp32": "tf32", "amp": "amp", "fp16/amp": "fp16"}[precision]
            optimizer = {"kind": "sgd_momentum", **({"fp32_master": True} if compute == "fp16" else {})}
            points = [({"gpus": gpus}, row, f"throughput: {medians[gpus]:g} samples/s")
                      for gpus, some in sorted(logs.items()) for row in some]
            written = Scenario(
                "lambda", f"box-{name.lower()}-2021-resnet50-{compute}", f"Lambda {name} 2021, ResNet-50, {compute}",
                "A box of Lambda's, NVIDIA's DeepLearningExamples for PyTorch, synthetic pictures; medians of up to three logs.\n"
                f"How its cards are joined is not said: {kind}, by pcie_boxes.py.",
                sections({"model": "resnet50", "batch_per_gpu": int(batch), "precision": compute,
                          "device": OWN_DEVICES[name], "single_gpu_throughput": f"{medians[1]:g} samples/s"},
                         {"preset": CLASS_PRESETS[kind]},
                         {"strategy": "ddp", "torch_version": "1.8", "optimizer": optimizer}, {"library": "nccl"}),
                {"gpus": sorted(logs)}, [points[i] for i in range(len(points)) if i == 0 or points[i][0] != points[i - 1][0]],
                "lambdal/deeplearning-benchmark at aa5addb6, raw logs", fitted=CLASS_FITTED)
            written.rows = [row for gpus, some in logs.items() if gpus > 1 for row in some]
            yield written


def issues(rows):
    """Threads and a README whose workloads pcie_boxes.py has."""
    boxes = {box.name: box for box in pcie_boxes.asked_boxes()}
    texts = lambda name: [plain(work.scenario) for work in boxes[name].works]
    q416, q889 = "horovod/issues/416", "horovod/issues/889"
    sweep, points = by_gpus(rows.one(q416, gpus=1), [row for row in rows.of(q416) if int(row["gpus"]) > 1])
    yield Scenario(
        "issues", "horovod-416", "horovod issue 416, ResNet-101, V100-PCIE, 40 Gb/s RoCE",
        "Two hosts of eight V100-PCIE, four below one switch of each socket, and a ConnectX-3 Pro of 40 Gb/s each, RoCE.\n"
        "TensorFlow, Horovod of August 2018, NCCL.",
        texts("horovod #416, 4 V100")[0] + "cluster: {preset: pcie-tree-8, network: {bandwidth: 40Gbps, latency: 3us, "
        "transport: rdma, provider: own}}\n", sweep, points, "https://github.com/horovod/horovod/issues/416")
    sweep, points = by_gpus(rows.one(q889, gpus=1), [rows.one(q889, gpus=4)])
    # steps/s are of a rank: with four they take four times the samples, which the step says as well.
    yield Scenario(
        "issues", "horovod-889", "horovod issue 889, ResNet-50, 4 V100-PCIE",
        "One host of four V100-PCIE, PCIe 3.0 x16; TensorFlow 1.12, Horovod 0.16.0, NCCL 2.2.13.",
        texts("horovod #889, 4 V100")[0].replace("{library: nccl}", '{library: nccl, version: "2.2"}')
        + "cluster: {preset: peer-pcie-8}\n", sweep, points, "https://github.com/horovod/horovod/issues/889")
    for text in texts("a README's MLP, 2 V100"):
        batch = re.search(r"batch_per_gpu: (\d+)", text).group(1)
        of = lambda gpus: rows.one("public README: MLP", batch_per_gpu=f"^{batch}$", gpus=gpus)
        sweep, points = by_gpus(of(1), [of(2)])
        yield Scenario(
            "issues", f"mlp-batch{batch}", f"A README's MLP, 2 V100-PCIE, batch {batch}",
            "Layers of 4096 x 4096 and 4096 x 2048, DistributedDataParallel with buckets of 50 MB, two V100-PCIE 16 GB.",
            text + "cluster: {preset: peer-pcie-8}\n", sweep, points, "a public README", fitted=CLASS_FITTED)


def theano_mpi(rows):
    """Nodes of four K80 cards, SHARCNET's copper: two cards a socket, each with both of its GPUs behind a switch.
    Bandwidths by NCCL's counts: PCIe 3.0 x16 12 GB/s, QPI of Haswell 6 GB/s (src/graph/topo.h, QPI_BW)."""
    networks = {"AlexNet (Theano-MPI)": "networks/alexnet.yaml", "GoogLeNet": "networks/googlenet.yaml",
                "VGG-16": "vgg16", "VGGNet": "vgg16", "ResNet-50": "resnet50"}
    nccl = ("nccl32\\)", "nccl", "", "NCCL reduces parameters after the step, tensor after tensor; taken for one call after the "
            "backward, of which\nthey have the bytes.")
    # coll_cuda_allreduce.c of Open MPI 1.8 copies GPUs' buffers to the host and calls what sums there.
    mpi = ("MPI all-reduce", "mpi", "-mpi", "The first release: MPI reduces parameters after the step, in host memory; taken for "
           "one call after the backward.")
    for strategy, library, suffix, head in (nccl, mpi):
        for model, network in networks.items():
            of = rows.of("Theano-MPI", model=f"^{re.escape(model)}$", strategy=strategy, nodes=1)
            for batch in sorted({row["batch_per_gpu"] for row in of}, key=int):
                batch_rows = [row for row in of if row["batch_per_gpu"] == batch]
                one = next(row for row in batch_rows if row["gpus"] == "1")
                sweep, points = by_gpus(one, [row for row in batch_rows if row is not one])
                short = model.split(" (")[0]
                yield Scenario(
                    "theano-mpi", f"{short.lower()}-batch{batch}{suffix}",
                    f"Theano-MPI {short}, K80, batch {batch}" + (", by MPI" if suffix else ""), head,
                    sections({"model": network, "batch_per_gpu": int(batch), "precision": "fp32", "device": "k80",
                              "single_gpu_throughput": figure(one).split(": ")[1]},
                             {"gpus_per_node": 8, "intra_node": {
                                 "kind": "pcie", "bandwidth": "12GBps", "latency": "1.13us", "gpus_per_switch": 2,
                                 "switch_bandwidth": "12GBps", "sockets": 2, "socket_bandwidth": "6GBps"}},
                             {"strategy": "bulk_synchronous", "optimizer": {"kind": "sgd_momentum"}},
                             {"library": library}),
                    sweep, points, "uoguelph-mlrg/Theano-MPI README", fitted=HOSTS_FITTED if suffix else "")


def cs336(rows):
    """Two H100 joined by NVLink. The base is forward, backward and optimizer of the run without overlap.

    The student's buckets are closed before a gradient would make them larger than so many MiB: 339, 98 and 8 buckets of
    10, 100 and 1,000 (435 tensors), as another student counted. DistributedDataParallel's are closed once they have
    reached the cap: the caps below give the same buckets of matrices of 10.24 and 40.96 MB.
    """
    source = "66485721884"
    one = rows.one(source, gpus=1)
    workload = {"model": "networks/cs336-xl.yaml", "batch_per_gpu": 4, "precision": "fp32", "device": "h100-sxm5-80gb",
                "single_gpu_throughput": f"{4 / float(one['throughput']):.6g} samples/s"}
    optimizer = {"kind": "adam", "time": "105.484ms"}  # as the one-GPU row has it
    head = "CS336, assignment 2, the XL transformer at 128 tokens on two H100 joined by NVLink, a student's own code."
    of = lambda pattern: rows.one(source, gpus=2, strategy=pattern)
    made = lambda training: sections(workload, {"preset": "dgx-h100"}, {**training, "optimizer": optimizer},
                                     {"library": "nccl"})
    axis = "training.strategy"
    points = [({axis: kind, "gpus": gpus}, row, figure(row))
              for kind, pattern in (("bulk_synchronous", "^flat"), ("wait_free", "one async"))
              for gpus, row in ((1, one), (2, of(pattern)))]
    yield Scenario("cs336-h100", "calls", "CS336 XL, 2 H100, flat and a call each", head,
                   made({"strategy": "bulk_synchronous"}), {axis: ["bulk_synchronous", "wait_free"], "gpus": [1, 2]},
                   points, "a public answer to CS336's second assignment", inside="nvlink")
    axis, caps = "training.bucket_cap", {"1 MB": "1MB", "10 MB": "10MB", "100 MB": "80MB", "1000 MB": "1010MB"}
    points = [({axis: cap, "gpus": gpus}, row, figure(row)) for told, cap in caps.items()
              for gpus, row in ((1, one), (2, of(f"buckets {told}")))]
    # From torch 2.5 on the cap holds for the first bucket, too, as here.
    yield Scenario("cs336-h100", "buckets", "CS336 XL, 2 H100, buckets", head,
                   made({"strategy": "ddp", "torch_version": "2.5", "bucket_cap": "10MB"}),
                   {axis: list(caps.values()), "gpus": [1, 2]}, points,
                   "a public answer to CS336's second assignment", inside="nvlink")


def horovod_2017(rows):
    """Inception-v3, as the shipped horovod-2017-*.yaml have ResNet-101 and VGG16."""
    source = "horovod/horovod README"
    for rate, networks, gpus in (("25", {"rdma": "RoCE", "tcp": "TCP"}, 16), ("40", {"tcp": "TCP"}, 64)):
        one = rows.one(source, model="Inception", gpus=1, network=f"{rate} Gb/s")
        of = {kind: rows.one(source, model="Inception", strategy="NCCL", network=f"{rate} Gb/s.*{told}")
              for kind, told in networks.items()}
        points = [({"cluster.network.transport": kind, "gpus": n}, row, figure(row))
                  for kind, many in of.items() for n, row in ((1, one), (gpus, many))]
        network = {"bandwidth": f"{rate}Gbps", "latency": "15us", "transport": list(of)[0], "provider": "own"}
        if list(of) == ["tcp"]:
            network["framing"] = "ethernet-tcp"
        yield Scenario(
            "horovod-2017", f"inception-v3-{rate}gbe", f"Horovod 2017 Inception-v3, {rate} Gb/s Ethernet",
            "As horovod-2017-resnet101-*.yaml of the library: GPUs taken for P100, servers for those of preset v100-pcie-4.",
            sections({"model": "inception-v3", "batch_per_gpu": 64, "precision": "fp32",
                      "device": "p100-pcie-16gb", "single_gpu_throughput": figure(one).split(": ")[1]},
                     {"preset": "v100-pcie-4", "network": network},
                     {"strategy": "horovod", "version": "0.10", "optimizer": {"kind": "sgd_momentum"}},
                     {"library": "nccl"}),
            {"cluster.network.transport": list(of), "gpus": [1, gpus]}, points,
            "horovod/horovod README.md before 6bb6a2db (October 2017), Apache-2.0")


def horovod_2017_by_mpi(rows):
    """Rows "CPU MPI", on the hosts of the shipped horovod-2017-*.yaml: Horovod without NCCL."""
    source = "horovod/horovod README"
    networks = {"ResNet-101": "resnet101", "VGG16": "vgg16", "Inception-v3": "inception-v3"}
    for rate, kinds, gpus in (("25", {"rdma": "RoCE", "tcp": "TCP"}, 16), ("40", {"tcp": "TCP"}, 64)):
        for model, network in networks.items():
            one = rows.one(source, model=model, gpus=1, network=f"{rate} Gb/s")
            of = {kind: rows.one(source, model=model, strategy="CPU MPI", network=f"{rate} Gb/s.*{told}")
                  for kind, told in kinds.items()}
            points = [({"cluster.network.transport": kind, "gpus": n}, row, figure(row))
                      for kind, many in of.items() for n, row in ((1, one), (gpus, many))]
            wires = {"bandwidth": f"{rate}Gbps", "latency": "15us", "transport": list(of)[0], "provider": "own"}
            if list(of) == ["tcp"]:
                wires["framing"] = "ethernet-tcp"
            yield Scenario(
                "horovod-2017", f"{model.lower()}-{rate}gbe-mpi", f"Horovod 2017 {model} by MPI, {rate} Gb/s Ethernet",
                "As horovod-2017-resnet101-*.yaml of the library, with MPI in place of NCCL: it sums in host memory.",
                sections({"model": network, "batch_per_gpu": 64, "precision": "fp32", "device": "p100-pcie-16gb",
                          "single_gpu_throughput": figure(one).split(": ")[1]},
                         {"preset": "v100-pcie-4", "gpu": "p100-pcie-16gb", "network": wires},
                         {"strategy": "horovod", "version": "0.10", "optimizer": {"kind": "sgd_momentum"}},
                         {"library": "mpi"}),
                {"cluster.network.transport": list(of), "gpus": [1, gpus]}, points,
                "horovod/horovod README.md before 6bb6a2db (October 2017), Apache-2.0", fitted=HOSTS_FITTED)


def dlperf(rows):
    """TensorFlow 1 with XLA; NVIDIA's script reduces fp16 gradients with amp (Compression.fp16)."""
    of = rows.of("Oneflow-Inc/DLPerf", model="BERT", precision="amp", framework="TensorFlow1\\+XLA")
    one = next(row for row in of if row["gpus"] == "1")
    sweep, points = by_gpus(one, [row for row in of if row is not one])
    yield Scenario(
        "dlperf", "bert-base-tensorflow1-xla-batch64", "DLPerf BERT-base, NGC TensorFlow 1 + XLA + Horovod, amp, batch 64",
        "As dlperf-bert-base-tensorflow1-*.yaml of the library's reported/, but with amp and XLA.",
        sections({"model": "bert-base", "pretraining_heads": True, "sequence": 128, "batch_per_gpu": 64,
                  "precision": {"compute": "amp", "gradient": "fp16"}, "device": "v100-sxm2-16gb",
                  "single_gpu_throughput": figure(one).split(": ")[1]},
                 {"preset": "dgx1-v100", "network": {"nics_per_node": 1}},
                 {"strategy": "horovod", "version": "0.19", "optimizer": {"kind": "adam"}}, {"library": "nccl"}),
        sweep, points, "Oneflow-Inc/DLPerf report v1, commit c89430ba (Apache-2.0)", inside="nvlink")


def nersc_cori(rows):
    """Nodes like DGX-1: the preset's four EDR NICs, as a NIC of two ports in a PCIe 3.0 x16 slot carries what one port does.

    The LSTM is one call of cuDNN, whose gradients are all ready at its end; its input is taken to be 512 wide as well.
    """
    source, batch = "sparticlesteve", {"Transformer": 32}
    lstm = [{"name": "lstm", "parameters": 4 * [2048 * 512, 2048 * 512, 2048, 2048]}]
    for model, network in {"ResNet-50": {"model": "resnet50"}, "AlexNet": {"model": "alexnet"},
                           "Transformer": {"model": "networks/word-language-model.yaml"}, "LSTM": {"layers": lstm}}.items():
        one = rows.one(source, model=f"^{model}", gpus=1)
        sweep, points = by_gpus(one, [row for row in rows.of(source, model=f"^{model}") if row["gpus"] != "1"])
        yield Scenario(
            "nersc-cori", model.lower(), f"NERSC Cori GPU {model}",
            "DistributedDataParallel's defaults, PyTorch 1.7.1 (whose NCCL is 2.7), fp32, Adam, random data.",
            sections({**network, "batch_per_gpu": batch.get(model, 128), "precision": "fp32", "device": "v100-sxm2-16gb",
                      "single_gpu_throughput": figure(one).split(": ")[1]},
                     {"preset": "dgx1-v100"}, {"strategy": "ddp", "torch_version": "1.7", "optimizer": {"kind": "adam"}},
                     {"library": "nccl", "version": "2.7"}),
            sweep, points, one["source"].split(":")[0], inside="nvlink")


def vectorlm_lora(rows):
    """As its rows of full training that are described beside the data; PEFT's targets of Llama unless told: q_proj, v_proj."""
    source = "VectorInstitute"
    for tokens, batch in ((2048, 8), (4096, 4), (8192, 2)):
        one = rows.one(source, model="LoRA", seq_len=f"^{tokens}$", gpus=1)
        of = rows.of(source, model="LoRA", seq_len=f"^{tokens}$")
        sweep, points = by_gpus(one, [row for row in of if row["gpus"] != "1"])
        yield Scenario(
            "vectorlm", f"lora-{tokens}", f"VectorLM Llama 3 8B, LoRA of rank 8, {tokens} tokens",
            "FSDP FULL_SHARD by blocks of frozen parameters, with checkpoints and accumulation as the source's full training.",
            sections({"model": "llama-3-8b", "sequence": tokens, "batch_per_gpu": batch, "precision": "bf16", "device": "a100-sxm4-80gb",
                      "lora": {"rank": 8}, "single_gpu_throughput": figure(one).split(": ")[1], "single_gpu_wrapped": True},
                     {"preset": "dgx-a100", "gpus_per_node": 4, "network": {"nics_per_node": 4}},
                     {"strategy": "fsdp", "wrap": "blocks", "unsharded_accumulation": True, "gradient_accumulation": 4,
                      "activation_checkpointing": "blocks", "optimizer": {"kind": "adam"}}, {"library": "nccl"}),
            sweep, points, "VectorInstitute/vectorlm@9045f08:docs/reference_throughput.md", inside="nvlink")


def every(training, tokens=50):
    """Scenarios, and the published rows."""
    rows = Rows(pathlib.Path(training))
    made = [*azure(rows), *sia(rows), *lambda_boxes(rows, tokens), *lambda_pictures(rows), *issues(rows),
            *theano_mpi(rows), *cs336(rows), *horovod_2017(rows), *horovod_2017_by_mpi(rows), *dlperf(rows), *nersc_cori(rows),
            *vectorlm_lora(rows)]
    return made, rows
