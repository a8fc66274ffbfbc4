// A rank that dies, stops or gives up ends the run for all, with its name.

#include <gtest/gtest.h>

#include <future>
#include <regex>

#include "tests/real/launch/ranks.h"

namespace paceline::real::test {
namespace failure_test {

// Joins, and notes what on_failure gets.
std::unique_ptr<Control> join_noting(const Port& port, std::uint32_t rank, std::uint32_t size,
                                     std::string& handled, Seconds silence = patient.silence) {
  return Control::join(
      rank_of(rank, size), port.rendezvous(rank),
      {patient.connect, silence, [&handled](const std::string& line) { handled = line; }});
}

// Joins, says so, and waits at a barrier for a failure.
std::string wait_for_failure(const Port& port, std::uint32_t rank, std::uint32_t size,
                             Seconds silence) {
  std::string handled = "nothing";
  const auto control = join_noting(port, rank, size, handled, silence);
  Processes::say("joined");
  try {
    while (true) {
      control->barrier();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const BackendError& error) {
    EXPECT_EQ(handled, error.what()) << "on_failure comes before those who wait";
  }
  return handled;
}

struct Loss {
  const char* name;
  std::uint32_t rank;
  int signal;
  const char* line;
};

std::ostream& operator<<(std::ostream& out, const Loss& loss) { return out << loss.name; }

class Loses : public testing::TestWithParam<Loss> {};

TEST_P(Loses, ARankAndAllOthersHearOfIt) {
  const Loss& loss = GetParam();
  // A rank that dies is not waited for; that a rank is silent takes that long.
  const Seconds silence = loss.signal == SIGSTOP ? Seconds(1.5) : patient.silence;
  const Port port;
  Processes ranks(3, [&](std::uint32_t rank) { return wait_for_failure(port, rank, 3, silence); });
  for (std::uint32_t rank = 0; rank < 3; ++rank) ASSERT_EQ(ranks.line(rank), "joined");
  ranks.signal(loss.rank, loss.signal);
  const std::string pattern = "rank " + std::to_string(loss.rank) + R"( \(pid )" +
                              std::to_string(ranks.pid(loss.rank)) + R"( on \S+\) )" + loss.line;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    if (rank == loss.rank) continue;
    const std::string line = ranks.line(rank);
    EXPECT_TRUE(std::regex_match(line, std::regex(pattern))) << line;
  }
}

constexpr Loss losses[] = {{"KilledRank", 2, SIGKILL, "has died: its connection closed"},
                           {"KilledRankZero", 0, SIGKILL, "has died: its connection closed"},
                           {"StoppedRank", 1, SIGSTOP, "has been silent for 1.5 s"},
                           {"StoppedRankZero", 0, SIGSTOP, "has been silent for 1.5 s"}};

INSTANTIATE_TEST_SUITE_P(To, Loses, testing::ValuesIn(losses), testing::PrintToStringParamName());

// What nobody asks for would fill the memory of rank 0.
TEST(Failure, IsARankThatSaysMoreThanItIsAskedFor) {
  const Port port;
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    std::promise<std::string> handled;
    const auto control = Control::join(rank_of(rank, 2), port.rendezvous(rank),
                                       {patient.connect, patient.silence,
                                        [&](const std::string& line) { handled.set_value(line); }});
    try {
      const std::string much(8U << 20U, 'x');
      for (int i = 0; rank == 1 && i < 16; ++i) control->gather(much);
    } catch (const BackendError&) {  // it was stopped in the middle
    }
    return handled.get_future().get();
  });
  for (const std::string& line : said) {
    EXPECT_TRUE(std::regex_match(
        line, std::regex(R"(rank 1 \(pid \d+ on \S+\) says more than it is asked for)")))
        << line;
  }
}

TEST(Failure, IsReportedToEveryOtherRankWithTheNameOfItsOwn) {
  for (const std::uint32_t reporter : {0u, 1u}) {
    const Port port;
    const auto said = as_threads(3, [&](std::uint32_t rank) {
      std::string handled = "nothing";
      const auto control = join_noting(port, rank, 3, handled);
      control->barrier();
      if (rank == reporter) {
        control->report_failure("out of memory");
        return handled;
      }
      EXPECT_THROW(while (true) control->barrier(), BackendError);
      return handled;
    });
    const std::string line = "rank " + std::to_string(reporter) + ": out of memory";
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(said[rank], rank == reporter ? "nothing" : line);
    }
  }
}

TEST(Failure, OfRanksThatAreAtDifferentCallsIsNamed) {
  const Port port;
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    const auto control = Control::join(rank_of(rank, 2), port.rendezvous(rank), patient);
    if (rank == 0) (void)control->broadcast("a");
    control->barrier();
    control->barrier();
    return std::string("passed");
  });
  EXPECT_NE(said[0].find("they do not run the same program"), std::string::npos) << said[0];
}

TEST(Failure, OfARankThatLeavesWhileAnotherCallsIsNamed) {
  const Port port;
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    const auto control = Control::join(rank_of(rank, 2), port.rendezvous(rank), patient);
    if (rank == 0) control->barrier();
    control->leave();
    return std::string("passed");
  });
  for (const std::string& line : said) {
    EXPECT_NE(line.find(" at call 1 of the control plane, leave, rank 0 at call 1, gather: "),
              std::string::npos)
        << line;
  }
}

TEST(Failure, IsNoneAfterAllHaveLeft) {
  const Port port;
  const auto said = as_threads(3, [&](std::uint32_t rank) {
    std::string handled = "nothing";
    auto control = join_noting(port, rank, 3, handled);
    control->leave();
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank));
    control.reset();
    return handled;
  });
  EXPECT_EQ(said, std::vector<std::string>(3, "nothing"));
}

// The longest that a rank may be busy elsewhere is no matter of the control plane.
TEST(Failure, IsNotARankThatIsBusy) {
  const Port port;
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    const auto control =
        Control::join(rank_of(rank, 2), port.rendezvous(rank), {patient.connect, Seconds(1)});
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    control->barrier();
    control->leave();
    return std::string("passed");
  });
  EXPECT_EQ(said, std::vector<std::string>(2, "passed"));
}

}  // namespace failure_test
}  // namespace paceline::real::test
