#!/usr/bin/env python3
"""Every source at hand left out, with none, one and two of its scenarios' smallest rows known: one command.

Scenarios of the library that were measured, those that judged_rows.py writes from the measurements beside the checkout, and
those described there (training/described) go to `paceline validate --leave-out source`, which learns what descriptions leave
open from all other sources. Half a minute.

The figure is the mean over sources of the mean of |ln(predicted/measured)| of steps, at most ln 2 a row: each source has one
vote. Beside it are null models of the same rows. --tables prints the tables of `validate` as well.

Needs data beside the checkout: the measurements in ../shared/data, or where --data says.

Usage: tests/bench/known_rows.py [--data FOLDER] [--paceline build/release/bin/paceline] [--check] [--tables]
           [--json FILE]

--check (a test): that the table of models/uncertain/quantities.cpp is what all sources say; 77 without measurements.
"""

import argparse
import collections
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITHIN = 0.01  # of a number that the table has with three digits
FACTORS = [i * 0.05 for i in range(61)]
KNOWN = ("no row known", "one row known", "two rows known")


def library():
    for path in sorted((ROOT / "scenarios/library").glob("*.yaml")):
        if "\nmeasured:" in path.read_text() and "quickstart" not in path.name:
            yield path


def described(data, folder):
    """Copies that say who measured; else they are as they stand."""
    shutil.copytree(data / "training/described/networks", folder / "networks")
    for path in sorted((data / "training/described").glob("*.yaml")):
        by = re.match("server-gear|[^-]+", path.name).group(0)
        (folder / path.name).write_text(path.read_text().replace("\nmeasured:\n", f"\nmeasured:\n  by: {by}\n"))
        yield folder / path.name


def judged(paceline, scenarios, table):
    with open(table, "w") as text:
        done = subprocess.run([paceline, "validate", *scenarios, "--leave-out", "source", "--json", "-"], stdout=text, check=False)
    if done.returncode != 0:
        raise SystemExit(f"validate ended with {done.returncode}")
    return json.loads(pathlib.Path(table).read_text())


def faults(judgement):
    for name, learnt in judgement["priors"].items():
        known = judgement["priors_known"][name]
        if known["learnt"] and abs(learnt - known["value"]) > WITHIN * max(abs(known["value"]), 0.1):
            yield f"{name}: the table has {known['value']:g}, all sources say {learnt:.3g}"


def kind(text):
    """Of no scenario the batch per GPU changes along an axis: strong scaling has a fixed global batch."""
    strategy = re.search(r"^[^#\n]*\bstrategy: (\w+)", text, re.M)[1]
    kinds = {"fsdp": "sharded", "deepspeed_zero": "sharded", "parameter_server": "servers"}
    return kinds.get(strategy) or ("strong" if "global_batch:" in text else "weak")


def rows_of(judgement, known, texts, apart):
    """With the logarithms of each model's step over the measured one."""
    rows = []
    for source in judgement["sources"]:
        for row in (source["known"][known] or {"rows": []})["rows"]:
            one, measured = row["one_gpu_seconds"], row["measured_seconds"]
            rows.append({**row, "source": source["source"], "kind": kind(texts[row["scenario"]]),
                         "described": source["source"] in apart, "paceline": -row["log_measured"],
                         "perfect": math.log(one / measured),
                         "no overlap": math.log((one + row["communication_seconds"]) / measured),
                         "known row": -math.log1p(row["constant_efficiency_percent"] / 100)})
    add_one_factor(rows)
    return rows


def mean(rows, value):
    """Over sources of the mean over their rows."""
    of = collections.defaultdict(list)
    for row in rows:
        of[row["source"]].append(value(row))
    return statistics.fmean(map(statistics.fmean, of.values()))


def figure(rows, model):
    return mean(rows, lambda row: min(abs(row[model]), math.log(2)))


def add_one_factor(rows):
    """No overlap with communication times a factor, for each source the one that fits all others best."""
    sources = {row["source"] for row in rows}
    errors = {}
    for factor in FACTORS:
        for row in rows:
            step = row["one_gpu_seconds"] + factor * row["communication_seconds"]
            row[factor] = math.log(step / row["measured_seconds"])
        for source in sources:
            errors[source, factor] = figure([row for row in rows if row["source"] == source], factor)
    for row in rows:
        row["factor"] = min(FACTORS, key=lambda f: sum(errors[s, f] for s in sources if s != row["source"]))
        row["one factor"] = row[row["factor"]]


MODELS = ("paceline", "perfect", "no overlap", "known row", "one factor")


def score(row):
    low, high, at = row["log_low"], row["log_high"], row["log_measured"]
    return high - low + 20 * (max(low - at, 0) + max(at - high, 0))


def line(name, rows):
    sources = sorted({row["source"] for row in rows})
    mine, *nulls = (100 * figure(rows, model) for model in MODELS)
    without = [100 * figure([row for row in rows if row["source"] != source], "paceline") for source in sources
               if len(sources) > 1]
    span = f"{min(without):.1f} to {max(without):.1f}" if without else ""
    median = 100 * statistics.median(abs(row["paceline"]) for row in rows)
    inside = 100 * mean(rows, lambda row: row["log_low"] <= row["log_measured"] <= row["log_high"])
    width = 100 * statistics.median(math.expm1(row["log_high"] - row["log_low"]) for row in rows)
    cells = [name, len(sources), len(rows), f"{mine:.1f}", span, f"{median:.1f}", *(f"{null:.1f}" for null in nulls),
             f"{mine / nulls[1]:.2f}", f"{inside:.0f}", f"{width:.0f}", f"{mean(rows, score):.2f}"]
    print("| " + " | ".join(map(str, cells)) + " |")


def print_known(known, rows):
    print(f"\n| {KNOWN[known]} | sources | rows | figure | with one source out | median | perfect scaling | no overlap | "
          "known row times n | no overlap, one factor | figure / no overlap | inside | width | score |\n" + "|---" * 14 + "|")
    head = [("all", lambda row: True), ("one GPU measured", lambda row: row["one_gpu_is_measured"])]
    groups = [*head, *((f"described/ alone: {name}", lambda row, of=of: row["described"] and of(row)) for name, of in head)]
    groups += [(f"links: {name}", lambda row, name=name: row["links"] == name) for name in sorted({r["links"] for r in rows})]
    groups += [(name, lambda row, name=name: row["kind"] == name) for name in ("sharded", "servers", "strong", "weak")]
    groups.append(("sharded, 64 GPUs and more", lambda row: row["kind"] == "sharded"
                   and int(re.search(r"\bgpus=(\d+)", row["point"])[1]) >= 64))
    groups += [(f"source: {name}", lambda row, name=name: row["source"] == name) for name in sorted({r["source"] for r in rows})]
    for name, belongs in groups:
        if of := [row for row in rows if belongs(row)]:
            line(name, of)
    factors = collections.Counter(f"{row['factor']:.2f}" for row in {row["source"]: row for row in rows}.values())
    print("\nthe one factor, and for how many sources: " + ", ".join(f"{f} ({n})" for f, n in sorted(factors.items())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--json", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tables", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.data / "training/more4.csv").is_file():
        print(f"no measurements at {arguments.data}")
        sys.exit(77 if arguments.check else 1)
    with tempfile.TemporaryDirectory() as name:
        folder, beside = pathlib.Path(name), pathlib.Path(name) / "described"
        subprocess.run([sys.executable, str(ROOT / "tests/bench/judged_rows.py"), "--out", name, "--data",
                        str(arguments.data)], stdout=subprocess.DEVNULL, check=True)
        paths = [*library(), *sorted(folder.glob("*.yaml")), *described(arguments.data, beside)]
        scenarios = list(map(str, paths))
        if arguments.tables:
            subprocess.run([arguments.paceline, "validate", *scenarios, "--leave-out", "source"], check=True)
        judgement = judged(arguments.paceline, scenarios, folder / "judged.json")
        texts = {re.search(r"^name: (.*)$", text, re.M)[1].strip('"'): text for text in map(pathlib.Path.read_text, paths)}
        apart = {re.search("by: (.*)", path.read_text())[1] for path in paths if path.parent == beside}
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(judgement, indent=1))
    wrong = list(faults(judgement))
    if not arguments.check:
        for known in range(len(KNOWN)):
            print_known(known, rows_of(judgement, known, texts, apart))
        print("\nfigure: mean over sources of the mean |ln(predicted/measured)| of steps, at most ln 2 a row, x 100; median: over "
              "rows.\nknown row times n: a step as long as the last known row's, perfect scaling with none. inside: % of rows in "
              "the 90 %\ninterval, and its score, means over sources; width: %, the median of rows.\n")
    print("\n".join(wrong) or "the table is what all sources say")
    sys.exit(1 if arguments.check and wrong else 0)


if __name__ == "__main__":
    main()
