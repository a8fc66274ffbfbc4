// paceline sweep through the built program.

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "scenarios/sweep/store.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using sweep::Database;
using sweep::Statement;
using Words = std::vector<std::string>;

constexpr const char* axes =
    "sweep: {gpus: [2, 4], cluster.network.latency: [1us, 5us, 9us], "
    "workload.batch_per_gpu: [8, 16]}\n";

class SweepCommand : public testing::Test {
 protected:
  SweepCommand() { write(axes); }

  void write(const std::string& sweep) const {
    folder_.write("grid.yaml", changed(small_scenario, "", sweep));
  }
  [[nodiscard]] Ended run(const Words& more, const std::string& store = "points.db") const {
    Words words{"sweep", "grid.yaml", "--store", store};
    words.insert(words.end(), more.begin(), more.end());
    return paceline(words, folder_.path());
  }
  [[nodiscard]] Ended run_alone(Words words) const {
    words.insert(words.begin(), "sweep");
    return paceline(words, folder_.path());
  }
  // A short summary of the run: new, known, refused, failed.
  [[nodiscard]] std::vector<int> counts(const Words& more,
                                        const std::string& store = "points.db") const {
    Words words{"--json", "-"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words, store);
    const auto all = json::parse(ended.out);
    return {all["new"], all["known"], all["refused"], all["failed"]};
  }
  // Every value of every row, but for where it was first asked for.
  [[nodiscard]] std::set<Words> rows(const std::string& store = "points.db") const {
    const Database database((folder_.path() / store).string(), Database::Access::read);
    EXPECT_EQ(database.value_of("PRAGMA integrity_check"), Cell("ok"));
    Statement all(database,
                  "SELECT hex(key), axes, predicted_step_s, step_s_low, fidelity, cause, failure, "
                  "texts.text FROM points JOIN texts ON texts.id = assumed");
    std::set<Words> rows;
    while (all.next()) {
      Words row;
      for (int i = 0; i < 8; ++i) {
        const Cell cell = all.cell(i);
        const auto* text = std::get_if<std::string>(&cell);
        const auto* number = std::get_if<double>(&cell);
        row.push_back(text ? *text : number ? std::to_string(*number) : "");
      }
      rows.insert(row);
    }
    return rows;
  }
  void expect_refused(const Words& words, const std::string& what) const {
    const Ended ended = run(words);
    EXPECT_EQ(ended.exit_code, 2) << what;
    EXPECT_NE(ended.err.find(what), std::string::npos) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }

  Folder folder_;
};

// The CSV of run without the file's name in front, row by row.
TEST_F(SweepCommand, FindsWhatRunFinds) {
  const std::string found = run({"--csv", "-"}).out;
  std::string expected = paceline({"run", "grid.yaml", "--csv", "-"}, folder_.path()).out;
  std::string without_name;
  std::istringstream lines(found);
  for (std::string line; std::getline(lines, line);) {
    without_name += line.substr(line.find(',') + 1) + "\n";
  }
  EXPECT_EQ(without_name, expected);
}

TEST_F(SweepCommand, PredictsWhatIsNotKnownAlone) {
  EXPECT_EQ(counts({}), (std::vector<int>{12, 0, 0, 0}));
  EXPECT_EQ(counts({}), (std::vector<int>{0, 12, 0, 0}));
  write("sweep: {workload.batch_per_gpu: [8, 16], cluster.network.latency: [5us, 7us], gpus: 4}\n");
  const Ended ended = run({"--json", "-"});
  EXPECT_EQ(json::parse(ended.out)["new"], 2);  // those of 7us
  EXPECT_NE(ended.err.find("contains points of another grid.yaml"), std::string::npos) << ended.err;
}

TEST_F(SweepCommand, WritesRefusalsAndTriesThemAgain) {
  write("sweep: {gpus: [2, 3, 4]}\n");
  EXPECT_EQ(counts({}), (std::vector<int>{2, 0, 1, 0}));
  EXPECT_EQ(counts({}), (std::vector<int>{0, 2, 1, 0}));
  const Ended ended = run({});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_NE(ended.err.find("points without a prediction: 1; the first: gpus=3: grid.yaml:"),
            std::string::npos)
      << ended.err;
  EXPECT_EQ(rows().size(), 3U);
}

TEST_F(SweepCommand, JoinsShardsToTheWhole) {
  (void)run({}, "whole.db");
  for (const char* shard : {"1", "2", "3"}) {
    (void)run({"--shard", std::string(shard) + "/3"}, std::string("part-") + shard + ".db");
  }
  EXPECT_EQ(rows("part-1.db").size(), 4U);
  const Ended merged =
      run_alone({"--merge", "part-1.db", "part-2.db", "part-3.db", "--store", "points.db"});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(rows(), rows("whole.db"));
  EXPECT_EQ(counts({}), (std::vector<int>{0, 12, 0, 0}));
}

// As Slurm starts a job array: the task's number in the environment.
TEST_F(SweepCommand, RunsAsAJobArray) {
  folder_.write("srun",
                "for SLURM_ARRAY_TASK_ID in 1 2 3 4; do export SLURM_ARRAY_TASK_ID\n"
                "  /bin/sh job.sh & done; wait\n");
  folder_.write("job.sh", PACELINE_BINARY
                " sweep grid.yaml --store part-$SLURM_ARRAY_TASK_ID.db "
                "--shard $SLURM_ARRAY_TASK_ID/4\n");
  (void)run_program({"/bin/sh", "srun"}, folder_.path());
  const Ended merged =
      run_program({"/bin/sh", "-c", PACELINE_BINARY " sweep --merge part-*.db --store points.db"},
                  folder_.path());
  EXPECT_NE(merged.out.find("points.db contains 12 points"), std::string::npos) << merged.out;
  EXPECT_EQ(counts({}), (std::vector<int>{0, 12, 0, 0}));
}

TEST_F(SweepCommand, WritesOneStoreWithAnotherSweep) {
  const Words words{PACELINE_BINARY, "sweep", "grid.yaml", "--store", "points.db"};
  const Started one(words, folder_.path()), other(words, folder_.path());
  EXPECT_EQ(one.end().exit_code, 0);
  EXPECT_EQ(other.end().exit_code, 0);
  (void)run({}, "whole.db");
  EXPECT_EQ(rows(), rows("whole.db"));
}

// Some rounds of a script in tests/scenarios/, which says what must hold.
Ended rounds_of(const char* script, const char* rounds, const Folder& folder) {
  const fs::path programs = fs::path(PACELINE_BINARY).parent_path();
  const std::string path = std::string(PACELINE_SOURCE_DIR "/tests/scenarios/") + script;
  return run_program({"/usr/bin/python3", path, programs, rounds}, folder.path());
}

TEST_F(SweepCommand, LosesNothingThatWasWrittenWhenItIsKilledOrTheDiskIsFull) {
  const Ended ended = rounds_of("sweep_kills.py", "5", folder_);
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
}

TEST_F(SweepCommand, RefusesAStoreWithBytesThatFlippedOrIsRight) {
  const Ended ended = rounds_of("store_flips.py", "8", folder_);
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
}

// A sample of 10^9 points, of which nothing is held: 60 MB are the program and its libraries.
TEST_F(SweepCommand, LooksAtASampleOfAHugeGrid) {
  std::string values;
  for (int i = 1; i <= 1000; ++i) values += std::to_string(i) + ", ";
  write("sweep: {workload.batch_per_gpu: [" + values + "], simulation.seed: [" + values +
        "], training.gradient_accumulation: [" + values + "]}\n");
  const Ended ended = run({"--sample", "20"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("a sample of 20 of 1000000000 points; not sampled: 999999980, 980 of "
                           "1000 values of workload.batch_per_gpu"),
            std::string::npos)
      << ended.out;
  expect_refused({},
                 "makes 1000000000 points, more than the 10000000 that are looked at; add "
                 "--sample N");
  (void)run({"--sample", "20"}, "again.db");
  EXPECT_EQ(rows(), rows("again.db"));
}

TEST_F(SweepCommand, RefusesBadInputInALine) {
  expect_refused({"--shard", "0/4"}, "--shard: \"0/4\" is not a part of the whole");
  expect_refused({"--shard", "5/4"}, "--shard: \"5/4\" is not a part of the whole");
  expect_refused({"--sample", "0"}, "--sample");
  expect_refused({"--sample-seed", "3"}, "add --sample N");
  expect_refused({"--fidelity", "closed"}, "known: flow, folded");
  expect_refused({"--merge", "other.db"}, "joins stores, and runs no scenario");
  expect_refused({"grid.yaml"}, "is given twice");
  expect_refused({"--csv", "points.db"}, "points.db");
  EXPECT_FALSE(fs::exists(folder_.path() / "points.db"));
  EXPECT_EQ(run({}, "grid.yaml").exit_code, 2);
  EXPECT_EQ(run({}, "-").exit_code, 2);
  EXPECT_EQ(run({}, "/dev/null").exit_code, 2);
  EXPECT_EQ(run_alone({"grid.yaml"}).exit_code, 2);
  EXPECT_EQ(run_alone({"--store", "points.db"}).exit_code, 2);
  EXPECT_EQ(run_alone({"--merge", "none.db", "--store", "points.db"}).exit_code, 2);
}

class RanksOfSweep : public SweepCommand {
 protected:
  RanksOfSweep() {
    if (!fs::exists(fs::path(PACELINE_BINARY).parent_path() / "paceline-sweep")) {
      skipped_ = true;
    }
  }
  [[nodiscard]] Ended run_ranks(const std::string& mpirun, const std::string& store) const {
    return run_program({"/bin/sh", "-c",
                        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                        "OMPI_MCA_btl_vader_single_copy_mechanism=none "
                        "OMPI_MCA_rmaps_base_oversubscribe=1 " +
                            mpirun + " grid.yaml --store " + store},
                       folder_.path());
  }

  bool skipped_ = false;
};

TEST_F(RanksOfSweep, FindWhatOneProcessFinds) {
  if (skipped_) GTEST_SKIP() << "MPI was not found";
  (void)run({}, "whole.db");
  const Ended ended = run_ranks(PACELINE_BINARY " sweep --mpi 2", "points.db");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("12 points: 12 new, 0 known"), std::string::npos) << ended.out;
  EXPECT_EQ(rows(), rows("whole.db"));
  EXPECT_EQ(run_ranks(PACELINE_BINARY " sweep --mpi 2 --shard 3/2", "x.db").exit_code, 2);
}

}  // namespace
}  // namespace paceline::test
