// paceline capacity, as a planner runs it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace capacity_test {

using nlohmann::json;
using test::Ended;
using test::expect_refused;
using test::Folder;
using test::paceline;

// Two kinds of node with two GPUs each: one costs twice as much, and is quicker.
constexpr const char* catalogue = R"(schema: paceline.catalogue/1
name: small
source: a test
date: 2026-01-31
machines:
  - name: slow
    device: tesla-t4
    cluster: {gpus_per_node: 2, intra_node: {kind: pcie, bandwidth: 12GBps}, network: {bandwidth: 25Gbps}}
    price: 1 USD/h
    spot: {price: 0.3 USD/h, preemptions: 5%/h}
  - name: quick
    device: a100-sxm4-40gb
    cluster: {gpus_per_node: 2, intra_node: {bandwidth: 240GBps}, network: {bandwidth: 100Gbps, transport: rdma}}
    price: 5 USD/h
)";

constexpr const char* job = R"(schema: paceline.job/1
name: a test
workload: {model: resnet18, precision: amp}
amount: {samples: 1e8}
target: {deadline: 10h}
global_batch: {at_most: 1024}
catalogue: [small.yaml]
strategies: [ddp]
bucket_caps: [25MiB]
limits: {nodes: 3}
input: {kind: none}
)";

class Capacity : public testing::Test {
 protected:
  Capacity() {
    folder_.write("small.yaml", catalogue);
    folder_.write("job.yaml", job);
  }
  [[nodiscard]] Ended answered(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"capacity", "job.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return paceline(arguments, folder_.path());
  }
  [[nodiscard]] json answer(const std::vector<std::string>& settings = {}) const {
    std::vector<std::string> more{"--json", "-"};
    for (const std::string& one : settings) {
      more.push_back("--set");
      more.push_back(one);
    }
    return json::parse(answered(more).out);
  }

  Folder folder_;
};

TEST_F(Capacity, SaysWhatToRentForHowMuchAndHowSureThatIs) {
  const Ended made = answered({"--assumptions"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.err, "");
  for (const char* part :
       {"rent ", "train ", "time ", "cost ", "% of meeting the target", "prices: of 2026-01-31 (",
        "days old", "no other of the grid can be better"}) {
    EXPECT_NE(made.out.find(part), std::string::npos) << part << '\n' << made.out;
  }
}

TEST_F(Capacity, KeepsItsPromisesInItsFigures) {
  const json made = answer();
  const json& best = made.at("best");
  EXPECT_GE(best.at("probability"), 0.9);
  EXPECT_LE(best.at("time_s_limit"), 36000);
  EXPECT_LT(best.at("time_s"), best.at("time_s_limit"));
  const double rate = best.at("price_per_node_hour").get<double>() * best.at("nodes").get<int>();
  EXPECT_NEAR(best.at("cost_limit"), rate * best.at("time_s_limit").get<double>() / 3600, 1e-9);
  for (const json& other : made.at("others"))
    EXPECT_GE(other.at("cost_limit"), best.at("cost_limit"));
  double time = 1e300, cost = 0;
  for (const json& row : made.at("front")) {
    EXPECT_LT(row.at("time_s_limit"), time / 2 * (1 + 1e-12));
    EXPECT_GE(row.at("cost_limit"), cost);
    time = row.at("time_s_limit");
    cost = row.at("cost_limit");
  }
}

TEST_F(Capacity, SaysBelowWhichPriceARunnerUpBecomesTheBest) {
  const json made = answer();
  EXPECT_EQ(made.at("best").at("machine"), "slow");
  EXPECT_TRUE(made.at("best").at("better_below_per_node_hour").is_null());
  const double price = made.at("others").at(0).at("better_below_per_node_hour");
  EXPECT_NE(answered().out.find(fmt::format(
                "small quick becomes the better choice below {:.2f} USD/h a node, or if", price)),
            std::string::npos)
      << answered().out;
  for (const bool is_below : {false, true}) {
    const std::string text = fmt::format("{} USD/h", price * (is_below ? 0.999 : 1.001));
    folder_.write("small.yaml", test::changed(catalogue, "5 USD/h", text));
    EXPECT_EQ(answer().at("best").at("machine"), is_below ? "quick" : "slow");
  }
}

// 1 USD/h for two GPUs of the first catalogue, 3 for four of the second.
TEST_F(Capacity, SaysHowOldPricesAreAndHowFarApart) {
  folder_.write("other.yaml", R"(schema: paceline.catalogue/1
name: other
source: a test
date: unknown
machines:
  - {name: four, device: tesla-t4, cluster: {preset: peer-pcie-8, gpus_per_node: 4}, price: 3 USD/h}
  - {name: one, device: rtx-4090, cluster: {preset: flat}, price: 3 USD/h, source: an offer, date: 2026-02-28}
)");
  const Ended made = answered({"--assumptions", "--set", "catalogue=[small.yaml, other.yaml]"});
  const std::size_t at = made.out.find("prices: from 2026-01-31 (");
  ASSERT_NE(at, std::string::npos) << made.out;
  const std::string line = made.out.substr(at, made.out.find('\n', at) - at);
  EXPECT_NE(line.find(") to 2026-02-28 ("), std::string::npos) << line;
  EXPECT_NE(line.find("), 1 of 4 of unknown date; tesla-t4 costs 0.5 to 0.75 USD per GPU-hour in 2 "
                      "catalogues"),
            std::string::npos)
      << line;
}

TEST_F(Capacity, IsTheSameWithAnyNumberOfThreads) {
  EXPECT_EQ(answered({"--json", "-", "--jobs", "1"}).out,
            answered({"--json", "-", "--jobs", "2"}).out);
}

TEST_F(Capacity, WantsMoreOfWhatIsLessSure) {
  const json likely = answer({"probability=50%"}), sure = answer({"probability=99%"});
  EXPECT_LE(likely.at("best").at("cost"), sure.at("best").at("cost_limit"));
  EXPECT_GE(sure.at("best").at("probability"), 0.99);
}

// What nobody can meet is no failure of the tool, and no plan.
TEST_F(Capacity, SaysWhatComesNearestWhereNothingMeetsTheTarget) {
  const Ended made = answered({"--set", "target.deadline=1min"});
  EXPECT_EQ(made.exit_code, 1);
  EXPECT_NE(made.out.find("No plan meets that with 90 % probability. The nearest one:"),
            std::string::npos)
      << made.out;
  EXPECT_NE(made.out.find("rent     3 nodes of small quick"), std::string::npos) << made.out;
}

// Nodes fail every minute, and starting takes an hour.
TEST_F(Capacity, HasNoPlanThatNeverEnds) {
  const Ended made =
      answered({"--assumptions", "--set", "overheads={start: 1h, mtbf_per_node: 1min}"});
  EXPECT_EQ(made.exit_code, 1) << made.err;
  EXPECT_NE(made.out.find("every plan loses nodes faster than it makes progress"),
            std::string::npos)
      << made.out;
  EXPECT_NE(made.out.find("0 were predicted"), std::string::npos) << made.out;
}

// 5 % of the nodes are taken away each hour.
TEST_F(Capacity, TakesSpotNodesOnlyWhereThatIsAskedFor) {
  EXPECT_EQ(answer().at("best").at("pricing"), "on demand");
  const json spot = answer({"pricing=spot", "overheads={checkpoint: {every: 10min, takes: 10s}}"});
  EXPECT_EQ(spot.at("best").at("pricing"), "spot");
  EXPECT_EQ(spot.at("best").at("machine"), "slow");
}

// A term of 1 y is 8,766 h of nodes at 2 USD.
TEST_F(Capacity, TakesReservedNodesWhereThatIsAskedForAndSaysWhatOneCommitsTo) {
  folder_.write("small.yaml",
                test::changed(catalogue, "price: 5 USD/h",
                              "price: 5 USD/h\n    reserved: {price: 2 USD/h, term: 1y}"));
  EXPECT_EQ(answer().at("best").at("pricing"), "on demand");
  EXPECT_TRUE(answer().at("best").at("reserved_for_s").is_null());
  const json best = answer({"pricing=reserved"}).at("best");
  EXPECT_EQ(best.at("pricing"), "reserved");
  EXPECT_EQ(best.at("machine"), "quick");
  EXPECT_EQ(best.at("reserved_for_s"), 31557600);
  EXPECT_EQ(best.at("price_per_node_hour"), 2);
  EXPECT_NEAR(best.at("cost"),
              best.at("nodes").get<double>() * 2 * best.at("time_s").get<double>() / 3600, 1e-9);
  const std::string text = answered({"--set", "pricing=reserved"}).out;
  EXPECT_NE(text.find("1 node of small quick (2 x a100-sxm4-40gb), reserved for 1y"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2.00 USD/h of a commitment of 17,532 USD"), std::string::npos) << text;
}

TEST_F(Capacity, TakesMachinesOfOnesOwnWhateverIsRented) {
  const std::string own =
      std::string(catalogue) +
      "  - name: ours\n    device: a100-sxm4-40gb\n"
      "    cluster: {gpus_per_node: 2, intra_node: {bandwidth: 240GBps}}\n"
      "    owned: {price: 1000 USD, lifetime: 5y, in_use: 80%}\n    at_most: 1\n";
  folder_.write("small.yaml", own);
  for (const char* pricing : {"on_demand", "spot"}) {
    const json made = answer({std::string("pricing=") + pricing});
    EXPECT_EQ(made.at("best").at("machine"), "ours") << pricing;
    EXPECT_EQ(made.at("best").at("pricing"), "owned");
  }
}

TEST_F(Capacity, PlansLayersThatWereTimedOnItsDevice) {
  const json made =
      answer({"workload={layers: [{name: one, forward: 4ms, backward: 8ms, parameters: "
              "[3000000]}], layers_batch: 32}",
              "limits.devices=[tesla-t4]", "target.deadline=30d"});
  EXPECT_EQ(made.at("best").at("device"), "tesla-t4");
}

TEST_F(Capacity, SaysWhichMachinesAreLeftOutAndWhy) {
  const Ended made = answered({"--assumptions", "--set", "workload.precision=bf16"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("left out: small slow: device \"tesla-t4\" has no bf16"),
            std::string::npos)
      << made.out;
}

// A speed that was measured makes the interval of its GPU narrow, and the answer sure of it.
TEST_F(Capacity, IsSurerOfGpusWhoseSpeedWasMeasured) {
  const json before = answer({"target.deadline=100h"}).at("best");
  const json after =
      answer({"target.deadline=100h",
              "measured_on=[{device: " + before.at("device").get<std::string>() +
                  ", batch: " + std::to_string(before.at("batch_per_gpu").get<int>()) +
                  ", throughput: 1000 samples/s}]"})
          .at("best");
  const auto width = [](const json& plan) {
    return plan.at("step_s_high").get<double>() / plan.at("step_s_low").get<double>();
  };
  EXPECT_LT(width(after), 0.7 * width(before));
  EXPECT_TRUE(before.at("one_gpu_is_modelled").get<bool>());
  EXPECT_FALSE(after.at("one_gpu_is_modelled").get<bool>());
}

TEST_F(Capacity, RefusesWhatItCannotAnswerInOneLine) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> faults{
      {{"target.deadline=6"}, "has no unit; write 6h or 6min"},
      {{"target.budget=5 EUR"}, "write all prices in one currency"},
      {{"catalogue=[awz]"}, "did you mean aws?"},
      {{"workload.model=resnet51"}, "did you mean resnet50?"},
      {{"batch_per_gpu.exactly=65536", "global_batch.at_most=1000000"}, "fits no machine: "},
  };
  for (const auto& [settings, message] : faults) {
    std::vector<std::string> arguments;
    for (const std::string& one : settings) arguments.insert(arguments.end(), {"--set", one});
    const Ended made = answered(arguments);
    expect_refused(made, "paceline: ");
    EXPECT_NE(made.err.find(message), std::string::npos) << made.err;
  }
}

}  // namespace capacity_test
}  // namespace paceline
