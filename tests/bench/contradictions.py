#!/usr/bin/env python3
"""How often `paceline run` names what is wrong with a description, and how often it says something of those that are right.

Shipped scenarios are changed so that their measured rows contradict them, in one way at a time:

  batch / steps       batch_per_gpu halved and doubled; rows keep their times, so their samples/s change with it
  batch / throughput  the same; rows keep their samples/s
  network             the network's bandwidth ten times and a tenth of what it was, where the step of some measured row,
                      as it was or as changed, has an elasticity of 0.3 or more to it (to 1.2 times as little)
  input               rows of more than 4 GPUs have the samples/s of those of 4, as a loader would hold them to

All other input is as shipped: one GPU's speed in samples/s, too. For each kind: how many changed files have a row that is
said to contradict (others are not told apart from what descriptions leave open), in how many the right cause is the first of
those named, and among them; a second line counts changes that move some row by a factor of 1.5 or more. Then what is said of
the same rows as they are, and of those in FOLDER (--more), as judged_rows.py writes them.

Usage: tests/bench/contradictions.py [--paceline build/release/bin/paceline] [--more FOLDER] [--verbose]
"""

import argparse
import collections
import json
import math
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "scenarios/library"
PRESETS = ROOT / "models/topology/presets"

RIGHT = {"batch": {"work"}, "network": {"network"}, "input": {"input", "each_step"}}


def run(options, path, *settings):
    command = [options.paceline, "run", str(path), "--json", "-", "--set", "simulation.fidelity=folded"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def judged(result):
    return [p for p in result["points"] if p["measured"] and p["predicted"] and p["gpus"] > 1]


def moved(result):
    """The farthest that a measured step is from the one predicted, as a factor."""
    return max((math.exp(abs(math.log(p["measured"]["step_s"] / p["predicted"]["step_s"]))) for p in judged(result)), default=1)


# Changes: a scenario's text to another, or None where it has not what is changed.


def with_batch(factor, keeps_times):
    def changed(text):
        batch = re.search(r"^(\s*batch_per_gpu: )(\d+)(.*)$", text, re.M)
        if not batch or "job:" in text or int(batch[2]) * factor < 1 or int(batch[2]) * factor % 1:
            return None
        text = text[: batch.start()] + batch[1] + str(int(int(batch[2]) * factor)) + batch[3] + text[batch.end():]
        head, mark, rows = text.partition("\nmeasured:")
        if not mark:
            return None

        # A step that keeps its samples/s lasts as its batch; one that keeps its time has as many more samples/s.
        of_rows = r"(throughput: )([\d.]+)( ?samples/s)" if keeps_times else r"(step: )([\d.]+)( ?m?s)"
        return head + mark + re.sub(of_rows, lambda m: f"{m[1]}{float(m[2]) * factor:.6g}{m[3]}", rows)

    return changed


def bandwidth_of(text):
    own = re.search(r"network: \{[^}]*?bandwidth: ([\d.]+)(\w+)", text)
    if own:
        return float(own[1]), own[2]
    preset = re.search(r"preset: ([\w-]+)", text)
    if not preset or not (PRESETS / f"{preset[1]}.yaml").exists():
        return None
    lines = re.search(r"network:.*?bandwidth: ([\d.]+)(\w+)", (PRESETS / f"{preset[1]}.yaml").read_text(), re.S)
    return (float(lines[1]), lines[2]) if lines else None


def with_bandwidth(factor):
    def changed(text):
        found = bandwidth_of(text)
        if not found:
            return None
        said = f"bandwidth: {found[0] * factor:g}{found[1]}"
        own = re.search(r"(network: \{[^}]*?)bandwidth: [\d.]+\w+", text)
        if own:
            return text[: own.start()] + own[1] + said + text[own.end():]
        if "network: {" in text:
            return text.replace("network: {", "network: {" + said + ", ", 1)
        inline = re.search(r"cluster: \{preset: [\w-]+", text)
        if inline:
            return text[: inline.end()] + f", network: {{{said}}}" + text[inline.end():]
        block = re.search(r"^  preset: [\w-]+.*$", text, re.M)
        return text[: block.end()] + f"\n  network: {{{said}}}" + text[block.end():] if block else None

    return changed


def elasticity(options, text, path):
    """Of the step of the measured row that depends the most on the network's bandwidth."""
    found = bandwidth_of(text)
    if not found:
        return 0
    as_it_is, slower = run(options, path), run(options, path, f"cluster.network.bandwidth={found[0] / 1.2:g}{found[1]}")
    if not as_it_is or not slower:
        return 0
    most = 0
    for one, other in zip(as_it_is["points"], slower["points"]):
        if one["measured"] and one["gpus"] > 1:
            most = max(most, math.log(other["predicted"]["step_s"] / one["predicted"]["step_s"]) / math.log(1.2))
    return most


def with_loader(result):
    """Rows of more than 4 GPUs give what those of 4 do, axis by axis."""
    def others(point):
        return tuple((a["path"], a["value"]) for a in point["axes"] if a["path"] != "gpus")

    of_four = {others(p): p["measured"]["throughput_per_s"] for p in result["points"] if p["measured"] and p["gpus"] == 4}

    def changed(text):
        head, mark, rows = text.partition("\nmeasured:")
        points = []
        for p in result["points"]:
            if not p["measured"] or p["gpus"] == 1:
                continue
            rate = p["measured"]["throughput_per_s"]
            if p["gpus"] > 4 and others(p) not in of_four:
                return None
            rate = of_four[others(p)] if p["gpus"] > 4 else rate
            axes = ", ".join(f"{a['path']}: {a['value'] if isinstance(a['value'], str) or a['unit'] != '1' else int(a['value'])}" for a in p["axes"])
            points.append(f"    - {{{axes}, throughput: {rate:.6g} samples/s}}\n")
        if not any(p["gpus"] > 4 and p["measured"] for p in result["points"]) or not of_four:
            return None
        said = re.match(r"(.*?\n  points:[^\n]*\n)", rows, re.S)
        return head + mark + said[1] + "".join(points) if said else None

    return changed


class Count:
    def __init__(self):
        self.files = self.said = self.first = self.among = 0

    def add(self, result, right):
        self.files += 1
        found = result.get("contradictions", [])
        named = [[c["cause"] for c in one["explained_by"]] for one in found]
        self.said += bool(found)
        self.first += any(causes and causes[0] in right for causes in named)
        self.among += any(set(causes) & right for causes in named)

    def line(self, name):
        share = f"{100 * self.among / self.said:.0f} %" if self.said else "-"
        return f"{name:34} {self.files:5} {self.said:5} {self.first:6} {self.among:6}  {share}"


def changed_files(options, folder):
    counts = collections.OrderedDict()
    kinds = [(f"batch x {f:g} / {'steps' if t else 'throughput'}", "batch", with_batch(f, t)) for t in (True, False) for f in (0.5, 2)]
    kinds += [(f"network x {f:g}", "network", with_bandwidth(f)) for f in (10, 0.1)]
    for path in sorted(folder.glob("*.yaml")):
        text = path.read_text()
        result = run(options, path) if "\nmeasured:" in text else None
        if not result or not judged(result):
            continue
        matters = elasticity(options, text, path) >= 0.3
        for name, right, change in kinds + [("input", "input", with_loader(result))]:
            other = change(text)
            if other is None:
                continue
            other = other.replace(", known: true", "")
            beside = path.with_name("changed-" + path.name)
            beside.write_text(other)
            if right == "network" and not matters and elasticity(options, other, beside) < 0.3:
                beside.unlink()
                continue
            found = run(options, beside)
            beside.unlink()
            if not found or not judged(found):
                print(f"not run: {name} {path.name}")
                continue
            counts.setdefault(name, Count()).add(found, RIGHT[right])
            if moved(found) >= 1.5:
                counts.setdefault(name + ", moved 1.5x", Count()).add(found, RIGHT[right])
            if options.verbose:
                print(name, path.name, f"moved {moved(found):.2f}")
                for one in found.get("contradictions", []):
                    print("   ", [f"{r['point']} {r['times']:.2f}" for r in one["rows"]], [c["words"] for c in one["explained_by"]])
    print(f"\n{'changed':34} files  said  first  among  of those said")
    for name in sorted(counts):
        print(counts[name].line(name))


def as_they_are(options, folders):
    rows = inside = said = said_inside = 0
    for folder in folders:
        for path in sorted(folder.glob("*.yaml")):
            result = run(options, path) if "\nmeasured:" in path.read_text() else None
            if not result:
                continue
            names = {r["point"] for one in result.get("contradictions", []) for r in one["rows"]}
            contradicting = 0
            for point in judged(result):
                p = point["predicted"]
                is_inside = p["step_s_low"] <= point["measured"]["step_s"] <= p["step_s_high"]
                others = [f"{a['path']}={text_of(a)}" for a in point["axes"] if a["path"] != "gpus"]
                name = ", ".join([f"{point['gpus']} GPUs"] + others)
                is_said = name in names
                contradicting += is_said
                rows, inside, said, said_inside = rows + 1, inside + is_inside, said + is_said, said_inside + (is_said and is_inside)
            if names:
                print(f"{path.name}: {contradicting} of {len(names)} rows matched")
                for one in result["contradictions"]:
                    print("   ", [f"{r['point']} {r['times']:.2f}x" for r in one["rows"]], [c["words"] for c in one["explained_by"]])
    print(f"as they are: {rows} rows, {inside} inside their intervals; something is said of {said} ({100 * said / max(rows, 1):.1f} %), "
          f"of {said_inside} inside ({100 * said_inside / max(inside, 1):.1f} %)")


def text_of(axis):
    return axis["value"] if isinstance(axis["value"], str) else f"{axis['value']:g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--more", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--only", choices=["changed", "as-they-are"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made) / "library"
        shutil.copytree(LIBRARY, folder)
        if options.only != "as-they-are":
            changed_files(options, folder)
            if options.more:
                shutil.copytree(options.more, pathlib.Path(made) / "more")
                print(f"\n{options.more.name}:")
                changed_files(options, pathlib.Path(made) / "more")
        if options.only != "changed":
            print("\nshipped:")
            as_they_are(options, [folder, folder / "reported"])
            if options.more:
                print(f"\n{options.more.name}:")
                as_they_are(options, [options.more])


main()
