#!/usr/bin/python3
"""paceline_recorder on real training, imported by paceline: runs of 1 and of 2 ranks on loopback.

Usage: recorder_test.py --paceline PROGRAM. Exits with 77 where there is no torch.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "../../../traces/torch")
PYTHON = "/usr/bin/python3"  # the one that has Debian's torch
MISSING = 77
LIMIT_S = 120
asked = None  # the arguments

# What every rank runs before its own lines; `said` goes to standard output at the end.
BEGINNING = """
import json, os, sys, time
sys.path.insert(0, {sources!r})
import torch, torch.distributed as dist
import paceline_recorder
torch.set_num_threads(1)
torch.manual_seed(7)
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if ranks > 1:
    # By a file: a port that was free a moment ago may be another program's by now.
    dist.init_process_group("gloo", init_method="file://" + os.environ["RENDEZVOUS"], rank=rank,
                            world_size=ranks)
prefix, said = sys.argv[1], {{}}
DDP = torch.nn.parallel.DistributedDataParallel

class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        time.sleep(0.004)
        return value.clone()
    @staticmethod
    def backward(context, gradient):
        time.sleep(0.008)
        return gradient.clone()

class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
    def forward(self, value):
        return self.linear(Slow.apply(value))

def make(width=256, layers=6):
    return torch.nn.Sequential(*[Layer(width) for _ in range(layers)])

def train(model, steps, width=256, batch=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    begins = []
    for _ in range(steps):
        begins.append(time.perf_counter())
        optimizer.zero_grad()
        model(torch.ones(batch, width, requires_grad=True)).square().mean().backward()
        optimizer.step()
    return begins
"""
ENDING = """
if ranks > 1:
    dist.barrier()
    dist.destroy_process_group()
print(json.dumps(said))
"""


class Recorder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_ranks(self, ranks, script):
        """What each rank said, and its standard error."""
        program = BEGINNING.format(sources=SOURCES) + script + ENDING
        with tempfile.TemporaryDirectory() as apart:
            everyone = dict(os.environ, WORLD_SIZE=str(ranks), GLOO_SOCKET_IFNAME="lo",
                            RENDEZVOUS=os.path.join(apart, "rendezvous"), OMP_NUM_THREADS="1",
                            PYTHONDONTWRITEBYTECODE="1")
            processes = [subprocess.Popen([PYTHON, "-c", program, self.folder], text=True,
                                          env=dict(everyone, RANK=str(rank)),
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                         for rank in range(ranks)]
            self.wait_for(processes)
            ended = [process.communicate() for process in processes]
        told = "".join(error for _, error in ended)
        self.assertEqual([process.returncode for process in processes], [0] * ranks, told)
        return [json.loads(out.splitlines()[-1]) for out, _ in ended], [error for _, error in ended]

    @staticmethod
    def wait_for(processes):
        """Until all have ended. Where one fails or the time is over, the others are ended: they
        would wait for it. What they print fits into their pipes."""
        ends_at = time.monotonic() + LIMIT_S
        while any(process.poll() is None for process in processes):
            if time.monotonic() > ends_at or any(process.poll() for process in processes):
                for process in processes:
                    if process.poll() is None:
                        process.send_signal(signal.SIGKILL)
                        process.wait()
            time.sleep(0.02)

    def imported(self, *names):
        done = subprocess.run([asked.paceline, "import", *map(self.path, names), "--json", "-"],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)["traces"]

    def recorded(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return lines[0], lines[1:-1]

    def test_two_ranks_of_ddp_have_the_buckets_and_the_time_that_torch_has(self):
        said, errors = self.run_ranks(2, """
model = DDP(make(512), bucket_cap_mb=1)  # 6 layers of 262144 + 512 floats
with paceline_recorder.record(prefix + "/run.trace"):
    said["begins"] = train(model, 8, width=512)
logged = model._get_ddp_logging_data()
said["buckets"] = logged["rebuilt_bucket_sizes"]
said["first"] = logged["bucket_sizes"]
""")
        self.assertEqual(errors, ["", ""])
        traces = self.imported("run.0.trace", "run.1.trace")
        self.assertEqual([trace["rank"] for trace in traces], [0, 1])
        for of_rank, trace in zip(said, traces):
            self.assertEqual(trace["world_size"], 2)
            self.assertEqual(len(trace["steps"]), 8)
            first, *rest = trace["steps"]
            self.assertEqual(self.sizes(first), self.numbers(of_rank["first"]))
            for step in rest:  # they are made anew before the second step
                self.assertEqual(self.sizes(step), self.numbers(of_rank["buckets"]))
            for step in trace["steps"]:
                self.assertEqual(step["gradients"], 12)
                # Six layers wait for 4 and 8 ms: that much is computed at least.
                self.assertGreaterEqual(step["compute_s"], 0.072)
                ready = [call["ready_s"] for call in step["calls"]]
                self.assertEqual(ready, sorted(ready))
            # From the begin of the fourth step to that of the last, by the script's clock: what a
            # busy machine adds is in both.
            lengths = sum(step["length_s"] for step in trace["steps"][3:-1])
            begins = of_rank["begins"]
            self.assertAlmostEqual(lengths / (begins[7] - begins[3]), 1, delta=0.05)

    @staticmethod
    def numbers(text):
        return [int(number) for number in text.split(",")]

    @staticmethod
    def sizes(step):
        return [call["elements"] * call["element_size_bytes"] for call in step["calls"]]

    def test_watched_collectives_have_ends_and_leave_the_gradients_as_they_are(self):
        said, errors = self.run_ranks(2, """
def gradients(watched):
    torch.manual_seed(3)
    model = DDP(make(512, 3), bucket_cap_mb=1)
    with paceline_recorder.record(prefix + "/run.trace", collectives=watched):
        train(model, 3, width=512)
    said["sizes"] = model._get_ddp_logging_data()["rebuilt_bucket_sizes"]
    return model, [parameter.grad for parameter in model.parameters()]
_, plain = gradients(False)
model, watched = gradients(True)
said["same"] = all(torch.equal(a, b) for a, b in zip(plain, watched))
with paceline_recorder.record(prefix + "/again.trace", collectives=True):
    train(model, 3, width=512)
""")
        self.assertEqual(errors, ["", ""])
        self.assertTrue(all(of_rank["same"] for of_rank in said))
        for name in ("run", "again"):
            for trace in self.imported(f"{name}.0.trace", f"{name}.1.trace"):
                self.assertEqual(len(trace["steps"]), 3)
                self.assertEqual(self.sizes(trace["steps"][-1]), self.numbers(said[0]["sizes"]))
                for call in (call for step in trace["steps"] for call in step["calls"]):
                    self.assertGreaterEqual(call["end_s"], call["start_s"])

    def test_one_process_without_ddp_writes_one_file(self):
        _, errors = self.run_ranks(1, """
model = make(64, 3)
frozen = next(model.parameters())
frozen.requires_grad_(False)
with paceline_recorder.record(prefix + "/run.trace"):
    train(model, 4, width=64, batch=5)
""")
        self.assertEqual(errors, [""])
        header, steps = self.recorded("run.trace")
        self.assertEqual([step["samples"] for step in steps], [5] * 4)
        self.assertEqual(sum(parameter["requires_grad"] for parameter in header["parameters"]), 5)
        (trace,) = self.imported("run.trace")
        for step in trace["steps"]:
            self.assertEqual((step["gradients"], step["calls"]), (5, []))
            self.assertGreaterEqual(step["compute_s"], 0.036)  # 3 layers of 4 and 8 ms

    def test_exceptions_pass_and_nothing_stays_hooked(self):
        said, errors = self.run_ranks(1, """
model = make(64, 2)
modules = torch.nn.modules.module
def hooked():
    return [torch.autograd.backward.__module__, torch.autograd.profiler.record_function.__name__,
            len(modules._global_forward_pre_hooks), len(model._forward_pre_hooks),
            len(model._forward_hooks)]
said["before"] = hooked()
try:
    with paceline_recorder.record(prefix + "/run.trace"):
        train(model, 3, width=64)
        model(torch.ones(1, 64))  # a step that does not come to its end
        raise ZeroDivisionError
except ZeroDivisionError:
    said["passed"] = True
said["after"] = hooked()
with paceline_recorder.record(prefix + "/second.trace", steps=2):
    train(model, 5, width=64)
""")
        self.assertEqual(errors, [""])
        self.assertTrue(said[0]["passed"])
        self.assertEqual(said[0]["before"], said[0]["after"])
        self.assertEqual(len(self.imported("run.trace")[0]["steps"]), 3)
        self.assertEqual(len(self.imported("second.trace")[0]["steps"]), 2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["run.trace", "second.trace"])

    def test_models_of_other_kinds_are_recorded_as_far_as_they_can_be(self):
        _, errors = self.run_ranks(2, """
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
own = DDP(make(64, 2))
own.register_comm_hook(None, fp16_compress_hook)
with paceline_recorder.record(prefix + "/own_hook.trace", collectives=True):
    train(own, 3, width=64)
a, b = DDP(make(64, 2)), DDP(make(64, 3))
both = torch.optim.Adam([*a.parameters(), *b.parameters()])
torch.optim.lr_scheduler.StepLR(both, 1)  # it replaces the optimizer's step()
with paceline_recorder.record(prefix + "/two.trace"):
    for _ in range(4):
        b(a(torch.ones(6, 64))).sum().backward()
        both.step()
accumulated = DDP(make(64, 2))
optimizer = torch.optim.SGD(accumulated.parameters(), lr=0.01)
with paceline_recorder.record(prefix + "/accumulated.trace"):
    for _ in range(4):
        with accumulated.no_sync():
            accumulated(torch.ones(3, 64)).sum().backward()
        accumulated(torch.ones(3, 64)).sum().backward()
        optimizer.step()
class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
    def forward(self, value):
        return self.used(value)
half = DDP(Half(), find_unused_parameters=True)
with paceline_recorder.record(prefix + "/unused.trace"):
    for _ in range(3):
        half(torch.ones(3, 64)).sum().backward()
""")
        self.assertEqual(errors, ["", ""])
        (unused,) = self.imported("unused.0.trace")
        for step in unused["steps"]:  # two gradients come, all four are reduced
            self.assertEqual((step["gradients"], sum(self.sizes(step))), (2, 4 * 2 * (64 * 64 + 64)))
        (own,) = self.imported("own_hook.0.trace")
        self.assertEqual([len(step["calls"]) for step in own["steps"]], [1, 1, 1])
        self.assertIsNone(own["steps"][0]["calls"][0]["elements"])  # fp16, as torch was told
        (two,) = self.imported("two.0.trace")
        for step in two["steps"]:
            self.assertEqual((len(step["calls"]), step["gradients"]), (2, 10))
        header, steps = self.recorded("accumulated.0.trace")
        self.assertEqual(len(header["parameters"]), 4)
        for step in steps:  # two passes, of which the second is reduced
            self.assertEqual([len(step["forward_ns"]), len(step["backward_ns"]),
                              len(step["gradients_ns"]), len(step["buckets"]), step["samples"]],
                             [2, 2, 8, 1, 6])

    def test_what_fails_inside_is_told_and_the_run_goes_on(self):
        said, errors = self.run_ranks(1, """
model = make(64, 2)
paceline_recorder.HostClock.now = staticmethod(lambda: 1 // 0)
with paceline_recorder.record(prefix + "/none/run.trace"):
    said["steps"] = len(train(model, 3, width=64))
""")
        self.assertEqual(said[0]["steps"], 3)
        self.assertEqual(errors[0].count("recording ended early: ZeroDivisionError"), 1)
        self.assertIn("nothing is written: FileNotFoundError", errors[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", required=True)
    asked, rest = parser.parse_known_args()
    if subprocess.run([PYTHON, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("no torch: Debian has it as python3-torch")
        sys.exit(MISSING)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
