// Every rendezvous makes a group of ranks that talk.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/real/launch/ranks.h"

namespace paceline::real::test {
namespace group_test {

class Group : public testing::TestWithParam<const char*> {};

std::string talk(Control& control) {
  const std::string mine = std::to_string(control.rank().value());
  std::string said = control.broadcast("from " + mine);
  for (const std::string& text : control.gather(mine)) said += " " + text;
  control.barrier();
  for (const std::string& text : control.all_gather(mine + mine)) said += " " + text;
  control.leave();
  return said;
}

TEST_P(Group, FormsAndTalks) {
  const Port port;
  const Folder folder;
  const std::map<std::string, std::string> url{
      {"env", "env://"},
      {"tcp", port.url()},
      {"file", "file://" + (folder.path / "meet").string()}};
  const std::string kind = GetParam();
  const auto said = as_threads(3, [&](std::uint32_t rank) {
    std::map<std::string, std::string> variables{{"MASTER_ADDR", "127.0.0.1"},
                                                 {"MASTER_PORT", std::to_string(port.number)}};
    if (rank == 0 && kind != "file") {
      variables["PACELINE_CONTROL_FD"] = std::to_string(::dup(port.listener.file()));
    }
    const auto where = parse_rendezvous(url.at(kind), environment_of(variables));
    const auto control = Control::join(rank_of(rank, 3), where, patient);
    EXPECT_EQ(control->clock_error(), Seconds(0));
    EXPECT_FALSE(control->address().empty());
    return talk(*control);
  });
  EXPECT_EQ(said, (std::vector<std::string>{"from 0 0 1 2 00 11 22", "from 0 00 11 22",
                                            "from 0 00 11 22"}));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << "the file of the rendezvous is left";
}

INSTANTIATE_TEST_SUITE_P(ByRendezvous, Group, testing::Values("env", "tcp", "file"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(Group, OfOneNeedsNoPeers) {
  const auto control = Control::join(
      rank_of(0, 1), parse_rendezvous("tcp://127.0.0.1:1", environment_of({})), hasty);
  EXPECT_EQ(control->broadcast("a"), "a");
  EXPECT_EQ(control->gather("b"), std::vector<std::string>{"b"});
  EXPECT_EQ(control->address(), "127.0.0.1");
  control->leave();
}

// With another machine's name the clocks are compared by round trips; they are one here, so what is
// found must hold the truth, 0, within its error.
TEST(Group, FindsTheClockOfAnotherMachineWithinItsError) {
  const Port port;
  Processes ranks(2, [&](std::uint32_t rank) {
    ::setenv("PACELINE_MACHINE_ID", rank == 0 ? "a" : "b", 1);
    const auto control = Control::join(rank_of(rank, 2), port.rendezvous(rank), patient);
    const bool holds = std::abs(control->clock_offset().value()) <= control->clock_error().value();
    const bool has_error = control->clock_error() > Seconds(0);
    control->leave();
    return std::string(holds ? "holds" : "is off") + (has_error ? " about" : " exactly");
  });
  EXPECT_EQ(ranks.line(0), "holds exactly");
  EXPECT_EQ(ranks.line(1), "holds about");
}

TEST(Group, MeetsWhereAnEarlierRunLeftItsFile) {
  const Folder folder;
  const std::string path = (folder.path / "meet").string();
  const Port silent;  // takes connections and never answers
  const std::vector<std::string> left{"127.0.0.1 1 0123\n", "nonsense",
                                      "127.0.0.1 " + std::to_string(silent.number) + " 01\n"};
  for (const std::string& stale : left) {
    std::ofstream(path) << stale;
    const auto said = as_threads(2, [&](std::uint32_t rank) {
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const auto control = Control::join(
          rank_of(rank, 2), parse_rendezvous("file://" + path, environment_of({})), patient);
      const std::string text = control->broadcast("met");
      control->leave();
      return text;
    });
    EXPECT_EQ(said, (std::vector<std::string>{"met", "met"}));
  }
}

// 20 MB each way while a silence of two seconds is a failure.
TEST(Group, PassesLargeMessagesWithoutFallingSilent) {
  const Port port;
  const std::size_t size = 20'000'000;
  const auto said = as_threads(3, [&](std::uint32_t rank) {
    const auto control =
        Control::join(rank_of(rank, 3), port.rendezvous(rank), {patient.connect, Seconds(2)});
    const auto all = control->all_gather(std::string(size, static_cast<char>('a' + rank)));
    control->leave();
    std::string firsts;
    for (const std::string& text : all) {
      firsts += text.size() == size && text.back() == text.front() ? text.substr(0, 1) : "-";
    }
    return firsts;
  });
  EXPECT_EQ(said, std::vector<std::string>(3, "abc"));
}

}  // namespace group_test
}  // namespace paceline::real::test
