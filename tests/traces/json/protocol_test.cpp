#include "traces/json/protocol.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace paceline::traces {
namespace {

using nlohmann::json;
using training::CollectiveCall;
using training::LaneKind;
using training::OperationKind;
using training::SimulatedCall;

// Every field away from its default, and no two alike.
ResolvedPoint full_point() {
  ResolvedPoint point;
  point.id = 18'446'744'073'709'551'615ULL;
  point.cluster.name = "a \"cluster\"\nof \xc3\xa9";
  point.cluster.nodes = 3;
  point.cluster.gpus_per_node = 2;
  point.cluster.servers = 4;
  point.cluster.intra_node.kind = topology::IntraNodeKind::nvlink_mesh;
  point.cluster.intra_node.bandwidth = BytesPerSecond(22.5e9);
  point.cluster.intra_node.latency = Seconds(1.9e-6);
  point.cluster.intra_node.lanes = {{0, 5}, {5, 0}};
  point.cluster.intra_node.host_bandwidth = BytesPerSecond(12e9);
  point.cluster.intra_node.pcie_tree =
      topology::PcieTree{{{{1}, topology::PciePath::switches, BytesPerSecond(11e9), {1, 0}},
                          {{0, 1}, topology::PciePath::numa_node, {}}},
                         false,
                         BytesPerSecond(8e9)};
  point.cluster.intra_node.slot_generation = 4;
  point.cluster.intra_node.slot_lanes = {16, 8};
  point.cluster.intra_node.box_spread = 2.5;
  point.cluster.network.bandwidth = BytesPerSecond(12.5e9);
  point.cluster.network.latency = Seconds(3e-6);
  point.cluster.network.nics_per_node = 2;
  point.cluster.network.efficiency = 0.92;
  point.cluster.network.transport = topology::Transport::tcp;
  point.cluster.network.framing = topology::Framing::ip_tcp;
  point.cluster.network.mtu = Bytes(9000);
  point.cluster.network.rendezvous_above = Bytes(65'536);
  point.cluster.network.receives = topology::Receives::announced_ahead;
  point.cluster.reduction_bandwidth = BytesPerSecond(3e9);
  point.cluster.network.sharp = true;
  point.cluster.intra_node.over_neighbours = true;
  point.cluster.network.fat_tree =
      topology::FatTree{16, 2.5, Seconds(4e-7), true, topology::Placement::spread};
  const auto compute = point.program.add_lane({"compute", LaneKind::compute});
  const auto communication = point.program.add_lane({"nccl", LaneKind::communication, 7});
  const auto forward =
      point.program.add({"forward", OperationKind::forward, compute, {}, Seconds(0.1)});
  const auto backward = point.program.add(
      {"backward", OperationKind::backward, compute, {forward}, Seconds(1.0 / 3)});
  point.program.add(
      {"bucket",
       OperationKind::collective,
       communication,
       {forward, backward},
       CollectiveCall{collectives::Collective::broadcast, ElementCount(9'007'199'254'740'993ULL),
                      ElementSize(2), Rank(4),
                      SimulatedCall{"binomial_tree",
                                    {6, Bytes(4096), "direct", "halving_doubling", 3, true},
                                    {1.25, Seconds(7e-6), Seconds(3e-6), Seconds(4e-6)}}}});
  point.program.engine =
      training::EngineLane{1,
                           {Seconds(0.005), Bytes(67'108'864), Seconds(1e-4), true},
                           {{ElementCount(9'007'199'254'740'993ULL), ElementSize(2), Seconds(1),
                             Seconds(2), Seconds(3)}}};
  point.slowdown = {1, 1.25, 1, 1, 1, 0.75};
  point.fidelity = Fidelity::folded;
  return point;
}

Result full_result() {
  Result result;
  result.id = 41;
  result.totals = {Seconds(0.4), Seconds(0.3), Seconds(0.2), Seconds(0.1)};
  result.trace.program = full_point().program;
  result.trace.classes = {{{Rank(0), Rank(2)},
                           {{Seconds(0), Seconds(1.0 / 7)},
                            {Seconds(1.0 / 7), Seconds(0.2), 0},
                            {Seconds(0.2), Seconds(0.4), 1}}},
                          {{Rank(1)},
                           {{Seconds(0), Seconds(1e-300)},
                            {Seconds(0.1), Seconds(0.2), 0},
                            {Seconds(0.2), Seconds(0.4), 1}}}};
  result.transfers = 1792;
  return result;
}

// The same JSON after a round trip, and each line is one line.
TEST(Points, AreTheSameAfterARoundTrip) {
  const std::string line = to_line(full_point());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(to_line(point_from_line(line))), json::parse(line));
  EXPECT_EQ(to_line(point_from_line(line)), line);
}

TEST(Points, CarryEveryField) {
  const ResolvedPoint sent = full_point(), got = point_from_line(to_line(sent));
  EXPECT_EQ(got.id, sent.id);
  EXPECT_EQ(got.program.engine, sent.program.engine);
  EXPECT_EQ(got.cluster.name, sent.cluster.name);
  EXPECT_EQ(got.cluster.nodes, 3U);
  EXPECT_EQ(got.cluster.gpus_per_node, 2U);
  EXPECT_EQ(got.cluster.servers, 4U);
  EXPECT_EQ(got.cluster.intra_node.kind, topology::IntraNodeKind::nvlink_mesh);
  EXPECT_EQ(got.cluster.intra_node.bandwidth, BytesPerSecond(22.5e9));
  EXPECT_EQ(got.cluster.intra_node.latency, Seconds(1.9e-6));
  EXPECT_EQ(got.cluster.intra_node.lanes, sent.cluster.intra_node.lanes);
  EXPECT_EQ(got.cluster.intra_node.host_bandwidth, BytesPerSecond(12e9));
  EXPECT_EQ(got.cluster.intra_node.pcie_tree, sent.cluster.intra_node.pcie_tree);
  EXPECT_EQ(got.cluster.intra_node.slot_generation, 4U);
  EXPECT_EQ(got.cluster.intra_node.slot_lanes, sent.cluster.intra_node.slot_lanes);
  EXPECT_EQ(got.cluster.intra_node.box_spread, 2.5);
  EXPECT_EQ(got.cluster.network.bandwidth, BytesPerSecond(12.5e9));
  EXPECT_EQ(got.cluster.network.latency, Seconds(3e-6));
  EXPECT_EQ(got.cluster.network.nics_per_node, 2U);
  EXPECT_EQ(got.cluster.network.efficiency, 0.92);
  EXPECT_EQ(got.cluster.network.transport, topology::Transport::tcp);
  EXPECT_EQ(got.cluster.network.framing, topology::Framing::ip_tcp);
  EXPECT_EQ(got.cluster.network.mtu, Bytes(9000));
  EXPECT_EQ(got.cluster.network.rendezvous_above, Bytes(65'536));
  EXPECT_EQ(got.cluster.network.receives, topology::Receives::announced_ahead);
  EXPECT_EQ(got.cluster.reduction_bandwidth, BytesPerSecond(3e9));
  EXPECT_TRUE(got.cluster.network.sharp);
  EXPECT_TRUE(got.cluster.intra_node.over_neighbours);
  EXPECT_EQ(got.cluster.network.fat_tree, sent.cluster.network.fat_tree);
  ASSERT_EQ(got.program.lanes.size(), 2U);
  EXPECT_EQ(got.program.lanes[1].name, "nccl");
  EXPECT_EQ(got.program.lanes[1].kind, LaneKind::communication);
  EXPECT_EQ(got.program.lanes[1].in_flight, 7U);
  ASSERT_EQ(got.program.operations.size(), 3U);
  EXPECT_EQ(got.program.operations[1].name, "backward");
  EXPECT_EQ(got.program.operations[1].kind, OperationKind::backward);
  EXPECT_EQ(std::get<Seconds>(got.program.operations[1].work), Seconds(1.0 / 3));
  EXPECT_EQ(got.program.operations[2].lane, 1U);
  EXPECT_EQ(got.program.operations[2].after, (std::vector<training::OperationId>{0, 1}));
  const auto& call = std::get<CollectiveCall>(got.program.operations[2].work);
  EXPECT_EQ(call.collective, collectives::Collective::broadcast);
  EXPECT_EQ(call.count, ElementCount(9'007'199'254'740'993ULL));  // 2^53 + 1: no double holds it
  EXPECT_EQ(call.element_size, ElementSize(2));
  EXPECT_EQ(call.root, Rank(4));
  ASSERT_NE(call.simulated(), nullptr);
  EXPECT_EQ(call.simulated()->algorithm, "binomial_tree");
  EXPECT_EQ(call.simulated()->options,
            (collectives::AlgorithmOptions{6, Bytes(4096), "direct", "halving_doubling", 3, true}));
  EXPECT_EQ(call.simulated()->wire,
            (topology::Wire{1.25, Seconds(7e-6), Seconds(3e-6), Seconds(4e-6)}));
  EXPECT_EQ(got.slowdown, sent.slowdown);
  EXPECT_EQ(got.fidelity, Fidelity::folded);
}

TEST(Points, MayLackWhatIsOptional) {
  ResolvedPoint point = full_point();
  point.cluster.intra_node.host_bandwidth.reset();
  point.cluster.network.rendezvous_above.reset();
  point.cluster.reduction_bandwidth.reset();
  const topology::Cluster got = point_from_line(to_line(point)).cluster;
  EXPECT_FALSE(got.intra_node.host_bandwidth);
  EXPECT_FALSE(got.network.rendezvous_above);
  EXPECT_FALSE(got.reduction_bandwidth);
}

// However a call is carried out.
TEST(Points, CarryEveryWayOfACall) {
  const collectives::AlgorithmOptions options{2, Bytes(64), "ring", "direct", 0, false};
  for (const decltype(CollectiveCall::how)& how :
       {decltype(CollectiveCall::how)(training::Unplanned{}),
        decltype(CollectiveCall::how)(training::AutomaticCall{options}),
        decltype(CollectiveCall::how)(SimulatedCall{"ring", options}),
        decltype(CollectiveCall::how)(training::KnownCall{Seconds(0.25), "calibrated"})}) {
    ResolvedPoint point = full_point();
    call_of(point.program.operations[2])->how = how;
    const auto got = point_from_line(to_line(point));
    EXPECT_EQ(call_of(got.program.operations[2])->how, how);
    EXPECT_EQ(algorithm_of(*call_of(got.program.operations[2])),
              algorithm_of(*call_of(point.program.operations[2])));
  }
}

// Every word of every enumeration comes back.
TEST(Points, CarryEveryWord) {
  using collectives::Collective;
  for (const auto collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
        Collective::broadcast, Collective::reduce, Collective::all_to_all}) {
    ResolvedPoint point = full_point();
    std::get<CollectiveCall>(point.program.operations[2].work).collective = collective;
    const auto got = point_from_line(to_line(point));
    EXPECT_EQ(std::get<CollectiveCall>(got.program.operations[2].work).collective, collective);
  }
  for (const auto kind :
       {OperationKind::input, OperationKind::forward, OperationKind::backward, OperationKind::copy,
        OperationKind::optimizer, OperationKind::collective}) {
    ResolvedPoint point = full_point();
    point.program.operations[0].kind = kind;
    EXPECT_EQ(point_from_line(to_line(point)).program.operations[0].kind, kind);
  }
  using topology::IntraNodeKind;
  for (const auto kind :
       {IntraNodeKind::nvswitch, IntraNodeKind::nvlink_mesh, IntraNodeKind::pcie}) {
    ResolvedPoint point = full_point();
    point.cluster.intra_node.kind = kind;
    EXPECT_EQ(point_from_line(to_line(point)).cluster.intra_node.kind, kind);
  }
}

TEST(Results, AreTheSameAfterARoundTrip) {
  const std::string line = to_line(Reply(full_result()));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(to_line(reply_from_line(line, full_point().program)), line);
}

TEST(Results, CarryEveryField) {
  const auto got =
      std::get<Result>(reply_from_line(to_line(Reply(full_result())), full_point().program));
  EXPECT_EQ(got.id, 41U);
  EXPECT_EQ(got.totals.step, Seconds(0.4));
  EXPECT_EQ(got.totals.compute, Seconds(0.3));
  EXPECT_EQ(got.totals.communication, Seconds(0.2));
  EXPECT_EQ(got.totals.exposed_communication, Seconds(0.1));
  ASSERT_EQ(got.trace.classes.size(), 2U);
  EXPECT_EQ(got.trace.classes[0].ranks, (std::vector{Rank(0), Rank(2)}));
  EXPECT_EQ(got.trace.classes[0].intervals, full_result().trace.classes[0].intervals);
  EXPECT_EQ(got.trace.classes[1].intervals.at(0).end, Seconds(1e-300));
  // What ran is in the program that was sent.
  const auto spans = spans_of(got.trace, got.trace.classes[0]);
  EXPECT_EQ(spans.at(2).operation.name, "bucket");
  EXPECT_EQ(spans.at(2).algorithm(), "binomial_tree");
  EXPECT_EQ(got.transfers, 1792U);
}

// Another number of intervals than operations were sent.
TEST(Results, OfAnotherProgramAreRefused) {
  EXPECT_THROW((void)reply_from_line(to_line(Reply(full_result())), {}), std::runtime_error);
}

TEST(Failures, AreTheSameAfterARoundTrip) {
  const auto got =
      std::get<Failure>(reply_from_line(to_line(Reply(Failure{5, "it \"died\"\n"})), {}));
  EXPECT_EQ(got.id, 5U);
  EXPECT_EQ(got.what, "it \"died\"\n");
  EXPECT_EQ(to_line(Reply(got)).find('\n'), std::string::npos);
}

TEST(Garbage, IsRefused) {
  const std::vector<std::string> lines{"",
                                       " ",
                                       "garbage",
                                       "{",
                                       "}",
                                       "[]",
                                       "null",
                                       "3",
                                       "\"x\"",
                                       "{}",
                                       "{\"id\": 3}",
                                       "{\"id\": {}}",
                                       "{\"schema\": \"paceline.point/2\"}",
                                       "{\"schema\": 1}",
                                       "{\"failure\": \"x\"}",
                                       "{\"failure\": 3, \"id\": 1}",
                                       "{\"id\": \"x\", \"failure\": \"y\"}",
                                       "\xff\xfe",
                                       std::string("\0\0", 2),
                                       "{\"id\": 1e999}",
                                       std::string(100'000, '['),
                                       to_line(full_point()).substr(0, 500),
                                       to_line(full_point()) + "x"};
  for (const std::string& line : lines) {
    EXPECT_THROW((void)point_from_line(line), std::runtime_error) << line.substr(0, 60);
    EXPECT_THROW((void)reply_from_line(line, full_point().program), std::runtime_error)
        << line.substr(0, 60);
  }
  EXPECT_THROW((void)reply_from_line(to_line(full_point()), full_point().program),
               std::runtime_error);
  EXPECT_THROW((void)point_from_line(to_line(Reply(full_result()))), std::runtime_error);
}

// One value of a good line replaced: of another type, or an unknown word. Also missing.
TEST(Garbage, IsRefusedInEveryField) {
  const json point = json::parse(to_line(full_point()));
  const json result = json::parse(to_line(Reply(full_result())));
  const auto expect_refused = [](const json& good, auto decode) {
    const json flat = good.flatten();
    for (const auto& [path, value] : flat.items()) {
      for (const json& bad : {json(json::object()), json(nullptr), json("no such word")}) {
        // Any text is a name; a word must be one of its list.
        const bool is_name = path.ends_with("/name") || path.ends_with("/algorithm") ||
                             path.ends_with("/inner") || path.ends_with("/outer");
        if (bad.is_string() && is_name) continue;
        const bool is_release = path.find("/intervals/") != path.npos && path.ends_with("/2");
        if (bad.is_null() && is_release) continue;  // by the start of the step
        json changed = good;
        changed[json::json_pointer(path)] = bad;
        EXPECT_THROW((void)decode(changed.dump()), std::runtime_error) << path << ": " << bad;
      }
    }
  };
  expect_refused(point, point_from_line);
  expect_refused(
      result, [](const std::string& line) { return reply_from_line(line, full_point().program); });
}

// A number that its field cannot hold is no such number: neither wrapped round nor cut off.
TEST(Garbage, IsANumberThatDoesNotFit) {
  const json point = json::parse(to_line(full_point()));
  for (const char* path : {"/cluster/nodes", "/id", "/program/operations/2/call/count",
                           "/program/operations/2/call/root", "/program/operations/0/lane"}) {
    for (const json& bad : {json(-1), json(1.5), json(1e300)}) {
      json changed = point;
      changed[json::json_pointer(path)] = bad;
      EXPECT_THROW((void)point_from_line(changed.dump()), std::runtime_error)
          << path << ": " << bad;
    }
  }
  json wide = point;
  wide[json::json_pointer("/cluster/nodes")] = 4'294'967'299ULL;  // 2^32 + 3
  EXPECT_THROW((void)point_from_line(wide.dump()), std::runtime_error);
}

// JSON has no infinity: such a line must not reach the other side as something else.
TEST(Garbage, IsAnInfiniteTime) {
  ResolvedPoint point = full_point();
  point.program.operations[0].work = Seconds(std::numeric_limits<double>::infinity());
  EXPECT_THROW((void)point_from_line(to_line(point)), std::runtime_error);
}

}  // namespace
}  // namespace paceline::traces
