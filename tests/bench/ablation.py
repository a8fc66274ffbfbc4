#!/usr/bin/env python3
"""What each part of a step's overheads is worth on sources left out (scenarios/library/README.md).

    tests/bench/ablation.py [--keep FOLDER]

Predicts every shipped measured point with each combination of what the judge chooses among (as
tests/bench/left_out.sh, some ten minutes), and then judges with one part off at a time: each source
by what is best on the others, among the combinations that are left. Steps are set apart by how they
overlap: a call for each gradient, or buckets. --keep: a folder for the points of each combination,
which are read again where they are there.
"""

import argparse
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTENTION = ["off", "assumed"]
OF_CALLS = ["1", "1.2", "1.4"]
SPREAD = ["0", "1.6%", "3.2%", "4.8%"]
# Of the combinations, those that a form has left.
FORMS = {
    "all parts": lambda compute, calls, spread: True,
    "compute not slowed": lambda compute, calls, spread: compute == "off",
    "calls not slowed": lambda compute, calls, spread: calls == "1",
    "neither slowed": lambda compute, calls, spread: compute == "off" and calls == "1",
    "without the slowest rank": lambda compute, calls, spread: spread == "0",
    "without any": lambda compute, calls, spread: compute == "off" and calls == "1" and spread == "0",
}
PER_TENSOR = {"wait_free", "parameter_server"}
BUCKETED = {"ddp", "merged_gradient", "horovod", "apex_ddp", "fsdp"}


def scenarios():
    files = sorted((ROOT / "scenarios/library").glob("*.yaml"))
    return [f for f in files
            if "\nmeasured:" in f.read_text() and f.stem != "quickstart-measured"]


def strategies(files):
    """By a scenario's name."""
    found = {}
    for file in files:
        text = file.read_text()
        name = re.search(r"^name: (.*)$", text, re.M).group(1).strip("\"'")
        strategy = re.search(r"^  strategy: (\w+)", text, re.M)
        found[name] = strategy.group(1) if strategy else ""
    return found


def rows_of(files, contention, of_calls, spread, folder):
    kept = folder / f"{contention}-{of_calls}-{spread.strip('%')}.json"
    if not kept.exists():
        subprocess.run([ROOT / "paceline", "validate", *files, "--quiet", "--set",
                        f"contention={contention}", "--set", f"call_contention={of_calls}", "--set",
                        f"ranks.spread={spread}", "--json", kept], check=True, stdout=subprocess.DEVNULL)
    return json.loads(kept.read_text())["rows"]


def errors_by_source(rows, counts):
    errors = {}
    for row in rows:
        if counts(row):
            errors.setdefault(row["source"], []).append(abs(row["error_percent"]))
    return {source: statistics.fmean(of_source) for source, of_source in errors.items()}


def left_out(all_errors, errors):
    """The mean over sources of `errors`, each by the combination with the least of `all_errors` on
    the others."""
    judged = []
    for source in all_errors[0]:
        best = min(range(len(all_errors)), key=lambda i: statistics.fmean(
            e for other, e in all_errors[i].items() if other != source))
        if source in errors[best]:
            judged.append(errors[best][source])
    return statistics.fmean(judged)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    files = scenarios()
    strategy_of = strategies(files)

    def strategy(row):
        swept = re.search(r"strategy=(\w+)", row["point"])
        return swept.group(1) if swept else strategy_of[row["scenario"]]

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = {one: rows_of(files, *one, folder)
                for one in itertools.product(CONTENTION, OF_CALLS, SPREAD)}
    subsets = {"all": lambda row: True,
               "a call a gradient": lambda row: strategy(row) in PER_TENSOR,
               "buckets": lambda row: strategy(row) in BUCKETED}
    print(f"{'mean |error| left out':44}" + "".join(f"{name:>20}" for name in subsets))
    for form, has in FORMS.items():
        left = [one for one in rows if has(*one)]
        everything = [errors_by_source(rows[one], subsets["all"]) for one in left]
        line = f"{form:44}"
        for counts in subsets.values():
            error = left_out(everything, [errors_by_source(rows[one], counts) for one in left])
            line += f"{error:19.1f}%"
        print(line)


if __name__ == "__main__":
    main()
