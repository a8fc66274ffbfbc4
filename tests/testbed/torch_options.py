#!/usr/bin/python3
"""Options of PyTorch's DistributedDataParallel, predicted beside running it.

    tests/testbed/torch_options.py build/release/bin [--keep FILE | --again FILE] [--markdown FILE]
      [--only WORD]

recorded_ddp.py runs on four hosts of the testbed (torch 1.13, Gloo), with each option of the table
below, at two bandwidths; `paceline run` predicts the same steps from their description. Nothing is
fitted to these runs: the network is what the testbed was told, and the 0.4 ms that its hosts take to
wake up (four-hosts.yaml). What halves cost the CPUs is measured apart, without a network
(torch_halves.py). Takes six minutes; leave the machine alone meanwhile. --again makes the
predictions anew, of the measurements in a file that --keep left.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../bench"))

from cpu_busy import CpuBusy  # noqa: E402

HOSTS, STEPS = 4, "9"
LATENCY_MS, WAKING_MS = 1.0, 0.4
NETWORKS_MBIT = (200, 400)
MEAN_ERROR_MAX = 5.0  # per cent; above it the exit status is 1
# By option: what recorded_ddp.py is told, and the scenario.
OPTIONS = {
    "none": ([], []),
    "no_sync, three passes": (["--passes", "3"], ["training.gradient_accumulation=3"]),
    "two passes that both reduce": (["--passes", "2", "--reduce-every-pass"],
                                    ["training.gradient_accumulation=2", "training.no_sync=false"]),
    "find_unused_parameters": (["--find-unused"], ["training.find_unused_parameters=true"]),
    "fp16_compress_hook": (["--fp16-hook"], ["workload.precision={compute: fp32, gradient: fp16}"]),
    "ZeroRedundancyOptimizer": (["--zero-redundancy", "parameters"],
                                ["training.zero_redundancy_optimizer=true"]),
    "ZeroRedundancyOptimizer, bucket views": (["--zero-redundancy", "views"],
                                              ["training.zero_redundancy_optimizer=true",
                                               "training.parameters_as_bucket_view=true"]),
}
HALVES = "fp16"  # options with it in their name have the device of CPUS and their sums
CPUS = """\
schema: paceline.device/1
name: a core that casts
memory_bandwidth: {cast:.0f}Bps
small_kernel_time: 0us
peak: {{fp32: 1TFLOPS}}
attained: {{compute: {{fp32: 1}}, memory: 1}}
"""
SCENARIO = """\
schema: paceline/1
name: DistributedDataParallel on the testbed
workload:
  batch_per_gpu: 8
  device: {device}
  layers: [{{name: layer, repeat: 24, forward: 2ms, backward: 4ms, parameters: [262144]}}]
cluster:
  nodes: {hosts}
  gpus_per_node: 1
  network: {{bandwidth: {rate}Mbps, latency: {latency}ms, transport: tcp, framing: ip-tcp, mtu: 9000}}
training:
  strategy: ddp
  bucket_cap: 5MiB
  torch_version: "1.13"
  gradient_as_bucket_view: true
  optimizer: {{time: 2ms}}
collective: {{library: gloo}}
sweep: {{gpus: [{hosts}]}}
"""


def measure(binaries, option, rate):
    """The median step of the slowest rank, in seconds, and how busy the CPUs were."""
    command = [os.path.join(binaries, "paceline-testbed"), "--hosts", str(HOSTS),
               "--rate", f"{rate}Mbps", "--latency", f"{LATENCY_MS}ms", "--mtu", "9000",
               "--limit", "300s", "--", os.path.join(HERE, "recorded_ddp.py"), "--cap-mb", "5",
               "--steps", STEPS, *OPTIONS[option][0]]
    busy = CpuBusy()
    with busy:
        out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True,
                             timeout=400).stdout
    step = json.loads(out.strip().splitlines()[-1])["slowest_step_s"]
    return {"option": option, "rate_mbit": rate, "step_s": step, "busy": round(busy.fraction(), 3)}


def measure_halves():
    """Bytes a second, the middle of three."""
    runs = [json.loads(subprocess.run([os.path.join(HERE, "torch_halves.py"), "--ranks",
                                       str(HOSTS)], stdout=subprocess.PIPE, check=True, text=True,
                                      timeout=100).stdout) for _ in range(3)]
    return {key: statistics.median(run[key] for run in runs) for key in ("cast", "sum")}


def predict(binaries, run, halves):
    settings = OPTIONS[run["option"]][1]
    with tempfile.TemporaryDirectory() as folder:
        device = "v100-sxm2-16gb"
        if HALVES in run["option"]:
            device = os.path.join(folder, "cpus.yaml")
            with open(device, "w", encoding="utf-8") as file:
                file.write(CPUS.format(**halves))
            settings = settings + [f"cluster.reduction_bandwidth={halves['sum']:.0f}Bps"]
        path = os.path.join(folder, "scenario.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SCENARIO.format(hosts=HOSTS, rate=run["rate_mbit"], device=device,
                                       latency=f"{LATENCY_MS + WAKING_MS:.3f}"))
        command = [os.path.join(binaries, "paceline"), "run", path, "--json", "-", "--quiet"]
        for setting in settings:
            command += ["--set", setting]
        out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    return json.loads(out)["points"][0]["predicted"]


def table(binaries, measured):
    """Text, and the mean error in per cent."""
    lines = ["| option | rate | predicted s | 90 % interval | measured s | error | CPUs |",
             "|---|---|---|---|---|---|---|"]
    errors, inside = [], 0
    for run in measured["runs"]:
        predicted = predict(binaries, run, measured["halves"])
        step, low, high = (predicted[key] for key in ("step_s", "step_s_low", "step_s_high"))
        errors.append(100 * (step / run["step_s"] - 1))
        inside += low <= run["step_s"] <= high
        lines.append(f"| {run['option']} | {run['rate_mbit']} Mbit/s | {step:.4f} "
                     f"| {low:.4f} to {high:.4f} | {run['step_s']:.4f} | {errors[-1]:+.1f} % "
                     f"| {100 * run['busy']:.0f} % |")
    sizes = [abs(error) for error in errors]
    lines += ["", f"Of {len(errors)} runs: mean {statistics.mean(sizes):.1f} %, largest "
                  f"{max(sizes):.1f} %; {inside} in their intervals."]
    return "\n".join(lines) + "\n", statistics.mean(sizes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries")
    parser.add_argument("--again", metavar="FILE")
    parser.add_argument("--keep", metavar="FILE")
    parser.add_argument("--only", default="", metavar="WORD", help="options whose name has it")
    parser.add_argument("--markdown", metavar="FILE")
    asked = parser.parse_args()
    if asked.again:
        with open(asked.again, encoding="utf-8") as text:
            measured = json.load(text)
    else:
        measured = {"halves": measure_halves(), "runs": []}
        print(measured["halves"], file=sys.stderr, flush=True)
        for option in (name for name in OPTIONS if asked.only in name):
            for rate in NETWORKS_MBIT:
                measured["runs"].append(measure(asked.binaries, option, rate))
                print(measured["runs"][-1], file=sys.stderr, flush=True)
    if asked.keep:
        with open(asked.keep, "w", encoding="utf-8") as out:
            out.write(f'{{"halves": {json.dumps(measured["halves"])}, "runs": [\n'
                      + ",\n".join(map(json.dumps, measured["runs"])) + "\n]}\n")
    text, mean = table(asked.binaries, measured)
    print(text, end="")
    if asked.markdown:
        with open(asked.markdown, "w", encoding="utf-8") as out:
            out.write(text)
    return 0 if mean <= MEAN_ERROR_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
