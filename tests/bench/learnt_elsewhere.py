#!/usr/bin/env python3
"""What one scenario learns of its machine is worth in another: errors of predictions before and after.

For each pair of shipped scenarios of one machine, `paceline calibrate` learns from one: from its two
smallest rows of several GPUs (the fewest GPUs, and the next number, on more nodes where there are
such), and from all. The other names what was learnt. Printed: mean |error| of the other's measured
points of several GPUs, and how many lie in their 90 % intervals; then means over a source's pairs.

The priors (models/uncertain/quantities.cpp) have all of these sources in them.

Usage: tests/bench/learnt_elsewhere.py [--paceline build/release/bin/paceline] [--source NAME]
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# By source: machines, each with scenarios of several workloads. None has a calibration by logs, nor a
# sweep of transports, whose points have not all what two rows say.
MACHINES = {
    "hkbu": [["hkbu-resnet50-" + net, "hkbu-bert-large-" + net] for net in ("100gib", "100gbe", "10gbe")],
    "csc": [[f"csc-resnet50-{machine}-torch2-0{form}" for form in ("", "-amp", "-lightning")]
            for machine in ("mahti", "puhti", "lumi")],
    "pollux": [["pollux-resnet50-t4-batch81", "pollux-resnet50-t4-batch20", "pollux-bert-base-t4-batch12",
                "pollux-resnet18-cifar-t4-batch182"]],
    "dlperf": [["dlperf-bert-base-v100-batch32", "dlperf-resnet50-v100-amp", "dlperf-resnet50-v100-fp32"]],
    "pytorch": [["pytorch-ddp-resnet50-v100", "pytorch-ddp-resnext101-v100"]],
    "lambda": [["lambda-bert-base-" + gpu, "lambda-bert-large-" + gpu]
               for gpu in ("3080", "4090", "a6000-2022", "v100")],
}


class Paceline:
    def __init__(self, binary):
        self.binary = binary

    def call(self, arguments):
        ended = subprocess.run([self.binary, *arguments, "--quiet"], capture_output=True, text=True)
        if ended.returncode != 0:
            raise SystemExit(ended.stderr)
        return ended.stdout

    # Measured points of several GPUs, without those that are known.
    def points(self, name, learnt=None):
        settings = ["--set", f"cluster.calibration={learnt}"] if learnt else []
        result = json.loads(self.call(["run", path_of(name), "--json", "-", *settings]))
        return [p for p in result["points"]
                if p["gpus"] > 1 and p["measured"] is not None and not p["measured"].get("known")]


def path_of(name):
    return str(ROOT / "scenarios/library" / (name + ".yaml"))


def smallest(points):
    first = min(points, key=lambda p: p["gpus"])
    rest = [p for p in points if p["gpus"] > first["gpus"]]
    more = [p for p in rest if p["nodes"] > first["nodes"]] or rest
    return [first] + ([min(more, key=lambda p: p["gpus"])] if more else [])


def known(point):
    axes = [f"{axis['path']}={axis['value']:g}" if isinstance(axis["value"], (int, float))
            else f"{axis['path']}={axis['value']}" for axis in point["axes"]]
    return ",".join(axes + [f"step={point['measured']['step_s']}s"])


def judged(points):
    errors = [abs(p["error_percent"]) for p in points]
    inside = [p["predicted"]["step_s_low"] <= p["measured"]["step_s"] <= p["predicted"]["step_s_high"]
              for p in points]
    return sum(errors) / len(errors), sum(inside) / len(inside)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--source")
    options = parser.parse_args()
    paceline = Paceline(options.paceline)
    cells = lambda rows: "  ".join(f"{error:5.1f} % ({100 * inside:3.0f} %)" for error, inside in rows)
    print(f"{'learnt from':40}{'predicted':40}{'before':>14}{'two rows':>16}{'all rows':>16}")
    means = {}
    with tempfile.TemporaryDirectory() as folder:
        for source, machines in MACHINES.items():
            if options.source not in (None, source):
                continue
            pairs = []
            for machine in machines:
                plain = {name: paceline.points(name) for name in machine}
                for one in machine:
                    two, every = folder + "/two.yaml", folder + "/all.yaml"
                    rows = [part for point in smallest(plain[one]) for part in ("--known", known(point))]
                    paceline.call(["calibrate", path_of(one), *rows, "-o", two])
                    paceline.call(["calibrate", path_of(one), "--all-rows", "-o", every])
                    for other in machine:
                        if other == one:
                            continue
                        found = [judged(plain[other]), judged(paceline.points(other, two)),
                                 judged(paceline.points(other, every))]
                        pairs.append(found)
                        print(f"{one:40}{other:40}{cells(found)}", flush=True)
            means[source] = [tuple(sum(pair[i][j] for pair in pairs) / len(pairs) for j in (0, 1))
                             for i in range(3)]
    for source, found in means.items():
        print(f"{'mean of ' + source:80}{cells(found)}")
    if len(means) > 1:
        every = [tuple(sum(found[i][j] for found in means.values()) / len(means) for j in (0, 1)) for i in range(3)]
        print(f"{'mean of sources':80}{cells(every)}")


if __name__ == "__main__":
    main()
