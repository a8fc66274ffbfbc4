#!/usr/bin/env python3
"""Are plans of `paceline capacity` kept? Every source at hand left out, jobs made of its measured rows: one command.

Scenarios of the library that were measured, and those that judged_rows.py writes from the measurements beside the checkout, go
to the program (promises.cpp), which plans with priors learnt from all other sources and asks what the planned rows measured.

Needs data beside the checkout: the measurements in ../shared/data, or where --data says.

Usage: tests/bench/promises.py [--data FOLDER] [--program build/release/bin/promises]
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import known_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/promises"))
    arguments = parser.parse_args()
    if not (arguments.data / "training/more3.csv").is_file():
        sys.exit(f"no measurements at {arguments.data}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(ROOT / "tests/bench/judged_rows.py"), "--out", folder, "--data",
                        str(arguments.data)], stdout=subprocess.DEVNULL, check=True)
        scenarios = [*known_rows.library(), *map(str, sorted(pathlib.Path(folder).glob("*.yaml")))]
        sys.exit(subprocess.run([arguments.program, *scenarios], check=False).returncode)


if __name__ == "__main__":
    main()
