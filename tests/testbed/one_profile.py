#!/usr/bin/python3
"""What replay says of several hosts from a profile of one process, beside running it on them.

    tests/testbed/one_profile.py build/release/bin [--keep FOLDER | --again FOLDER] [--markdown FILE]

recorded_ddp.py runs in one process, without DistributedDataParallel, below torch.profiler as it is by
default: the profile has no sizes of gradients, and no collectives. Replayed on hosts it is refused.
With the network's tensors in a file (waiting-network.yaml) `paceline replay` predicts the step of 2,
3 and 4 hosts of the testbed, at two bandwidths and bucket caps, and each is run. Nothing is fitted to
these runs: the network is what the testbed was told, and the 0.4 ms that its hosts take to wake up
(four-hosts.yaml). Takes three minutes; leave the machine alone meanwhile. --again makes the
predictions anew, of the profile and the measurements in a folder that --keep left.
"""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../bench"))

from cpu_busy import CpuBusy  # noqa: E402

STEPS = "9"
ELEMENTS = "65536,262144,589824"
NETWORK = os.path.join(HERE, "waiting-network.yaml")
LATENCY_MS, WAKING_MS = 1.0, 0.4
CASES = [{"hosts": hosts, "cap_mib": cap, "rate_mbit": rate}
         for cap, rate in ((25, 200), (5, 400)) for hosts in (2, 3, 4)]


def profile(folder):
    path = os.path.join(folder, "profile.json")
    subprocess.run([os.path.join(HERE, "recorded_ddp.py"), "--rank", "0", "--steps", STEPS,
                    "--elements", ELEMENTS, "--profile", path], check=True, timeout=60,
                   stdout=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1"))
    with open(path, "rb") as text, gzip.open(path + ".gz", "wb") as packed:
        packed.write(text.read())
    os.remove(path)


def measure(binaries, case):
    """The median step of the slowest rank, in seconds, and how busy the CPUs were."""
    command = [os.path.join(binaries, "paceline-testbed"), "--hosts", str(case["hosts"]),
               "--rate", f"{case['rate_mbit']}Mbps", "--latency", f"{LATENCY_MS}ms",
               "--mtu", "9000", "--limit", "300s", "--", os.path.join(HERE, "recorded_ddp.py"),
               "--cap-mb", str(case["cap_mib"]), "--elements", ELEMENTS, "--steps", STEPS]
    busy = CpuBusy()
    with busy:
        out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True,
                             timeout=400).stdout
    step = json.loads(out.strip().splitlines()[-1])["slowest_step_s"]
    return {**case, "step_s": step, "busy": round(busy.fraction(), 3)}


def replay(binaries, folder, case, *more):
    network = (f"{{bandwidth: {case['rate_mbit']}Mbps, latency: {LATENCY_MS + WAKING_MS:.3f}ms, "
               "transport: tcp, framing: ip-tcp, mtu: 9000}")
    settings = [f"gpus={case['hosts']}", f"cluster.network={network}", "collective.library=gloo",
                f"training.bucket_cap={case['cap_mib']}MiB", "training.torch_version='1.13'", *more]
    command = [os.path.join(binaries, "paceline"), "replay",
               os.path.join(folder, "profile.json.gz"), "--json", "-", "--quiet"]
    for setting in settings:
        command += ["--set", setting]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)


def predict(binaries, folder, case):
    run = replay(binaries, folder, case, f"workload.model={NETWORK}")
    if run.returncode != 0:
        sys.exit(run.stderr)
    return json.loads(run.stdout)["points"][0]["predicted"]


def measure_all(binaries, folder):
    profile(folder)
    measured = []
    for case in CASES:
        measured.append(measure(binaries, case))
        print(measured[-1], file=sys.stderr)
    with open(os.path.join(folder, "measured.json"), "w", encoding="utf-8") as out:
        json.dump(measured, out, indent=1)
        out.write("\n")


def table(binaries, folder):
    """Text, errors in per cent, and how many measured steps lie in their intervals."""
    with open(os.path.join(folder, "measured.json"), encoding="utf-8") as text:
        measured = json.load(text)
    lines = ["| hosts | bucket cap | rate | predicted s | 90 % interval | measured s | error | CPUs |",
             "|---|---|---|---|---|---|---|---|"]
    errors, inside = [], 0
    for run in measured:
        predicted = predict(binaries, folder, run)
        step, low, high = (predicted[key] for key in ("step_s", "step_s_low", "step_s_high"))
        errors.append(100 * (step / run["step_s"] - 1))
        inside += low <= run["step_s"] <= high
        lines.append(f"| {run['hosts']} | {run['cap_mib']} MiB | {run['rate_mbit']} Mbit/s "
                     f"| {step:.4f} | {low:.4f} to {high:.4f} | {run['step_s']:.4f} "
                     f"| {errors[-1]:+.1f} % | {100 * run['busy']:.0f} % |")
    sizes = [abs(error) for error in errors]
    lines += ["", f"Of {len(errors)} runs: mean {statistics.mean(sizes):.1f} %, largest "
                  f"{max(sizes):.1f} %; {inside} in their intervals."]
    refused = replay(binaries, folder, measured[-1])
    lines += ["", "Without the network's file it is refused, with exit status "
                  f"{refused.returncode}: `{refused.stderr.strip().split(': ', 2)[-1]}`"]
    return "\n".join(lines) + "\n", sizes, refused.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries")
    parser.add_argument("--again", metavar="FOLDER")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--markdown", metavar="FILE")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.again or asked.keep or scratch
        os.makedirs(folder, exist_ok=True)
        if not asked.again:
            measure_all(asked.binaries, folder)
        text, sizes, refused = table(asked.binaries, folder)
    print(text, end="")
    if asked.markdown:
        with open(asked.markdown, "w", encoding="utf-8") as out:
            out.write(text)
    return 0 if statistics.mean(sizes) <= 3 and max(sizes) <= 8 and refused == 2 else 1


if __name__ == "__main__":
    sys.exit(main())
