#include <array>

#include "scenarios/cli/command.h"

namespace paceline::cli {

// Each in the file of commands/ of its name.
Attach attach_run, attach_check, attach_sweep, attach_measure, attach_compare, attach_buckets,
    attach_collective, attach_calibrate, attach_list, attach_topology, attach_validate,
    attach_import, attach_replay, attach_nccl, attach_advise, attach_explain, attach_claims,
    attach_strategies, attach_capacity, attach_report, attach_doctor, attach_init, attach_schema,
    attach_completion;

namespace {

constexpr std::array rows{
    Command{"run", "Predict every point of a scenario and compare it with what was measured",
            attach_run,
            "run scenarios/library/dlperf-bert-base-v100-batch32.yaml\n"
            "run scenarios/library/whatif-bucket-bert-large-10gbe.yaml --json result.json\n"
            "run scenarios/library/hkbu-resnet50-10gbe.yaml --set cluster.network.bandwidth=25Gbps",
            to_predict},
    Command{"sweep", "Predict a grid of any size and keep its points in an SQLite file",
            attach_sweep,
            "sweep scenarios/library/whatif-latency-bert-large-10gbe.yaml --store points.db",
            to_predict},
    Command{"check",
            "List the points of a scenario and how long each takes, without predicting one",
            attach_check, "check scenarios/library/whatif-scale-bert-large-a100.yaml", to_predict},
    Command{"strategies", "Predict the points of scenarios with every strategy", attach_strategies,
            "strategies scenarios/library/hkbu-bert-large-10gbe.yaml", to_predict},
    Command{"collective", "Print a table like that of nccl-tests for a collective on a cluster",
            attach_collective,
            "collective dgx1-v100 --gpus 16 --min 1MiB --max 64MiB\n"
            "collective dgx-a100 --gpus 16 --algorithm ring --min 1MiB --max 4MiB",
            to_predict},
    Command{"replay", "Predict a traced step as it was, or with another cluster or strategy",
            attach_replay, "replay RUN.json --set cluster.preset=dgx1-v100 --set gpus=16",
            to_predict},
    Command{"measure", "Run every point of a scenario on the hardware of this machine or launcher",
            attach_measure, "measure scenarios/library/quickstart-measured.yaml --backend gloo",
            to_measure},
    Command{"compare", "Show where two results differ: compute, bandwidth, latency or skew",
            attach_compare, "compare PREDICTED.json MEASURED.json", to_measure},
    Command{"validate", "Print the errors of predictions of measured scenarios and logs",
            attach_validate, "validate scenarios/library/dlperf-resnet50-v100-amp.yaml",
            to_measure},
    Command{"report", "Make a page for a browser from results and stores", attach_report,
            "report RESULT.json -o report.html", to_measure},
    Command{"claims", "Test rules of thumb: where predictions confirm them, and where not",
            attach_claims, "claims one-gpu-costs-nothing", to_measure},
    Command{"advise", "Show what limits a step and what would make it faster", attach_advise,
            "advise scenarios/library/quickstart-measured.yaml --gpus 2", to_plan},
    Command{"explain", "Show where one predicted number comes from, term by term", attach_explain,
            "explain scenarios/library/quickstart-measured.yaml --point gpus=2", to_plan},
    Command{"capacity", "Find the cheapest cluster that meets a target, and how sure that is",
            attach_capacity, "capacity scenarios/library/jobs/resnet50-90-epochs.yaml", to_plan},
    Command{"init", "Write a first scenario with comments, from options or a few questions",
            attach_init, "init --model resnet50 --preset dgx-a100 --gpus 32 -o scenario.yaml",
            of_own_data},
    Command{"topology", "Write a cluster file from nvidia-smi topo -m or NCCL's topology file",
            attach_topology, "topology TOPO.txt --device a100-sxm4-40gb -o cluster.yaml",
            of_own_data},
    Command{"calibrate", "Fit the collectives and links of a cluster to logs and ping-pongs",
            attach_calibrate, "calibrate ALL_REDUCE.log --gpus 16 --nodes 2 -o cluster.yaml",
            of_own_data},
    Command{"import", "Show the steps and collectives in the traces of profilers", attach_import,
            "import TRACE.json -o run.json", of_own_data},
    Command{"doctor", "Check what this machine can measure with, and advise which to use",
            attach_doctor, "doctor", of_own_data},
    Command{"list",
            "List what is shipped: models, devices, presets, strategies, scenarios and more",
            attach_list, "list devices", to_look_up},
    Command{"buckets", "Print the exact gradient buckets of DistributedDataParallel",
            attach_buckets, "buckets resnet50 --bucket-cap 25MiB", to_look_up},
    Command{"nccl", "Print which algorithm NCCL chooses for each size, by NCCL's own model",
            attach_nccl, "nccl dgx1-v100 --max 64MiB", to_look_up},
    Command{"schema", "Print the JSON Schema of scenarios, jobs and data files, for editors",
            attach_schema, "schema scenario -o paceline.schema.json", to_help},
    Command{"completion", "Print a script that completes commands and options in your shell",
            attach_completion, "completion bash", to_help},
};

}  // namespace

std::span<const Command> commands() { return rows; }

}  // namespace paceline::cli
