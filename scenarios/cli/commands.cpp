#include <array>

#include "scenarios/cli/command.h"

namespace paceline::cli {

// Each in the file of commands/ of its name.
Action attach_run(CommandOptions& app);
Action attach_check(CommandOptions& app);
Action attach_sweep(CommandOptions& app);
Action attach_measure(CommandOptions& app);
Action attach_compare(CommandOptions& app);
Action attach_buckets(CommandOptions& app);
Action attach_collective(CommandOptions& app);
Action attach_calibrate(CommandOptions& app);
Action attach_list(CommandOptions& app);
Action attach_topology(CommandOptions& app);
Action attach_validate(CommandOptions& app);
Action attach_import(CommandOptions& app);
Action attach_replay(CommandOptions& app);
Action attach_nccl(CommandOptions& app);
Action attach_advise(CommandOptions& app);
Action attach_explain(CommandOptions& app);
Action attach_claims(CommandOptions& app);
Action attach_strategies(CommandOptions& app);
Action attach_capacity(CommandOptions& app);
Action attach_report(CommandOptions& app);
Action attach_doctor(CommandOptions& app);
Action attach_init(CommandOptions& app);
Action attach_schema(CommandOptions& app);

namespace {

constexpr std::array rows{
    Command{"run", "predict every point of a scenario, beside what was measured", attach_run,
            "run scenarios/library/whatif-bucket-bert-large-10gbe.yaml --json result.json"},
    Command{"sweep", "predict a grid of any size into a store of SQLite", attach_sweep,
            "sweep scenarios/library/whatif-latency-bert-large-10gbe.yaml --store points.db"},
    Command{"check", "what a scenario's points would take, without running one", attach_check,
            "check scenarios/library/whatif-scale-bert-large-a100.yaml"},
    Command{"measure", "run every point of a scenario on hardware", attach_measure,
            "measure scenarios/library/quickstart-measured.yaml --backend gloo"},
    Command{"compare", "where two results differ: compute, bandwidth, latency or skew",
            attach_compare, "compare predicted.json measured.json"},
    Command{"buckets", "the exact gradient buckets of DistributedDataParallel", attach_buckets,
            "buckets resnet50 --bucket-cap 25MiB"},
    Command{"collective", "a table like nccl-tests' for an algorithm on a cluster",
            attach_collective, "collective dgx1-v100 --gpus 16 --min 1MiB --max 64MiB"},
    Command{"calibrate", "fit a cluster's collectives and links to logs and ping-pongs",
            attach_calibrate, "calibrate all_reduce.log --gpus 16 --nodes 2 -o cluster.yaml"},
    Command{"list", "what is shipped: models, devices, presets, strategies, scenarios ...",
            attach_list, "list devices"},
    Command{"topology", "a cluster's file from nvidia-smi topo -m or NCCL's topology file",
            attach_topology, "topology topo.txt --device a100-sxm4-40gb -o cluster.yaml"},
    Command{"validate", "the error table over measured points of scenarios and logs",
            attach_validate, "validate scenarios/library/dlperf-resnet50-v100-amp.yaml"},
    Command{"import", "what profilers' traces say of steps and collectives", attach_import,
            "import trace.json -o run.json"},
    Command{"replay", "a traced step as it was, or in another world", attach_replay,
            "replay run.json --set cluster.preset=dgx1-v100 --set gpus=16"},
    Command{"nccl", "what NCCL would choose, by its own model, for each size", attach_nccl,
            "nccl dgx1-v100 --max 64MiB"},
    Command{"advise", "what limits a step, and what would make it faster", attach_advise,
            "advise scenarios/library/quickstart-measured.yaml --gpus 2"},
    Command{"explain", "where one predicted number comes from, term by term", attach_explain,
            "explain scenarios/library/quickstart-measured.yaml --point gpus=2"},
    Command{"claims", "rules of thumb, and where predictions bear them out", attach_claims,
            "claims one-gpu-costs-nothing"},
    Command{"strategies", "every strategy on the points of scenarios", attach_strategies,
            "strategies scenarios/library/hkbu-bert-large-10gbe.yaml"},
    Command{"capacity", "the cheapest cluster that meets a target, and how sure that is",
            attach_capacity, "capacity scenarios/library/jobs/resnet50-90-epochs.yaml"},
    Command{"report", "a page for a browser from results and stores", attach_report,
            "report result.json -o report.html"},
    Command{"doctor", "what there is to measure with on this machine, and which to use",
            attach_doctor, "doctor"},
    Command{"init", "write a scenario with comments, from options or a few questions", attach_init,
            "init --model resnet50 --preset dgx-a100 --gpus 32 -o scenario.yaml"},
    Command{"schema", "JSON Schema of scenarios, jobs and data files, for editors", attach_schema,
            "schema scenario -o paceline.schema.json"},
};

}  // namespace

std::span<const Command> commands() { return rows; }

}  // namespace paceline::cli
