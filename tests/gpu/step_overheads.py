#!/usr/bin/env python3
"""What makes a training step slower than its kernels and its messages, measured on one GPU.

    nvcc -O3 -arch=native -shared -Xcompiler -fPIC -o libchannels.so channels.cu
    python3 step_overheads.py --channels libchannels.so --json overheads.json [--seconds 400]

Three tables, each with medians:
  wrapper   a step of PyTorch alone, under DDP with one rank, and with a hook for each gradient that
            begins an all-reduce (as Horovod and apex without buckets do), with batches so small that
            the host decides and so large that the GPU does
  channels  how much longer steps and single kernels take beside blocks that do what a ring
            all-reduce of so many channels and such a rate does to a GPU (channels.cu)
  arrival   how long such blocks, launched in the middle of a backward pass, wait for their places

Needs PyTorch with CUDA and torchvision; BERT needs transformers. What fails is said and left out.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

DEVICE = torch.device("cuda", 0)
LONGEST = 4.0  # seconds beside channels; they end by themselves after 5


def resnet(name, batch, precision):
    import torchvision

    model = getattr(torchvision.models, name)().to(DEVICE, memory_format=torch.channels_last)
    images = torch.randn(batch, 3, 224, 224, device=DEVICE).to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (batch,), device=DEVICE)
    return model, lambda m: torch.nn.functional.cross_entropy(m(images).float(), labels), precision


def bert(size, batch, precision, length=128):
    from transformers import BertConfig, BertForSequenceClassification

    shape = {
        "base": dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                     intermediate_size=3072),
        "large": dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                      intermediate_size=4096),
    }[size]
    model = BertForSequenceClassification(BertConfig(**shape)).to(DEVICE)
    words = torch.randint(30000, (batch, length), device=DEVICE)
    labels = torch.randint(2, (batch,), device=DEVICE)
    return model, lambda m: m(input_ids=words, labels=labels).loss, precision


class Step:
    """A training step of a model, wrapped as `wrapper` says."""

    def __init__(self, build, wrapper="none"):
        self.model, self.loss_of, precision = build()
        self.dtype = {"amp": torch.bfloat16}.get(precision)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
        self.pending = []
        self.wrapped = self.wrap(wrapper)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9)

    def wrap(self, wrapper):
        if wrapper == "none":
            return self.model
        if wrapper == "hooks":
            for p in self.model.parameters():
                p.register_post_accumulate_grad_hook(
                    lambda p: self.pending.append(dist.all_reduce(p.grad, async_op=True)))
            return self.model
        options = {"ddp": {}, "ddp-views": {"gradient_as_bucket_view": True},
                   "ddp-1MiB": {"bucket_cap_mb": 1},
                   "ddp-no-buffers": {"broadcast_buffers": False}}[wrapper]
        return DistributedDataParallel(self.model, device_ids=[0], **options)

    def __call__(self):
        with torch.autocast("cuda", dtype=self.dtype, enabled=self.dtype is not None):
            loss = self.loss_of(self.wrapped)
        loss.backward()
        for work in self.pending:
            work.wait()
        self.pending.clear()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def synchronized():
    torch.cuda.synchronize()
    return time.perf_counter()


def time_of(call, repeats, warmup=3, groups=5):
    """Seconds a call takes when several are under way: the median of groups."""
    for _ in range(warmup):
        call()
    taken = []
    for _ in range(groups):
        begin = synchronized()
        for _ in range(repeats):
            call()
        taken.append((synchronized() - begin) / repeats)
    return statistics.median(taken)


def repeats_for(call, seconds):
    call()
    begin = synchronized()
    for _ in range(3):
        call()
    return max(3, int(seconds * 3 / (synchronized() - begin)))


def free():
    torch.cuda.empty_cache()


# --- wrapper ---------------------------------------------------------------------------------

WRAPPED = {
    "resnet18": lambda batch, precision: lambda: resnet("resnet18", batch, precision),
    "resnet50": lambda batch, precision: lambda: resnet("resnet50", batch, precision),
    "bert-base": lambda batch, precision: lambda: bert("base", batch, precision),
    "bert-large": lambda batch, precision: lambda: bert("large", batch, precision),
}


def wrapper_table(out):
    wrappers = ["none", "ddp", "ddp-views", "ddp-no-buffers", "ddp-1MiB", "hooks"]
    cases = [("resnet18", 4, "fp32"), ("resnet50", 4, "fp32"), ("bert-base", 2, "fp32"),
             ("bert-large", 1, "fp32"), ("resnet50", 4, "amp"), ("bert-large", 1, "amp"),
             ("resnet50", 256, "amp"), ("resnet50", 128, "fp32"), ("bert-base", 64, "amp"),
             ("bert-large", 32, "amp"), ("bert-large", 32, "fp32")]
    for model, batch, precision in cases:
        steps = {w: Step(WRAPPED[model](batch, precision), w) for w in wrappers}
        times = {w: [] for w in wrappers}
        counts = {w: repeats_for(s, 0.15) for w, s in steps.items()}
        for _ in range(5):  # in turns: what drifts, drifts for all
            for w, step in steps.items():
                times[w].append(time_of(step, counts[w], warmup=1, groups=1))
        parameters = list(steps["none"].model.parameters())
        row = {"model": model, "batch": batch, "precision": precision, "tensors": len(parameters),
               "bytes": sum(p.numel() * 4 for p in parameters),
               "seconds": {w: statistics.median(t) for w, t in times.items()},
               "low": {w: min(t) for w, t in times.items()},
               "high": {w: max(t) for w, t in times.items()}}
        out.append(row)
        plain = row["seconds"]["none"]
        more = "  ".join(f"{w} {1e3 * (row['seconds'][w] - plain):+.3f}" for w in wrappers[1:])
        print(f"wrapper  {model} {batch} {precision} {len(parameters)} tensors: "
              f"{1e3 * plain:.3f} ms; {more}", flush=True)
        del steps
        free()


def kernels_of(step, steps=5):
    """Count and seconds a step of each kernel, by name."""
    from torch.profiler import ProfilerActivity, profile

    step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    return {e.key[:90]: (e.count / steps, e.device_time_total * 1e-6 / steps)
            for e in profiler.key_averages() if e.device_time_total > 0}


def kernels_table(out):
    """Which kernels a wrapper adds."""
    for model, batch, precision in (("resnet50", 128, "fp32"), ("bert-large", 32, "fp32"),
                                    ("bert-large", 32, "amp")):
        plain = kernels_of(Step(WRAPPED[model](batch, precision)))
        free()
        for wrapper in ("ddp", "ddp-views", "ddp-no-buffers", "hooks"):
            wrapped = kernels_of(Step(WRAPPED[model](batch, precision), wrapper))
            free()
            rows = []
            for name in plain.keys() | wrapped.keys():
                (n0, s0), (n1, s1) = plain.get(name, (0, 0)), wrapped.get(name, (0, 0))
                if abs(n1 - n0) > 0.5 or abs(s1 - s0) > 50e-6:
                    rows.append({"kernel": name, "more": n1 - n0, "seconds": s1 - s0})
            rows.sort(key=lambda row: -abs(row["seconds"]))
            out.append({"model": model, "batch": batch, "precision": precision, "wrapper": wrapper,
                        "kernels": rows, "more": sum(r["more"] for r in rows),
                        "seconds": sum(r["seconds"] for r in rows)})
            print(f"kernels  {model} {batch} {precision} {wrapper}: {out[-1]['more']:+.0f} kernels, "
                  f"{1e3 * out[-1]['seconds']:+.3f} ms; " + "; ".join(
                      f"{r['more']:+.0f} {1e3 * r['seconds']:+.3f} ms {r['kernel'][:60]}"
                      for r in rows[:5]), flush=True)


# --- channels --------------------------------------------------------------------------------


class Channels:
    """Blocks that do what a ring all-reduce does, until they are stopped."""

    def __init__(self, path, most=32, bytes_a_channel=48 << 20):
        self.library = ctypes.CDLL(path)
        self.library.channels_ring.argtypes = [ctypes.c_void_p, ctypes.c_longlong, ctypes.c_int,
                                               ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p,
                                               ctypes.c_void_p]
        self.library.channels_stamp.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.library.channels_arrive.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        self.bytes_a_channel = bytes_a_channel
        self.arrays = torch.zeros(most * bytes_a_channel // 4, device=DEVICE)
        self.moved = torch.zeros(most, dtype=torch.int64, device=DEVICE)
        # On the device: blocks that watch the host's memory slow down the launches of others.
        self.stop = torch.zeros(1, dtype=torch.int32, device=DEVICE)
        self.values = torch.tensor([0, 1], dtype=torch.int32).pin_memory()
        self.stream = torch.cuda.Stream()
        self.other = torch.cuda.Stream()
        self.begin = 0.0

    def set_stop(self, value):
        with torch.cuda.stream(self.other):
            self.stop.copy_(self.values[value : value + 1], non_blocking=True)
        self.other.synchronize()

    def start(self, channels, rate):
        """`rate`: bytes a second on the wire, all channels together; 0: none; below 0: full speed."""
        torch.cuda.synchronize()
        self.set_stop(0)
        self.channels = channels
        self.begin = time.perf_counter()
        error = self.library.channels_ring(self.arrays.data_ptr(), self.bytes_a_channel, channels,
                                           rate, self.stop.data_ptr(), self.moved.data_ptr(),
                                           self.stream.cuda_stream)
        if error:
            raise RuntimeError(f"CUDA error {error}")
        time.sleep(0.002)

    def end(self):
        """Bytes a second that were moved."""
        self.set_stop(1)
        self.stream.synchronize()
        seconds = time.perf_counter() - self.begin
        return int(self.moved[: self.channels].sum()) / seconds


def timed_on_stream(call, repeats):
    """Median seconds of a call by events: never waits for the whole device."""
    stream = torch.cuda.current_stream()
    begins = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    for event in begins[:-1]:
        event.record(stream)
        call()
    begins[-1].record(stream)
    begins[-1].synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(begins, begins[1:])) * 1e-3


def kernels():
    a16 = torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16)
    a32 = torch.randn(4096, 4096, device=DEVICE)
    big = torch.randn(64 << 20, device=DEVICE)
    other = torch.randn(64 << 20, device=DEVICE)
    image = torch.randn(256, 256, 56, 56, device=DEVICE, dtype=torch.bfloat16).to(
        memory_format=torch.channels_last)
    conv = torch.nn.Conv2d(256, 256, 3, padding=1, bias=False).to(
        DEVICE, torch.bfloat16, memory_format=torch.channels_last)
    norm = torch.nn.LayerNorm(1024).to(DEVICE)
    rows = torch.randn(65536, 1024, device=DEVICE)

    def gemm32():
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.mm(a32, a32)

    return {"gemm bf16 8192": lambda: torch.mm(a16, a16), "gemm fp32 4096": gemm32,
            "conv 3x3 bf16": lambda: conv(image), "add 256 MiB": lambda: torch.add(big, other),
            "layer norm": lambda: norm(rows)}


def channels_table(path, out, deadline, only):
    settings = [(1, 0), (2, 0), (2, 1e9), (2, 10e9), (4, 0), (4, 12e9), (8, 0), (8, 12e9), (8, 50e9),
                (8, -1), (16, 0), (16, 50e9), (16, 150e9), (16, -1), (24, 0), (24, 200e9), (32, 0),
                (32, 100e9), (32, 300e9), (32, -1)]
    steps = {
        "resnet50 256 amp": lambda: Step(lambda: resnet("resnet50", 256, "amp")),
        "resnet50 128 tf32": lambda: Step(lambda: resnet("resnet50", 128, "tf32")),
        "resnet50 128 fp32": lambda: Step(lambda: resnet("resnet50", 128, "fp32")),
        "bert-large 96 amp": lambda: Step(lambda: bert("large", 96, "amp")),
        "bert-large 64 tf32": lambda: Step(lambda: bert("large", 64, "tf32")),
        "bert-large 32 fp32": lambda: Step(lambda: bert("large", 32, "fp32")),
    }
    single = kernels()
    calls = {name: (lambda call=call: call) for name, call in single.items()} | steps
    if only:
        calls = {name: build for name, build in calls.items() if any(w in name for w in only)}
    channels = Channels(path)
    alone = {}
    for count, rate in settings:
        if rate < 0:
            channels.start(count, rate)
            time.sleep(0.1)
            alone[count] = channels.end()
            print(f"channels {count} alone: {alone[count] / 1e9:.1f} GB/s", flush=True)
    for name, build in calls.items():
        call = build()
        repeats = max(6, min(100, repeats_for(call, 0.15)))
        for _ in range(4):  # clocks settle
            timed_on_stream(call, repeats)
        plain = timed_on_stream(call, repeats)
        row = {"compute": name, "seconds": plain, "beside": []}
        for count, rate in settings:
            if time.perf_counter() > deadline:
                break
            began = time.perf_counter()
            channels.start(count, rate)
            taken = timed_on_stream(call, repeats)
            moved = channels.end()
            # An allocation or the load of a kernel waited for the blocks to give up: nothing of the
            # compute was beside them.
            if time.perf_counter() - began > LONGEST:
                row["failed"] = "waits for other kernels to end"
                break
            after = timed_on_stream(call, repeats)
            row["beside"].append({"channels": count, "asked": rate, "moved": moved,
                                  "alone": alone.get(count) if rate < 0 else None,
                                  "factor": 2 * taken / (plain + after)})
            plain = after
        again = plain
        row["seconds_again"] = again
        out.append(row)
        print(f"channels {name}: {1e3 * row['seconds']:.3f} ms (again {1e3 * again:.3f}); " + "  ".join(
            f"{b['channels']}@{b['moved'] / 1e9:.0f}: {b['factor']:.3f}" for b in row["beside"]),
            flush=True)
        del call
        free()


# --- arrival ---------------------------------------------------------------------------------


def arrival_table(path, out):
    channels = Channels(path, most=1)
    low, high = torch.cuda.Stream.priority_range()
    for name, build in {"resnet50 256 amp": lambda: resnet("resnet50", 256, "amp"),
                        "resnet50 128 fp32": lambda: resnet("resnet50", 128, "fp32"),
                        "bert-large 32 amp": lambda: bert("large", 32, "amp"),
                        "bert-large 32 fp32": lambda: bert("large", 32, "fp32")}.items():
        for priority in (low, high):
            for count in (2, 8, 16, 32):
                step = Step(build)
                stream = torch.cuda.Stream(priority=priority)
                parameters = [p for p in step.model.parameters() if p.numel() > 100_000]
                stamps = torch.zeros(2 * len(parameters) * 6, dtype=torch.int64, device=DEVICE)
                used = [0]

                def mark(_, stamps=stamps, used=used, stream=stream, count=count):
                    at = stamps.data_ptr() + 16 * used[0]
                    if 2 * used[0] + 2 > stamps.numel():
                        return
                    used[0] += 1
                    here = torch.cuda.current_stream()
                    channels.library.channels_stamp(at, here.cuda_stream)
                    event = torch.cuda.Event()
                    event.record(here)
                    stream.wait_event(event)
                    channels.library.channels_arrive(at + 8, count, stream.cuda_stream)

                step()
                step()
                for p in parameters:
                    p.register_post_accumulate_grad_hook(mark)
                for _ in range(5):
                    step()
                torch.cuda.synchronize()
                pairs = stamps.view(-1, 2)[: used[0]].tolist()[len(parameters):]
                delays = sorted((b - a) * 1e-3 for a, b in pairs if a and b)
                if not delays:
                    continue
                row = {"compute": name, "channels": count,
                       "priority": "high" if priority == high else "default",
                       "microseconds": {"median": statistics.median(delays),
                                        "mean": statistics.fmean(delays),
                                        "p90": delays[int(0.9 * len(delays))], "max": delays[-1]}}
                out.append(row)
                print(f"arrival  {name} {count} channels, {row['priority']} priority: " + ", ".join(
                    f"{k} {v:.0f}" for k, v in row["microseconds"].items()) + " us", flush=True)
                del step
                free()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--channels", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--parts", default="wrapper,kernels,arrival,channels")
    parser.add_argument("--only", nargs="*", help="of the table of channels: what has such a word")
    options = parser.parse_args()
    deadline = time.perf_counter() + options.seconds
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577", RANK="0", WORLD_SIZE="1")
    torch.cuda.set_device(DEVICE)
    dist.init_process_group("nccl", device_id=DEVICE)
    properties = torch.cuda.get_device_properties(0)
    result = {"device": properties.name, "multiprocessors": properties.multi_processor_count,
              "torch": torch.__version__, "nccl": list(torch.cuda.nccl.version()),
              "wrapper": [], "kernels": [], "channels": [], "arrival": []}
    for part, run in (("wrapper", lambda: wrapper_table(result["wrapper"])),
                      ("kernels", lambda: kernels_table(result["kernels"])),
                      ("arrival", lambda: arrival_table(options.channels, result["arrival"])),
                      ("channels", lambda: channels_table(options.channels, result["channels"],
                                                          deadline, options.only))):
        if part not in options.parts.split(","):
            continue
        begin = time.perf_counter()
        try:
            run()
        except Exception as error:  # what is measured so far is kept
            print(f"{part}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            result.setdefault("failed", {})[part] = str(error)
        print(f"{part}: {time.perf_counter() - begin:.0f} s", flush=True)
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
