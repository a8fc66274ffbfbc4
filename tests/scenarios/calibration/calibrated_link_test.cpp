#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "scenarios/calibration/calibration.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

using cost::LinkPlace;

const std::string fixtures = std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/ping_pong/";

std::vector<LinkTable> tables(const std::vector<std::string>& names,
                              std::optional<LinkPlace> between) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(fixtures + name);
  LogOptions options;
  options.between = between;
  return read_measured_files(paths, options).links;
}

std::string message_of(const std::string& calibration) {
  const test::Folder folder;
  try {
    (void)read_calibration(folder.write("c.yaml", calibration));
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("c.yaml"));
  }
  ADD_FAILURE() << "is read";
  return "";
}

// PROVENANCE.md of the fixtures says what they were made from.
TEST(CalibratedLink, HasWhatTheFixturesWereMadeFrom) {
  const auto of_osu = calibrate_links(tables({"osu_latency.txt"}, LinkPlace::network));
  ASSERT_EQ(of_osu.size(), 1U);
  const CalibratedLink& osu = of_osu.at(LinkPlace::network);
  EXPECT_NEAR(osu.fit.estimate.latency.value(), 2e-6, 0.02e-6);
  EXPECT_NEAR(osu.fit.estimate.bandwidth.value(), 10e9, 0.1e9);
  ASSERT_EQ(osu.fit.pieces.size(), 2U);
  EXPECT_EQ(osu.fit.pieces[0].up_to, Bytes(8192));
  EXPECT_EQ(osu.files(), "osu_latency.txt");

  const auto of_table = calibrate_links(tables({"table.csv"}, std::nullopt));
  EXPECT_NEAR(of_table.at(LinkPlace::network).fit.estimate.bandwidth.value(), 2.5e9, 0.01e9);
  EXPECT_NEAR(of_table.at(LinkPlace::intra_node).fit.estimate.latency.value(), 1e-6, 0.01e-6);
}

TEST(CalibratedLink, TakesAllTablesOfAPlaceTogether) {
  const auto links =
      calibrate_links(tables({"imb_ping_pong.txt", "imb_ping_pong.txt"}, LinkPlace::intra_node));
  const CalibratedLink& link = links.at(LinkPlace::intra_node);
  EXPECT_EQ(link.sources.size(), 2U);
  EXPECT_EQ(link.sources[0].rows, 24U);
  EXPECT_EQ(link.sources[0].skipped.size(), 1U);
  EXPECT_EQ(link.fit.samples.size(), 24U);
  EXPECT_EQ(link.files(), "imb_ping_pong.txt");
}

TEST(CalibratedLink, IsTheSameWhenReadAgain) {
  Calibration made;
  made.links = calibrate_links(tables({"table.csv"}, std::nullopt));
  std::ostringstream text;
  write_calibration(text, made);
  const test::Folder folder;
  const Calibration again = read_calibration(folder.write("c.yaml", text.str()));
  EXPECT_TRUE(again.fits.empty());
  EXPECT_TRUE(again.sources.empty());
  ASSERT_EQ(again.links.size(), 2U);
  for (const auto& [place, link] : made.links) {
    const CalibratedLink& read = again.links.at(place);
    EXPECT_EQ(read.fit.estimate.latency, link.fit.estimate.latency);
    EXPECT_EQ(read.fit.estimate.bandwidth, link.fit.estimate.bandwidth);
    EXPECT_EQ(read.fit.estimate.covariance, link.fit.estimate.covariance);
    EXPECT_EQ(read.files(), "table.csv");
    EXPECT_EQ(read.sources.at(0).sha256, link.sources.at(0).sha256);
  }
}

TEST(CalibratedLink, StandsBesideCollectives) {
  const std::string log =
      std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/logs/rtx3090-2node.csv";
  LogOptions options;
  options.between = LinkPlace::network;
  const MeasuredFiles files = read_measured_files({log, fixtures + "osu_latency.txt"}, options);
  Calibration made = calibrate(files.logs, {});
  made.links = calibrate_links(files.links);
  std::ostringstream text;
  write_calibration(text, made);
  const test::Folder folder;
  const Calibration again = read_calibration(folder.write("c.yaml", text.str()));
  EXPECT_EQ(again.fits.size(), 1U);
  EXPECT_EQ(again.links.size(), 1U);
}

TEST(CalibratedLink, IsRefusedWithItsPlaceWhereItIsImpossible) {
  const std::string link =
      "schema: paceline.calibration/1\nlinks:\n"
      "  - {link: network, sources: [{file: a, sha256: b, rows: 9}], ";
  const std::string covariance = "covariance: [[0.1, 0], [0, 0.1]]}\n";
  EXPECT_EQ(message_of("schema: paceline.calibration/1\n").substr(0, 28),
            "c.yaml:1:1: sources is missi");
  EXPECT_EQ(message_of(link + "latency: 0us, bandwidth: 1GBps, " + covariance).substr(0, 33),
            "c.yaml:3:72: latency \"0us\" is not");
  EXPECT_NE(message_of(link + "latency: 2us, bandwidth: 1GBps, covariance: [[0.1, 0]]}\n")
                .find("is not of two rows and two columns"),
            std::string::npos);
  EXPECT_NE(message_of(link + "latency: 2us, bandwidth: 1GBps, speed: 3, " + covariance)
                .find("unknown key \"links.speed\""),
            std::string::npos);
  EXPECT_NE(message_of("schema: paceline.calibration/1\nlinks: [{link: moon}]\n").find("moon"),
            std::string::npos);
  const std::string whole = "latency: 2us, bandwidth: 1GBps, " + covariance;
  EXPECT_NE(message_of(link + whole + link.substr(link.find("  - ")) + whole).find("there twice"),
            std::string::npos);
}

}  // namespace
}  // namespace paceline
