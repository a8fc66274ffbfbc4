// `paceline run --measure` with NCCL on devices that are not there, as it is and with faults: each
// ends the run in time with exit code 3 and one line that says which rank and what, and leaves
// nothing behind.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "tests/real/worker/programs/measured.h"

namespace paceline::test {
namespace {

const std::string programs = std::string(PACELINE_STAND_IN) + "/bin/";
// Waits for other ranks end after 3 s; processes have 2 s more to end. The default of the first is
// 30 s.
constexpr double fault_end_max_s = 25;

struct Case {
  const char* name;
  Variables variables;
  const char* said;  // empty: nothing, the run is done
  const char* mode = "plan";
};

void PrintTo(const Case& run, std::ostream* out) { *out << run.name; }

std::set<std::string> shared_memory() {
  std::set<std::string> files;
  for (const auto& one : std::filesystem::directory_iterator("/dev/shm")) {
    files.insert(one.path().string());
  }
  return files;
}

Variables on_devices(const char* devices, const char* fault = "") {
  return {{"PACELINE_STAND_IN_DEVICES", devices}, {"PACELINE_STAND_IN_FAULT", fault}};
}

class NcclOnStandIn : public testing::TestWithParam<Case> {
 protected:
  // Of two ranks.
  Start measure(const std::string& mode, const Variables& variables) {
    const std::string scenario = folder_.write("scenario.yaml", measured_scenario("nccl", "4"));
    Start start{measure_command(scenario, json()), variables};
    start.command.front() = programs + "paceline";
    for (const std::string& setting :
         {std::string("sweep.gpus=[2]"), "real.mode=" + mode, std::string("real.timeout=3s")}) {
      start.command.insert(start.command.end(), {"--set", setting});
    }
    return start;
  }
  [[nodiscard]] std::string json() const { return (folder_.path() / "result.json").string(); }

  Folder folder_;
};

TEST_P(NcclOnStandIn, EndsAsItShould) {
  const Case& run = GetParam();
  const auto before = shared_memory();
  Program program(measure(run.mode, run.variables));
  std::vector<pid_t> seen;
  (void)comes(fault_end_max_s, [&] {
    if (auto now = below(program.process()); now.size() > seen.size()) seen = std::move(now);
    return program.has_ended();
  });
  const Ended ended = program.end(fault_end_max_s);
  EXPECT_FALSE(is_any_alive(seen));
  EXPECT_EQ(shared_memory(), before);
  if (*run.said == '\0') {
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const auto result = nlohmann::json::parse(text_of(json()));
    EXPECT_GT(result["points"][0]["measured"]["step_s"], 0.06);
    return;
  }
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(lines_of(ended.err).size(), 1U) << ended.err;
  EXPECT_NE(ended.err.find(run.said), std::string::npos) << ended.err;
}

INSTANTIATE_TEST_SUITE_P(
    StandIn, NcclOnStandIn,
    testing::Values(
        Case{"Plan", on_devices("2"), ""}, Case{"Native", on_devices("2"), "", "native"},
        Case{"OutOfMemory", on_devices("2", "malloc:2@1"),
             "nccl: rank 1: cudaMalloc: out of memory"},
        Case{"NoStream", on_devices("2", "stream:2@1"),
             "nccl: rank 1: cudaStreamCreateWithFlags: out of memory"},
        Case{"NoEvent", on_devices("2", "event:40@1"),
             "nccl: rank 1: cudaEventCreateWithFlags: out of memory"},
        Case{"EventIsNotRecorded", on_devices("2", "record:40@1"),
             "nccl: rank 1: cudaEventRecord: unknown error"},
        Case{"CopyFails", on_devices("2", "memcpy:3@1"), "nccl: rank 1: cudaMemcpy: unknown error"},
        Case{"KernelsAreNotLoaded", on_devices("2", "load:3@1"),
             "nccl: rank 1: cudaFuncGetAttributes: "},
        Case{"LaunchFails", on_devices("2", "launch:30@1"),
             "too many resources requested for launch"},
        Case{"KernelFails", on_devices("2", "kernel:30@1"), "unspecified launch failure"},
        Case{"NoPlace", on_devices("2", "pci:1@1"), "cudaDeviceGetPCIBusId: unknown error"},
        Case{"NoId", on_devices("2", "nccl-id:3@0"), "unhandled system error"},
        Case{"NoCommunicator", on_devices("2", "nccl-init:3@1"),
             "nccl: rank 1: ncclCommInitRankConfig: unhandled system error"},
        Case{"CallIsRefused", on_devices("2", "nccl-call:20@1"), "invalid usage"},
        Case{"PeerIsLost", on_devices("2", "nccl-async:4@1"),
             "remote process exited or there was a network error: a fault that was asked for"},
        Case{"PeerIsLostInACollective", on_devices("2", "nccl-async:4@1"),
             "remote process exited or there was a network error: a fault that was asked for",
             "native"},
        Case{"FailsOnTheDevice", on_devices("2", "nccl-kernel:4@1"),
             "nccl: rank 1: wait: internal error - please report this issue to the NCCL "
             "developers: a fault that was asked for",
             "native"},
        Case{"IsNotClosed", on_devices("2", "nccl-finalize:1@1"), ""},
        Case{"OldLibrary",
             {{"PACELINE_STAND_IN_DEVICES", "2"}, {"PACELINE_STAND_IN_NCCL_VERSION", "21304"}},
             "NCCL 2.13.4 is older than 2.14.0"},
        Case{"LibraryWithoutWhatIsNeeded",
             {{"PACELINE_STAND_IN_DEVICES", "2"},
              {"LD_LIBRARY_PATH", PACELINE_STAND_IN "/lib_too_old"}},
             "NCCL 2.7.8 is older than 2.14.0"},
        Case{"MissingSymbol",
             {{"PACELINE_STAND_IN_DEVICES", "2"},
              {"PACELINE_STAND_IN_NCCL_VERSION", "22809"},
              {"LD_LIBRARY_PATH", PACELINE_STAND_IN "/lib_too_old"}},
             "undefined symbol: ncclGetUniqueId"},
        Case{"NoDevice", on_devices("0"),
             "nccl: no CUDA device: no CUDA-capable device is detected"},
        Case{"OneDeviceForTwo", on_devices("1"),
             "ranks 0 and 1 are on one GPU, which NCCL refuses"}),
    [](const auto& one) { return std::string(one.param.name); });

// Stopped, it does not answer: no wait is longer than the timeout.
TEST_F(NcclOnStandIn, EndsWhenARankIsStopped) {
  Start start = measure("native", on_devices("2"));
  start.command.insert(start.command.end(), {"--set", "real.steps=2000"});
  Program program(start);
  const auto ranks = ranks_in_steps(program.process(), 2, program.process());
  ASSERT_TRUE(ranks.contains("1"));
  const auto all = below(program.process());
  ASSERT_EQ(::kill(ranks.at("1"), SIGSTOP), 0);
  const Ended ended = program.end(fault_end_max_s);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_NE(ended.err.find("rank 1"), std::string::npos) << ended.err;
  EXPECT_TRUE(comes(hangs_after_s, [&] { return !is_any_alive(all); }));
}

TEST(StandInDoctor, SaysWhatThereIs) {
  const Folder folder;
  Program program({{programs + "paceline", "doctor"}, on_devices("3")});
  const Ended ended = program.end(fault_end_max_s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* part : {"nccl", "cuda-local", "CUDA driver 13.0, runtime ",
                           "device 2: device stand-in, 16384 MiB, compute capability 9.0"}) {
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << " is not in\n" << ended.out;
  }
}

TEST(StandInDoctor, SaysWhyADeviceIsNotKnown) {
  Program program({{programs + "paceline", "doctor"}, on_devices("1", "properties:1")});
  const Ended ended = program.end(fault_end_max_s);
  EXPECT_NE(ended.out.find("device 0: unknown error"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace paceline::test
