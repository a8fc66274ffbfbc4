// Files that `paceline import` cannot use, of every format: one line, with the place, and code 2.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace import_bad_files_test {

const std::string fixtures = PACELINE_SOURCE_DIR "/tests/fixtures/";

struct Format {
  const char* name;
  std::string text;
  std::string cut_behind;  // what is left ends with it
  const char* place;       // of that, in the message
};

std::vector<Format> formats() {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  return {
      {"kineto", text_of(fixtures + "kineto/with_metadata.json"), "\"traceEvents\"", "at byte "},
      {"step trace", paceline({"run", "scenario.yaml", "--trace", "-"}, folder.path()).out,
       "\"intervals\"", "at byte "},
      {"inspector", text_of(fixtures + "collective_log/inspector_rank0.jsonl"), "\"coll_perf\"",
       "line 1: the line breaks off"},
      {"nccl-tests JSON", text_of(fixtures + "collective_log/report.json"), "\"results\"", "line "},
      {"nccl-tests text", text_of(fixtures + "collective_log/old_text.txt"),
       "float     sum    21.50", "line 13: "},
      {"table", text_of(fixtures + "collective_log/table.csv"), "time(us)", "header"},
  };
}

TEST(ImportBadFiles, ThatAreCutOffNameThePlace) {
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    const Folder folder;
    const auto end = format.text.find(format.cut_behind);
    ASSERT_NE(end, std::string::npos);
    folder.write("cut", format.text.substr(0, end + format.cut_behind.size()));
    const Ended ended = paceline({"import", "cut"}, folder.path());
    expect_refused(ended, "paceline: cut: ");
    EXPECT_NE(ended.err.find(format.place), std::string::npos) << ended.err;
  }
}

TEST(ImportBadFiles, OfAnotherKindAreNone) {
  const Folder folder;
  for (const char* text :
       {"\n", "no trace\n", "{}", "[]", "null", "{\"schema\": \"paceline.result\"}", "\x89PNG\r\n",
        "{\"a\": [1, 2", "size count\n1 2\n"}) {
    folder.write("other", text);
    expect_refused(paceline({"import", "other"}, folder.path()),
                   "paceline: other: is in no known format; known: paceline.trace, ");
  }
  folder.write("empty", "");
  expect_refused(paceline({"import", "empty"}, folder.path()), "paceline: empty: ");
}

// The keys of a format, and values of another type.
TEST(ImportBadFiles, WithValuesOfAnotherTypeNameTheKeyOrTheLine) {
  const Folder folder;
  const struct {
    const char *text, *message;
  } cases[] = {
      {R"({"traceEvents": 5})", "has no traceEvents"},
      {R"({"schema": "paceline.trace/2", "runs": 5})", "runs: is no list"},
      {R"({"schema": "paceline.trace/2", "runs": [5]})", "runs: [0]: is no object"},
      {R"({"schema": "paceline.trace/2", "runs": []})", "has no runs"},
      {R"({"header": 5, "coll_perf": 5})", "line 1: header: is no object"},
      {R"({"nccl_version": 5, "results": 5})", "has no results"},
  };
  for (const auto& [text, message] : cases) {
    folder.write("odd", text);
    expect_refused(paceline({"import", "odd"}, folder.path()),
                   std::string("paceline: odd: ") + message);
  }
}

TEST(ImportBadFiles, OfMoreRanksThanAnyRunHasNameThePlace) {
  const Folder folder;
  const struct {
    const char *text, *message;
  } cases[] = {
      {R"({"distributedInfo": {"world_size": 100000}, "traceEvents": []})",
       "distributedInfo: world_size is 100000, more than the 65536 that a run may have"},
      {R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1,
          "dur": 1, "args": {"Collective name": "allreduce", "Group size": 100000}}]})",
       "event 1: Group size is 100000, more than the 65536 that a run may have"},
      {R"({"schema": "paceline.trace/2", "runs": [{"name": "r", "origin": "imported",
          "program": {"lanes": [], "operations": []},
          "classes": [{"ranks": [99999], "intervals": []}]}]})",
       "runs: [0]: classes: [0]: ranks: has 99999, more than the 65536 that a run may have"},
      {R"({"header": {"id": "0x1", "rank": 0, "n_ranks": 100000, "nnodes": 1}, "coll_perf": {}})",
       "line 1: n_ranks is 100000, more than the 65536 that a run may have"},
  };
  for (const auto& [text, message] : cases) {
    folder.write("large", text);
    expect_refused(paceline({"import", "large"}, folder.path()),
                   std::string("paceline: large: ") + message);
  }
}

// What never ends, and is no text from its first bytes on, of every command that reads files.
TEST(ImportBadFiles, WithoutAnEndAreRefusedByTheirFirstBytes) {
  const Folder folder;
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } cases[] = {
      {{"import", "/dev/zero"}, "paceline: /dev/zero: is in no known format; known: "},
      {{"replay", "/dev/zero"}, "paceline: /dev/zero: is in no known format; known: "},
      {{"topology", "/dev/zero"}, "paceline: /dev/zero:1: is not text: it has a zero byte"},
      {{"run", "/dev/zero"}, "paceline: /dev/zero: is not a text file: byte 0 is 0"},
      {{"check", "/dev/zero"}, "paceline: /dev/zero: is not a text file: byte 0 is 0"},
      {{"calibrate", "/dev/zero", "-o", "c.yaml"},
       "paceline: /dev/zero:1: is not text: it has a zero byte"},
      {{"validate", "/dev/zero"}, "paceline: /dev/zero: "},
      {{"compare", "/dev/zero", "/dev/zero"}, "paceline: /dev/zero: is not JSON: "},
  };
  for (const auto& [arguments, message] : cases) {
    SCOPED_TRACE(arguments.front());
    const Ended ended = paceline(arguments, folder.path());
    expect_refused(ended, message);
    EXPECT_TRUE(is_sanitized || ended.peak_kib < 100'000) << ended.peak_kib;
  }
}

TEST(ImportBadFiles, LeaveStreamsOfGoodOnesReadable) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const std::string log = fixtures + "collective_log/table.csv";
  for (const std::string& command :
       {"import <(cat " + log + ")", "import <(gzip -c " + log + ")", "import /dev/stdin < " + log,
        std::string("run --quiet <(cat scenario.yaml)")}) {
    const Ended ended =
        run_program({"/bin/bash", "-c", PACELINE_BINARY " " + command}, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << command << ended.err;
  }
}

}  // namespace import_bad_files_test
}  // namespace paceline::test
