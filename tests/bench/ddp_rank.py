#!/usr/bin/python3
"""One rank of a training run with PyTorch's DistributedDataParallel over Gloo.

Usage: ddp_rank.py JSON, with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and GLOO_SOCKET_IFNAME set.
JSON has the keys of ddp_against_torch.py's Workload, with `bucket_caps_mib` and `steps`. Prints one
line of JSON for each bucket cap: the times of its steps, the sizes of its buckets, how busy the CPUs
were, and what is wrong with the averaged gradients, if anything.

Layers compute by waiting. A step has a schedule of its own: a layer begins when the one before it was
to end, not when this thread noticed that it did, so that late wake-ups do not add up.
"""
import datetime
import json
import os
import sys
import time

import torch
import torch.distributed as dist

from cpu_busy import CpuBusy

WARM_UP_STEPS = 3  # the first has one bucket for all, the second makes the buckets


class Schedule:
    """When what has been asked for so far is to end, on the clock that all ranks share."""

    planned_end = 0.0

    def begin_at(self, start):
        self.planned_end = start
        sleep_until(start)

    def begin_now(self):
        self.planned_end = max(self.planned_end, time.monotonic())

    def compute(self, seconds):
        self.planned_end += seconds
        sleep_until(self.planned_end)


def sleep_until(when):
    time.sleep(max(0.0, when - time.monotonic()))


class TimedLayer(torch.autograd.Function):
    """Waits in both directions; the gradient of its parameter is a constant that is there already."""

    @staticmethod
    def forward(context, activation, parameter, layer):
        context.layer = layer
        layer.schedule.compute(layer.forward_s)
        return activation.clone()

    @staticmethod
    def backward(context, gradient):
        layer = context.layer
        layer.schedule.compute(layer.backward_s)
        # Another tensor of the same memory: autograd keeps gradients without other owners, and copies the rest.
        return gradient.clone(), layer.gradient.view_as(layer.gradient), None


class Layer(torch.nn.Module):
    def __init__(self, workload, schedule, gradient):
        super().__init__()
        self.parameter = torch.nn.Parameter(torch.zeros_like(gradient))
        self.forward_s = workload["forward_s"]
        self.backward_s = workload["backward_s"]
        self.schedule = schedule
        self.gradient = gradient

    def forward(self, activation):
        return TimedLayer.apply(activation, self.parameter, self)


def agreed_start():
    """A time, the same on all ranks, that all have heard of before it comes."""
    start = torch.tensor([time.monotonic() + 0.05], dtype=torch.float64)
    dist.broadcast(start, src=0)
    return start.item()


def step(model, schedule, workload):
    for parameter in model.parameters():
        parameter.grad = None
    start = agreed_start()
    schedule.begin_at(start)
    model(torch.zeros(1, requires_grad=True)).sum().backward()
    schedule.begin_now()
    schedule.compute(workload["optimizer_s"])
    return time.monotonic() - start


def find_fault(model):
    """Rank r's gradients are all r + 1; DDP makes the mean of them."""
    mean = (dist.get_world_size() + 1) / 2
    wrong = [name for name, parameter in model.named_parameters()
             if not bool((parameter.grad == mean).all())]
    return f"wrong gradients: {', '.join(wrong)}" if wrong else ""


def run(workload, bucket_cap_mib):
    schedule = Schedule()
    gradient = torch.full((workload["elements"],), dist.get_rank() + 1.0)
    layers = [Layer(workload, schedule, gradient) for _ in range(workload["layers"])]
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*layers), bucket_cap_mb=bucket_cap_mib,
        gradient_as_bucket_view=True)
    for _ in range(WARM_UP_STEPS):
        step(model, schedule, workload)
    busy = CpuBusy()
    steps = []
    for _ in range(workload["steps"]):
        with busy:
            steps.append(step(model, schedule, workload))
    sizes = model._get_ddp_logging_data()["rebuilt_bucket_sizes"]
    return {"bucket_cap_mib": bucket_cap_mib, "steps_s": steps, "cpu_busy": busy.fraction(),
            "bucket_sizes": [int(size) for size in sizes.split(",")], "fault": find_fault(model),
            "torch_version": ".".join(torch.__version__.split(".")[:2])}


def main():
    workload = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=int(os.environ["RANK"]),
                            world_size=int(os.environ["WORLD_SIZE"]),
                            timeout=datetime.timedelta(seconds=60))
    for bucket_cap_mib in workload["bucket_caps_mib"]:
        print(json.dumps(run(workload, bucket_cap_mib)), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
