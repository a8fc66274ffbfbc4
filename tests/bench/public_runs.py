#!/usr/bin/env python3
"""Public training runs: the hours and dollars that `paceline capacity` predicts of each, beside those that it took.

The jobs below were written from what the sources state, before any was predicted, and nothing was tuned to them. Three then said
their batches in another way, because other GPUs or passes were planned: TinyLlama's and both MPT's. Each has one machine and the
run's GPUs, global batch, and strategy. Predicted hours are of steps alone. So are the real ones of llm.c (a stated step times the
steps), TinyLlama (a stated speed) and nanochat on H100 (logged); those of others are stated whole. Alike in all:

- Where the source has no batch per GPU and pass, the fastest up to the one given here is taken (`at_most`).
- Kernels that are fused by hand, as torch.compile would (llm.c, TinyLlama), are described as `compile`.
- GPT-NeoX's and DeepSpeed's Adam is fused, with fp32 masters. LION has the traffic of SGD with momentum. Muon is taken for Adam.

Usage: tests/bench/public_runs.py [--paceline build/release/bin/paceline] [--folder KEEP] [RUN ...]
"""

import argparse
import collections
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICES = ROOT / "models/workload/devices"

# `batch`: samples a GPU and pass; `network`: a config.json's keys, or a shipped one's name. `price`: USD a node-hour, where it is told.
Run = collections.namedtuple("Run", "name source hours dollars gpus machine price network workload strategy training samples global_batch batch")

A100_40, A100_80, H100 = "a100-sxm4-40gb", "a100-sxm4-80gb", "h100-sxm5-80gb"
DGX_40, DGX_80, DGX_H100 = ("dgx-a100", A100_40), ("dgx-a100", A100_80), ("dgx-h100", H100)
P4D, OCI = ("aws-p4d-24xlarge", A100_40), ("oci-bm-gpu-b4-8", A100_40)
DAY = 24

ADAM = "optimizer: {kind: adam, fused: true}"
MASTERS = "optimizer: {kind: adam, fused: true, fp32_master: true}"
BF16, FP16 = "precision: bf16, fused_attention: true", "precision: fp16, fused_attention: true"


def gpt2(width, depth, heads, sequence=1024):
    """Vocabularies are padded to 50,304 in nanoGPT and llm.c."""
    return {"model_type": "gpt2", "n_embd": width, "n_layer": depth, "n_head": heads, "n_positions": sequence, "vocab_size": 50304}


def neox(width, depth, heads, vocabulary=50304):
    return {"model_type": "gpt_neox", "hidden_size": width, "intermediate_size": 4 * width, "num_attention_heads": heads,
            "num_hidden_layers": depth, "vocab_size": vocabulary}


def mpt(width, depth, heads, vocabulary, no_bias):
    return {"model_type": "mpt", "d_model": width, "n_heads": heads, "n_layers": depth, "vocab_size": vocabulary,
            "max_seq_len": 2048, "no_bias": no_bias, "attn_config": {"alibi": True}}


def llama(width, depth, heads, kv_heads, middle, vocabulary):
    return {"model_type": "llama", "hidden_size": width, "num_hidden_layers": depth, "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "intermediate_size": middle, "vocab_size": vocabulary}


def llm_c(name, hours, dollars, machine, price, width, depth, heads, steps, global_batch, batch):
    """Its stated time of a step, times its steps. ZeRO-1 (-z 1) whose reduce-scatters are a block's gradients beside the backward;
    bf16 with fp32 masters, cuDNN's attention, no hooks of Python's."""
    training = (f"stage: 1, overlap_comm: true, reduce_bucket_size: {12 * width * width + 13 * width}, host: {{per_gradient: 0us}}, " + MASTERS)
    return Run(f"llm.c GPT-2 {name}", f"karpathy/llm.c@{machine[2]}:scripts/run_gpt2_{name}.sh", hours, dollars, 8, machine[:2], price,
               gpt2(width, depth, heads), BF16 + ", compile: true, sequence: 1024", "deepspeed_zero", training, steps * global_batch,
               global_batch, batch)


# On p4d.24xlarge: Stability's cluster, by StableLM's card and Pythia's paths (/fsx).
NEOX = "stage: 1, overlap_comm: true, activation_checkpointing: blocks, " + MASTERS + ", reduce_bucket_size: "


def pythia(name, gpu_hours, gpus, width, depth, heads, batch, commit):
    """Flash attention, as the file of ddad623a has it; GPU-hours by the paper's table 5, as the note on costs of small models cites it."""
    return Run(f"Pythia {name}", f"EleutherAI/pythia@{commit}:models/{name}/pythia-{name.lower()}.yml", gpu_hours / gpus, None, gpus, P4D, None,
               neox(width, depth, heads), FP16 + ", sequence: 2048", "deepspeed_zero", NEOX + "500000000", 143000 * 1024, 1024, batch)


def nanochat(name, source, hours, dollars, machine, price, width, depth, heads, vocabulary, steps, batch, more=""):
    """Norms of queries and keys, relu squared, value embeddings and alternating windows of attention are not described; gradients
    are reduced in the optimizer's step, after the backward."""
    return Run(f"nanochat {name}", source, hours, dollars, 8, machine, price, neox(width, depth, heads, vocabulary),
               "precision: amp, fused_attention: true, compile: true, sequence: 2048" + more, "bulk_synchronous", ADAM, steps * 256, 256, batch)


BOARD = "karpathy/nanochat@00932d19:dev/LEADERBOARD.md"
MPT_FSDP = "wrap: blocks, limit_all_gathers: true, "

RUNS = [
    # 5 passes of 12 on 8 GPUs (the config's comment), 600,000 steps; torch.compile, autocast, DDP.
    Run("nanoGPT GPT-2 124M", "karpathy/nanoGPT@0110f3c8:README.md, config/train_gpt2.py", 4 * DAY, None, 8, DGX_40, None, gpt2(768, 12, 12),
        "precision: amp, fused_attention: true, compile: true, sequence: 1024", "ddp", "broadcast_buffers: false, " + ADAM,
        600000 * 480, 480, "exactly: 12"),
    llm_c("124M", 18865 * 0.300 / 3600, 20, (*DGX_80, "039904ee"), 14, 768, 12, 12, 18865, 512, "exactly: 64"),
    llm_c("350M", 60000 * 0.820 / 3600, 200, (*DGX_80, "100bba03"), 14, 1024, 24, 16, 60000, 512, "exactly: 64"),
    llm_c("774M", 286102 * 1.7 / 3600, 2000, (*DGX_80, "039904ee"), 14, 1280, 36, 20, 286102, 512, "exactly: 32"),
    llm_c("1558M", 24, 672, (*DGX_H100, "039904ee"), 28, 1600, 48, 25, 32000, 1024, "exactly: 16"),
    pythia("70M", 510, 32, 512, 6, 8, "exactly: 32", "ddad623a"),
    pythia("160M", 1030, 32, 768, 12, 12, "exactly: 32", "00753222"),
    pythia("410M", 2540, 32, 1024, 24, 16, "exactly: 32", "ddad623a"),
    pythia("1B", 4830, 64, 2048, 16, 8, "exactly: 16", "ddad623a"),
    pythia("1.4B", 7120, 64, 2048, 24, 16, "exactly: 16", "4d0c9018"),
    pythia("2.8B", 14240, 64, 2560, 32, 32, "exactly: 16", "2d898509"),
    # 3,456 GPU-hours for 300B tokens, by its measured 24k tokens/s; two nodes, whose network is not told: assumed a DGX's.
    Run("TinyLlama 1.1B", "jzhang38/TinyLlama@026587c0:README.md, pretrain/tinyllama.py@01c9c774", 3456 / 16, None, 16, DGX_40, None,
        llama(2048, 22, 32, 4, 5632, 32000), BF16 + ", compile: true, sequence: 2048", "fsdp",
        "wrap: blocks, unsharded_accumulation: true, optimizer: {kind: adam, fp32_master: true}", 300e9 / 2048, 1024, "at_most: 8"),
    # 55 nodes: Oracle's, as llm-foundry's benchmarks on as many A100 of 40 GB. "About half a day".
    Run("MPT-1B-RedPajama", "huggingface.co/mosaicml/mpt-1b-redpajama-200b; llm-foundry@06560d59:scripts/train/yamls/pretrain/mpt-1b.yaml",
        DAY / 2, None, 440, OCI, None, mpt(2048, 24, 16, 50368, True), BF16 + ", sequence: 2048", "fsdp", MPT_FSDP + MASTERS, 200e9 / 2048, 2200,
        "exactly: 5"),
    Run("MPT-7B", "model card of mosaicml/mpt-7b; llm-foundry@15fb4ffa:scripts/train/yamls/pretrain/mpt-7b.yaml", 9.5 * DAY, None, 440, OCI, None,
        mpt(4096, 32, 32, 50432, True), BF16 + ", sequence: 2048", "fsdp",
        MPT_FSDP + "activation_checkpointing: blocks, optimizer: {kind: sgd_momentum, fp32_master: true}", 1e12 / 2048, 1760, "exactly: 4"),
    # ZeRO, its stage not told: 1 assumed. "About six days"; a ramp of 4B tokens is not described.
    Run("Falcon-RW-1B", "model card of tiiuae/falcon-rw-1b", 6 * DAY, None, 32, P4D, None, mpt(2048, 24, 32, 50304, False), BF16 + ", sequence: 2048",
        "deepspeed_zero", "stage: 1, " + MASTERS, 350e9 / 2048, 512, "at_most: 16"),
    # The card has GPUs, days, tokens, fp16; batch and ZeRO-2 are of a table of others' (their paper). Network assumed Azure's.
    Run("phi-1.5", "model card of microsoft/phi-1_5", 8 * DAY, None, 32, ("azure-nd-a100-v4", A100_40), None,
        {"model_type": "phi", "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_hidden_layers": 24,
         "vocab_size": 51200}, FP16 + ", sequence: 2048", "deepspeed_zero", "stage: 2, " + MASTERS, 150e9 / 2048, 2048, "at_most: 64"),
    # Width of its MLP by the 2,795,443,200 parameters of the card. "Approximately 30 days".
    Run("StableLM-3B-4E1T", "Stability-AI/StableLM@8a9fb3d2:configs/stablelm-3b-4e1t.yml; model card", 30 * DAY, None, 256, P4D, None,
        llama(2560, 32, 32, 32, 6912, 50304), BF16 + ", sequence: 4096", "deepspeed_zero", NEOX + "1260000000", 955000 * 1024, 1024,
        "exactly: 4"),
    Run("BERT-base, MosaicML's HF", "mosaicml/examples@54b82684:examples/benchmarks/bert/README.md; yaml@01751855", 11.5, None, 8, DGX_80, None,
        "bert-base", "precision: amp, pretraining_heads: true, sequence: 128", "ddp", "optimizer: {kind: adam}", 286720000, 4096, "exactly: 128"),
    nanochat("d20, H100", "royam0820/nanochat-speedrun-001@c0f21a2d:report.md", 172.57 / 60, 172.57 / 60 * 24, DGX_H100, 24, 1280, 20, 10, 65536,
             21400, "exactly: 32"),
    nanochat("d20, A100", "huggingface.co/spaces/nanochat-students/README/discussions/9", 7, 7 * 14.32, DGX_80, 14.32, 1280, 20, 10, 65536, 21400,
             "exactly: 32"),
    nanochat("d24, bf16", BOARD, 10949.5 / 3600, 73, DGX_H100, 24, 1536, 24, 12, 32768, 16704, "exactly: 16"),
    nanochat("d26, fp8", BOARD, 10493 / 3600, 10493 / 3600 * 24, DGX_H100, 24, 1664, 26, 13, 32768, 14889, "exactly: 16", ", float8: true"),
]


def write_job(folder, number, run, device):
    """The budget is one that no plan misses: then the fastest is the best. One of the two batches may be exact; with that of a GPU it
    is as fast as it can be with all passes that the other allows."""
    model = run.network
    if isinstance(model, dict):
        model = f"{number:02}.json"
        (folder / model).write_text(json.dumps(run.network))
    (folder / f"{number:02}-machine.yaml").write_text(
        f"schema: paceline.catalogue/1\nname: theirs\nsource: {json.dumps(run.source)}\ndate: unknown\nmachines:\n"
        f"  - {{name: node, cluster: {{preset: {run.machine[0]}}}, device: {device}, price: {run.price or 1} USD/h}}\n")
    passes = 1
    batches = f"exactly: {run.global_batch}"
    if run.batch.startswith("exactly"):
        passes = run.global_batch // run.gpus // int(run.batch.split()[1])
        batches = f"at_most: {run.global_batch}"
    job = folder / f"{number:02}.yaml"
    job.write_text(
        f"schema: paceline.job/1\nname: {json.dumps(run.name)}\nworkload: {{model: {model}, {run.workload}}}\n"
        f"training: {{{run.training}}}\nstrategies: [{run.strategy}]\nbucket_caps: [25MiB]\ngradient_accumulation: {{at_most: {passes}}}\namount: {{samples: {run.samples:.0f}}}\n"
        f"target: {{budget: 1000000000 USD}}\nprobability: 95%\nglobal_batch: {{{batches}}}\nbatch_per_gpu: {{{run.batch}}}\n"
        f"limits: {{nodes: {run.gpus // 8}}}\ncatalogue: [{number:02}-machine.yaml]\n"
        "overheads: {start: 0s, mtbf_per_node: 100000h, checkpoint: {takes: 1s}}\n")
    return job


def plan_of(program, folder, number, run):
    """And what is said of the GPU's memory: where the run is taken not to fit, it is predicted on a GPU of more memory, else alike."""
    device = run.machine[1]
    roomy = folder / f"{device}.yaml"
    roomy.write_text(re.sub("(?m)^memory: .*", "memory: 400GiB", (DEVICES / f"{device}.yaml").read_text(encoding="utf-8")))
    refusal = ""
    for kind in (device, roomy.name):
        job = write_job(folder, number, run, kind)
        done = subprocess.run([program, "capacity", str(job), "--json", "-", "--quiet"], capture_output=True, text=True, check=False)
        if done.stdout.startswith("{"):
            answer = json.loads(done.stdout)
            return answer["best"] or answer["nearest"], refusal
        found = re.search("needs (.*? of .*?);", done.stderr)
        if not found:
            raise SystemExit(f"{job.name}: {done.stderr.strip()}")
        refusal = f"refused: {found[1]}"
    raise SystemExit(f"{job.name}: {refusal}")


def line_of(run, plan, refusal):
    if plan is None or plan["gpus"] * plan["batch_per_gpu"] * plan["passes"] != run.global_batch or plan["gpus"] != run.gpus:
        return f"| {run.name} | {run.gpus} | {run.hours:.4g} | no plan of these GPUs and batches |", None
    likely = plan["time_s"] / 3600
    low, high = likely * plan["step_s_low"] / plan["step_s"], plan["time_s_limit"] / 3600
    is_inside = low <= run.hours <= high
    dollars = f"{run.dollars:.4g} | {plan['cost']:.4g}" if run.dollars else " | "
    return (f"| {run.name} | {run.gpus} | {run.hours:.4g} | {likely:.4g} | {likely / run.hours:.2f} | {low:.3g} to {high:.3g} | "
            f"{'inside' if is_inside else 'outside'} | {dollars} | {plan['batch_per_gpu']} x {plan['passes']} | {refusal} |"), (likely / run.hours, is_inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--folder", type=pathlib.Path, help="where jobs are kept")
    parser.add_argument("names", nargs="*", metavar="RUN", help="only runs with such words in their names")
    arguments = parser.parse_args()
    found = []
    print("| run | GPUs | hours | predicted | ratio | 90 % | | USD | predicted | batch x passes | memory |\n|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.folder or pathlib.Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for number, run in enumerate(RUNS):
            if arguments.names and not any(name in run.name for name in arguments.names):
                continue
            line, judged = line_of(run, *plan_of(arguments.paceline, folder, number, run))
            print(line, flush=True)
            found += [judged] if judged else []
    ratios = [ratio for ratio, _ in found]
    error = statistics.median(abs(math.log(ratio)) for ratio in ratios)
    print(f"\n{sum(inside for _, inside in found)} of {len(found)} are inside the 90 % interval; the median of predicted/real is "
          f"{statistics.median(ratios):.2f}, of |ln| {100 * error:.0f} %.")


if __name__ == "__main__":
    main()
