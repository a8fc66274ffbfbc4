#!/usr/bin/env python3
"""What the host takes for a training step, measured on one GPU with batches that leave it idle.

    python3 host_costs.py --json host-costs.json [--seconds 240] [--quick] [--parts step,queue,...]

All times in microseconds, as [median, 10th percentile, 90th]. The parts, the most useful first:
  step        each phase of a step: the host's time without a synchronisation, launches, autograd's
              nodes
  queue       how many launches fit before the host waits for the device
  sync        synchronisations, events, copies
  graph       a whole step as one CUDA graph
  operations  one kind of operation, forward and backward
  optimizers  the host's and the device's time of an update
  compile     `step` with torch.compile

Hooks, collectives and shards: group_costs.py. Needs PyTorch with CUDA, torchvision and transformers. What fails is said and left out.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import time

import torch
from step_overheads import DEVICE, bert, free, resnet, synchronized
from torch import nn

QUICK = "--quick" in sys.argv
now = time.perf_counter


def spread(seconds):
    """[median, 10th percentile, 90th], in microseconds."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    middle = statistics.median(ordered)
    return [round(1e6 * s, 2) for s in (middle, ordered[last // 10], ordered[last - last // 10])]


class Report:
    """What is measured so far, in a file after each part; what failed, and why."""

    def __init__(self, path, seconds):
        self.path, self.deadline = path, now() + seconds
        self.values = {"failed": {}, "seconds": {}}

    def attempt(self, name, call, limit=60):
        """What `call` gives; nothing once it fails or takes longer than `limit` seconds."""
        try:
            self.limit(limit)
            return call()
        except Exception as error:
            self.fail(name, error)
        finally:
            signal.alarm(0)
            free()

    def fail(self, name, error):
        said = f"{type(error).__name__}: {error}"[:400]
        self.values["failed"][name] = said
        print(f"{name}: {said}", file=sys.stderr, flush=True)

    def limit(self, seconds):
        left = int(min(seconds, self.deadline - now()))
        if left < 1:
            raise TimeoutError("no time left")
        signal.alarm(left)

    def add(self, part, name, call, limit=60):
        value = self.attempt(f"{part} {name}", call, limit)
        if value is not None:
            self.values.setdefault(part, {})[name] = value
            print(f"{part:10} {name}: {json.dumps(value)[:600]}", flush=True)

    def write(self):
        pathlib.Path(self.path).write_text(json.dumps(self.values))


def too_long(*_):
    raise TimeoutError("took too long")


# --- a step ----------------------------------------------------------------------------------


def gpt2(batch, precision, length=64):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).to(DEVICE)
    words = torch.randint(50000, (batch, length), device=DEVICE)
    return model, lambda m: m(input_ids=words, labels=words).loss, precision


def narrow_bert(layers=4 if QUICK else 24):
    """As many layers and tensors as BERT-large, so small that the device is always idle."""
    from transformers import BertConfig, BertForSequenceClassification

    model = BertForSequenceClassification(BertConfig(
        hidden_size=64, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=128,
        vocab_size=1000)).to(DEVICE)
    words = torch.randint(1000, (1, 32), device=DEVICE)
    labels = torch.randint(2, (1,), device=DEVICE)
    return model, lambda m: m(input_ids=words, labels=labels).loss, "fp32"


MODELS = {
    "resnet50 2 fp32": lambda: resnet("resnet50", 2, "fp32"),
    "bert-base 1 fp32": lambda: bert("base", 1, "fp32"),
    "bert-large 1 fp32": lambda: bert("large", 1, "fp32", 64),
    "bert-large 1 amp": lambda: bert("large", 1, "amp", 64),
    "gpt2 1 fp32": lambda: gpt2(1, "fp32"),
    "gpt2 1 amp": lambda: gpt2(1, "amp"),
    "narrow bert": narrow_bert,
}


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4)


class Training:
    """A step in phases: forward, backward, update."""

    def __init__(self, build, wrap=lambda m, works: m, optimizer=sgd, without_sync=None):
        with DEVICE:  # initialised there: on the CPU that takes seconds
            model, self.loss_of, precision = build()
        self.amp = precision == "amp"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.amp
        self.works = []
        self.model = wrap(model, self.works)
        self.optimizer = optimizer(self.model.parameters()) if optimizer else None
        self.without_sync = without_sync

    def forward(self):
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=self.amp):
            return self.loss_of(self.model)

    def update(self):
        for work in self.works:
            work.wait()
        self.works.clear()
        if self.optimizer and not self.without_sync:  # gradients that only gather are of another size
            self.optimizer.step()
        self.model.zero_grad(set_to_none=True)

    def phases(self):
        """Seconds that the host takes for each phase, and until the device has ended it all."""
        accumulate = self.without_sync(self.model) if self.without_sync else contextlib.nullcontext()
        times = [synchronized()]
        with accumulate:
            loss = self.forward()
            times.append(now())
            loss.backward()
        times.append(now())
        self.update()
        times += [now(), synchronized()]
        return [b - a for a, b in zip(times, times[1:])] + [times[-1] - times[0]]

    def __call__(self):
        self.forward().backward()
        self.update()


PHASES = ("forward", "backward", "update", "device after it", "step")


def in_turns(trainings, rounds, steps=3):
    """Of each training: the phases' times. In turns: what drifts, drifts for all."""
    taken = {name: [] for name in trainings}
    for turn in range(rounds + 1):
        for name, training in trainings.items():
            training.phases()
            rows = [training.phases() for _ in range(steps)]
            taken[name] += rows if turn else []
    return {name: {phase: spread(column) for phase, column in zip(PHASES, zip(*rows))}
            for name, rows in taken.items()}


def enqueued(call, repeats):
    """[the host's time of a call, the time of a call with its work], several under way."""
    call()
    rows = []
    for _ in range(3 if QUICK else 7):
        begin = synchronized()
        for _ in range(repeats):
            call()
        host = now()
        rows.append(((host - begin) / repeats, (synchronized() - begin) / repeats))
    return {key: spread(column) for key, column in zip(("host", "with its work"), zip(*rows))}


LAUNCH = re.compile(r"cu(da)?(Launch|Memcpy|Memset|GraphLaunch)")
NODE = "autograd::engine::evaluate_function: "


def counted(**phases):
    """What the profiler sees of each phase: launches, kernels, their time, nodes, operations."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for name, call in phases.items():
            with record_function("phase " + name):
                call()
                torch.cuda.synchronize()
    events = profiler.events()
    on_host = [e for e in events if e.device_type == torch.autograd.DeviceType.CPU]
    spans = {e.name[6:]: e.time_range for e in on_host if e.name.startswith("phase ")}
    counts = {name: dict.fromkeys(("launches", "kernels", "kernels_us", "nodes", "operations"), 0)
              for name in phases}
    for e in events:
        at = e.time_range.start
        row = next((counts[n] for n, s in spans.items() if s.start <= at <= s.end), None)
        if row is None:
            continue
        if e.device_type != torch.autograd.DeviceType.CPU:
            if not e.is_user_annotation:  # ranges of the host's appear on the device, too
                row["kernels"] += 1
                row["kernels_us"] = round(row["kernels_us"] + e.time_range.elapsed_us(), 1)
        elif LAUNCH.match(e.name):
            row["launches"] += 1
        elif e.name.startswith(NODE):
            row["nodes"] += 1
        elif e.name.startswith("aten::") and not (e.cpu_parent and e.cpu_parent.name.startswith("aten::")):
            row["operations"] += 1
    return counts


def counted_step(training):
    losses = []
    return counted(forward=lambda: losses.append(training.forward()),
                   backward=lambda: losses.pop().backward(), update=training.update)


def as_one_graph(training):
    """A whole step as a CUDA graph."""
    torch.set_autocast_cache_enabled(False)  # a cast of an earlier step is not in the graph
    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                training()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            training()
    finally:
        torch.set_autocast_cache_enabled(True)
    value = enqueued(graph.replay, 10)
    value["idle device"] = spread(each(graph.replay, 20, torch.cuda.synchronize))
    return value | counted(step=graph.replay)["step"]


def step_part(report, part="step", models=MODELS, change=lambda m, works: m):
    for name, build in models.items():
        def eager():
            begin = now()
            training = Training(build, change)
            training.phases()
            first = now() - begin
            value = in_turns({"": training}, 2 if QUICK else 6)[""]
            value["enqueued"] = enqueued(training, 4)
            parameters = list(training.model.parameters())
            return value | {"tensors": len(parameters), "first_s": round(first, 1),
                            "modules": sum(1 for _ in training.model.modules()),
                            "counts": counted_step(training)}

        report.add(part, name, eager, 90)


def graph_part(report):
    for name, build in MODELS.items():
        report.add("graph", name, lambda: as_one_graph(Training(build)))


def compile_part(report):
    names = ["narrow bert"] if QUICK else ["resnet50 2 fp32", "gpt2 1 fp32", "bert-base 1 fp32"]
    step_part(report, "compile", {n: MODELS[n] for n in names}, lambda m, works: torch.compile(m))


# --- queue, synchronisations -----------------------------------------------------------------


def each(call, count=200, before=lambda: None):
    taken = []
    for _ in range(count):
        before()
        begin = now()
        call()
        taken.append(now() - begin)
    torch.cuda.synchronize()
    return taken


def launches_until_blocked(call, first=lambda: None, most=20_000):
    """How many calls return while the device is busy with one long kernel; none: more than `most`."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    torch.cuda._sleep(600_000_000)  # 0.3 s at 2 GHz
    first()
    begin = now()
    for count in range(most):
        before = now()
        call()
        if now() - before > 0.02:
            torch.cuda.synchronize()
            return {"calls": count, "host_us": round(1e6 * (before - begin) / max(count, 1), 2),
                    "waited_us": round(1e6 * (now() - before))}
    taken = now() - begin
    torch.cuda.synchronize()
    return {"calls": None, "host_us": round(1e6 * taken / most, 2)}


def queue_part(report):
    x, four = torch.zeros(1024, device=DEVICE), torch.zeros(1, device=DEVICE)
    pinned, event, other = torch.zeros(1).pin_memory(), torch.cuda.Event(), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            x.add_(1)

    def elsewhere():
        with torch.cuda.stream(other):
            x.add_(1)

    calls = {"kernel": lambda: x.add_(1), "bare kernel": lambda: torch.cuda._sleep(1),
             "memset": x.zero_, "copy on the device": lambda: x.copy_(x2),
             "copy to the device": lambda: four.copy_(pinned, non_blocking=True),
             "event": event.record, "kernel and event": lambda: (x.add_(1), event.record()), "graph of 100 kernels": graph.replay,
             "kernel, another stream busy": elsewhere}
    x2 = torch.zeros(1024, device=DEVICE)
    for name, call in calls.items():
        report.add("queue", name, lambda: launches_until_blocked(call))
    report.add("queue", "kernel, waiting for another stream that has 900", lambda: launches_until_blocked(
        elsewhere, lambda: [other.wait_stream(torch.cuda.current_stream())] + [x2.add_(1) for _ in range(900)]))


def sync_part(report):
    x, one = torch.zeros(1024, device=DEVICE), torch.zeros(1, device=DEVICE)
    pageable, pinned = torch.zeros(1), torch.zeros(1).pin_memory()
    event, stream, other = torch.cuda.Event(), torch.cuda.current_stream(), torch.cuda.Stream()
    event.record()
    batch = torch.zeros(64, 3, 224, 224)
    pinned_batch, batch_there = batch.pin_memory(), batch.to(DEVICE)
    idle, kernel = torch.cuda.synchronize, lambda: x.add_(1)
    cases = {"synchronize, idle": (idle, idle), "synchronize the stream, idle": (stream.synchronize, idle),
             "synchronize after a kernel": (idle, kernel), "kernel, idle device": (kernel, idle),
             "kernel, busy device": (kernel, lambda: None), "event.query": (event.query, idle),
             "event.record": (event.record, idle), "event.synchronize, idle": (event.synchronize, idle),
             "new event, recorded": (lambda: torch.cuda.Event().record(), idle),
             "stream.wait_event": (lambda: other.wait_event(event), idle), "item, idle": (one.item, idle),
             "item after a kernel": (one.item, kernel), "cpu()": (one.cpu, idle),
             "4 B to pinned memory": (lambda: pinned.copy_(one, non_blocking=True), idle),
             "4 B to pageable memory": (lambda: pageable.copy_(one), idle),
             "4 B from pinned memory": (lambda: one.copy_(pinned, non_blocking=True), idle),
             "4 B from pageable memory": (lambda: one.copy_(pageable), idle),
             "allocate and free": (lambda: torch.empty(1024, device=DEVICE), idle)}
    for name, (call, before) in cases.items():
        report.add("sync", name, lambda: spread(each(call, 300, before)))
    large = {"from pinned memory": lambda: batch_there.copy_(pinned_batch, non_blocking=True),
             "from pageable memory": lambda: batch_there.copy_(batch)}
    for name, call in large.items():
        report.add("sync", f"{batch.numel() * 4} B {name}", lambda: {
            "host": spread(each(call, 15, idle)), "with its work": spread(each(lambda: (call(), idle()), 15))})
    report.add("sync", f"pin {batch.numel() * 4} B", lambda: spread(each(batch.pin_memory, 10)))


# --- operations, optimizers ------------------------------------------------------------------


def operation_kinds():
    f, width = nn.functional, 128
    rows, image = torch.randn(64, width, device=DEVICE), torch.randn(2, 32, 14, 14, device=DEVICE)
    heads = torch.randn(1, 4, 64, 32, device=DEVICE)
    same = {"add": lambda t: t + 1, "multiply": lambda t: t * 1.01, "relu": f.relu, "gelu": f.gelu,
            "softmax": lambda t: f.softmax(t, -1), "dropout": lambda t: f.dropout(t, 0.1),
            "view, no kernel": lambda t: t.view(-1, width), "cast": lambda t: t.to(torch.float64).float()}
    modules = {"linear": (rows, lambda: nn.Linear(width, width)), "layer norm": (rows, lambda: nn.LayerNorm(width)),
               "conv": (image, lambda: nn.Conv2d(32, 32, 3, padding=1, bias=False)),
               "batch norm": (image, lambda: nn.BatchNorm2d(32))}
    kinds = {name: (rows, [call] * 100) for name, call in same.items()}
    kinds["attention"] = (heads, [lambda t: f.scaled_dot_product_attention(t, t, t)] * 100)
    return kinds | {name: (x, [make().to(DEVICE) for _ in range(100)]) for name, (x, make) in modules.items()}


def operation(x, chain):
    """Of one operation of a chain."""
    x = x.detach().requires_grad_()

    def forward():
        value = x
        for call in chain:
            value = call(value)
        return value

    def times():
        begin = synchronized()
        with torch.no_grad():
            forward()
        plain, middle = now(), synchronized()
        value = forward()
        recorded, after = now(), synchronized()
        value.backward(torch.ones_like(value))
        backward, end = now(), synchronized()
        seconds = (plain - begin, recorded - middle, backward - after, middle - begin, end - after)
        return [s / len(chain) for s in seconds]

    times()
    names = ("forward without autograd", "forward", "backward", "forward's work", "backward's work")
    rows = [times() for _ in range(4 if QUICK else 15)]
    counts = {}
    if not QUICK:
        values = []
        counts = counted(forward=lambda: values.append(forward()),
                         backward=lambda: values[0].backward(torch.ones_like(values[0])))
        for row in counts.values():
            row.update({key: round(count / len(chain), 2) for key, count in row.items()})
    return {name: spread(column) for name, column in zip(names, zip(*rows))} | {"counts": counts}


def operations_part(report):
    for name, (x, chain) in operation_kinds().items():
        report.add("operations", name, lambda: operation(x, chain))


def optimizers_part(report):
    ways = {"single": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    kinds = {"sgd momentum": (torch.optim.SGD, {"momentum": 0.9}, 20), "adam": (torch.optim.Adam, {}, 28),
             "adamw": (torch.optim.AdamW, {}, 28)}  # bytes that a parameter's update reads and writes
    for model in ["narrow bert"] if QUICK else ["narrow bert", "resnet50 2 fp32", "bert-large 1 fp32"]:
        with DEVICE:
            parameters = list(MODELS[model]()[0].parameters())
        for p in parameters:
            p.grad = torch.zeros_like(p)
        for kind, (make, options, moved) in kinds.items():
            for way, choice in ways.items():
                def measure():
                    optimizer = make(parameters, lr=1e-6, **options, **choice)
                    value = enqueued(optimizer.step, 3) | counted(update=optimizer.step)["update"]
                    return value | {"tensors": len(parameters), "bytes": moved * sum(p.numel() for p in parameters)}

                report.add("optimizers", f"{model} {kind} {way}", measure)
        report.add("optimizers", f"{model} clip_grad_norm_", lambda: enqueued(
            lambda: nn.utils.clip_grad_norm_(parameters, 1e9), 3))
        report.add("optimizers", f"{model} zero_grad, not to none", lambda: enqueued(
            lambda: torch._foreach_zero_([p.grad for p in parameters]), 3))


# --- the whole -------------------------------------------------------------------------------


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                            capture_output=True, text=True, check=False)
    return {"device": torch.cuda.get_device_name(0), "driver": driver.stdout.strip(),
            "cpu": cpu[1] if cpu else None, "cores": os.cpu_count(), "kernel": platform.release(),
            "python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "nccl": list(torch.cuda.nccl.version()), "quick": QUICK}


PARTS = {"step": step_part, "queue": queue_part, "sync": sync_part, "graph": graph_part,
         "operations": operations_part, "optimizers": optimizers_part, "compile": compile_part}


def options_of(description, parts):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", required=True)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--parts", default=",".join(parts))
    parser.add_argument("--quick", action="store_true", help="few models and steps: does it work?")
    return parser


def started_report(options):
    signal.signal(signal.SIGALRM, too_long)
    torch.cuda.set_device(DEVICE)
    return Report(options.json, options.seconds)


def measure(report, names, parts):
    report.values["machine"] = machine()
    if QUICK:
        for name in set(MODELS) - {"gpt2 1 amp", "narrow bert"}:
            del MODELS[name]
    for name in names.split(","):
        begin = now()
        try:
            parts[name](report)
        except Exception as error:
            report.fail(name, error)
        report.values["seconds"][name] = round(now() - begin, 1)
        print(f"{name}: {now() - begin:.0f} s", flush=True)
        report.write()


def main():
    options = options_of(__doc__, PARTS).parse_args()
    measure(started_report(options), options.parts, PARTS)


if __name__ == "__main__":
    main()
