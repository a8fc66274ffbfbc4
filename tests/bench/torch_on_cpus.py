#!/usr/bin/python3
"""Are the wrapper's host cost and compute beside collectives right on something real: torch on CPUs?

Usage: torch_on_cpus.py [--build FOLDER] [--rounds N]

Two processes on two cores train chains of small layers with DistributedDataParallel over Gloo and
loopback. What is predicted: the steps of 161 and of 400 tensors, with buckets of 1 and of 25 MiB.
What they are predicted from, by `paceline run`, is measured apart from them in the same processes:

- the same chains without the wrapper, both ranks computing at the same time;
- `host.per_gradient` and `host.per_call`: chains of 40 to 240 tensors (but 161) in a wrapper of one
  rank, which reduces with nobody, less the same chains without it;
- the network: all-reduces alone, a straight line over sizes that are not the buckets';
- `contention`: how much less of an unrelated computation a rank gets done beside those all-reduces than
  it does alone. What an all-reduce takes of a rank's core is a straight line over sizes, too.

Every round runs every case once, so that a machine that changes its pace changes it for all alike.
Prints a table; exits with 1 when a step is more than the bound (5 %) from its prediction, 2 when something
does not run, 77 when there is no torch.
"""
import argparse
import gc
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"  # the one that has Debian's torch
MISSING = 77  # as other programs here say it
FITTED, PREDICTED = (40, 80, 120, 240), (161, 400)  # tensors
CAPS_MIB = (1, 25)
WIDTH, BATCH = 64, 16  # a layer is a matrix of WIDTH x WIDTH, 64 KiB
TENSOR_BYTES = WIDTH * WIDTH * 4
CALL_BYTES = (256 << 10, 2 << 20, 8 << 20, 16 << 20)  # all-reduces alone
UNITS = 100  # matrix products that are timed at a time
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
contention: {contention}
collective: {{library: plan, algorithm: ring}}
"""


def rank_main(rank, port, rounds):
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
                torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(tensors))
            for layer in self.layers:  # keeps numbers in range: denormal ones take several times as long
                torch.nn.init.orthogonal_(layer.weight)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    x = torch.randn(BATCH, WIDTH)

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

    matrix = torch.randn(WIDTH, WIDTH)

    def units_s(count):
        """Seconds of some computation."""
        start = time.perf_counter()
        for _ in range(count):
            torch.mm(x, matrix)
        return time.perf_counter() - start

    def taken_by_call_s(data):
        """What a rank that computes all the while loses to an all-reduce."""
        unit_s = units_s(UNITS) / UNITS
        dist.barrier()
        units, start = 0, time.perf_counter()
        call = dist.all_reduce(data, async_op=True)
        while not call.is_completed():
            units_s(1)
            units += 1
        units_s(UNITS)  # for both ranks to be computing until the later one is done
        return time.perf_counter() - start - (units + UNITS) * unit_s

    def wrapped(tensors, cap_mib, group):
        return torch.nn.parallel.DistributedDataParallel(
            Chain(tensors), bucket_cap_mb=cap_mib, process_group=group, gradient_as_bucket_view=True)

    cases = {f"plain {n}": Chain(n) for n in FITTED + PREDICTED}
    for cap in CAPS_MIB:
        cases.update({f"alone {n} {cap}": wrapped(n, cap, alone) for n in FITTED})
        cases.update({f"both {n} {cap}": wrapped(n, cap, None) for n in PREDICTED})
    calls = {size: torch.zeros(size // 4) for size in CALL_BYTES}
    times = {name: [] for name in cases}
    times.update({f"call {size}": [] for size in CALL_BYTES})
    gc.disable()
    for round_ in range(WARM_UP + rounds):
        for name, model in cases.items():
            times[name].append(step(model))
        for size, data in calls.items():
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(data)
            wall = time.perf_counter() - start
            dist.barrier()
            times[f"call {size}"].append((wall, taken_by_call_s(data)))
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


def measure(rounds):
    """What both ranks said."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryFile("w+") as first, tempfile.TemporaryFile("w+") as second:
        said = (first, second)  # files, as a rank that waits for a reader would hold up the other
        ranks = [subprocess.Popen([PYTHON, os.path.abspath(__file__), "--rank", str(rank), "--port", port,
                                   "--rounds", str(rounds)], stdout=file)
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


def median_of(said, name, what, of_ranks=max):
    """Over the rounds; of each by default that of its slower rank."""
    return statistics.median(of_ranks(what(*pair) for pair in of_round)
                             for of_round in zip(*(rank["times"][name] for rank in said)))


def step_s(said, name, of_ranks=max):
    return median_of(said, name, lambda forward, rest: forward + rest, of_ranks)


def hooks_s(said, tensors, cap_mib):
    """What the wrapper of one rank adds to a step. Ranks do not wait for each other here: their mean is less noisy."""
    return (step_s(said, f"alone {tensors} {cap_mib}", statistics.mean)
            - step_s(said, f"plain {tensors}", statistics.mean))


def least_squares(rows, values):
    """The two factors of rows of two, in the sense of relative errors."""
    a = b = c = d = e = 0.0
    for (x, y), value in zip(rows, values):
        weight = 1 / value ** 2 if value > 0 else 0
        a, b, c = a + weight * x * x, b + weight * x * y, c + weight * y * y
        d, e = d + weight * x * value, e + weight * y * value
    determinant = a * c - b * b
    return (d * c - b * e) / determinant, (a * e - b * d) / determinant


def fit(said):
    """Costs of the wrapper, of all-reduces, and of what those take from computation: first and per byte."""
    names = [(n, cap) for n in FITTED for cap in CAPS_MIB]
    hooks = [hooks_s(said, n, cap) for n, cap in names]
    per_gradient, per_call = least_squares(
        [(n, said[0]["buckets"][f"alone {n} {cap}"]) for n, cap in names], hooks)
    wall = [median_of(said, f"call {size}", lambda wall, taken: wall) for size in CALL_BYTES]
    taken = [median_of(said, f"call {size}", lambda wall, taken: taken, statistics.mean)
             for size in CALL_BYTES]
    rows = [(1, size) for size in CALL_BYTES]
    return {"per_gradient_s": max(per_gradient, 0), "per_call_s": max(per_call, 0),
            "wall": least_squares(rows, wall), "taken": least_squares(rows, taken)}


def predict(said, found, tensors, cap_mib, build, contends, hooks):
    size = tensors * TENSOR_BYTES / said[0]["buckets"][f"both {tensors} {cap_mib}"]
    first, per_byte = found["wall"]
    taken = found["taken"][0] + found["taken"][1] * size
    share = min(max(taken / (first + per_byte * size), 0), 0.99)
    plain = f"plain {tensors}"
    text = SCENARIO.format(
        tensors=tensors, elements=WIDTH * WIDTH, cap_mib=cap_mib,
        forward_s=median_of(said, plain, lambda forward, rest: forward) / tensors,
        backward_s=median_of(said, plain, lambda forward, rest: rest) / tensors,
        # A ring of two ranks takes two latencies and sends each byte once.
        latency_s=max(first, 0) / 2, bandwidth_Bps=1 / per_byte,
        per_gradient_s=found["per_gradient_s"] * hooks, per_call_s=found["per_call_s"] * hooks,
        contention=f"{1 / (1 - share):.4f}" if contends else "off")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([os.path.join(build, "bin/paceline"), "run", file.name, "--json", "-",
                               "--quiet"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["points"][0]["predicted"]


def report(said, build, bound_percent):
    found = fit(said)
    print(f"per gradient {found['per_gradient_s'] * 1e6:.1f} us, per call {found['per_call_s'] * 1e6:.0f} us; "
          f"an all-reduce {found['wall'][0] * 1e6:.0f} us and {1e-9 / found['wall'][1]:.2f} GB/s, "
          f"which takes {found['taken'][0] * 1e6:.0f} us and {found['taken'][1] * 1e9:.3f} s/GB of a computing rank")
    print("| tensors | bucket cap, buckets | without wrapper, ms | measured, ms | predicted, ms | error "
          "| no contention | no hooks | neither |")
    print("|---|---|---|---|---|---|---|---|---|")
    bad = False
    for tensors in PREDICTED:
        for cap in CAPS_MIB:
            name = f"both {tensors} {cap}"
            measured = step_s(said, name)
            forms = [predict(said, found, tensors, cap, build, *form)["step_s"]
                     for form in ((True, 1), (False, 1), (True, 0), (False, 0))]
            errors = [100 * (form / measured - 1) for form in forms]
            bad = bad or abs(errors[0]) > bound_percent
            print(f"| {tensors} | {cap} MiB, {said[0]['buckets'][name]} "
                  f"| {step_s(said, f'plain {tensors}') * 1e3:.2f} | {measured * 1e3:.2f} "
                  f"| {forms[0] * 1e3:.2f} | " + " | ".join(f"{e:+.1f} %" for e in errors) + " |")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--bound", type=float, default=5, help="percent")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        return rank_main(options.rank, options.port, options.rounds)
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        print("no torch: install python3-torch")
        return MISSING
    try:
        return report(measure(options.rounds), options.build, options.bound)
    except (RuntimeError, subprocess.CalledProcessError, OSError) as error:
        print(f"torch_on_cpus: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
