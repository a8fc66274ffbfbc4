#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/calibration/calibration.h"
#include "scenarios/errors.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

using collectives::Collective;

// Three GPUs, of which two have half of the rings.
CalibratedMachine small_machine() {
  return {"small", cost::RingParts({{1, 0.5}, {0.5, 0.5}, {1, 1}}, BytesPerSecond(12.3e9))};
}

LogTable measured_log(std::uint32_t ranks) {
  LogTable table;
  table.file = "log.csv";
  table.sha256 = "0a";
  table.shape = {Collective::all_reduce, 1, ranks};
  for (std::uint64_t bytes = 1 << 12; bytes <= (1U << 26); bytes *= 2) {
    table.samples.push_back(
        {table.shape, Bytes(bytes), Seconds(1e-5 + static_cast<double>(bytes) / 1e11), 0.01});
  }
  return table;
}

std::string refusal_of(const std::string& text) {
  const test::Folder folder;
  const std::string path = folder.write("c.yaml", text);
  try {
    (void)read_calibration(path);
  } catch (const InputError& error) {
    const std::string what = error.what();
    const auto name = what.find("c.yaml");
    return name == std::string::npos ? what : what.substr(name);
  }
  return "";
}

std::string yaml_of(const Calibration& calibration) {
  std::ostringstream out;
  write_calibration(out, calibration);
  return out.str();
}

TEST(CalibratedMachine, PredictsTheSameWhenReadAgain) {
  const Calibration made = calibrate({measured_log(3)}, small_machine());
  const test::Folder folder;
  const Calibration again = read_calibration(folder.write("c.yaml", yaml_of(made)));
  ASSERT_TRUE(again.machine);
  EXPECT_EQ(again.machine->cluster, "small");
  EXPECT_EQ(again.machine->rings, small_machine().rings);
  const Calibration plain = calibrate({measured_log(3)}, {});
  const cost::CollectiveShape pair{Collective::all_reduce, 1, 2};
  const auto time = [&](const Calibration& calibration) {
    return calibration.find(Collective::all_reduce)->predict(pair, Bytes(1 << 26)).time;
  };
  EXPECT_EQ(time(made), time(again));
  // Half of the rings: twice as long, but for what is not of its bytes (the ramp).
  EXPECT_GT(time(made) / time(plain), 1.8);
  EXPECT_LT(time(made) / time(plain), 2);
  EXPECT_TRUE(again.is_fitted({Collective::all_reduce, 1, 3}));
  EXPECT_TRUE(again.is_fitted(Collective::all_reduce, 3));
  EXPECT_FALSE(again.is_fitted(Collective::all_reduce, 2));
}

TEST(CalibratedMachine, IsAbsentWhereNoneWasDescribed) {
  const std::string text = yaml_of(calibrate({measured_log(3)}, {}));
  EXPECT_EQ(text.find("machine:"), std::string::npos);
  const test::Folder folder;
  EXPECT_FALSE(read_calibration(folder.write("c.yaml", text)).machine);
}

TEST(CalibratedMachine, IsRefusedWithItsPlaceWhereItIsImpossible) {
  const std::string head = "schema: paceline.calibration/1\nmachine:\n  cluster: small\n  rings:\n";
  EXPECT_EQ(refusal_of(head + "    - {ranks_per_node: 1, local: 0, remote: 1}\n"),
            "c.yaml:5:34: local \"0\" is out of range; write a number from 1e-06 to 1000000");
  EXPECT_EQ(refusal_of(head + "    - {ranks_per_node: 2, local: 1, remote: 1}\n"),
            "c.yaml:5:24: ranks_per_node \"2\" is where 1 belongs; list 1, 2, 3, ... ranks a node, "
            "in this order");
  EXPECT_EQ(refusal_of(head + "    - {ranks_per_node: 1, local: 1}\n"),
            "c.yaml:5:7: machine.rings.remote is missing; write remote: 0.25");
  EXPECT_EQ(refusal_of("schema: paceline.calibration/1\nmachine: {rings: []}\n").substr(0, 10),
            "c.yaml:2:1");
}

TEST(CalibratedMachine, RefusesLogsOfALargerOne) {
  try {
    (void)calibrate({measured_log(4)}, small_machine());
    FAIL() << "fitted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "log.csv: has 4 ranks a node, and small 3; name the machine that the logs are of");
  }
  try {
    (void)validate_logs(calibrate({measured_log(3)}, small_machine()), {measured_log(4)});
    FAIL() << "validated";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "log.csv: has 4 ranks a node, and small 3; take a calibration of the machine that "
                 "the log is of");
  }
  // The same of a file that was changed by hand.
  std::string text = yaml_of(calibrate({measured_log(3)}, small_machine()));
  const auto last = text.find("    - {ranks_per_node: 3");
  text.erase(last, text.find('\n', last) + 1 - last);
  EXPECT_NE(refusal_of(text).find("has 3 ranks a node, and small 2"), std::string::npos)
      << refusal_of(text);
}

// Of that many ranks at that many GB/s on the bus, of 8 to 256 MiB.
LogTable log_at(std::uint32_t ranks, double bus_gbyte_per_s) {
  LogTable table;
  table.file = fmt::format("{}.csv", ranks);
  table.sha256 = "0a";
  table.shape = {Collective::all_reduce, 1, ranks};
  const double factor = 2.0 * (ranks - 1) / ranks;
  for (double mib = 8; mib <= 256; mib *= 1.25) {
    const Bytes size(static_cast<std::uint64_t>(mib) << 20);
    const double seconds = static_cast<double>(size.value()) * factor / (bus_gbyte_per_s * 1e9);
    table.samples.push_back({table.shape, size, Seconds(seconds), 0.01});
  }
  return table;
}

std::string why_unknown(const Calibration& calibration, std::uint32_t ranks) {
  return calibration.unknown({Collective::all_reduce, 1, ranks}).value_or("");
}

// As vTrain's V100 have it: one ring of 22.5 GB/s for two GPUs, two for three, six for eight. What
// five have no log tells.
TEST(UndescribedMesh, IsNotAskedForNumbersOfGpusThatNoLogHas) {
  const Calibration mesh = calibrate({log_at(2, 22.5), log_at(3, 45), log_at(8, 134)}, {});
  EXPECT_EQ(why_unknown(mesh, 5),
            "no log has 5 ranks a node, and what groups carry that have one differs 6.0 times, as "
            "in a mesh");
  EXPECT_EQ(why_unknown(mesh, 3), "");
  EXPECT_EQ(why_unknown(mesh, 1), "");
  try {
    (void)validate_logs(mesh, {log_at(5, 45)});
    FAIL() << "validated";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "5.csv: cannot be predicted: no log has 5 ranks a node, and what groups carry "
                 "that have one differs 6.0 times, as in a mesh; calibrate with --cluster NAME, "
                 "such as dgx1-v100, or with such a log");
  }
}

// GPUs on NVSwitches: 197 GB/s of two and 229 of eight (vTrain's A100).
TEST(UndescribedMesh, IsNoSwitch) {
  const Calibration switches = calibrate({log_at(2, 197), log_at(8, 229)}, {});
  EXPECT_EQ(why_unknown(switches, 5), "");
  LogTable eight = log_at(8, 134);
  eight.devices = {"Tesla V100-SXM3-32GB"};
  EXPECT_EQ(why_unknown(calibrate({eight}, {}), 5), "");
  eight.devices = {"Tesla V100-SXM2-16GB"};
  EXPECT_EQ(why_unknown(calibrate({eight}, {}), 5),
            "no log has 5 ranks a node, and lanes of SXM2 have other rings for each number");
}

// Groups of one, two and three GPUs, the last with rings over a GPU between.
TEST(CalibratedMachine, SaysWhatRingsCross) {
  const std::string text = yaml_of(calibrate(
      {log_at(2, 22.5)},
      CalibratedMachine{"row", cost::RingParts({{}, {}, {1, 1, topology::RingWay::neighbours}})}));
  EXPECT_NE(text.find("{ranks_per_node: 2, local: 1, remote: 1}\n"), std::string::npos) << text;
  EXPECT_NE(text.find("{ranks_per_node: 3, local: 1, remote: 1, over: neighbours}\n"),
            std::string::npos);
  const test::Folder folder;
  const Calibration again = read_calibration(folder.write("c.yaml", text));
  EXPECT_EQ(again.machine->rings.of(3).way, topology::RingWay::neighbours);
  const std::string head = "schema: paceline.calibration/1\nmachine:\n  cluster: small\n  rings:\n";
  EXPECT_EQ(refusal_of(head + "    - {ranks_per_node: 1, local: 1, remote: 1, over: sea}\n"),
            "c.yaml:5:54: over \"sea\" is no way of rings; write nvlink, neighbours or hosts");
}

}  // namespace
}  // namespace paceline
