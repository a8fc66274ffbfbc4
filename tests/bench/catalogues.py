#!/usr/bin/env python3
"""Prices of scenarios/library/catalogues beside the list that they were read in, and which of its machines are in none.

Of machines whose price has another source (their own or their catalogue's), which is newer, only the preset and the device are checked.

Needs data beside the checkout: the list in ../shared/data, or where --data says.

Usage: tests/bench/catalogues.py [--data FOLDER] [--check]

FOLDER has prices/machines.csv (provider, machine, region, usd_per_hour, spot_usd_per_hour and more). Reasons for what is left out
stand in the table of the catalogues' README. Exit status 1 on a difference. --check (a test): 77 without the list.
"""

import argparse
import csv
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUES = ROOT / "scenarios/library/catalogues"


def machines_of(path):
    """The machines of a catalogue: [(name, {key: text})]. Keys stand four columns in, but for those of a cluster, of which
    only the preset is of interest; a source for all of them stands before them."""
    machines, machine, source = [], {}, ""
    for line in path.read_text().splitlines():
        if found := re.fullmatch(r"  - name: (.*)", line):
            machine = {"source": source}
            machines.append((found[1], machine))
        elif found := re.fullmatch(r"source: (.*)", line):
            source = found[1]
        elif found := re.fullmatch(r"    (region|area|device|price|spot|at_most|source): (.*)", line):
            machine[found[1]] = found[2]
        elif found := re.match(r" +(?:cluster: \{)?preset: ([\w-]+)", line):
            machine["preset"] = found[1]
    return machines


def is_of_the_list(machine, row):
    """Whether its source is the file of the row: "OWNER/NAME at COMMIT" with a part of the commit in OWNER/NAME@COMMIT:PATH."""
    repository, _, commit = row["source"].partition(":")[0].partition("@")
    return repository in machine["source"] and commit[:8] in machine["source"]


def usd(text):
    """The figure of `1.5 USD/h`; None of nothing."""
    return None if text is None else float(text.removesuffix(" USD/h"))


def differences(name, machine, row):
    for key, column in (("price", "usd_per_hour"), ("spot", "spot_usd_per_hour")):
        listed = float(row[column]) if row[column] else None
        if usd(machine.get(key)) != listed:
            yield f"{name}: {key} {machine.get(key)}, in the list {listed}"
    if machine["region"] != row["region"]:
        yield f"{name}: region {machine['region']}, in the list {row['region']}"


def missing_files(name, machine):
    for key, folder in (("preset", "models/topology/presets"), ("device", "models/workload/devices")):
        if not (ROOT / folder / f"{machine.get(key)}.yaml").is_file():
            yield f"{name}: {key} {machine.get(key)} is not in {folder}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    prices = arguments.data / "prices/machines.csv"
    if not prices.is_file():
        print(f"no list of prices at {prices}")
        sys.exit(77 if arguments.check else 1)
    with prices.open(newline="") as file:
        rows = {(row["provider"], row["machine"]): row for row in csv.DictReader(file)}
    reasons = {(provider, machine): why for provider, machine, why in re.findall(
        r"^\| (\w+) \| ([^|]+) \| ([^|]+) \|$", (CATALOGUES / "README.md").read_text(), re.M) if provider != "provider"}

    found, shipped, newer = [], set(), 0
    for path in sorted(CATALOGUES.glob("*.yaml")):
        for name, machine in machines_of(path):
            key, called = (path.stem, name), f"{path.stem} {name}"
            shipped.add(key)
            found += missing_files(called, machine)
            if key in rows and is_of_the_list(machine, rows[key]):
                found += differences(called, machine, rows[key])
            elif "skypilot" in machine["source"] and key not in rows:
                found.append(f"{called}: not in the list")
            else:
                newer += 1
    for key in sorted(rows.keys() - shipped):
        print(f"left out: {' '.join(key)}: {reasons.get(key, 'NO REASON GIVEN')}")
    found += [f"{' '.join(key)}: in no catalogue, and no reason is given" for key in sorted(rows.keys() - shipped - reasons.keys())]
    found += [f"{' '.join(key)}: a reason for leaving out what is not left out" for key in sorted(reasons.keys() & shipped)]
    print(f"{len(shipped)} machines in catalogues, {newer} of newer sources than the list's; {len(rows)} in the list, "
          f"{len(found)} differences")
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
