#!/usr/bin/env python3
"""Does flow keep what advise promises? The best suggestion for every shipped scenario, both sides predicted again in flow.

Usage: tests/bench/advised.py [PACELINE [SECONDS]]    of build/release/bin/paceline, and at most so long for one run (300)
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACELINE = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin/paceline"
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 300


def asked(*command):
    """What a command writes as JSON; None of a refusal or of one that takes too long."""
    try:
        run = subprocess.run([PACELINE, *command, "--json", "-"], capture_output=True, text=True, timeout=SECONDS)
        return json.loads(run.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None


def step(scenario, settings):
    """Of the scenario's one point in flow, in seconds a sample."""
    said = asked("run", scenario, "--fidelity", "flow", *(word for one in settings for word in ("--set", one)))
    return said and 1 / said["points"][0]["predicted"]["throughput_per_s"]


def main():
    kept = told = 0
    for scenario in sorted((ROOT / "scenarios/library").glob("*.yaml")):
        advice = asked("advise", scenario, "--time-limit", f"{SECONDS / 2:.0f}s")
        if not advice or not advice["suggestions"]:
            print(f"{scenario.stem:45} {'nothing to gain' if advice else 'not advised'}", flush=True)
            continue
        best = advice["suggestions"][0]
        before = step(scenario, advice["settings"])
        after = step(scenario, advice["settings"] + best["settings"])
        gain, what = best["gain"], ", ".join(best["settings"])
        if not before or not after:
            print(f"{scenario.stem:45} flow took too long, or is refused: {what}", flush=True)
            continue
        found = before / after - 1
        inside = gain["low"] <= found <= gain["high"]
        kept, told = kept + inside, told + 1
        print(f"{scenario.stem:45} {gain['throughput']:+7.1%} ({gain['low']:+.1%} to {gain['high']:+.1%}) flow {found:+7.1%}"
              f" {'' if inside else 'OUTSIDE'} {what}", flush=True)
    print(f"{kept} of {told} within the promised interval")


if __name__ == "__main__":
    main()
