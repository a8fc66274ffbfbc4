// What is wrong when ranks join is said, in one line, to all that came.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <regex>

#include "real/launch/greeting.h"
#include "real/launch/link.h"
#include "tests/real/launch/ranks.h"
#include "tests/scenarios/process.h"

namespace paceline::real::test {
namespace join_test {

std::string try_to_join(const RankIdentity& identity, const Rendezvous& where,
                        const ControlSettings& limits) {
  const auto begin = steady_now();
  std::string said = "joined";
  try {
    (void)Control::join(identity, where, limits);
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  // Twice the limit and the moments in which things are said; the rest is a busy machine's.
  EXPECT_LT(steady_now() - begin, 2 * limits.connect + Seconds(30));
  return said;
}

Opened connection_to(const Port& port) {
  return connect_to(local_address(port.listener), steady_now() + patient.connect);
}

// Proves to be this rank, without a secret.
void introduce(Link& link, const RankIdentity& identity) {
  const auto end = steady_now() + patient.connect;
  const std::string hello = to_text(own_greeting(identity, "", false));
  link.send(FrameKind::hello, 0, hello, end);
  const std::string answer = link.receive(end).value().body;
  const std::string rank_0 = answer.substr(0, answer.rfind('\n') + 1);
  link.send(FrameKind::proof, 0, proof_of("other rank", "", hello, rank_0), end);
}

void expect_all(const std::vector<std::string>& said, const std::string& pattern) {
  for (const std::string& line : said) {
    EXPECT_TRUE(std::regex_match(line, std::regex(pattern))) << line;
    EXPECT_EQ(line, said.front());
  }
}

// Ranks themselves do not say so; another program may.
TEST(Join, RefusesARankOutsideTheWorld) {
  const Port port;
  const auto said = as_threads(2, [&](std::uint32_t process) {
    if (process == 0) return try_to_join(rank_of(0, 2), port.rendezvous(0), patient);
    Link link(std::move(connection_to(port).socket));
    introduce(link, rank_of(7, 2));
    return link.receive(steady_now() + patient.connect).value().body;
  });
  expect_all(said, R"(rank 7 \(pid \d+ on \S+\) is outside a world of 2 ranks, 0 to 1; .*)");
}

TEST(Join, RefusesARankThatWasToldSomethingElse) {
  const Port port;
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    RankIdentity identity = rank_of(rank, 2);
    identity.told = rank == 0 ? "version=1 scenario#a steps=3" : "version=1 scenario#c steps=3";
    std::string line = "joined";
    try {
      (void)Control::join(identity, port.rendezvous(rank), patient);
    } catch (const UsageError& error) {
      line = error.what();
    }
    return line;
  });
  expect_all(said, R"(rank 1 \(pid \d+ on \S+\) has another scenario than rank 0; start all .*)");
}

// Rank 2 comes after rank 1 has ended, and hears of it all the same.
TEST(Join, EndsAllOverARankThatCannotTakePart) {
  for (const std::uint32_t faulty : {0u, 1u}) {
    const Port port;
    const Gate rank_1_has_ended;
    const auto said = as_threads(3, [&](std::uint32_t rank) {
      RankIdentity identity = rank_of(rank, 3);
      if (rank == faulty) identity.fault = "no such\nfile";
      if (rank == 2) rank_1_has_ended.wait();
      const std::string line = try_to_join(identity, port.rendezvous(rank), patient);
      if (rank == 1) rank_1_has_ended.open();
      return line;
    });
    expect_all(said, "rank " + std::to_string(faulty) +
                         R"( \(pid \d+ on \S+\) cannot take part: no such\\nfile)");
  }
}

// Ranks that know of more ranks than rank 0 does come one by one, each when the one before has
// ended.
TEST(Join, EndsAllRanksOfALargerWorld) {
  const Port port;
  const Gate ended[4];
  const auto said = as_threads(4, [&](std::uint32_t rank) {
    if (rank > 1) ended[rank - 1].wait();
    const auto line = try_to_join(rank_of(rank, rank == 0 ? 2 : 4), port.rendezvous(rank), patient);
    ended[rank].open();
    return line;
  });
  expect_all(said,
             "rank 1 was told a world size of 4, rank 0 of 2; set WORLD_SIZE alike everywhere");
}

TEST(Greetings, TellTheFirstThatDiffers) {
  EXPECT_EQ(find_difference("version=1 scenario#a", "version=1 scenario#a"), "");
  EXPECT_EQ(find_difference("scenario#a version=2", "scenario#a version=1"),
            "has version=2, rank 0 version=1");
  EXPECT_EQ(find_difference("scenario#a", "scenario#b"), "has another scenario than rank 0");
  EXPECT_EQ(find_difference("scenario=a", "scenario#b"), "has another scenario than rank 0");
  EXPECT_EQ(find_difference("version=1 steps=3", "version=1"), "has steps=3, rank 0 no steps");
  EXPECT_EQ(find_difference("version=1", "version=1 steps=3"), "has no steps, rank 0 steps=3");
  EXPECT_EQ(find_difference("version=1", "version=1 path#ab"), "has no path, rank 0 a path");
  EXPECT_EQ(find_difference("version=1 path#ab", "version=1"), "has a path, rank 0 no path");
  EXPECT_EQ(find_difference("", "version=1"), "");
  EXPECT_EQ(find_difference("", ""), "");
}

TEST(Join, ReadsNoPipeDeviceOrFolderAsItsFile) {
  const Folder folder;
  const std::string pipe = (folder.path / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), folder.path.string()}) {
    const auto where = parse_rendezvous("file://" + path, environment_of({}));
    const std::string said = try_to_join(rank_of(1, 2), where, hasty);
    EXPECT_EQ(said.find("the rendezvous file " + path + " is no regular file"), 0u) << said;
  }
}

TEST(Join, NamesTheRanksThatDidNotCome) {
  const Port port;
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    if (rank == 0) port.wait_for_knock();
    return try_to_join(rank_of(rank, 4), port.rendezvous(rank), rank == 0 ? hasty : patient);
  });
  expect_all(
      said,
      R"(ranks 2, 3 did not come within 1 s; .*127\.0\.0\.1:\d+.*PACELINE_CONNECT_TIMEOUT.*)");
}

TEST(Join, SaysThatRankZeroIsNotThere) {
  // A port that is held and not listened on.
  const Socket held(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(held.file(), static_cast<sockaddr*>(static_cast<void*>(&any)), sizeof any), 0);
  const std::string port = std::to_string(local_address(held).port);
  const auto where = parse_rendezvous("tcp://127.0.0.1:" + port, environment_of({}));
  const std::string said = try_to_join(rank_of(1, 2), where, hasty);
  EXPECT_EQ(said.find("rank 0 at 127.0.0.1:" + port +
                      " cannot be reached within 1 s: Connection refused; "),
            0u)
      << said;
  EXPECT_NE(said.find("PACELINE_CONNECT_TIMEOUT"), std::string::npos);
}

TEST(Join, SaysThatSomethingElseAnswers) {
  const Port port;  // accepts, by its queue, and stays silent
  const std::string said = try_to_join(rank_of(1, 2), port.rendezvous(1), hasty);
  EXPECT_NE(said.find("not as rank 0 of Paceline does"), std::string::npos) << said;
}

TEST(Join, SaysThatTheFileIsMissing) {
  const Folder folder;
  const auto where =
      parse_rendezvous("file://" + (folder.path / "none").string(), environment_of({}));
  const std::string said = try_to_join(rank_of(1, 2), where, hasty);
  EXPECT_EQ(said.find("rank 0 has not written "), 0u) << said;
}

TEST(Join, SaysThatTheFileCannotBeWritten) {
  const auto where = parse_rendezvous("file:///no/such/folder/file", environment_of({}));
  const std::string said = try_to_join(rank_of(0, 2), where, hasty);
  EXPECT_EQ(said.find("the rendezvous file /no/such/folder/file cannot be written: "), 0u) << said;
}

TEST(Join, SaysThatTheAddressIsNotRankZeros) {
  // 192.0.2.0/24 and its siblings are kept for documentation: no machine has them (RFC 5737).
  const auto where = parse_rendezvous("tcp://203.0.113.7:29500", environment_of({}));
  const std::string said = try_to_join(rank_of(0, 2), where, hasty);
  EXPECT_EQ(said.find("203.0.113.7 is no address of "), 0u) << said;
}

TEST(Join, DoesNotWaitForANameThatDoesNotResolve) {
  // .invalid never resolves (RFC 2606).
  const auto where = parse_rendezvous("tcp://paceline.invalid:29500", environment_of({}));
  for (const std::uint32_t rank : {0u, 1u}) {
    const std::string said = try_to_join(rank_of(rank, 2), where, hasty);
    EXPECT_NE(said.find("paceline.invalid"), std::string::npos) << said;
  }
}

TEST(Join, IgnoresOtherPrograms) {
  const Port port;
  const Opened silent = connection_to(port), loud = connection_to(port);
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_GT(::write(loud.socket.file(), request.data(), request.size()), 0);
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    const auto control = Control::join(rank_of(rank, 2), port.rendezvous(rank), patient);
    control->leave();
    return std::string("joined");
  });
  EXPECT_EQ(said, std::vector<std::string>(2, "joined"));
}

// Rank 0 has no file left for its rank until it drops one of them.
TEST(Join, IsNotKeptFromItsRanksBySilentConnections) {
  // To see whether an object is one, the sanitizer opens a pipe.
  if (paceline::test::is_sanitized) GTEST_SKIP() << "a sanitizer needs files itself";
  const Port port;
  const Gate strangers_are_there;
  constexpr rlim_t files_of_rank_0 = 32;
  Processes ranks(2, [&](std::uint32_t rank) {
    if (rank == 0) {
      constexpr rlimit limit{files_of_rank_0, files_of_rank_0};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    } else {
      strangers_are_there.wait();
    }
    const auto control = Control::join(rank_of(rank, 2), port.rendezvous(rank), patient);
    control->leave();
    return std::string("joined");
  });
  std::vector<Opened> silent;
  for (rlim_t i = 0; i < 2 * files_of_rank_0; ++i) silent.push_back(connection_to(port));
  strangers_are_there.open();
  EXPECT_EQ(ranks.line(0), "joined");
  EXPECT_EQ(ranks.line(1), "joined");
}

TEST(Join, SaysWhichRankDiedMeanwhile) {
  const Port port;
  Processes ranks(2, [&](std::uint32_t rank) {
    if (rank == 0) return try_to_join(rank_of(0, 3), port.rendezvous(0), patient);
    Link link(std::move(connection_to(port).socket));
    introduce(link, rank_of(1, 3));
    Processes::say("was there");
    while (true) ::pause();
  });
  EXPECT_EQ(ranks.line(1), "was there");
  ranks.signal(1, SIGKILL);
  EXPECT_EQ(ranks.line(0).find("rank 1 (pid " + std::to_string(ranks.pid(1)) + " on "), 0u);
}

}  // namespace join_test
}  // namespace paceline::real::test
