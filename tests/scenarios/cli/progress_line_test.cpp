#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "scenarios/cli/run_options.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::cli {
namespace progress_line_test {

TEST(ProgressLine, SaysWhatIsDoneAndHowLongTheRestTakes) {
  const auto text = [](const Progress& progress, double since, std::size_t width = 80) {
    return progress_text(progress, Seconds(since), Seconds(10), width);
  };
  EXPECT_EQ(text({0, 5}, 3), "0/5 points");
  EXPECT_EQ(text({2, 5}, 3), "2/5 points, 15s left");  // 5 s each
  EXPECT_EQ(text({.done = 60, .all = 65, .known = 40}, 3), "60/65 points, 2 a second, 2s left");
  EXPECT_EQ(progress_text({2, 5}, Seconds(0.5), Seconds(0.5), 80), "2/5 points");
  EXPECT_EQ(text({.done = 7, .of = "variants"}, 3), "7 variants");
  EXPECT_EQ(text({0, 5, "points", "8192 GPUs"}, 34.2), "0/5 points; 8192 GPUs: 34s");
  EXPECT_EQ(text({0, 5, "points", "4 GPUs", "step 3 of 20"}, 34.2),
            "0/5 points; 4 GPUs, step 3 of 20: 34s");
  EXPECT_EQ(text({0, 5, "points", "8192 GPUs", "", Seconds(60)}, 34.2),
            "0/5 points; 8192 GPUs: 34s of about 60s");
  EXPECT_EQ(text({0, 5, "points", "a\x1b[2J"}, 1), "0/5 points; a\\u001b[2J: 1s");
  EXPECT_EQ(text({2, 5}, 0, 6), "2/5 po");
}

// What a program writes on a terminal that has its standard error.
std::string on_terminal(const std::vector<std::string>& arguments, const std::string& folder) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_EQ(::grantpt(terminal), 0);
  EXPECT_EQ(::unlockpt(terminal), 0);
  const int other = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const pid_t child = test::start_program(arguments, folder, {null, null, other});
  ::close(null);
  ::close(other);
  std::string text;
  char piece[4096];
  // It ends with an error, EIO, once nobody has the other end.
  for (ssize_t n = 0; (n = ::read(terminal, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(n));
  }
  ::close(terminal);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << text;
  return text;
}

TEST(ProgressLine, IsOnTerminalsAndGoneAtTheEnd) {
  const test::Folder folder;
  folder.write("scenario.yaml",
               test::changed(test::small_scenario, "fidelity: folded", "fidelity: folded"));
  const std::vector<std::string> command{PACELINE_BINARY, "run", "scenario.yaml", "--set",
                                         "sweep.gpus=[2, 4]"};
  const std::string text = on_terminal(command, folder.path());
  EXPECT_NE(text.find("\r\033[K0/2 points; 2 GPUs: "), std::string::npos) << text;
  EXPECT_NE(text.find("\r\033[K2/2 points"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
  auto quiet = command;
  quiet.emplace_back("--quiet");
  EXPECT_EQ(on_terminal(quiet, folder.path()), "");
  EXPECT_EQ(test::run_program(command, folder.path()).err, "");
}

TEST(ProgressLine, SaysWhatAdviseDoes) {
  const test::Folder folder;
  folder.write("scenario.yaml", std::string(test::small_scenario));
  const std::string text = on_terminal({PACELINE_BINARY, "advise", "scenario.yaml"}, folder.path());
  EXPECT_NE(text.find("\r\033[K0 variants; the scenario as it is: 0s"), std::string::npos) << text;
  EXPECT_NE(text.find(" variants", text.find("\r\033[K2/")), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST(ProgressLine, SaysWhatIsReadAndWhatExplainPredicts) {
  const test::Folder folder;
  const std::string trace = PACELINE_SOURCE_DIR "/tests/fixtures/kineto/with_metadata.json";
  std::string text = on_terminal({PACELINE_BINARY, "import", trace}, folder.path());
  EXPECT_NE(text.find(" files read; reading "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
  folder.write("scenario.yaml", std::string(test::small_scenario));
  text = on_terminal({PACELINE_BINARY, "explain", "scenario.yaml"}, folder.path());
  EXPECT_NE(text.find("\r\033[K0 predictions; the point as it is: 0s"), std::string::npos) << text;
  EXPECT_NE(text.find("\r\033[K1 predictions; "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST(Columns, SayHowWideTablesAre) {
  const test::Folder folder;
  folder.write("scenario.yaml", test::small_scenario);
  const auto widest = [&](const std::string& columns) {
    const auto ended = test::run_program(
        {"/usr/bin/env", "COLUMNS=" + columns, PACELINE_BINARY, "run", "scenario.yaml"},
        folder.path());
    const std::string table = ended.out.substr(0, ended.out.find("\n\nnetwork:"));
    std::size_t most = 0;
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
    return most;
  };
  EXPECT_GT(widest("0"), 40U);  // as wide as it is
  EXPECT_EQ(widest("wide"), widest("0"));
  EXPECT_LE(widest("40"), 40U);
  EXPECT_LE(widest("1"), 20U);
}

}  // namespace progress_line_test
}  // namespace paceline::cli
