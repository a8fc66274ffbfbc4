#!/usr/bin/env python3
"""Presses TAB in bash, zsh and fish, and looks at what they make of the line.

Usage: completion_shells.py PACELINE. Exits with 77 where none of the shells is installed.
"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# A line, and what TAB (pressed twice, so that lists of several are shown) has to bring up.
CASES = [
    ("paceline ca", ["calibrate", "capacity"]),
    ("paceline cap", ["paceline capacity "]),
    ("paceline run --js", ["paceline run --json "]),
    ("paceline list stra", ["paceline list strategies "]),
    ("paceline collective dgx1-v", ["paceline collective dgx1-v100"]),
    ("paceline measure --mode pl", ["paceline measure --mode plan "]),
    ("paceline run some-scen", ["paceline run some-scenario.yaml "]),
]

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
READY = "prompt-of-the-test> "
# How long a shell may take for one line; what it writes ends the wait much earlier.
PATIENCE_S = 30
CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|[\r\x07]")


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, name, folder, program):
        self.script = os.path.join(folder, "completion." + name)
        with open(self.script, "wb") as out:
            out.write(subprocess.run([program, "completion", name], check=True, stdout=subprocess.PIPE).stdout)
        environment = {"PATH": os.path.dirname(program) + ":" + os.environ["PATH"], "HOME": folder,
                       "TERM": "dumb" if name != "fish" else "xterm", "PS1": READY, "LC_ALL": "C.UTF-8",
                       "COLUMNS": "200"}
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(SHELLS[name][0], SHELLS[name], environment)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def screen(self, is_enough):
        """What it writes until that is enough, without what steers a terminal."""
        text, end = "", time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if not select.select([self.terminal], [], [], 0.1)[0]:
                continue
            try:
                text += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                break
            if is_enough(CONTROL.sub("", text)):
                break
        return CONTROL.sub("", text)

    def end(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.terminal)


def prepare(shell, name):
    if name == "zsh":
        shell.type("autoload -Uz compinit; compinit -u -D; setopt no_auto_menu; unsetopt zle_bracketed_paste\n")
    if name == "fish":
        shell.type("function fish_prompt; echo -n '" + READY + "'; end\n")
    shell.type("source " + shell.script + "; echo sour''ced\n")
    return "sourced" in shell.screen(lambda text: "sourced" in text and text.rstrip(" ").endswith(READY.rstrip()))


def faults_of(name, folder, program):
    faults = []
    for line, wanted in CASES:
        shell = Shell(name, folder, program)
        try:
            if not prepare(shell, name):
                faults.append(f"{name}: its script cannot be sourced")
                break
            shell.type(line + "\t\t")
            screen = shell.screen(lambda text: all(part in text for part in wanted))
            for part in wanted:
                if part not in screen:
                    faults.append(f"{name}: {line}<TAB> shows no {part!r} but {screen!r}")
        finally:
            shell.end()
    return faults


def main():
    program = os.path.abspath(sys.argv[1])
    tried, faults = 0, []
    for name, command in SHELLS.items():
        if shutil.which(command[0]) is None:
            print(f"skipped: {name} is not installed")
            continue
        tried += 1
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "some-scenario.yaml"), "w").close()
            found = faults_of(name, folder, program)
        print(f"{name}: {len(CASES)} lines, {len(found)} faults")
        faults += found
    print("\n".join(faults))
    return 77 if tried == 0 else 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
