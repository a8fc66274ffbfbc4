#include "traces/link_test/link_test.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

std::string fixture(const std::string& name) {
  std::ifstream file(PACELINE_SOURCE_DIR "/tests/fixtures/link_test/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<LinkTest> tests_of(const std::string& text) {
  EXPECT_TRUE(is_link_test(text));
  return read_link_tests(text);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct Refusal {
  std::size_t line;
  std::string hint;
};

Refusal refusal_of(const std::string& text) {
  try {
    (void)read_link_tests(text);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return {error.line(), error.hint()};
  }
  ADD_FAILURE() << "is read: " << text;
  return {};
}

// Line 20 has 22.2 Gbits/sec, of eight bits a byte.
TEST(LinkTest, TakesTheSumOfStreams) {
  const auto all = tests_of(fixture("iperf3_streams.txt"));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].link, TestedLink::network);
  EXPECT_EQ(all[0].line, 20U);
  EXPECT_EQ(all[0].name, "10.0.0.2 by 3 streams of TCP");
  EXPECT_NEAR(all[0].rate.value(), 22.2e9 / 8, 1);
}

TEST(LinkTest, CountsStreams) {
  const auto one = tests_of(fixture("iperf3_one.txt")).at(0);
  EXPECT_EQ(one.name, "node-b by one stream of TCP, where NCCL opens several (-P 8)");
  const auto json = tests_of(fixture("iperf3.json")).at(0);
  EXPECT_EQ(json.name, "10.0.0.2 by 2 streams of TCP");
  EXPECT_NEAR(json.rate.value(), 27.98e9 / 10.04, 1);
}

// The two tables are of a NIC each; the sweep's last row is the largest size.
TEST(LinkTest, ReadsPerftestInItsUnits) {
  const auto both = tests_of(fixture("ib_write_bw.txt"));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].name, "mlx5_0");
  EXPECT_NEAR(both[0].rate.value(), 389.52e9 / 8, 1);
  EXPECT_EQ(both[1].name, "mlx5_1");
  const auto sweep = tests_of(fixture("ib_read_bw.txt"));
  ASSERT_EQ(sweep.size(), 1U);
  EXPECT_NEAR(sweep[0].rate.value(), 23302.26 * 1048576, 1);
  const std::string as_mb = with(fixture("ib_read_bw.txt"), "average[MiB", "average[MB");
  EXPECT_EQ(tests_of(as_mb).at(0).rate, sweep[0].rate);
}

// Four GPUs: as many slots each way, and twelve ordered pairs; no bidirectional copies.
TEST(LinkTest, ReadsMatricesOfGpus) {
  const auto text = tests_of(fixture("nvbandwidth.txt"));
  ASSERT_EQ(text.size(), 4U + 4U + 12U);
  EXPECT_EQ(text[2].link, TestedLink::to_gpu);
  EXPECT_EQ(text[2].name, "GPU 2");
  EXPECT_EQ(text[2].rate, BytesPerSecond(27.43e9));
  EXPECT_EQ(text[4].link, TestedLink::from_gpu);
  const LinkTest& half = text[8 + 3 * 3 + 1];  // row 3 without its diagonal
  EXPECT_EQ(half.name, "GPU 3 and GPU 1");
  EXPECT_EQ(half.rate, BytesPerSecond(201.44e9));
  const auto json = tests_of(fixture("nvbandwidth.json"));
  ASSERT_EQ(json.size(), 4U + 12U);
  EXPECT_EQ(json[4 + 3 * 3 + 1].rate, half.rate);
}

TEST(LinkTest, ReadsPeersOneWay) {
  const auto all = tests_of(fixture("p2p.txt"));
  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(all[0].rate, BytesPerSecond(11.4e9));
  EXPECT_EQ(all[1].rate, BytesPerSecond(9.9e9));
}

TEST(LinkTest, ReadsSeveralProgramsOfOneFile) {
  const auto all = tests_of(fixture("ib_write_bw.txt") + fixture("nvbandwidth.txt") +
                            fixture("iperf3_one.txt") + fixture("p2p.txt"));
  EXPECT_EQ(all.size(), 2U + 20U + 1U + 12U);
}

TEST(LinkTest, RefusesWhatIsNotOneWayOfOneLink) {
  const std::string iperf = fixture("iperf3_streams.txt");
  EXPECT_NE(refusal_of(with(iperf, "Bitrate         Retr\n", "Bitrate  Jitter  Lost/Total\n"))
                .hint.find("-u"),
            std::string::npos);
  EXPECT_NE(refusal_of(with(iperf, "[  5] ", "[  5][RX-C] ")).hint.find("--bidir"),
            std::string::npos);
  EXPECT_NE(refusal_of(with(fixture("iperf3.json"), "\"TCP\"", "\"UDP\"")).hint.find("-u"),
            std::string::npos);
  EXPECT_NE(refusal_of(with(fixture("ib_write_bw.txt"), "Write BW", "Write Bidirectional BW"))
                .hint.find("-b"),
            std::string::npos);
}

TEST(LinkTest, RefusesDamagedDigits) {
  EXPECT_EQ(refusal_of(with(fixture("iperf3_streams.txt"), "22.2 Gbits", "2.22 Gbits")).line, 20U);
  EXPECT_EQ(refusal_of(with(fixture("iperf3_streams.txt"), "22.2 Gbits", "2?.2 Gbits")).line, 20U);
  EXPECT_EQ(refusal_of(with(fixture("ib_write_bw.txt"), " 389.52\t", " 839.52\t")).line, 14U);
  EXPECT_EQ(refusal_of(with(fixture("nvbandwidth.txt"), " 201.44", " 2O1.44")).line, 33U);
  EXPECT_EQ(refusal_of(with(fixture("nvbandwidth.txt"), " 201.44", " 901.44")).line, 35U);
  EXPECT_EQ(refusal_of(with(fixture("p2p.txt"), "  11.43", "  11.4E")).line > 0, true);
  (void)refusal_of(with(fixture("iperf3.json"), "27980000000", "2798000000"));
  (void)refusal_of(with(fixture("nvbandwidth.json"), "201.44", "2o1.44"));
}

// Wherever a file ends before its last figure it is refused, or is as it was written so far.
TEST(LinkTest, IsNeverReadWrongWhereItIsCut) {
  for (const char* name : {"iperf3_streams.txt", "iperf3_one.txt", "iperf3.json", "ib_write_bw.txt",
                           "ib_read_bw.txt", "nvbandwidth.txt", "nvbandwidth.json", "p2p.txt"}) {
    const std::string text = fixture(name);
    const auto whole = read_link_tests(text);
    for (std::size_t end = 0; end < text.size(); ++end) {
      try {
        const auto part = read_link_tests(text.substr(0, end));
        ASSERT_LE(part.size(), whole.size());
        for (std::size_t i = 0; i < part.size(); ++i) {
          // A last row of a sweep, or a figure of p2p without a sum, may lose decimals.
          ASSERT_NEAR(part[i].rate / whole[i].rate, 1, 0.1) << name << " until " << end;
        }
      } catch (const FormatError& error) {
        ASSERT_FALSE(error.hint().empty());
      }
    }
  }
}

TEST(LinkTest, LeavesLogsOfCollectivesAlone) {
  EXPECT_FALSE(
      is_link_test(fixture("iperf3_one.txt") +
                   "# out-of-place\n# size count type redop root time algbw busbw #wrong\n"));
}

}  // namespace
}  // namespace paceline::traces
