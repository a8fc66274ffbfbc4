#!/usr/bin/env python3
"""Flips bytes of a store, and looks at what commands make of it: it is refused, or all is right.

    store_flips.py BIN [FLIPS] [SEED]

BIN: a folder with paceline. FLIPS: how many damaged stores, 1000 unless given; each has one to four bytes changed, half of
them next to each other. Of each `report`, `sweep --merge` and `sweep` with a CSV must end with 2 and one line on
standard error, or with 0 and the output of the whole store. Prints a line for each that does neither, and how many
were refused. Exit code 1 when there is one.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

from sweep_kills import SCENARIO

ENDS_WITHIN_S = 60


def flipped(whole, draw):
    data = bytearray(whole)
    count, begin, are_near = draw.randint(1, 4), draw.randrange(len(data)), draw.random() < 0.5
    for number in range(count):
        place = min(begin + number, len(data) - 1) if are_near else draw.randrange(len(data))
        data[place] ^= 1 << draw.randrange(8) if draw.random() < 0.5 else draw.randrange(1, 256)
    return bytes(data)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve() / "paceline")
    flips = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*words):
            try:
                return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, errors="replace",
                                      timeout=ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                return subprocess.CompletedProcess(words, "none: it hangs", "", "")

        def swept():
            ended = run("sweep", "grid.yaml", "--store", "s.db", "--csv", "s.csv", "--json", "-", "--quiet")
            if ended.returncode != 0:
                return ended, None
            said = json.loads(ended.stdout)
            return ended, ((folder / "s.csv").read_bytes(), said["best"], said["asked"], said["new"] + said["known"])

        def reported(store):
            ended = run("report", store, "-o", "-", "--title", "t")
            return ended, ended.stdout.replace(store, "s.db")

        def merged():
            for old in folder.glob("m.db*"):
                old.unlink()
            ended = run("sweep", "--merge", "s.db", "--store", "m.db")
            return ended, reported("m.db")[1] if ended.returncode == 0 else None

        (folder / "grid.yaml").write_text(SCENARIO % ("8, 16, 32", "5us, 9us, 20us"))
        swept()
        whole = (folder / "s.db").read_bytes()
        commands = {"report": lambda: reported("s.db"), "merge": merged, "sweep": swept}
        right = {name: command()[1] for name, command in commands.items()}
        refused, wrong = dict.fromkeys(commands, 0), 0
        for number in range(flips):
            damaged = flipped(whole, draw)
            for what, command in commands.items():
                for old in folder.glob("s.db*"):
                    old.unlink()
                (folder / "s.db").write_bytes(damaged)
                ended, made = command()
                lines = ended.stderr.splitlines()
                is_refused = ended.returncode == 2 and len(lines) == 1 and lines[0].startswith("paceline: ")
                refused[what] += is_refused
                if is_refused or (ended.returncode == 0 and made == right[what]):
                    continue
                wrong += 1
                print(f"flip {number}, {what}: exit code {ended.returncode}, {lines[:2]}", flush=True)
        print(f"{flips} flips of {len(whole)} bytes; refused: {refused}; neither refused nor right: {wrong}")
        sys.exit(wrong > 0)


main()
