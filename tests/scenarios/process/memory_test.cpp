#include "scenarios/process/memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/process/line_process.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace {

// A limit holds for good: each in a process of its own.
bool holds_in_a_process(const std::function<bool()>& claim) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(claim() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool has_room_for(std::size_t bytes) {
  try {
    std::vector<char> room(bytes);
    return room.back() == 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

constexpr std::size_t mebibyte = 1U << 20U;

TEST(Memory, OfTheMachineIsKnown) {
  ASSERT_TRUE(memory_of_machine());
  EXPECT_GT(*memory_of_machine(), Bytes(64 * mebibyte));
}

TEST(Memory, IsHeldToWhatTheEnvironmentSays) {
  if (test::is_sanitized) GTEST_SKIP() << "sanitizers take memory themselves";
  EXPECT_TRUE(holds_in_a_process([] {
    ::setenv("PACELINE_MEMORY", "200MiB", 1);
    hold_memory();
    return memory_held() == Bytes(200 * mebibyte) && has_room_for(50 * mebibyte) &&
           !has_room_for(300 * mebibyte) &&
           out_of_memory_text().find("0.195 GiB") != std::string::npos;
  }));
  EXPECT_FALSE(memory_held());
}

TEST(Memory, IsHeldToSevenEighthsOfTheMachine) {
  if (test::is_sanitized) GTEST_SKIP() << "sanitizers take memory themselves";
  EXPECT_TRUE(holds_in_a_process([] {
    ::unsetenv("PACELINE_MEMORY");
    hold_memory();
    return memory_held() == Bytes(memory_of_machine()->value() / 8 * 7);
  }));
}

TEST(Memory, OfChildrenIsNotHeldUnlessItIsSaid) {
  if (test::is_sanitized) GTEST_SKIP() << "sanitizers take memory themselves";
  const auto limits_of_child = [](std::optional<Bytes> most) {
    ::setenv("PACELINE_MEMORY", "300MiB", 1);
    hold_memory();
    ExecutorCommand command{"sh", {"/bin/sh", "-c", "read line; ulimit -d; ulimit -v"}, false};
    command.memory_max = most;
    LineProcess child(command);
    const auto data = child.ask("", std::nullopt), all = child.listen(std::nullopt);
    return *data.line + " " + *all.line;
  };
  EXPECT_TRUE(
      holds_in_a_process([&] { return limits_of_child(std::nullopt).starts_with("unlimited "); }));
  EXPECT_TRUE(holds_in_a_process(
      [&] { return limits_of_child(Bytes(2048 * mebibyte)) == "unlimited 2097152"; }));
}

// What JSON is taken down needs memory, too: with little room some of these ended by a signal.
TEST(Memory, ThatRunsOutAnywhereIsOneLine) {
  if (test::is_sanitized) GTEST_SKIP() << "sanitizers take memory themselves";
  const test::Folder folder;
  const std::string scenario =
      std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/abci-resnet50-v100-amp.yaml";
  for (int kibibytes = 60'000; kibibytes <= 84'000; kibibytes += 500) {
    const std::string command = "ulimit -v " + std::to_string(kibibytes) + "; exec " +
                                PACELINE_BINARY + " run " + scenario + " --quiet";
    const test::Ended ended = test::run_program({"/bin/sh", "-c", command}, folder.path());
    if (ended.exit_code == 0) continue;  // it was enough
    EXPECT_EQ(ended.exit_code, 3) << kibibytes << ", signal " << ended.signal << ": " << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_TRUE(ended.err.starts_with("paceline: ")) << ended.err;
  }
}

TEST(Memory, OfTheEnvironmentIsASize) {
  const test::Folder folder;
  for (const char* bad : {"much", "0B", "12", "-1GiB"}) {
    test::expect_refused(
        test::run_program(
            {"/usr/bin/env", std::string("PACELINE_MEMORY=") + bad, PACELINE_BINARY, "list"},
            folder.path()),
        std::string("paceline: PACELINE_MEMORY: \"") + bad + "\" is not a size above zero");
  }
}

// 45,000 layers: operations of about 400 bytes each, in both passes.
TEST(Memory, ThatRunsOutIsATroubleOfTheMachine) {
  if (test::is_sanitized) GTEST_SKIP() << "sanitizers take memory themselves";
  const test::Folder folder;
  folder.write("scenario.yaml", test::small_scenario);
  const test::Ended ended =
      test::run_program({"/usr/bin/env", "PACELINE_MEMORY=24MiB", PACELINE_BINARY, "check",
                         "scenario.yaml", "--set", "workload.layers.0.repeat=45000"},
                        folder.path());
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.err,
            "paceline: there is not enough memory for this: paceline takes at most 0.0234 GiB; "
            "PACELINE_MEMORY sets another limit\n");
}

}  // namespace
}  // namespace paceline
