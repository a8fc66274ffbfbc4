// Who joins with a shared secret, and who does not.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "real/launch/greeting.h"
#include "real/launch/link.h"
#include "tests/real/launch/ranks.h"

namespace paceline::real::test {
namespace secret_test {

// RFC 4231, cases 1, 2 and 6.
TEST(Secret, ItsHmacIsThatOfTheStandard) {
  EXPECT_EQ(hmac_sha256(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256(std::string(131, '\xaa'),
                        "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Secret, ProofsAreOfBothGreetingsAndOfWhoMakesThem) {
  const std::string proof = proof_of("other rank", "secret", "a", "b");
  for (const std::string& other :
       {proof_of("rank 0", "secret", "a", "b"), proof_of("other rank", "secret", "b", "a"),
        proof_of("other rank", "another", "a", "b"), proof_of("other rank", "", "a", "b")}) {
    EXPECT_FALSE(is_same_proof(proof, other));
  }
  EXPECT_TRUE(is_same_proof(proof, proof_of("other rank", "secret", "a", "b")));
  EXPECT_FALSE(is_same_proof(proof, ""));
  EXPECT_NE(random_nonce(), random_nonce());
  EXPECT_EQ(random_nonce().size(), 32U);
}

std::string why_refused(const std::string& path) {
  try {
    return "read: " +
           parse_rendezvous("tcp://a:1", environment_of({{"PACELINE_SECRET_FILE", path}})).secret;
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Secret, IsReadFromAFileOfItsOwnersAlone) {
  const Folder folder;
  const std::string path = (folder.path / "secret").string();
  std::ofstream(path) << "0123456789abcdef\n";
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  EXPECT_EQ(why_refused(path),
            "the secret file " + path + " can be read or written by others; chmod 600 it");
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  EXPECT_EQ(why_refused(path), "read: 0123456789abcdef");
  std::ofstream(path) << "short\n";
  EXPECT_NE(why_refused(path).find("does not have 16 to 4096 bytes"), std::string::npos);
  EXPECT_NE(why_refused("/dev/zero").find("is no regular file"), std::string::npos);
  EXPECT_NE(why_refused(folder.path.string()).find("is no regular file"), std::string::npos);
  EXPECT_NE(why_refused("/nowhere").find("cannot be read"), std::string::npos);
}

// Each rank with its secret; empty: none. Rank 0 waits for so long once rank 1 has come.
std::vector<std::string> meet(const std::vector<std::string>& secrets,
                              const ControlSettings& limits = hasty) {
  const Port port;
  return as_threads(2, [&](std::uint32_t rank) -> std::string {
    Rendezvous where = port.rendezvous(rank);
    where.secret = secrets[rank];
    try {
      if (rank == 0) port.wait_for_knock();
      const auto control = Control::join(rank_of(rank, 2), where, rank == 0 ? limits : patient);
      control->leave();
      return "joined";
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    } catch (const BackendError& error) {
      return error.what();
    }
  });
}

TEST(Secret, LetsThoseJoinThatHaveIt) {
  EXPECT_EQ(meet({"0123456789abcdef", "0123456789abcdef"}, patient),
            std::vector<std::string>(2, "joined"));
}

TEST(Secret, KeepsOutWhoHasAnotherOrNone) {
  for (const auto& [center, rank, said] :
       {std::tuple("0123456789abcdef", "another secret 0", "has another secret than this rank"),
        {"0123456789abcdef", "", "rank 0 has a shared secret, and this rank has none"},
        {"", "0123456789abcdef", "rank 0 has no shared secret, and this rank has one"}}) {
    const auto all = meet({center, rank});
    EXPECT_EQ(all[1].find("usage: "), 0U) << all[1];
    EXPECT_NE(all[1].find(said), std::string::npos) << all[1];
    const std::string line =
        R"(usage: rank 1 did not come within 1 s; rank 1 \(pid \d+ on \S+\) was told: )";
    EXPECT_TRUE(std::regex_match(all[0], std::regex(line + ".*" + said + "; set .*"))) << all[0];
  }
}

// Who speaks the protocol but has no secret ends no run, however it goes on.
TEST(Secret, StrangersEndNoRun) {
  const Port port;
  const auto end = steady_now() + patient.connect;
  Link link(std::move(connect_to(local_address(port.listener), end).socket));
  const std::string hello = to_text(own_greeting(rank_of(1, 2), "", true));
  link.send(FrameKind::hello, 0, hello, end);
  link.send(FrameKind::proof, 0, "0000", end);
  const auto said = as_threads(2, [&](std::uint32_t rank) {
    Rendezvous where = port.rendezvous(rank);
    where.secret = "0123456789abcdef";
    const auto control = Control::join(rank_of(rank, 2), where, patient);
    control->leave();
    return std::string("joined");
  });
  EXPECT_EQ(said, std::vector<std::string>(2, "joined"));
}

}  // namespace secret_test
}  // namespace paceline::real::test
