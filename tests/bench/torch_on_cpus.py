#!/usr/bin/python3
"""Are the wrapper's host cost and compute beside collectives right on something real: torch on CPUs?

Usage: torch_on_cpus.py [--build FOLDER] [--rounds N] [--tensors 161,400] [--caps-mib 1,25]
                        [--width 64] [--batch 16]

Two processes on two cores train chains of small layers, matrices of width x width, with
DistributedDataParallel over Gloo and loopback. What is predicted: the steps of 161 and of 400 tensors, with
buckets of 1 and of 25 MiB.
What they are predicted from, by `paceline run`, is measured apart from them in the same processes:

- the same chains without the wrapper, both ranks computing at the same time;
- `host.per_gradient` and `host.per_call`: chains of other lengths in a wrapper of one rank, which reduces
  with nobody, less the same chains without it;
- the network: all-reduces that nothing is beside, right after a chain's step, which leaves caches and
  threads as training does: for a step of one bucket the only one of its step, for others one that follows
  others. What counts is the rank that arrives last. A straight line over sizes that are not the buckets';
- `contention` and `call_contention`: two all-reduces that begin during the backward pass of a chain without
  the wrapper. How long they take, and how much longer that step gets than with the same calls to nobody
  (which `host.per_call` has), are straight lines over sizes, too;
- `ranks.spread`: by how much the slower rank's step without the wrapper is longer than the mean of both,
  and how much each all-reduce beside it adds to that. Both are random: their squares add up.

Every round runs every case once, so that a machine that changes its pace changes it for all alike. What is
given is the mean of the middle 80 % of rounds.
Prints a table; exits with 1 when a step is more than the bound (5 %) from its prediction, 2 when something
does not run, 77 when there is no torch.
"""
import argparse
import gc
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"  # the one that has Debian's torch
MISSING = 77  # as other programs here say it
FITTED = (40, 80, 120, 240)  # tensors
CALL_BYTES = (256 << 10, 768 << 10, 2 << 20, 4 << 20, 8 << 20)
CALLS_BESIDE = 2  # a step
TRIMMED = 0.1  # of the rounds, at either end
# Of two draws of a standard normal distribution, the expected maximum, by which `ranks.spread` counts.
SLOWER_OF_TWO = 1 / math.sqrt(math.pi)
TIME_LIMIT_S = 900
WARM_UP = 4  # the wrapper makes its buckets in the second step

SCENARIO = """\
schema: paceline/1
name: A chain of layers on CPUs
workload:
  batch_per_gpu: 1
  device: v100-sxm2-16gb   # for copies only, of which there are none with gradient_as_bucket_view
  layers:
    - {{name: layer, repeat: {tensors}, forward: {forward_s:.9f}s, backward: {backward_s:.9f}s, parameters: [{elements}]}}
cluster:
  nodes: 2
  gpus_per_node: 1
  network: {{bandwidth: {bandwidth_Bps:.0f}Bps, latency: {latency_s:.9f}s}}
training:
  strategy: ddp
  bucket_cap: {cap_mib}MiB
  torch_version: "1.13"
  gradient_as_bucket_view: true
  collectives_in_flight: 2
  optimizer: {{time: 0s}}
  host: {{per_gradient: {per_gradient_s:.9f}s, per_call: {per_call_s:.9f}s}}
ranks: {{spread: {spread:.6f}}}
contention: {contention}
call_contention: {call_contention}
collective: {{library: plan, algorithm: ring}}
"""


def rank_main(rank, port, case):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    torch.manual_seed(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    alone = [dist.new_group([r]) for r in range(2)][rank]

    class Chain(torch.nn.Module):
        def __init__(self, tensors):
            super().__init__()
            self.layers = torch.nn.ModuleList(
                torch.nn.Linear(case.width, case.width, bias=False) for _ in range(tensors))
            for layer in self.layers:  # keeps numbers in range: denormal ones take several times as long
                torch.nn.init.orthogonal_(layer.weight)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    x = torch.randn(case.batch, case.width)

    def step(model):
        """Seconds of forward and of the rest."""
        for parameter in model.parameters():
            parameter.grad = None
        dist.barrier()
        start = time.perf_counter()
        loss = model(x).sum()
        middle = time.perf_counter()
        loss.backward()
        return middle - start, time.perf_counter() - middle

    def alone_s(data):
        """Seconds of an all-reduce, with what this rank waits for the other."""
        start = time.perf_counter()
        dist.all_reduce(data)
        return time.perf_counter() - start

    def side_by_side_s(data, model, group):
        """Seconds of a step; the mean of those of all-reduces in `group` that begin during its backward pass,
        at its first gradient and half way; and those of one that follows when they are done."""
        started, ended, calls = [], [], []

        def launch(_):
            started.append(time.perf_counter())
            calls.append(dist.all_reduce(data[len(calls)], group=group, async_op=True))
            calls[-1].get_future().then(lambda _: ended.append(time.perf_counter()))

        weights = list(model.parameters())
        hooks = [weights[at].register_hook(launch) for at in (-1, len(weights) // 2)]
        taken = sum(step(model))
        for call in calls:
            call.wait()
        while len(ended) < len(calls):
            time.sleep(0)
        for hook in hooks:
            hook.remove()
        return {"step": taken, "beside": (sum(ended) - sum(started)) / len(calls), "last": alone_s(data[0])}

    def wrapped(tensors, cap_mib, group):
        return torch.nn.parallel.DistributedDataParallel(
            Chain(tensors), bucket_cap_mb=cap_mib, process_group=group, gradient_as_bucket_view=True)

    cases = {f"plain {n}": Chain(n) for n in sorted({*FITTED, *case.tensors})}
    for cap in case.caps_mib:
        cases.update({f"alone {n} {cap}": wrapped(n, cap, alone) for n in FITTED})
        cases.update({f"both {n} {cap}": wrapped(n, cap, None) for n in case.tensors})
    calls = {size: torch.zeros(CALLS_BESIDE, size // 4) for size in CALL_BYTES}
    times = {name: [] for name in cases}
    times.update({f"call {size}": [] for size in CALL_BYTES})
    longest = cases[f"plain {max(FITTED)}"]
    gc.disable()
    for round_ in range(WARM_UP + case.rounds):
        for name, model in cases.items():
            times[name].append(step(model))
        for size, data in calls.items():
            step(longest)
            with_nobody = side_by_side_s(data, longest, alone)["step"]
            step(longest)
            times[f"call {size}"].append({"only": alone_s(data[0]), "with nobody": with_nobody,
                                          **side_by_side_s(data, longest, None)})
    buckets = {name: len(model._get_ddp_logging_data()["rebuilt_bucket_sizes"].split(","))
               for name, model in cases.items() if not name.startswith("plain")}
    print(json.dumps({"times": {name: of[WARM_UP:] for name, of in times.items()}, "buckets": buckets}))
    dist.barrier()
    dist.destroy_process_group()


def wait_for(ranks):
    """Raises as soon as one fails: the other would wait for it."""
    end = time.monotonic() + TIME_LIMIT_S
    while any(rank.poll() is None for rank in ranks):
        if any(rank.poll() for rank in ranks):
            raise RuntimeError("a torch rank failed")
        if time.monotonic() > end:
            raise RuntimeError(f"torch took more than {TIME_LIMIT_S} s")
        time.sleep(0.2)
    if any(rank.returncode for rank in ranks):
        raise RuntimeError("a torch rank failed")


def measure():
    """What both ranks said."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryFile("w+") as first, tempfile.TemporaryFile("w+") as second:
        said = (first, second)  # files, as a rank that waits for a reader would hold up the other
        ranks = [subprocess.Popen([PYTHON, os.path.abspath(__file__), "--rank", str(rank), "--port", port,
                                   *sys.argv[1:]], stdout=file)
                 for rank, file in enumerate(said)]
        try:
            wait_for(ranks)
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        for file in said:
            file.seek(0)
        return [json.load(file) for file in said]


def mean_of(said, name, what, of_ranks=max):
    """Over the rounds; of each by default that of its slower rank."""
    values = sorted(of_ranks(what(times) for times in of_round)
                    for of_round in zip(*(rank["times"][name] for rank in said)))
    trimmed = int(TRIMMED * len(values))
    return statistics.mean(values[trimmed:len(values) - trimmed])


def step_s(said, name, of_ranks=statistics.mean):
    return mean_of(said, name, sum, of_ranks)


def hooks_s(said, tensors, cap_mib):
    """What the wrapper of one rank adds to a step."""
    return step_s(said, f"alone {tensors} {cap_mib}") - step_s(said, f"plain {tensors}")


def waited_s(said, name, what):
    """By how much the slower rank's time is longer than the mean of both."""
    return mean_of(said, name, what, max) - mean_of(said, name, what, statistics.mean)


def least_squares(rows, values, relative=True):
    """The two factors of rows of two, in the sense of relative or absolute errors."""
    a = b = c = d = e = 0.0
    for (x, y), value in zip(rows, values):
        weight = (1 / value ** 2 if value > 0 else 0) if relative else 1
        a, b, c = a + weight * x * x, b + weight * x * y, c + weight * y * y
        d, e = d + weight * x * value, e + weight * y * value
    determinant = a * c - b * b
    return (d * c - b * e) / determinant, (a * e - b * d) / determinant


def fit(said, case):
    """Costs of the wrapper; and of all-reduces, first and per byte: the only one of a step, one after others, one
    beside a step, and what that takes of it. `waited_s`: what one adds to the wait for the slower rank."""
    names = [(n, cap) for n in FITTED for cap in case.caps_mib]
    hooks = [hooks_s(said, n, cap) for n, cap in names]
    per_gradient, per_call = least_squares(
        [(n, said[0]["buckets"][f"alone {n} {cap}"]) for n, cap in names], hooks)

    def line(what, of_ranks, relative=True):
        return least_squares([(1, size) for size in CALL_BYTES],
                             [mean_of(said, f"call {size}", what, of_ranks) for size in CALL_BYTES], relative)

    def of(key):
        return lambda times: times[key]

    squares = [waited_s(said, f"call {size}", of("step")) ** 2 for size in CALL_BYTES]
    without = waited_s(said, f"plain {max(FITTED)}", sum)
    return {"per_gradient_s": max(per_gradient, 0), "per_call_s": max(per_call, 0),
            "only": line(of("only"), min), "last": line(of("last"), min), "beside": line(of("beside"), max),
            "taken": line(lambda times: (times["step"] - times["with nobody"]) / CALLS_BESIDE,
                          statistics.mean, relative=False),
            "waited_s": math.sqrt(max(statistics.mean(squares) - without ** 2, 0) / CALLS_BESIDE)}


def predict(said, found, case, tensors, cap_mib, contends, hooks):
    buckets = said[0]["buckets"][f"both {tensors} {cap_mib}"]
    size = tensors * case.width ** 2 * 4 / buckets
    first, per_byte = found["last" if buckets > 1 else "only"]
    alone, beside, taken = (max(one + each * size, 0) for one, each in
                            ((first, per_byte), found["beside"], found["taken"]))
    share = min(taken / beside, 0.99)
    plain = f"plain {tensors}"
    waited = waited_s(said, plain, sum)
    if contends:
        waited = math.hypot(waited, math.sqrt(buckets - 1) * found["waited_s"])  # the last is beside nothing
    text = SCENARIO.format(
        tensors=tensors, elements=case.width ** 2, cap_mib=cap_mib,
        forward_s=mean_of(said, plain, lambda times: times[0], statistics.mean) / tensors,
        backward_s=mean_of(said, plain, lambda times: times[1], statistics.mean) / tensors,
        spread=waited / SLOWER_OF_TWO / step_s(said, plain),
        # A ring of two ranks takes two latencies and sends each byte once.
        latency_s=max(first, 0) / 2, bandwidth_Bps=1 / per_byte,
        per_gradient_s=found["per_gradient_s"] * hooks, per_call_s=found["per_call_s"] * hooks,
        contention=f"{1 / (1 - share):.4f}" if contends else "off",
        call_contention=f"{max(beside / alone, 1):.4f}" if contends else "1")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([os.path.join(case.build, "bin/paceline"), "run", file.name, "--json", "-",
                               "--quiet"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["points"][0]["predicted"]


def report(said, case):
    found = fit(said, case)
    lines = ", ".join(f"{what} {found[key][0] * 1e6:.0f} us + {found[key][1] * 1e9:.3f} s/GB" for key, what in (
        ("only", "alone"), ("last", "after others"), ("beside", "beside compute"), ("taken", "takes of compute")))
    print(f"per gradient {found['per_gradient_s'] * 1e6:.1f} us, per call {found['per_call_s'] * 1e6:.0f} us; "
          f"an all-reduce {lines}, and the slower rank waits {found['waited_s'] * 1e6:.0f} us longer")
    print("| tensors | bucket cap, buckets | without wrapper, ms | measured, ms | predicted, ms | error "
          "| no contention | no hooks | neither |")
    print("|---|---|---|---|---|---|---|---|---|")
    bad = False
    for tensors in case.tensors:
        for cap in case.caps_mib:
            name = f"both {tensors} {cap}"
            measured = step_s(said, name, max)
            forms = [predict(said, found, case, tensors, cap, *form)["step_s"]
                     for form in ((True, 1), (False, 1), (True, 0), (False, 0))]
            errors = [100 * (form / measured - 1) for form in forms]
            bad = bad or abs(errors[0]) > case.bound
            print(f"| {tensors} | {cap:g} MiB, {said[0]['buckets'][name]} "
                  f"| {step_s(said, f'plain {tensors}', max) * 1e3:.2f} | {measured * 1e3:.2f} "
                  f"| {forms[0] * 1e3:.2f} | " + " | ".join(f"{e:+.1f} %" for e in errors) + " |")
    return 1 if bad else 0


def whole(text):
    return tuple(int(one) for one in text.split(","))


def sizes(text):
    return tuple(float(one) for one in text.split(","))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--bound", type=float, default=5, help="percent")
    parser.add_argument("--tensors", type=whole, default=(161, 400))
    parser.add_argument("--caps-mib", type=sizes, default=(1.0, 25.0))
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        return rank_main(options.rank, options.port, options)
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        print("no torch: install python3-torch")
        return MISSING
    try:
        return report(measure(), options)
    except (RuntimeError, subprocess.CalledProcessError, OSError) as error:
        print(f"torch_on_cpus: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
