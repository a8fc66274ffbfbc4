#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scenarios/doctor/doctor.h"
#include "tests/scenarios/process.h"

namespace paceline::doctor {
namespace {

Examination laptop() {
  Examination machine;
  machine.cpus = 8;
  machine.backends = {{"memory", "threads", "cpus", "", {}, ""},
                      {"gloo", "TCP", "cpus", "0.5.0", {}, ""},
                      {"mpi", "MPI", "mpi", "Open MPI v4.1.4", {}, ""},
                      {"nccl", "NVIDIA's", "gpus", "", {}, "no CUDA device"},
                      {"cuda-local", "threads", "", "", {}, "no CUDA device"}};
  return machine;
}

TEST(Recommend, GlooOnALaptop) {
  const auto all = recommend(laptop());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].backend, "");
  EXPECT_NE(all[0].why.find("no CUDA device"), std::string::npos);
  EXPECT_EQ(all[1].backend, "gloo");
  EXPECT_EQ(all[2].backend, "");  // neither mpirun nor Slurm
}

TEST(Recommend, NcclOnGpus) {
  Examination machine = laptop();
  machine.backends[3].version = "2.18.3";
  machine.backends[3].notes = {"CUDA driver 12.4, runtime 12.0", "device 0: A, 80 GB",
                               "device 1: B"};
  machine.backends[3].missing = "";
  EXPECT_EQ(devices_of(machine), (std::vector<std::string>{"A", "B"}));
  const auto all = recommend(machine);
  EXPECT_EQ(all[0].backend, "nccl");
  EXPECT_EQ(all[0].why, "NVIDIA's (2.18.3); 2 GPUs here; if it fails, gloo");
}

TEST(Recommend, TheLastThatWorksAmongThoseForTheSameAndSaysWhatIsMissing) {
  Examination machine = laptop();
  machine.backends.push_back({"new", "news", "gpus", "", {}, ""});
  EXPECT_EQ(recommend(machine)[0].backend, "new");
  machine.backends[1].missing = "not built";
  EXPECT_EQ(recommend(machine)[1].why,
            "threads; on this machine more ranks than its 8 CPUs measure the CPUs; for gloo: not "
            "built");
  EXPECT_EQ(find_backend_for("cpus", machine)->name, "memory");
}

TEST(Recommend, MpiWhereALauncherIs) {
  Examination machine = laptop();
  machine.mpirun = "/usr/bin/mpirun";
  EXPECT_EQ(recommend(machine)[2].backend, "mpi");
  machine.mpirun.reset();
  machine.slurm_job = "1234";
  EXPECT_EQ(recommend(machine)[2].backend, "mpi");
  EXPECT_EQ(recommend(machine)[2].why, "MPI (Open MPI v4.1.4); inside Slurm job 1234");
}

TEST(Recommend, SaysWhenThereIsNoWorker) {
  Examination machine;
  machine.worker_missing = "paceline-worker: cannot be started";
  for (const auto& one : recommend(machine)) EXPECT_EQ(one.backend, "");
}

TEST(Backends, AreReadOrRefused) {
  EXPECT_THROW((void)backends_from_json("nonsense"), std::runtime_error);
  EXPECT_THROW((void)backends_from_json("{}"), std::runtime_error);
  EXPECT_THROW((void)backends_from_json(R"([{"name": 3}])"), std::runtime_error);
  const auto all = backends_from_json(
      R"([{"name": "n", "summary": "s", "recommended_for": "cpus", "version": "v", "notes": ["a"], "missing": "m"}])");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].can_be_used());
}

// On any machine, with or without GPUs.
TEST(Doctor, SaysWhatThereIs) {
  const test::Folder folder;
  const auto text = test::paceline({"doctor"}, folder.path());
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  for (const char* word : {"CPUs", "memory", "SimGrid", "gloo", "nccl", "--backend "}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word;
  }
  const auto as_json = test::paceline({"doctor", "--json", "-"}, folder.path());
  const auto all = nlohmann::json::parse(as_json.out);
  EXPECT_EQ(all.at("schema"), "paceline.doctor/1");
  EXPECT_EQ(all.at("simulator").at("missing"), "");
  EXPECT_GE(all.at("backends").size(), 5U);
  EXPECT_GE(all.at("cpus"), 1);
  EXPECT_GT(all.at("memory_bytes"), 0);
  EXPECT_EQ(all.at("recommended").size(), 3U);
}

}  // namespace
}  // namespace paceline::doctor
