#!/usr/bin/env python3
"""What the host takes for hooks, collectives and shards, measured on one GPU that it leaves idle.

    python3 group_costs.py --json group-costs.json [--seconds 240] [--quick] [--parts hooks,...]

All times in microseconds, as [median, 10th percentile, 90th]. The parts:
  hooks    hooks of gradients and modules; DDP with one rank, for several sizes of bucket
  calls    collectives, of one rank of NCCL, of two that are not there ("fake": nothing is sent),
           of two processes on this GPU
  sharded  FSDP1 and FSDP2, whole and per layer, in the same three groups

Uses host_costs.py and needs what it needs. What fails is said and left out.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from host_costs import (DEVICE, MODELS, QUICK, Training, adamw, counted_step, each, enqueued, in_turns,
                        launches_until_blocked, measure, narrow_bert, options_of, spread, started_report)
from torch.nn.parallel import DistributedDataParallel


BACKEND, IDS = "nccl", [0]


def every_gradient(hook):
    def wrap(model, works):
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(lambda p: hook(p, works))
        return model
    return wrap


def every_module(register, hook):
    def wrap(model, works):
        for module in model.modules():
            if register != "register_full_backward_hook" or not list(module.children()):
                getattr(module, register)(hook)
        return model
    return wrap


def ddp(**options):
    return lambda model, works: DistributedDataParallel(model, device_ids=IDS, **options)


WRAPPERS = {
    "plain": lambda m, works: m,
    "empty hook a gradient": every_gradient(lambda p, works: None),
    "all_reduce a gradient": every_gradient(
        lambda p, works: works.append(dist.all_reduce(p.grad, async_op=True))),
    "forward hooks": every_module("register_forward_hook", lambda m, x, y: None),
    "forward pre-hooks": every_module("register_forward_pre_hook", lambda m, x: None),
    "backward hooks of leaves": every_module("register_full_backward_hook", lambda m, x, y: None),
    "ddp 1 MiB": ddp(bucket_cap_mb=1), "ddp 5 MiB": ddp(bucket_cap_mb=5), "ddp": ddp(),
    "ddp 1000 MiB": ddp(bucket_cap_mb=1000), "ddp views": ddp(gradient_as_bucket_view=True),
    "ddp views 1 MiB": ddp(gradient_as_bucket_view=True, bucket_cap_mb=1),
    "ddp no buffers": ddp(broadcast_buffers=False), "ddp static": ddp(static_graph=True),
}
NO_SYNC = {"ddp": lambda m: m.no_sync()}


def compared(report, part, name, build, wrappers, no_sync, optimizer=None, limit=90):
    """The wrappers' phases, of those that work; with `no_sync`, also as a step that accumulates."""
    def compare():
        trainings = {}
        for wrapper, wrap in wrappers.items():
            for skip in (None, no_sync.get(wrapper)) if wrapper in no_sync else (None,):
                label = wrapper + (", no sync" if skip else "")
                training = report.attempt(f"{part} {name} {label}", lambda: started(build, wrap, optimizer, skip))
                if training:
                    trainings[label] = training
        report.limit(limit)  # the attempts above ended the caller's
        value = in_turns(trainings, 1 if QUICK else 5, 2)
        for label, training in trainings.items():
            if label == "plain" or name.startswith("fake"):
                value[label]["counts"] = counted_step(training)
        parameters = list(trainings["plain"].model.parameters())
        return value | {"tensors": len(parameters), "bytes": sum(4 * p.numel() for p in parameters),
                        "modules": sum(1 for _ in trainings["plain"].model.modules()),
                        "buckets": {label: buckets(t.model) for label, t in trainings.items()
                                    if isinstance(t.model, DistributedDataParallel)}}

    report.add(part, name, compare, limit)


def started(build, wrap, optimizer, skip):
    training = Training(build, wrap, optimizer, skip)
    for _ in range(3):
        training.phases()
    return training


def buckets(model):
    return len(model._get_ddp_logging_data().get("rebuilt_bucket_sizes", "").split(","))


def hooks_part(report):
    for name in ["narrow bert"] if QUICK else ["bert-base 1 fp32", "resnet50 2 fp32", "narrow bert"]:
        wrappers = dict(WRAPPERS)
        if name.startswith("resnet"):
            del wrappers["backward hooks of leaves"]  # PyTorch refuses them beside changes in place
        compared(report, "hooks", name, MODELS[name], wrappers, NO_SYNC)


def calls(report, group):
    """Host time of a collective's call."""
    ranks = dist.get_world_size()
    x = torch.zeros(64 * ranks, device=DEVICE)
    part = torch.zeros(64, device=DEVICE)
    kinds = {"all_reduce": lambda **o: dist.all_reduce(x, **o),
             "all_gather": lambda **o: dist.all_gather_into_tensor(x, part, **o),
             "reduce_scatter": lambda **o: dist.reduce_scatter_tensor(part, x, **o),
             "broadcast": lambda **o: dist.broadcast(x, 0, **o)}
    for name, call in kinds.items():
        report.add("calls", f"{group} {name}", lambda: enqueued(call, 50))
        report.add("calls", f"{group} {name} async", lambda: enqueued(lambda: call(async_op=True).wait(), 50))
    report.add("calls", f"{group} barrier", lambda: spread(each(dist.barrier, 20)))
    if group == "1 rank":
        report.add("calls", "launches of all_reduce", lambda: launches_until_blocked(kinds["all_reduce"]))


def fsdp1(whole=False, **options):
    def wrap(model, works):
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy

        layers = {type(model.bert.encoder.layer[0])}
        return FullyShardedDataParallel(model, auto_wrap_policy=None if whole else ModuleWrapPolicy(layers),
                                        device_id=DEVICE, **options)
    return wrap


def fsdp2(whole=False, **options):
    def wrap(model, works):
        from torch.distributed.fsdp import fully_shard

        for layer in [] if whole else model.bert.encoder.layer:
            fully_shard(layer, **options)
        return fully_shard(model, **options)
    return wrap


@contextlib.contextmanager
def fsdp2_no_sync(model):
    model.set_requires_gradient_sync(False)
    yield
    model.set_requires_gradient_sync(True)


SHARDINGS = {
    "plain": lambda m, works: m, "ddp": ddp(),
    "fsdp1": fsdp1(limit_all_gathers=False), "fsdp1 limited": fsdp1(),
    "fsdp1 whole": fsdp1(True, limit_all_gathers=False),
    "fsdp1 original parameters": fsdp1(use_orig_params=True, limit_all_gathers=False),
    "fsdp2": fsdp2(), "fsdp2 whole": fsdp2(True), "fsdp2 kept": fsdp2(reshard_after_forward=False),
}
SHARDING_NO_SYNC = {"fsdp1": lambda m: m.no_sync(), "fsdp2": fsdp2_no_sync}


def sharded(report, group):
    wrappers = dict(SHARDINGS)
    if group.startswith("fake"):
        del wrappers["ddp"]  # its hook waits for a result
    compared(report, "sharded", f"{group} narrow bert", narrow_bert, wrappers, SHARDING_NO_SYNC, adamw)


def start_group(backend, **options):
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group(backend, **options)


def one_rank():
    start_group(BACKEND, device_id=DEVICE, rank=0, world_size=1, store=dist.HashStore())


def in_groups(report, part):
    one_rank()
    part(report, "1 rank")
    from torch.testing._internal.distributed.fake_pg import FakeStore

    start_group("fake", rank=0, world_size=2, store=FakeStore())
    part(report, "fake 2 ranks")
    report.add("two ranks", part.__name__, lambda: two_ranks(report, part.__name__), 80)
    one_rank()


def two_ranks(report, what):
    """Two processes on this GPU, which take turns there: only the host's times mean something."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(2):
            environment = os.environ | {"NCCL_HOSTID": f"rank{rank}", "NCCL_SOCKET_IFNAME": "lo",
                                        "NCCL_IB_DISABLE": "1", "NCCL_NET": "Socket"}
            command = [sys.executable, __file__, "--json", f"{folder}/{rank}", "--rank", str(rank),
                       "--store", f"{folder}/store", "--parts", what] + ["--quick"] * QUICK
            ranks.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL))
        try:
            codes = [rank.wait() for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
            if os.path.exists(f"{folder}/0"):
                found = json.loads(pathlib.Path(f"{folder}/0").read_text())
                report.values[what] = report.values.get(what, {}) | found.get(what, {})
                report.values["failed"] |= {f"2 ranks {k}": v for k, v in found["failed"].items()}
        return {"exit codes": codes}


PARTS = {"hooks": hooks_part, "calls": lambda report: in_groups(report, calls),
         "sharded": lambda report: in_groups(report, sharded)}


def main():
    parser = options_of(__doc__, PARTS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    options = parser.parse_args()
    report = started_report(options)
    if options.rank is None:
        one_rank()
        measure(report, options.parts, PARTS)
    else:  # started by two_ranks()
        start_group(BACKEND, device_id=DEVICE, rank=options.rank, world_size=2,
                    store=dist.FileStore(options.store, 2))
        {"calls": calls, "sharded": sharded}[options.parts](report, "2 ranks")
        report.write()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
