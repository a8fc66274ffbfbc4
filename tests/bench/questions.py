#!/usr/bin/env python3
"""What Paceline answers to questions that people asked in public, beside what they measured.

    questions.py [PACELINE]          the table; PACELINE is build/release/bin/paceline unless given
    questions.py PACELINE --runs     only that every scenario runs and every other one is refused (a test)

The scenarios are those of tests/fixtures/questions, written from what the askers say and not changed after their predictions
were seen. What they do not say is listed there as assumed. Rows of one GPU are inputs and are not counted. A measured row is inside
if it lies in the 90 % interval of the predicted throughput. refused/ holds the questions that cannot be written as a scenario: the
program's error says what it misses first, and the file what else is missing.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "fixtures" / "questions"

# Marked in the table and counted apart: what decides the figure was not said, or the figure was seen before.
NETWORK_ASSUMED = {"Q10", "Q12"}  # between nodes: a preset's
MANY_ROWS = {"Q19", "Q20"}  # of one source, half of all rows
SEEN = {"Q23"}  # among the boxes that its preset was fitted to (pcie_boxes.py)

Row = collections.namedtuple("Row", "question name axes measured predicted low high note")


def run(program, scenario):
    return subprocess.run([program, "run", str(scenario), "--json", "-", "--quiet"], capture_output=True,
                          text=True, check=False)


def in_parallel(program, scenarios):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda scenario: run(program, scenario), scenarios))


def question_of(scenario):
    return scenario.name[:3].upper()


def note_of(question, point):
    if question in NETWORK_ASSUMED and point["nodes"] > 1:
        return "network assumed"
    return "seen" if question in SEEN else ""


def short(value):
    return pathlib.PurePath(value).stem if isinstance(value, str) else f"{value:g}"


def rows_of(scenario, text):
    for point in json.loads(text)["points"]:
        if not point.get("measured") or point["gpus"] == 1:
            continue
        axes = ", ".join(f"{axis['path'].split('.')[-1]} {short(axis['value'])}" for axis in point["axes"])
        predicted = point["predicted"]
        work = predicted["throughput_per_s"] * predicted["step_s"]
        question = question_of(scenario)
        yield Row(question, scenario.stem, axes, point["measured"]["throughput_per_s"], predicted["throughput_per_s"],
                  work / predicted["step_s_high"], work / predicted["step_s_low"], note_of(question, point))


def is_inside(row):
    return row.low <= row.measured <= row.high


def print_table(rows):
    print(f"{'question':40} {'point':42} {'measured':>9} {'predicted':>9} {'error':>8} {'low':>9} {'high':>9}  inside")
    for row in rows:
        error = 100 * (row.predicted / row.measured - 1)
        print(f"{row.name:40} {row.axes:42} {row.measured:9.4g} {row.predicted:9.4g} {error:+7.1f}% {row.low:9.4g} "
              f"{row.high:9.4g}  {'yes' if is_inside(row) else 'no':3}  {row.note}".rstrip())


def print_counts(rows):
    def count(what, some):
        questions = collections.defaultdict(list)
        for row in some:
            questions[row.question].append(is_inside(row))
        points = [inside for of in questions.values() for inside in of]
        print(f"{what}: {sum(points)} of {len(points)} points inside; of {len(questions)} questions "
              f"{sum(all(of) for of in questions.values())} wholly")

    print("throughput in samples/s")
    count("all", rows)
    count("without those noted", [row for row in rows if not row.note])
    count(f"without {' and '.join(sorted(MANY_ROWS))}", [row for row in rows if row.question not in MANY_ROWS])


def print_refused(program, scenarios):
    print("\nnot writable:")
    for scenario, ended in zip(scenarios, in_parallel(program, scenarios)):
        said = ended.stderr.strip().replace(f"{FOLDER}/", "")
        missing = re.search(r"^# Missing: ((?:.*\n)(?:#   .*\n)*)", scenario.read_text(encoding="utf-8"), re.MULTILINE)
        print(f"{question_of(scenario)} {said}\n    missing: {' '.join(missing.group(1).replace('#', ' ').split())}")


def only_runs(program, scenarios, refused):
    wrong = 0
    for expected, some in ((0, scenarios), (2, refused)):
        for scenario, ended in zip(some, in_parallel(program, some)):
            if ended.returncode != expected:
                print(f"{scenario}: exit {ended.returncode}, not {expected}: {ended.stderr.strip()}")
                wrong += 1
    print(f"{len(scenarios)} scenarios run and {len(refused)} are refused" if not wrong else f"{wrong} wrong")
    return 1 if wrong or not scenarios or not refused else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paceline", nargs="?", default=str(ROOT / "build" / "release" / "bin" / "paceline"))
    parser.add_argument("--runs", action="store_true")
    arguments = parser.parse_args()
    scenarios = sorted(FOLDER.glob("*.yaml"))
    refused = sorted((FOLDER / "refused").glob("*.yaml"))
    if arguments.runs:
        return only_runs(arguments.paceline, scenarios, refused)
    rows = []
    for scenario, ended in zip(scenarios, in_parallel(arguments.paceline, scenarios)):
        if ended.returncode:
            sys.exit(f"{scenario}: {ended.stderr.strip()}")
        rows += rows_of(scenario, ended.stdout)
    print_table(rows)
    print_counts(rows)
    print_refused(arguments.paceline, refused)
    return 0


if __name__ == "__main__":
    sys.exit(main())
