#!/usr/bin/env python3
"""Ends sweeps at random moments and looks at their store.

    sweep_kills.py BIN [ROUNDS] [SEED] [COMMAND...]

BIN: a folder with paceline. ROUNDS: how many of each kind, 50 unless given. COMMAND: what sweeps in place of
`BIN/paceline sweep`, such as `mpirun -n 3 BIN/paceline-sweep`.
Kinds: the sweep gets SIGKILL, SIGTERM or SIGINT; files may grow to a random size only (RLIMIT_FSIZE), as on a full disk.
After each the store must open and be sound, have as many points as the progress line said were done, and none that differs
from those of an undisturbed sweep; at the end a sweep that is let run completes it to the same rows.
Prints a line for each round that breaks a rule. Exit code 1 when there is one.
"""

import os
import pathlib
import pty
import random
import re
import resource
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SCENARIO = """schema: paceline/1
name: killed
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}
cluster:
  nodes: 2
  gpus_per_node: 2
  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}
  network: {bandwidth: 10Gbps, latency: 5us}
training: {strategy: bulk_synchronous, optimizer: {kind: sgd, time: 1ms}}
collective: {library: plan, algorithm: ring}
sweep: {gpus: [2, 4], workload.batch_per_gpu: [%s], cluster.network.latency: [%s]}
"""


def rows_of(store):
    """The rows by key, without what differs between stores; None: the file has no table yet."""
    database = sqlite3.connect(store)
    try:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'points'").fetchone():
            return {}
        rows = database.execute("SELECT * FROM points").fetchall()
        return {row[0]: row for row in rows}
    finally:
        database.close()


def disturbed(command, end, limit=None):
    """Runs it until `end` seconds and returns (points said to be done, exit code, error text)."""
    leader, follower = pty.openpty()
    if limit is not None:
        def before(): resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    else:
        before = None
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower, preexec_fn=before,
                               start_new_session=True)
    os.close(follower)
    text, began, sent = b"", time.monotonic(), False
    while True:
        if end and not sent and time.monotonic() - began > end[0]:
            process.send_signal(end[1])
            sent = True
        ready, _, _ = select.select([leader], [], [], 0.005)
        if ready:
            try:
                text += os.read(leader, 1 << 16)
                continue
            except OSError:
                pass  # the other end is closed
        if process.poll() is not None:
            break
    os.close(leader)
    said = [int(number) for number in re.findall(rb"(\d+)/\d+ points", text)]
    return max(said, default=0), process.returncode, text.decode(errors="replace")


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    sweep = sys.argv[4:] or [str(programs / "paceline"), "sweep"]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("grid.yaml", "w") as file:
            file.write(SCENARIO % (", ".join(str(i + 1) for i in range(20)),
                                   ", ".join(f"{i + 1}us" for i in range(25))))
        def command(store): return sweep + ["grid.yaml", "--store", store]
        began = time.monotonic()
        subprocess.run(command("whole.db"), check=True, stdout=subprocess.DEVNULL)
        takes = time.monotonic() - began
        whole = rows_of("whole.db")
        size = os.path.getsize("whole.db")
        for kind in ("signal", "full"):
            store, resumed = f"{kind}0.db", 0
            for number in range(rounds):
                if kind == "signal":
                    end = (random.uniform(0, takes), random.choice(
                        [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
                    said, code, text = disturbed(command(store), end)
                else:
                    said, code, text = disturbed(command(store), None, random.randrange(1, 2 * size))
                try:
                    rows = rows_of(store) if os.path.exists(store) else {}
                    fault = ("fewer points than were said" if len(rows) < said else
                             "a row that differs" if any(whole.get(key) != row for key, row in rows.items()) else
                             "no line says why" if code in (2, 3) and "paceline: " not in text else
                             "an exit code of its own" if code not in (0, 2, 3) and code >= 0 else "")
                except (AssertionError, sqlite3.Error) as error:
                    rows, fault = {}, f"unsound: {error}"
                if fault:
                    wrong += 1
                    print(f"{kind} {number}: {fault}; {len(rows)} points, {said} said, exit {code}\n{text[-300:]}")
                if len(rows) == len(whole):  # begin again
                    resumed, store = resumed + 1, f"{kind}{number + 1}.db"
            subprocess.run(command(store), check=True, stdout=subprocess.DEVNULL)
            if rows_of(store) != whole:
                wrong += 1
                print(f"{kind}: the store does not come to be whole")
            print(f"{kind}: {rounds} rounds, {resumed + 1} stores completed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
