#!/usr/bin/env python3
"""Adds a toy of every kind that CONTRIBUTING.md says is cheap to add, and lists the files that each touched.

    tests/nightly/toys.py [--build build/release] [--keep]

In a scratch copy of the tree it adds a collective algorithm, a strategy, a backend, a format of logs, a device, a
command and a key of scenarios; builds; rewrites what switches rewrite; runs the tests that concern them; and asks
the commands for each toy. With --build it continues from a copy of that build, which it mounts where the build was
configured (in a mount namespace of its own, which needs root or user namespaces); else it builds from nothing.

A toy's name stands in all that belongs to it, and so says which files a kind touched. Exits with 1 where a build, a
test or a command fails.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def put_before(path, anchor, text):
    """Before the first line that matches."""
    old = pathlib.Path(path).read_text()
    found = re.search(anchor, old, re.MULTILINE)
    if not found:
        sys.exit(f"{path} has nothing like {anchor}: where do rows go now?")
    write(path, old[:found.start()] + text + old[found.start():])


def namespaced(namespace, text):
    return f"namespace paceline::{namespace} {{\n\n{text}\n}}  // namespace paceline::{namespace}\n"


def add_algorithm():
    """Whole buffers to rank 0, and the sum to all."""
    folder = "models/collectives/"
    put_before(folder + "algorithms.h", r"^\n}  // namespace", "// toystar.cpp\nBuild toystar_all_reduce;\n")
    write(folder + "toystar.cpp", '#include "models/collectives/algorithms.h"\n\n' + namespaced("collectives", """\
Plan toystar_all_reduce(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value();
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (ranks == 1) return plan;
  const ChunkRule whole = ChunkRule::always({ElementCount(0), request.count});
  std::vector<Rank> others;
  for (std::uint32_t rank = 1; rank < ranks; ++rank) others.push_back(Rank(rank));
  const auto none = [](Rank) { return std::vector<Rank>{}; };
  const Round up{1,
                 [=](Rank from) {
                   return from == Rank(0) ? Sends{} : Sends{{Rank(0), whole, Arrival::reduce}};
                 },
                 [=](Rank to) { return to == Rank(0) ? others : none(to); }};
  const Round down{1,
                   [=](Rank from) {
                     Sends sends;
                     if (from != Rank(0)) return sends;
                     for (const Rank to : others) sends.push_back({to, whole, Arrival::copy});
                     return sends;
                   },
                   [=](Rank to) { return to == Rank(0) ? none(to) : std::vector{Rank(0)}; }};
  plan.channels.push_back({{up, down}});
  return plan;
}
"""))
    put_before(folder + "registry.cpp", r'^    Algorithm{Collective::reduce_scatter, "ring"', """\
    Algorithm{Collective::all_reduce, "toystar", toystar_all_reduce, "a toy: by way of rank 0"},
""")
    rules = "tests/models/collectives/algorithms_table.py"
    put_before(rules, "^RULES = {", '''\
def toystar(p, count, orders, options):
    return (2, [(p - 1) * count] + [count] * (p - 1)) if p > 1 else (0, [0])


''')
    put_before(rules, r'^    \("all_reduce", "ring"\): ring_all_reduce', '    ("all_reduce", "toystar"): toystar,\n')
    put_before(rules, r'^    \("all_reduce", "ring"\): \[',
               '    ("all_reduce", "toystar"): [(1, 10, None), (2, 10, None), (5, 7, None)],\n')
    table = subprocess.run([sys.executable, rules], check=True, capture_output=True, text=True).stdout
    described = pathlib.Path(folder + "ALGORITHMS.md")
    text = described.read_text()
    described.write_text(text[:text.index(table.splitlines()[0])] + table)
    put_before(described, "^## all_reduce segmented_ring", """\
## all_reduce toystar

Every rank sends its buffer to rank 0, which adds and sends the sum to all. Steps: 2. Elements sent: rank 0 `(p-1)n`,
the others `n`.

""")


def add_strategy():
    """One all-reduce after the backward, of `toystrategy_calls` pieces."""
    folder = "models/training/"
    put_before(folder + "strategies.h", r"^\n}  // namespace", "extern const Strategy toystrategy_strategy;\n")
    write(folder + "toystrategy.cpp", """\
#include "models/training/step_builder.h"
#include "models/training/strategies.h"

""" + namespaced("training", """\
namespace {

constexpr settings::Key toystrategy_keys[]{{"toystrategy_calls", settings::Count{1, 100},
                                            settings::Value(std::uint64_t{1}), "calls of a step"}};
constexpr TriedKey toystrategy_tries[]{{"toystrategy_calls", {"2", "4"}}};

BuiltStep build_toystrategy(const StrategyRequest& request) {
  StepBuilder step(request);
  step.forward({});
  step.backward();
  const OperationId last = *step.last_compute();
  const auto calls = request.settings.get<std::uint64_t>("toystrategy_calls");
  std::vector<Bucket> parts(calls);
  for (std::size_t i = 0; i < step.tensors().size(); ++i) parts[i % calls].push_back(i);
  std::vector<OperationId> reduced;
  for (const Bucket& part : parts) {
    if (!part.empty()) reduced.push_back(step.all_reduce("part", part, {last}));
  }
  return {step.finish(reduced), {}};
}

}  // namespace

constinit const Strategy toystrategy_strategy{
    .name = "toystrategy",
    .summary = "a toy: all-reduces after the backward",
    .keys = toystrategy_keys,
    .build = build_toystrategy,
    .tries = toystrategy_tries,
};
"""))
    put_before(folder + "strategy.cpp", r"^ *&traced_strategy", "    &toystrategy_strategy,\n")


def add_backend():
    """`memory` by another name."""
    folder = "real/toybackend/"
    write(folder + "README.md", "# toybackend\n\nThe threads of `memory` by another name.\n")
    write(folder + "communicator.h", """\
#pragma once

#include <memory>

#include "real/backend.h"

""" + namespaced("real", """\
[[nodiscard]] std::unique_ptr<Communicator> connect_toybackend(const ConnectRequest& request);
"""))
    write(folder + "communicator.cpp", """\
#include "real/toybackend/communicator.h"

#include "real/backends.h"

""" + namespaced("real", """\
std::unique_ptr<Communicator> connect_toybackend(const ConnectRequest& request) {
  return connect_memory(request);
}

Backend toybackend_backend() {
  return {.version = "1.0", .connect = connect_toybackend, .ranks = RanksAre::threads};
}
"""))
    put_before("real/CMakeLists.txt", r"^if\(TARGET paceline_backend_nccl", """\
paceline_backend(toybackend "a toy: memory by another name" plan host FOR cpus)
""")
    put_before("real/README.md", r"^\| `launch/`", "| `toybackend/` | a toy |\n")
    write("tests/real/toybackend/communicator_test.cpp", """\
#include "real/toybackend/communicator.h"

#include <gtest/gtest.h>

#include "tests/real/conformance/suite.h"

namespace paceline::test {
namespace {

TEST(Toybackend, DoesEveryAlgorithm) {
  const Suite suite{{DataType::float32}, {ElementCount(0), ElementCount(2'003)}, ElementCount(0)};
  EXPECT_EQ(conformance_faults_in_threads(real::connect_toybackend, RankCount(3), suite),
            std::vector<std::string>());
}

}  // namespace
}  // namespace paceline::test
""")


def add_format():
    """"toylog RANKS", then a line "BYTES MICROSECONDS" for each size."""
    folder = "traces/toylog/"
    write(folder + "README.md", '# toylog\n\n"toylog RANKS", then "BYTES MICROSECONDS" for each size.\n')
    write(folder + "toylog.h", '#pragma once\n\n#include "traces/collective_log/collective_log.h"\n\n' + namespaced(
        "traces", """\
[[nodiscard]] bool is_toylog(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_toylog(std::string_view text);
"""))
    write(folder + "toylog.cpp", """\
#include "traces/toylog/toylog.h"

#include <sstream>
#include <string>

""" + namespaced("traces", """\
bool is_toylog(std::string_view text) { return text.starts_with("toylog "); }

std::vector<CollectiveLog> read_toylog(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string mark;
  CollectiveLog log;
  log.collective = collectives::Collective::all_reduce;
  in >> mark >> log.ranks;
  std::size_t line = 2;
  for (std::uint64_t bytes = 0, time_us = 0; in >> bytes >> time_us; ++line) {
    log.rows.push_back({line, Bytes(bytes), {Seconds(static_cast<double>(time_us) / 1e6)}});
  }
  return {log};
}
"""))
    rows = "traces/formats/formats.cpp"
    put_before(rows, r"^\nnamespace paceline::traces", '#include "traces/toylog/toylog.h"\n')
    put_before(rows, r'^    CollectiveLogFormat{"OSU', '    CollectiveLogFormat{"toylog", is_toylog, read_toylog},\n')
    put_before("traces/README.md", r"^\| `ping_pong/`", "| `toylog/` | a toy |\n")
    write("tests/fixtures/collective_log/toylog.txt", "toylog 8\n1024 17\n2048 19\n4096 24\n1048576 120\n")
    write("tests/traces/toylog/toylog_test.cpp", """\
#include "traces/toylog/toylog.h"

#include <gtest/gtest.h>

#include "tests/traces/collective_log/fixture.h"

namespace paceline::traces {
namespace {

TEST(Toylog, IsReadByItsRow) {
  const auto logs = read_collective_logs(test::fixture("toylog.txt"));
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].ranks, 8U);
  EXPECT_EQ(logs[0].rows.size(), 4U);
}

}  // namespace
}  // namespace paceline::traces
""")


def add_device():
    text = pathlib.Path("models/workload/devices/l4.yaml").read_text()
    write("models/workload/devices/toydevice.yaml", re.sub("(?m)^name: l4$", "name: toydevice", text))


def add_command():
    write("scenarios/cli/commands/toycommand.cpp", '#include <iostream>\n\n#include "scenarios/cli/command.h"\n\n' +
          namespaced("cli", """\
Action attach_toycommand(CommandOptions&) {
  return [] {
    std::cout << "a toycommand\\n";
    return exit_done;
  };
}
"""))
    rows = "scenarios/cli/commands.cpp"
    put_before(rows, r"^\nnamespace {", "Action attach_toycommand(CommandOptions& app);\n")
    put_before(rows, r'^    Command{"completion"', """\
    Command{"toycommand", "Print that this is a toy", attach_toycommand, "toycommand", to_help},
""")


def add_key():
    """Time that every step takes beside its input."""
    rows = "scenarios/loader/load_workload.cpp"
    put_before(rows, r'^    Key{"fused_attention"', """\
    Key{"toykey", settings::Time{}, settings::Value(Seconds(0)), "a toy: time beside the input"},
""")
    put_before(rows, r"^  Workload& workload = scenario.workload;\n  if \(!shared_batch\)",
               '  scenario.workload.input += section.get<Seconds>("toykey");\n')


KINDS = {"algorithm": (add_algorithm, "toystar"), "strategy": (add_strategy, "toystrategy"),
         "backend": (add_backend, "toybackend"), "format": (add_format, "toylog"),
         "device": (add_device, "toydevice"), "command": (add_command, "toycommand"),
         "key": (add_key, "toykey")}

TARGETS = ["paceline", "paceline-sim", "paceline-worker", "models_test", "traces_test", "real_test",
           "scenarios_test", "tree_test"]

# With the environment variable that has files written in place of comparing.
SWITCHES = [("PACELINE_UPDATE_SCHEMA", "scenarios_test", "Schema.*"),
            ("PACELINE_UPDATE_GOLDEN", "scenarios_test", "Library/Strategies.*")]

TESTS = [("models_test", "Algorithms.*:Registry.*:AutomaticChoice.*"),
         ("traces_test", "Toylog.*:CollectiveTable.*:DeviceTraceFormats.*"),
         ("real_test", "Toybackend.*"), ("tree_test", "Tree.*"),
         ("scenarios_test", "Schema.*:Effect.*:Help.*:Completion.*:Usage*:Options.*:Library/Strategies.*:"
          "ShippedDevices.*:Recommend.*:Init.*")]

# A command, and what it says of a toy.
COMMANDS = [("toystar", "list algorithms"), ("toystrategy", "list strategies"), ("toybackend", "list backends"),
            ("toydevice", "list devices"), ("toycommand", "--help"), ("toycommand", "toycommand"),
            ("toykey", "schema scenario"), ("toystrategy_calls", "schema scenario"), ("toybackend", "schema scenario"),
            ("--backend toybackend", "doctor"),
            ("toystar", "collective dgx1-v100 --gpus 4 --algorithm toystar --min 1MiB --max 1MiB"),
            ("1048576", "collective --measure --backend toybackend --mode plan --algorithm toystar --gpus 2 "
             "--min 1MiB --max 1MiB"),
            ("all_reduce", "import tests/fixtures/collective_log/toylog.txt"),
            ("toystrategy", "strategies hkbu-bert-large-10gbe --set gpus=8"),
            ("toystrategy_calls", "advise hkbu-bert-large-10gbe --gpus 8 --set training.strategy=toystrategy"),
            ("GPUs", "run quickstart-measured --set workload.device=toydevice --set workload.toykey=1ms "
             "--set gpus=2")]


def sources():
    """The files of the tree here, but what git ignores, by name."""
    skipped = {"build", ".git", "__pycache__"}
    found = {}
    for folder, folders, files in os.walk("."):
        folders[:] = [name for name in folders if name not in skipped]
        for name in files:
            path = pathlib.Path(folder, name)
            found[str(path)] = path.read_bytes()
    return found


def touched(before):
    """By kind, the files here that are not as in `before` and name the kind's toy; under "no kind", the others."""
    kinds = {kind: [] for kind in [*KINDS, "no kind"]}
    for name, content in sorted(sources().items()):
        if content == before.get(name):
            continue
        of = [kind for kind, (_, toy) in KINDS.items() if toy.encode() in name.encode() + content]
        for kind in of or ["no kind"]:
            kinds[kind].append(name)
    return kinds


class Scratch:
    """The copy, and how commands run in it."""

    def __init__(self, folder, build):
        self.folder, self.home = folder, folder
        names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                               capture_output=True, text=True).stdout.split("\0")
        for name in filter(lambda name: name and (ROOT / name).exists(), names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        if build:
            shutil.copytree(build, folder / "build/release", symlinks=True)
            cache = (build / "CMakeCache.txt").read_text()
            self.home = pathlib.Path(re.search("CMAKE_HOME_DIRECTORY:INTERNAL=(.*)", cache)[1])

    def run(self, command, **environment):
        """A shell's command in the copy, which lies where its build was configured; returns (succeeded, output)."""
        if self.home != self.folder:
            as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
            command = f'mount --make-rprivate / 2>/dev/null; mount --bind "$0" "$1" && cd "$1" && {command}'
            words = ["unshare", *as_root, "--mount", "bash", "-c", command, str(self.folder), str(self.home)]
        else:
            words = ["bash", "-c", command]
        ended = subprocess.run(words, cwd=self.folder, env={**os.environ, **environment}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return ended.returncode == 0, ended.stdout


class Report:
    def __init__(self):
        self.failed = False

    def say(self, passed, what, output=""):
        print(f"{'ok    ' if passed else 'FAILED'}  {what}", flush=True)
        if not passed:
            self.failed = True
            print("\n".join("        " + line for line in output.splitlines()[-40:]), flush=True)
        return passed


def tests_of(program, pattern):
    return f"build/release/bin/{program} --gtest_brief=1 --gtest_filter='{pattern}'"


def try_toys(scratch, report, jobs):
    before = sources()
    for add, _ in KINDS.values():
        add()
    by_hand = touched(before)
    ready, output = scratch.run("cmake --preset release")
    if report.say(ready, "configured", output):
        ready, output = scratch.run(f"cmake --build --preset release -j {jobs} --target {' '.join(TARGETS)}")
    if not report.say(ready, "built", output):
        return by_hand, by_hand
    for switch, program, pattern in SWITCHES:
        scratch.run(tests_of(program, pattern), **{switch: "1"})
    for program, pattern in TESTS:
        passed, output = scratch.run(tests_of(program, pattern))
        report.say(passed, f"{program} {pattern}", output)
    for word, command in COMMANDS:
        passed, output = scratch.run(f"build/release/bin/paceline {command}")
        report.say(passed and word in output, f"paceline {command}", output)
    return by_hand, touched(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a build of the preset release to continue from")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    parser.add_argument("--keep", action="store_true", help="keep the copy")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="paceline-toys-"))
    report = Report()
    try:
        scratch = Scratch(folder, options.build and options.build.resolve())
        os.chdir(folder)
        by_hand, all_files = try_toys(scratch, report, options.jobs)
    finally:
        os.chdir(ROOT)
        if options.keep:
            print(f"the copy is {folder}")
        else:
            shutil.rmtree(folder)
    for kind, names in filter(lambda item: item[1], all_files.items()):
        print(f"\n{kind}")
        for name in names:
            print(f"  {'by hand  ' if name in by_hand.get(kind, []) else 'rewritten'}  {name}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
