#!/usr/bin/env python3
"""Every source at hand left out, with none, one and two of its scenarios' smallest rows known: one command.

Scenarios of the library that were measured, and those that judged_rows.py writes from the measurements beside the checkout,
go to `paceline validate --leave-out source`, which learns what descriptions leave open from all other sources. Half a minute.

Needs data beside the checkout: the measurements in ../shared/data, or where --data says.

Usage: tests/bench/known_rows.py [--data FOLDER] [--paceline build/release/bin/paceline] [--check]
           [--json FILE]

--check (a test): that the table of models/uncertain/quantities.cpp is what all sources say; 77 without measurements.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITHIN = 0.01  # of a number that the table has with three digits


def library():
    for path in sorted((ROOT / "scenarios/library").glob("*.yaml")):
        if "\nmeasured:" in path.read_text() and "quickstart" not in path.name:
            yield str(path)


def judged(paceline, scenarios, table):
    with open(table, "w") as text:
        done = subprocess.run([paceline, "validate", *scenarios, "--leave-out", "source", "--json", "-"], stdout=text, check=False)
    if done.returncode != 0:
        raise SystemExit(f"validate ended with {done.returncode}")
    return json.loads(pathlib.Path(table).read_text())


def faults(judgement):
    for name, learnt in judgement["priors"].items():
        known = judgement["priors_known"][name]
        if known["learnt"] and abs(learnt / known["value"] - 1) > WITHIN:
            yield f"{name}: the table has {known['value']:g}, all sources say {learnt:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--json", default="")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.data / "training/more3.csv").is_file():
        print(f"no measurements at {arguments.data}")
        sys.exit(77 if arguments.check else 1)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(ROOT / "tests/bench/judged_rows.py"), "--out", folder, "--data",
                        str(arguments.data)], stdout=subprocess.DEVNULL, check=True)
        scenarios = [*library(), *map(str, sorted(pathlib.Path(folder).glob("*.yaml")))]
        if not arguments.check and not arguments.json:
            sys.exit(subprocess.run([arguments.paceline, "validate", *scenarios, "--leave-out", "source"], check=False).returncode)
        judgement = judged(arguments.paceline, scenarios, pathlib.Path(folder) / "judged.json")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(judgement, indent=1))
    if arguments.check:
        wrong = list(faults(judgement))
        print("\n".join(wrong) or "the table is what all sources say")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
