// `paceline import` through the built program.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace import_test {

using nlohmann::json;

json event(const char* category, const std::string& name, double start, double length,
           json arguments = json::object()) {
  return {{"ph", "X"}, {"cat", category}, {"name", name},  {"pid", 1},
          {"tid", 2},  {"ts", start},     {"dur", length}, {"args", std::move(arguments)}};
}

// Two steps of 100 us on the host; in each a kernel of 60 us and an all-reduce of 1000 floats
// behind it, on the device for `reduce` us from `late` us on.
std::string trace_of_rank(int rank, double clock, double late, double reduce) {
  json events = json::array();
  for (int step = 0; step < 2; ++step) {
    const double at = clock + 100.0 * step;
    const int id = 10 * step;
    events.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", step + 1), at, 99));
    events.push_back(
        event("cuda_runtime", "cudaLaunchKernel", at + 5, 2, {{"correlation", id + 1}}));
    events.push_back(
        event("kernel", "gemm", at + 10, 60, {{"correlation", id + 1}, {"stream", 7}}));
    events.push_back(event("cpu_op", "record_param_comms", at + 20, 8,
                           {{"External id", id + 2},
                            {"Collective name", "allreduce"},
                            {"In msg nelems", 1000},
                            {"Out msg nelems", 1000},
                            {"Group size", 2},
                            {"dtype", "Float"},
                            {"Process Group Name", "0"},
                            {"Process Group Ranks", "[0, 1]"}}));
    events.push_back(
        event("cuda_runtime", "cudaLaunchKernelExC", at + 24, 2, {{"correlation", id + 3}}));
    events.push_back(event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
                           at + late, reduce,
                           {{"External id", id + 2}, {"correlation", id + 3}, {"stream", 9}}));
  }
  const json trace{{"schemaVersion", 1},
                   {"deviceProperties", json::array({{{"id", 0}, {"name", "A device"}}})},
                   {"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", 2}}},
                   {"traceEvents", events}};
  return trace.dump();
}

// Rank 1's clock is 5,000 us ahead; it joins 10 us late, so rank 0 waits as long.
TEST(Import, FindsStepsAndPartsWaitingFromTransfer) {
  const Folder folder;
  folder.write("0.json", trace_of_rank(0, 1000, 70, 30));
  folder.write("1.json", trace_of_rank(1, 6000, 80, 20));
  const Ended ended = paceline({"import", "1.json", "0.json", "--json", "-"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json all = json::parse(ended.out);
  ASSERT_EQ(all["traces"].size(), 2U);
  EXPECT_EQ(all["traces"][0]["rank"], 0);
  EXPECT_EQ(all["traces"][0]["device"], "A device");
  const json& steps = all["traces"][0]["steps"];
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_NEAR(steps[1]["length_s"], 100e-6, 1e-12);
  EXPECT_TRUE(steps[0]["length_s"].is_null());
  EXPECT_NEAR(steps[0]["compute_s"], 60e-6, 1e-12);
  EXPECT_NEAR(steps[0]["exposed_communication_s"], 30e-6, 1e-12);
  ASSERT_EQ(steps[0]["calls"].size(), 1U);
  EXPECT_EQ(steps[0]["calls"][0]["elements"], 1000);
  EXPECT_EQ(steps[0]["calls"][0]["element_size_bytes"], 4);
  EXPECT_NEAR(steps[0]["calls"][0]["ready_s"], 70e-6, 1e-12);
  ASSERT_EQ(all["matched"].size(), 2U);
  EXPECT_NEAR(all["matched"][0]["transfer_s"], 20e-6, 1e-12);
  EXPECT_NEAR(all["matched"][0]["skew_s"], 10e-6, 1e-12);
}

TEST(Import, TakesNoFolderOfTwoJobs) {
  const Folder folder;
  folder.write("0.json", trace_of_rank(0, 1000, 70, 30));
  std::string other = trace_of_rank(1, 1000, 70, 30);
  other.replace(other.find("\"world_size\":2"), 14, "\"world_size\":8");
  folder.write("1.json", other);
  const Ended ended = paceline({"import", "."}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("comes from a run of 8 ranks, and ./0.json from one of 2"),
            std::string::npos)
      << ended.err;
}

// Import says which file ends too early, and what of the others there is: of what is left of it no
// step has a length that the other rank's has, too. A step without one of its ranks is another one.
TEST(Import, NamesWhatIsBrokenAndReplayRefusesIt) {
  const Folder folder;
  folder.write("0.json", trace_of_rank(0, 1000, 70, 30));
  const std::string whole = trace_of_rank(1, 1000, 70, 30);
  folder.write("1.json", whole.substr(0, whole.size() / 2));
  const Ended imported = paceline({"import", "."}, folder.path());
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_NE(imported.out.find("1.json: cut off after "), std::string::npos) << imported.out;
  const Ended replayed = paceline({"replay", "."}, folder.path());
  EXPECT_EQ(replayed.exit_code, 2);
  EXPECT_NE(replayed.err.find("no step of the traces is on every rank"), std::string::npos)
      << replayed.err;
}

TEST(Import, CountsEventsThatAreBroken) {
  const Folder folder;
  std::string text = trace_of_rank(0, 1000, 70, 30);
  text.replace(text.find("\"dur\":60.0"), 10, "\"dur\":-6.0");
  folder.write("0.json", text);
  const Ended imported = paceline({"import", "0.json"}, folder.path());
  EXPECT_NE(imported.out.find(
                "0.json: 1 of 12 events are broken, and left out: 1 with a negative duration"),
            std::string::npos)
      << imported.out;
  const Ended replayed = paceline({"replay", "0.json", "--assumptions"}, folder.path());
  EXPECT_NE(replayed.out.find("events: 1 of 12 from rank 0 are broken"), std::string::npos)
      << replayed.out << replayed.err;
}

// Three steps of as many all-reduces, all of other sizes, the last ones the longest.
std::string trace_of_calls(int calls) {
  json events = json::array();
  const double length = 100.0 * calls;
  for (int step = 0; step < 3; ++step) {
    events.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", step + 1),
                           1000 + length * step, length - 1));
    for (int call = 0; call < calls; ++call) {
      const double at = 1000 + length * step + 100.0 * call;
      const int id = 10 * (calls * step + call);
      events.push_back(event("cpu_op", "record_param_comms", at + 20, 8,
                             {{"External id", id + 2},
                              {"Collective name", "allreduce"},
                              {"In msg nelems", 1000 + call},
                              {"Out msg nelems", 1000 + call},
                              {"Group size", 1},
                              {"dtype", "Float"},
                              {"Process Group Name", "0"}}));
      events.push_back(
          event("cuda_runtime", "cudaLaunchKernelExC", at + 24, 2, {{"correlation", id + 3}}));
      events.push_back(event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
                             at + 30, 10 + call,
                             {{"External id", id + 2}, {"correlation", id + 3}, {"stream", 9}}));
    }
  }
  return json{{"schemaVersion", 1}, {"traceEvents", events}}.dump();
}

TEST(Import, WritesTheWorstRowsAndAllWhenAsked) {
  const Folder folder;
  folder.write("calls.json", trace_of_calls(12));
  const Ended worst = paceline({"import", "calls.json"}, folder.path());
  ASSERT_EQ(worst.exit_code, 0) << worst.err;
  const auto has = [](const Ended& ended, const char* text) {
    return ended.out.find(text) != std::string::npos;
  };
  EXPECT_TRUE(has(worst, "the 10 with the most time of 12; --all writes the others")) << worst.out;
  EXPECT_TRUE(has(worst, "the 10 with the longest transfers of 12")) << worst.out;
  EXPECT_FALSE(has(worst, " 1001 ")) << worst.out;
  EXPECT_TRUE(has(worst, " 1011 ")) << worst.out;
  EXPECT_TRUE(has(worst, "next: paceline replay calls.json\n")) << worst.out;
  const Ended all = paceline({"import", "calls.json", "--all"}, folder.path());
  EXPECT_TRUE(has(all, " 1001 ")) << all.out;
  EXPECT_FALSE(has(all, "--all")) << all.out;
}

TEST(Import, ReadsWhatIsPacked) {
  const Folder folder;
  folder.write("0.json", trace_of_rank(0, 1000, 70, 30));
  ASSERT_EQ(
      run_program({"/bin/sh", "-c", "gzip -k 0.json && tar cf all.tar 0.json.gz && rm 0.json"},
                  folder.path())
          .exit_code,
      0);
  const Ended gzip = paceline({"import", "0.json.gz"}, folder.path());
  EXPECT_EQ(gzip.exit_code, 0) << gzip.err;
  EXPECT_EQ(gzip.out.rfind("rank 0 of 2 alone, 2 steps, A device\n", 0), 0U) << gzip.out;
}

TEST(Import, ListsAllCollectivesOfATraceWithoutSteps) {
  const std::string file =
      PACELINE_SOURCE_DIR "/tests/fixtures/execution_trace/with_attributes.json";
  const Folder folder;
  const Ended ended = paceline({"import", file}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "one rank of 4 alone, 0 steps\n\n"
            "collectives of rank -, in all of the trace\n"
            "kind        elements  bytes each  group  calls  least  most\n"
            "-----------------------------------------------------------\n"
            "broadcast        500           4      4      1      -     -\n"
            "allreduce       3000           2      4      1      -     -\n"
            "all_reduce         1           4      4      1      -     -\n");
  const Ended as_json = paceline({"import", file, "--json", "-"}, folder.path());
  const json calls = json::parse(as_json.out)["traces"][0]["calls"];
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[1]["elements"], 3000);
  EXPECT_FALSE(calls[1].contains("called_s")) << "such a trace has no times";
}

TEST(Import, RefusesWhatIsNoTrace) {
  const Folder folder;
  folder.write("no.txt", "no trace\n");
  folder.write("0.json", trace_of_rank(0, 1000, 70, 30));
  const Ended none = paceline({"import", "nowhere"}, folder.path());
  EXPECT_EQ(none.exit_code, 2);
  const Ended alone = paceline({"import", "no.txt"}, folder.path());
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.err.rfind("paceline: no.txt: is in no known format; known: paceline.trace, ", 0),
            0U)
      << alone.err;
  const Ended beside = paceline({"import", "."}, folder.path());
  EXPECT_EQ(beside.exit_code, 0) << beside.err;
  EXPECT_NE(beside.out.find("no.txt: is in no known format; known: "), std::string::npos);
  folder.write("empty.json", "{\"schemaVersion\": 1, \"traceEvents\": []}");
  EXPECT_EQ(paceline({"import", "empty.json"}, folder.path()).err,
            "paceline: empty.json: has no collectives, and nothing that ran on a device\n");
  folder.write("again.json", trace_of_rank(0, 1000, 70, 30));
  const Ended twice = paceline({"import", "0.json", "again.json"}, folder.path());
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.err.find("is from rank 0, and so is "), std::string::npos) << twice.err;
}

// Rank 1 was quicker in one all-reduce and the all-gather's other share is its own: joined, 420 and
// 200 us, as tests/traces/nccl_inspector derives.
TEST(Import, PrintsLogsOfCollectivesAndJoinsThoseOfRanks) {
  const Folder folder;
  const std::string fixtures = PACELINE_SOURCE_DIR "/tests/fixtures/collective_log/";
  const Ended ended = paceline({"import", fixtures + "inspector_rank0.jsonl",
                                fixtures + "inspector_rank1.jsonl", fixtures + "table.csv"},
                               folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out.rfind("4 tables of collectives; paceline calibrate fits them", 0), 0U);
  for (const char* words : {"inspector_rank0.jsonl: all_reduce, 2 GPUs on 1 node\n", "420us",
                            "200us", "1 of 3 calls lack ranks", "table.csv: reduce_scatter"}) {
    EXPECT_NE(ended.out.find(words), std::string::npos) << words << '\n' << ended.out;
  }
  const Ended as_json =
      paceline({"import", fixtures + "report.json", "--json", "-"}, folder.path());
  const json logs = json::parse(as_json.out).at("logs");
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].at("collective"), "all_reduce");
  EXPECT_EQ(logs[0].at("ranks"), 8);
}

}  // namespace import_test
}  // namespace paceline::test
