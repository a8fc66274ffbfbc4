#!/usr/bin/env python3
"""Published rentals (DAWNBench, ImageNet to 93 % top-5): what Paceline predicts of each, what it cost, and what would be rented today.

The scenarios below were written from what the entries state, before any was predicted, and were not changed afterwards. Hours, prices
and images a second are those of prices/NOTES.md beside the checkout. Epochs, picture sizes and batches are those of the entries (stanford-futuredata/
dawn-bench-entries, ImageNet/train/NAME.json and .tsv) and of the code that they name (cybertronai/imagenet18_old, train.py; diux-dev/cluster,
dawn/resnet.b512.baseline.py).

Needs data beside the checkout: the list in ../shared/data, or where --data says.

Usage: tests/bench/rentals.py [--data FOLDER] [--paceline build/release/bin/paceline] [--check | --write] [--folder KEEP]

--write: scenarios/library/RENTALS.md. --check (a test): that it has what is predicted of the entries; 77 without the list. Without
either, also what would be rented today, in a quarter of an hour.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "scenarios/library/RENTALS.md"
IMAGES = 1281167  # of ImageNet's training set

# `epochs`: by picture size, up to the one that NOTES.md's hours end with. `said` is what the batch is from.
Entry = collections.namedtuple("Entry", "row model precision batch said gpus device cluster training library epochs")

P3 = "{preset: aws-p3-16xlarge}"
# PyTorch 0.4.1 reduces all gradients after the backward where the backend is NCCL (torch/nn/parallel/distributed.py,
# _register_nccl_grad_hook); imagenet18 takes that, with the network in half precision (--fp16).
TORCH_0_4 = "{strategy: bulk_synchronous, optimizer: {kind: sgd_momentum}}"
TORCH_1_0 = '{strategy: ddp, torch_version: "1.0", optimizer: {kind: sgd_momentum}}'
SGD = "optimizer: {kind: sgd_momentum}"
# Alibaba's virtual machines of eight V100 over 32 Gb/s, on the board and with the latency that preset aws-p3-16xlarge has; Ethernet's
# own mtu. AIACC, which reduces there, is Alibaba's own: Horovod stands in for it.
GN6E = "{preset: aws-p3-16xlarge, name: gn6e, network: {bandwidth: 32Gbps, provider: other, mtu: 1500}}"

ENTRIES = [
    Entry(2, "resnet50", "fp16", 224, "stated (7,168 on 32)", 32, "v100-sxm2-16gb", P3, TORCH_0_4, '{library: nccl, version: "2.2"}',
          {128: 13, 224: 15, 288: 1}),
    Entry(3, "resnet50", "fp16", 224, "stated (14,336 on 64; 8,192 in 3 of 15 epochs)", 64, "v100-sxm2-16gb", P3, TORCH_0_4,
          '{library: nccl, version: "2.2"}', {128: 14, 224: 15, 288: 1}),
    Entry(4, "resnet50", "fp16", 192, "stated (64 in 3 of 21 epochs)", 128, "v100-sxm2-16gb", P3, TORCH_0_4,
          '{library: nccl, version: "2.2"}', {128: 16, 224: 21, 288: 1}),
    Entry(5, "resnet50", "amp", 256, "stated (196 in 4 of 15 epochs)", 8, "v100-sxm2-16gb", P3,
          '{strategy: horovod, version: "0.15", ' + SGD + "}", '{library: nccl, version: "2.3"}', {128: 21, 224: 15, 288: 0.7}),
    Entry(6, "resnet50", "amp", 256, "stated (2,048 on 8)", 8, "v100-sxm2-32gb", GN6E,
          '{strategy: horovod, version: "0.19", ' + SGD + "}", '{library: nccl, version: "2.5"}', {96: 12, 128: 6, 224: 2, 288: 1}),
    Entry(7, "resnet50", "amp", 256, "stated (32,768 on 128)", 128, "v100-sxm2-32gb", GN6E,
          '{strategy: horovod, version: "0.19", ' + SGD + "}", '{library: nccl, version: "2.5"}', {96: 13, 128: 11, 224: 3, 288: 1}),
    Entry(8, "resnet50", "{compute: fp32, gradient: fp16}", 112, "stated", 4, "gtx-1080-ti", "{preset: geforce-pcie-8, gpus_per_node: 4}",
          TORCH_1_0, "{library: nccl}", {128: 15, 224: 13, 288: 1}),
    Entry(9, "resnet50", "fp16", 224, "by its learning rate, 0.4375 = 224/512 (imagenet18)", 8, "v100-sxm2-32gb", "{preset: azure-nd40rs-v2}",
          TORCH_1_0, "{library: nccl}", {224: 27}),
    Entry(10, "resnet152", "fp32", 32, "assumed: 96 does not fit 12 GB", 8, "k80", "{preset: peer-pcie-8}",
          "{strategy: wait_free, " + SGD + "}", "{library: nccl}", {224: 107}),
    Entry(11, "resnet152", "fp32", 64, "its code (512 on 8)", 8, "v100-sxm2-16gb", P3, "{strategy: wait_free, " + SGD + "}",
          "{library: nccl}", {224: 81}),
]

Stated = collections.namedtuple("Stated", "name date hardware price hours cost images")


def stated_of(notes):
    """The rows of the list, by number."""
    rows = {}
    for line in notes.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and cells[0].isdigit():
            images = re.match(r"[\d,]+", cells[8])
            rows[int(cells[0])] = Stated(cells[1], cells[2], cells[4], float(cells[5]), float(cells[6]), float(cells[7]),
                                         float(images[0].replace(",", "")) if images else None)
    return rows


def scenario_of(entry, stated):
    return (f"schema: paceline/1\nname: {stated.name}\n"
            f"workload: {{model: {entry.model}, batch_per_gpu: {entry.batch}, precision: {entry.precision}, device: {entry.device}}}\n"
            f"cluster: {entry.cluster}\ntraining: {entry.training}\ncollective: {entry.library}\n"
            f"simulation: {{fidelity: folded}}\nsweep: {{gpus: [{entry.gpus}]}}\n")


def equivalents(entry):
    """Epochs of 224 x 224 pictures that compute as much: convolutions go with the number of pixels."""
    return sum(epochs * (size / 224) ** 2 for size, epochs in entry.epochs.items())


def job_of(entry, stated):
    """The entry's work by its hours, on what is rented today: mixed precision, batches as large as its own together."""
    return (f"schema: paceline.job/1\nname: {stated.name}\nworkload: {{model: {entry.model}, precision: amp}}\n"
            f"amount: {{samples: {equivalents(entry) * IMAGES:.0f}}}\ntarget: {{deadline: {stated.hours}h}}\n"
            f"global_batch: {{at_most: {entry.batch * entry.gpus}}}\nbatch_per_gpu: {{at_most: 256}}\nprobability: 90%\nstrategies: [ddp]\n"
            "catalogue: [aws, azure, gcp, oci, lambda]\n")


def answer(program, command, file):
    done = subprocess.run([program, command, str(file), "--json", "-", "--quiet"], capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{file.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


Row = collections.namedtuple("Row", "entry stated likely low high plan")


def row_of(program, folder, entry, stated, is_rented):
    scenario, job = folder / f"{entry.row:02}.yaml", folder / f"{entry.row:02}-job.yaml"
    scenario.write_text(scenario_of(entry, stated))
    job.write_text(job_of(entry, stated))
    predicted = answer(program, "run", scenario)["points"][0]["predicted"]
    work = predicted["throughput_per_s"] * predicted["step_s"]
    return Row(entry, stated, predicted["throughput_per_s"], work / predicted["step_s_high"], work / predicted["step_s_low"],
               answer(program, "capacity", job)["best"] if is_rented else None)


def in_words(plan):
    if plan is None:
        return "none", ""
    hours = plan["time_s"] / 3600
    return (f"{plan['nodes']} x {plan['catalogue']} {plan['machine']} ({plan['gpus']} {plan['device']})",
            f"{plan['cost']:.2f} ({plan['cost_limit']:.2f}), {hours:.3g} h")


def digits(value):
    return f"{value:,.0f}"


def predicted_lines(rows):
    yield "| | rented | network | GPUs | images/s, stated | predicted | 90 % | error | |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        entry, images = row.entry, row.stated.images
        where = "inside" if row.low <= images <= row.high else "outside"
        yield (f"| {entry.row} | {row.stated.hardware} | {entry.model}, {entry.batch} a GPU | {entry.gpus} | {digits(images)} | "
               f"{digits(row.likely)} | {digits(row.low)} to {digits(row.high)} | {100 * (row.likely / images - 1):+.0f} % | {where} |")


def rented_lines(rows):
    yield "| | entry, date | stated hours | USD then | today | USD, median (90 % limit), hours |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        stated = row.stated
        machine, cost = in_words(row.plan)
        yield f"| {row.entry.row} | {stated.name}, {stated.date} | {stated.hours:.3g} | {stated.cost:.2f} | {machine} | {cost} |"


def in_counts(rows):
    inside = sum(row.low <= row.stated.images <= row.high for row in rows)
    errors = sorted(abs(row.likely / row.stated.images - 1) for row in rows)
    middle = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
    return f"{inside} of {len(rows)} are inside; half of them are within {100 * middle:.0f} %."


HEAD = """# Published rentals, predicted

DAWNBench's entries for ImageNet to 93 % top-5 that say what they rented (stanford-futuredata/dawn-bench-entries, ImageNet/train).
`tests/bench/rentals.py --write` writes this file from scenarios that were written before any of them was predicted, and not
changed afterwards. Images/s are derived from an epoch at 224 pixels where sizes are told (rows 2 to 8). Predicted is one step of
224 x 224 pictures, with no measured speed of one GPU.

"""

NOT_COMPARABLE = """
Not comparable: stated images/s have validation, loading and saving in their time. Rows 9 to 11 do not say the pictures' size, 9
and 10 not the batch. Rows 6 and 7 state XLA, which is not modelled, and AIACC, for which Horovod stands in. Row 11 states more
than fp32 has at 224 pixels on a V100. Classes of boxes stand in for AWS's p2.8xlarge and Lambda's box.
"""

# On demand, in mixed precision, with batches together as large as the entry's at most. Validation, set-up, input and whether the
# schedule would reach 93 % are not in it.
RENTED = "\nRented today, with the entry's work (224-pixel epochs with as many pixels) and its hours as the deadline:\n\n"


def page_of(rows):
    return HEAD + "\n".join(predicted_lines(rows)) + "\n\n" + in_counts(rows) + "\n" + NOT_COMPARABLE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "../shared/data")
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--folder", type=pathlib.Path, help="where scenarios and jobs are kept")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    notes = arguments.data / "prices/NOTES.md"
    if not notes.is_file():
        print(f"no rentals at {notes}")
        sys.exit(77 if arguments.check else 1)
    stated = stated_of(notes)
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.folder or pathlib.Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        is_rented = not arguments.check and not arguments.write
        rows = [row_of(arguments.paceline, folder, entry, stated[entry.row], is_rented) for entry in ENTRIES]
    if arguments.check:
        table = "\n".join(predicted_lines(rows))
        is_same = table in TABLE.read_text(encoding="utf-8")
        print("RENTALS.md has what is predicted" if is_same else f"RENTALS.md has another table than\n{table}")
        sys.exit(0 if is_same else 1)
    page = page_of(rows)
    if arguments.write:
        TABLE.write_text(page, encoding="utf-8")
    else:
        print(page + RENTED + "\n".join(rented_lines(rows)))


if __name__ == "__main__":
    main()
