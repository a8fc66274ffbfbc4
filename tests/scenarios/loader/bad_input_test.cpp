#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/scenarios/loader/bad_scenario.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

class BadScenarios : public testing::TestWithParam<BadScenario> {};

TEST_P(BadScenarios, AreRefusedInOneLineThatPointsAtThem) { expect_refused_there(GetParam()); }

const BadScenario algorithm_options[] = {
    {"ChunkSizeWithoutAUnit", "library: plan", "library: plan, chunk_size: @512",
     "chunk_size \"512\" has no unit; write "},
    {"InnerAlgorithmMisspelt", "library: plan", "library: plan, inner: @rign",
     "inner \"rign\" is not known; did you mean ring?"},
    {"InnerAlgorithmThatIsNoPairOfHalves", "library: plan", "library: plan, inner: @binomial_tree",
     "inner \"binomial_tree\" is not known; "},
    {"OuterAlgorithmMisspelt", "library: plan", "library: plan, outer: @halving_dubling",
     "outer \"halving_dubling\" is not known; did you mean halving_doubling?"},
    {"NoServers", "library: plan", "library: plan, servers: @0", "servers \"0\" is "},
    {"ServerPlacementMisspelt", "library: plan", "library: plan, server_placement: @seperate",
     "server_placement \"seperate\" is not known; did you mean separate?"},
};

const BadScenario keys[] = {
    {"UnknownKey", "", "@simulatoin: 3\n", "unknown key \"simulatoin\"; did you mean simulation?"},
    {"UnknownKeyLikeNone", "", "@zzzzzzzzzzzzzzzzzzzzzzzzzzz: 3\n",
     "unknown key \"zzzzzzzzzzzzzzzzzzzzzzzzzzz\"; known keys: call_contention,"},
    {"UnknownKeyOfCluster", "  nodes: 2", "  @noeds: 2",
     "unknown key \"cluster.noeds\"; did you mean nodes?"},
    {"UnknownKeyInANestedMap", "latency: 5us", "@latnecy: 5us",
     "unknown key \"cluster.network.latnecy\"; did you mean latency?"},
    {"UnknownKeyOfAStrategy", "{strategy: bulk_synchronous,",
     "{strategy: bulk_synchronous, bucket_cap: @5MiB,",
     "bucket_cap is a key of strategy ddp, not of bulk_synchronous; "},
    {"UnknownKeyOfALayer", "parameters: [3000]", "@params: [3000]",
     "unknown key \"workload.layers.1.params\"; known keys: backward, "},
    {"MisspeltName", "name: two nodes", "@nmae: two nodes",
     "unknown key \"nmae\"; did you mean name?"},
    {"MisspeltSchema", "schema: paceline/1", "@shema: paceline/1",
     "unknown key \"shema\"; did you mean schema?"},
    {"MisspeltSection",
     "workload:", "@wrokload:", "unknown key \"wrokload\"; did you mean workload?"},
    {"UnknownKeyBesideAMissingOne", "name: two nodes", "@zzzzzzzzzzzzzzzzz: two nodes",
     "unknown key \"zzzzzzzzzzzzzzzzz\"; known keys: call_contention,"},
    {"MisspeltBatch", "batch_per_gpu:", "@batch_per_gpus:",
     "unknown key \"workload.batch_per_gpus\"; did you mean batch_per_gpu?"},
    {"MisspeltTimeOfALayer", "name: a, forward:", "name: a, @foward:",
     "unknown key \"workload.layers.0.foward\"; did you mean forward?"},
    {"MisspeltGpusPerNode", "gpus_per_node", "@gpu_per_node",
     "unknown key \"cluster.gpu_per_node\"; did you mean gpus_per_node?"},
    {"MisspeltBandwidthOfANode", "bandwidth: 100GBps", "@bandwith: 100GBps",
     "unknown key \"cluster.intra_node.bandwith\"; did you mean bandwidth?"},
    {"MisspeltStrategy",
     "{strategy:", "{@stategy:", "unknown key \"training.stategy\"; did you mean strategy?"},
    {"MisspeltAlgorithm", "algorithm: ring", "@algorthm: ring",
     "unknown key \"collective.algorthm\"; did you mean algorithm?"},
    {"UnknownAxis", "", "sweep: {cluster.network.latnecy: [@1us, 2us]}\n",
     "unknown key \"cluster.network.latnecy\"; did you mean latency?"},
    {"KeyThatStandsTwice", "", "@name: again\n", "key \"name\" stands twice"},
    {"NestedKeyThatStandsTwice", "latency: 5us", "latency: 5us, @latency: 6us",
     "key \"latency\" stands twice"},
    {"KeyThatIsAList", "", "? @[a, b]\n: 1\n", "a key is not a word"},
    {"MissingName", "schema: paceline/1\nname: two nodes\n", "@schema: paceline/1\n",
     "name is missing; write name: "},
    {"MissingSchema", "schema: paceline/1\n", "@", "schema is missing; write schema: paceline/1"},
    {"OtherSchema", "paceline/1", "@paceline/9",
     "schema \"paceline/9\" is not known; write schema: paceline/1"},
    {"NameWithAControlCharacter", "name: two nodes", "name: @\"two \\e[31m nodes\"",
     "name \"two ?[31m nodes\" has a control character"},
    {"SectionThatIsAValue", "{library: plan, algorithm: ring}", "@plan",
     "collective \"plan\" is not a map; write keys with values below it"},
};

const BadScenario quantities[] = {
    {"LatencyWithoutUnit", "latency: 5us", "latency: @5",
     "latency \"5\" has no unit; write 5us or 5ms"},
    {"BandwidthWithoutUnit", "10Gbps", "@10",
     "bandwidth \"10\" has no unit; write 10Gbps or 10GBps"},
    {"LayerTimeWithoutUnit", "name: a, forward: 1ms", "name: a, forward: @1",
     "forward \"1\" has no unit; write 1us or 1ms"},
    {"ThroughputWithoutUnit", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  single_gpu_throughput: @10\n",
     "single_gpu_throughput \"10\" has no unit; write 10 samples/s or 10 img/s"},
    {"WrongUnit", "latency: 5us", "latency: @5MiB",
     "latency \"5MiB\" has no unit of time; known units: ns us ms s m min h d y"},
    {"NoNumber", "latency: 5us", "latency: @soon",
     "latency \"soon\" is not a time; write 5us or 5ms"},
    {"ListForAQuantity", "latency: 5us", "latency: @[5us]", "latency is not a single value"},
    {"ZeroBandwidth", "10Gbps", "@0Gbps", "bandwidth \"0Gbps\" is not a bandwidth above zero"},
    {"NegativeBandwidth", "10Gbps", "@-1Gbps",
     "bandwidth \"-1Gbps\" is not a bandwidth of zero or more"},
    {"InfiniteBandwidth", "10Gbps", "@1e999Gbps", "bandwidth \"1e999Gbps\" is not a bandwidth"},
    {"NegativeLatency", "latency: 5us", "latency: @-5us",
     "latency \"-5us\" is not a time of zero or more"},
    {"EfficiencyOfZero", "latency: 5us", "latency: 5us, efficiency: @0",
     "efficiency \"0\" is not above zero"},
    {"EfficiencyAboveOne", "latency: 5us", "latency: 5us, efficiency: @120%",
     "efficiency \"120%\" is not a part of the whole; write 0% to 100%"},
    {"FractionOfAByte", "{strategy: bulk_synchronous,", "{strategy: ddp, bucket_cap: @0.3B,",
     "bucket_cap \"0.3B\" is not a whole number of bytes"},
    {"BucketCapOfZero", "{strategy: bulk_synchronous,", "{strategy: ddp, bucket_cap: @0MiB,",
     "bucket_cap \"0MiB\" is not a size above zero"},
    {"NoTimeLeftForTheLayers", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  single_gpu_throughput: @9999999 samples/s\n",
     "single_gpu_throughput \"9999999 samples/s\" leaves no time for the layers"},
    {"JitterAboveTheWhole", "", "ranks: {jitter: @200%}\n",
     "jitter \"200%\" is not a part of the whole; write 0% to 99%"},
    {"SlowdownOfZero", "", "ranks: {slowdown: {1: @0}}\n",
     "1 \"0\" is out of range; write a number from 0.001 to 1000"},
    {"SlowdownOfNoRank", "", "ranks: {slowdown: {x: @2}}\n",
     "x \"2\" belongs to no rank; write slowdown: {3: 1.2}"},
};

const BadScenario clusters[] = {
    {"ZeroGpus", "", "gpus: @0\n", "gpus \"0\" is out of range; write a number from 1 to 1000000"},
    {"PartOfAGpu", "", "gpus: @1.5\n", "gpus \"1.5\" is not a whole number"},
    {"GpusThatDoNotFillNodes", "", "gpus: @3\n",
     "gpus \"3\" does not fill nodes of 2 GPUs; write a multiple of 2"},
    {"GpusThatDoNotFillNodesInASweep", "", "sweep: {gpus: [2, 4, @7]}\n",
     "gpus \"7\" does not fill nodes of 2 GPUs; write a multiple of 2"},
    {"ZeroNodes", "  nodes: 2", "  nodes: @0", "nodes \"0\" is out of range"},
    {"ZeroGpusPerNode", "gpus_per_node: 2", "gpus_per_node: @0",
     "gpus_per_node \"0\" is out of range"},
    {"MoreGpusThanAMillion", "  nodes: 2\n  gpus_per_node: 2",
     "  nodes: 1000000\n  gpus_per_node: @2", "gpus_per_node \"2\" makes more than 1000000 GPUs"},
    {"MoreNicsThanGpus", "latency: 5us", "latency: 5us, nics_per_node: @3",
     "nics_per_node \"3\" is out of range; write a number from 1 to 2"},
    {"NodesWithoutANetwork",
     "  nodes: 2\n  gpus_per_node: 2\n  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: "
     "2us}\n"
     "  network: {bandwidth: 10Gbps, latency: 5us}\n",
     "  @nodes: 2\n  gpus_per_node: 2\n  intra_node: {bandwidth: 100GBps}\n",
     "cluster.network.bandwidth is missing; write network: {bandwidth: 100Gbps}"},
    {"UnknownPreset", "  nodes: 2\n", "  nodes: 2\n  preset: @dgx1-v101\n",
     "preset \"dgx1-v101\" is not known; did you mean dgx1-v100? known: "},
    {"LanesThatAreNotSymmetric", "kind: nvswitch", "kind: nvlink_mesh, lanes: @[[0, 1], [2, 0]]",
     "lanes differs between 0,1 and 1,0"},
    {"LanesThatAreNotSquare", "kind: nvswitch", "kind: nvlink_mesh, lanes: @[[0, 1]]",
     "lanes is not a square of at least 2 rows"},
    {"LanesFromAGpuToItself", "kind: nvswitch", "kind: nvlink_mesh, lanes: @[[1, 1], [1, 0]]",
     "lanes "},
    {"LanesWithoutAMesh", "kind: nvswitch", "kind: nvswitch, lanes: @[[0, 1], [1, 0]]",
     "lanes belongs to kind: nvlink_mesh"},
    {"MeshWithoutAPath", "  nodes: 2\n  gpus_per_node: 2\n  intra_node: {kind: nvswitch,",
     "  @nodes: 2\n  gpus_per_node: 2\n  intra_node: {kind: nvlink_mesh, lanes: [[0, 0], [0, 0]],",
     "nothing joins GPUs 0 and 1 of a node; give intra_node.host_bandwidth, or lanes between them"},
};

// The nodes of the small scenario have two GPUs.
const BadScenario fabrics[] = {
    {"UnknownFabric", "latency: 5us", "latency: 5us, fabric: @fat_tee",
     "fabric \"fat_tee\" is not known; did you mean fat_tree? known: switch, fat_tree"},
    {"MtuWithoutTcp", "network: {", "network: {mtu: @9000, ",
     "mtu \"9000\" belongs to packets of TCP; add framing: ethernet-tcp, or ip-tcp"},
    {"MtuBelowWhatHostsMustTake", "network: {", "network: {framing: ip-tcp, mtu: @52, ",
     "mtu \"52\" is out of range; write a number from 576 to 65536"},
    {"RendezvousOfAllWithoutUnit", "network: {", "network: {rendezvous_above: @65536, ",
     "rendezvous_above \"65536\" has no unit; write 65536MiB or 65536MB"},
    {"ReductionAtNoRate", "  network: {", "  reduction_bandwidth: @0GBps\n  network: {",
     "reduction_bandwidth \"0GBps\" is not a bandwidth above zero"},
    {"FatTreeWithoutLeaves", "network: {", "network: @{fabric: fat_tree, ",
     "cluster.network.nodes_per_leaf is missing; write nodes_per_leaf: 16"},
    {"NoNodesBelowALeaf", "latency: 5us", "latency: 5us, fabric: fat_tree, nodes_per_leaf: @0",
     "nodes_per_leaf \"0\" is out of range; write a number from 1 to 1000000"},
    {"UplinksOfMoreThanTheirNics", "latency: 5us",
     "latency: 5us, fabric: fat_tree, nodes_per_leaf: 1, oversubscription: @0.5",
     "oversubscription \"0.5\" is out of range; write a number from 1 to 1000"},
    {"OversubscriptionAsARatio", "latency: 5us",
     "latency: 5us, fabric: fat_tree, nodes_per_leaf: 1, oversubscription: @\"2:1\"",
     "oversubscription \"2:1\" is not a number; write a number from 1 to 1000"},
    {"CoreLatencyWithoutUnit", "latency: 5us",
     "latency: 5us, fabric: fat_tree, nodes_per_leaf: 1, core_latency: @1",
     "core_latency \"1\" has no unit; write 1us or 1ms"},
    {"RailsThatAreACount", "latency: 5us",
     "latency: 5us, fabric: fat_tree, nodes_per_leaf: 1, rails: @8",
     "rails \"8\" is neither true nor false"},
    {"UnknownPlacement", "latency: 5us",
     "latency: 5us, fabric: fat_tree, nodes_per_leaf: 1, placement: @spred",
     "placement \"spred\" is not known; did you mean spread? known: packed, spread"},
    {"LeavesOfASwitch", "latency: 5us", "latency: 5us, nodes_per_leaf: @4",
     "nodes_per_leaf \"4\" belongs to fabric: fat_tree"},
    {"RailsOfASwitch", "latency: 5us", "latency: 5us, fabric: switch, rails: @true",
     "rails \"true\" belongs to fabric: fat_tree"},
    {"PcieSwitchesBesideNvswitch", "kind: nvswitch", "kind: nvswitch, gpus_per_switch: @2",
     "gpus_per_switch \"2\" belongs to kind: pcie"},
    {"PcieSwitchesWithoutGpus", "kind: nvswitch", "kind: pcie, peer_to_peer: @false",
     "peer_to_peer \"false\" belongs to gpus_per_switch"},
    {"PcieSwitchesThatDoNotDivideANode", "gpus_per_node: 2\n  intra_node: {kind: nvswitch",
     "gpus_per_node: 3\n  intra_node: {kind: pcie, gpus_per_switch: @2",
     "gpus_per_switch \"2\" does not divide the number of GPUs of a node, 3"},
    {"NoGpusBelowAPcieSwitch", "kind: nvswitch", "kind: pcie, gpus_per_switch: @0",
     "gpus_per_switch \"0\" is out of range; write a number from 1 to 2"},
    {"PcieSwitchWithoutABandwidth", "{kind: nvswitch", "@{kind: pcie, gpus_per_switch: 1",
     "cluster.intra_node.switch_bandwidth is missing; write switch_bandwidth: 12GBps"},
    {"PcieSwitchOfOneGpuWithoutABandwidth",
     "gpus_per_node: 2\n  intra_node: {kind: nvswitch, bandwidth: 100GBps,",
     "gpus_per_node: 1\n  intra_node: @{kind: pcie, gpus_per_switch: 1, switch_bandwidth: 12GBps,",
     "cluster.intra_node.bandwidth is missing; write bandwidth: 12GBps"},
    {"LanesWithoutABandwidth", "{kind: nvswitch, bandwidth: 100GBps,", "@{kind: nvlink_mesh,",
     "cluster.intra_node.bandwidth is missing; write bandwidth: 22.5GBps\n"},
    {"PortsWithoutABandwidth", "{kind: nvswitch, bandwidth: 100GBps,", "@{kind: pcie,",
     "cluster.intra_node.bandwidth is missing; write bandwidth: 12GBps\n"},
    {"NodesWithNothingBetweenTheirGpus",
     "nodes: 2\n  gpus_per_node: 2\n  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: "
     "2us}\n",
     "@nodes: 2\n  gpus_per_node: 2\n",
     "cluster.intra_node.bandwidth is missing; write intra_node: {kind: nvswitch, bandwidth: "
     "240GBps}, or another kind, or name a preset of such machines\n"},
    {"PcieSwitchBandwidthWithoutUnit", "kind: nvswitch",
     "kind: pcie, gpus_per_switch: 1, switch_bandwidth: @12",
     "switch_bandwidth \"12\" has no unit; write 12Gbps or 12GBps"},
    {"SocketsWithoutALink", "{kind: nvswitch",
     "@{kind: pcie, gpus_per_switch: 1, switch_bandwidth: 12GBps, sockets: 2",
     "cluster.intra_node.socket_bandwidth is missing; write socket_bandwidth: 10GBps"},
    {"MoreSocketsThanSwitches", "kind: nvswitch",
     "kind: pcie, gpus_per_switch: 2, switch_bandwidth: 12GBps, sockets: @2",
     "sockets \"2\" does not divide the number of switches of a node, 1"},
    {"FourSockets", "kind: nvswitch",
     "kind: pcie, gpus_per_switch: 1, switch_bandwidth: 12GBps, sockets: @4",
     "sockets \"4\" is out of range; write a number from 1 to 2"},
    {"ALinkBetweenOneSocket", "kind: nvswitch",
     "kind: pcie, gpus_per_switch: 1, switch_bandwidth: 12GBps, socket_bandwidth: @10GBps",
     "socket_bandwidth \"10GBps\" belongs to sockets: 2"},
};

const BadScenario names[] = {
    {"UnknownAlgorithm", "algorithm: ring", "algorithm: @rnig",
     "algorithm \"rnig\" is not known; did you mean ring? known: ring, "},
    {"UnknownLibrary", "library: plan", "library: @ncl",
     "library \"ncl\" is not known; did you mean nccl? known: nccl, gloo, mpi, plan"},
    {"UnknownModel",
     "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}\n"
     "    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}\n",
     "  model: @resnet19\n",
     "model \"resnet19\" is not known; did you mean resnet18? known: bert-base, "},
    {"ModelBesideLayers", "  layers:\n    - {name: a,",
     "  model: resnet18\n  layers:\n    @- {name: a,",
     "layers stands beside model; keep one of them"},
    {"UnknownDevice", "v100-sxm2-16gb", "@v100-sxm2-61gb",
     "device \"v100-sxm2-61gb\" is not known; did you mean v100-sxm2-16gb? known: a10, "},
    {"UnknownStrategy", "bulk_synchronous", "@bulk_synchronos",
     "strategy \"bulk_synchronos\" is not known; did you mean bulk_synchronous? known: ddp, "},
    {"UnknownPrecision", "  batch_per_gpu: 8\n", "  batch_per_gpu: 8\n  precision: @fp31\n",
     "precision \"fp31\" is not known; did you mean fp32? known: fp32, "},
    {"UnknownOptimizer", "kind: sgd,", "kind: @adma,",
     "kind \"adma\" is not known; did you mean adam? known: sgd, "},
    {"UnknownFidelity", "fidelity: closed", "fidelity: @flwo",
     "fidelity \"flwo\" is not known; did you mean flow? known: "},
    {"NoVersion", "{strategy: bulk_synchronous,", "{strategy: ddp, torch_version: @two,",
     "torch_version \"two\" is not a version; write \"2.1\""},
};

const BadScenario sweeps[] = {
    {"EmptyAxis", "", "sweep: {gpus: @[]}\n", "gpus is an empty list; write [a, b, ...]"},
    {"AxisOfNothing", "", "sweep: {gpus: @}\n", "gpus is not a list; write [a, b, ...]"},
    {"AxisOfLists", "", "sweep: {gpus: [@[1, 2]]}\n", "gpus is not a single value"},
    {"SweepThatIsAList", "", "sweep: @[1, 2]\n", "sweep is not a map"},
    {"MeasuredPointOfTwoGridPoints", "",
     "sweep: {gpus: [2, 4]}\nmeasured: {source: s, points: [@{throughput: 9 samples/s}]}\n",
     "measured point matches 2 points of the grid; name its gpus"},
    {"AxisWithTheSameTimeTwice", "", "sweep: {cluster.network.latency: [100us, 7us, @0.1ms]}\n",
     "latency \"0.1ms\" is twice in its axis; leave one of them out"},
    {"TwoMeasuredPointsOfOneGridPoint", "",
     "sweep: {gpus: [2, 4]}\nmeasured: {source: s, points: [{gpus: 4, step: 1s}, @{gpus: 4.0, "
     "step: 2s}]}\n",
     "a second measured point for the same point of the grid; keep one of them"},
    {"MeasuredPointWithoutAFigure", "",
     "sweep: {gpus: [2, 4]}\nmeasured: {source: s, points: [@{gpus: 4}]}\n",
     "measured.points.throughput is missing; write throughput: "},
    {"KnownInBothSpellings", "",
     "measured: {source: s, points: [{step: 1s, known: true, fitted: @true}]}\n",
     "fitted \"true\" is the older spelling of known; leave it out"},
    {"MeasuredStepOfZero", "", "measured: {source: s, points: [{step: @0s}]}\n",
     "step \"0s\" is not a time above zero"},
    {"MeasuredPointWithAnUnknownAxis", "",
     "measured: {source: s, points: [{@latency: 3us, step: 1s}]}\n",
     "unknown key \"measured.points.latency\"; known keys: "},
    {"MeasuredPointWithAMisspeltFigure", "",
     "measured: {source: s, points: [{@thruoghput: 9 samples/s}]}\n",
     "unknown key \"measured.points.thruoghput\"; did you mean throughput?"},
    {"MeasuredWithAMisspeltSource", "", "measured: {@sorce: s, points: [{step: 1s}]}\n",
     "unknown key \"measured.sorce\"; did you mean source?"},
    {"MeasuredWithoutPoints", "", "measured: {source: s, points: @[]}\n",
     "points is an empty list"},
    {"MeasuredWithoutSource", "", "measured: @{points: [{step: 1s}]}\n",
     "measured.source is missing; write source: "},
};

const BadScenario yaml[] = {
    {"MapInAValue", "", "ranks: a@: b\n", "is not YAML: "},
    {"AliasWithoutAnchor", "", "ranks: @*nowhere\n", "is not YAML: "},
    {"ListThatDoesNotEnd", "", "ranks: [1, 2\n@", "is not YAML: "},
    {"SecondDocument", "", "@---\nname: another\n", "starts a second document; keep one a file"},
    {"SecondDocumentWithNothingInIt", "", "@---\n", "starts a second document"},
    {"SecondDocumentAfterAnEnd", "", "...\n@name: another\n", "starts a second document"},
    {"SecondDocumentThatIsNotYaml", "", "@---\nranks: [1, 2\n", "starts a second document"},
    {"TabForIndentation", "", "\t@ranks: 3\n", "is not YAML: "},
};

std::string name_of(const testing::TestParamInfo<BadScenario>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(AlgorithmOptions, BadScenarios, testing::ValuesIn(algorithm_options),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Keys, BadScenarios, testing::ValuesIn(keys), name_of);
INSTANTIATE_TEST_SUITE_P(Quantities, BadScenarios, testing::ValuesIn(quantities), name_of);
INSTANTIATE_TEST_SUITE_P(Clusters, BadScenarios, testing::ValuesIn(clusters), name_of);
INSTANTIATE_TEST_SUITE_P(Fabrics, BadScenarios, testing::ValuesIn(fabrics), name_of);
INSTANTIATE_TEST_SUITE_P(Names, BadScenarios, testing::ValuesIn(names), name_of);
INSTANTIATE_TEST_SUITE_P(Sweeps, BadScenarios, testing::ValuesIn(sweeps), name_of);
INSTANTIATE_TEST_SUITE_P(Yaml, BadScenarios, testing::ValuesIn(yaml), name_of);

// Files that are no scenarios at all.

// The limits of these: what a run of a small scenario takes is 10 ms and 6 MiB.
void expect_cheap(const Ended& ended) {
  EXPECT_LT(ended.cpu_seconds, 5);
  EXPECT_LT(ended.peak_kib, 512 * 1024);
}

class BadFiles : public testing::Test {
 protected:
  // What a run of the text says.
  Ended run(std::string_view text) {
    folder_.write("bad.yaml", text);
    return paceline({"run", "bad.yaml"}, folder_.path());
  }

  Folder folder_;
};

TEST_F(BadFiles, MayBeMissing) {
  expect_refused(paceline({"run", "nowhere.yaml"}, folder_.path()),
                 "paceline: nowhere.yaml: cannot be read: No such file or directory");
}

TEST_F(BadFiles, MayBeFolders) {
  expect_refused(paceline({"run", "."}, folder_.path()),
                 "paceline: .: cannot be read: Is a directory");
}

// An endless file is read as far as the limit.
TEST_F(BadFiles, MayNeverEnd) {
  for (const char* endless : {"/dev/zero", "/dev/urandom"}) {
    const Ended ended = paceline({"run", endless}, folder_.path());
    expect_refused(ended, std::string("paceline: ") + endless + ": is not a text file: byte ");
    expect_cheap(ended);
  }
}

TEST_F(BadFiles, MayBeEmpty) {
  expect_refused(run(""), "paceline: bad.yaml: is not a scenario; write schema: paceline/1");
}

TEST_F(BadFiles, MayBeAListOrAWord) {
  expect_refused(run("- a\n- b\n"), "paceline: bad.yaml: is not a scenario");
  expect_refused(run("hello\n"), "paceline: bad.yaml: is not a scenario");
}

TEST_F(BadFiles, MayBePrograms) {
  expect_refused(run(text_of(PACELINE_BINARY).substr(0, 4096)),
                 "paceline: bad.yaml: is not a text file: byte ");
}

// Offset 26: "schema: paceline/1\n" has 19 bytes, "name: a" 7.
TEST_F(BadFiles, MayHoldANulByte) {
  using namespace std::string_literals;
  expect_refused(run("schema: paceline/1\nname: a\0b\n"s),
                 "paceline: bad.yaml: is not a text file: byte 26 is 0");
}

TEST_F(BadFiles, MayBeLargerThanOneMebibyte) {
  const std::string text(small_scenario);
  expect_refused(run(text + "#" + std::string(1 << 20, 'x') + "\n"),
                 "paceline: bad.yaml: is larger than 1 MiB");
}

TEST_F(BadFiles, MayBeOneMebibyteOfAKnownScenario) {
  std::string text(small_scenario);
  text += fmt::format("#{}\n", std::string((1 << 20) - text.size() - 2, 'x'));
  EXPECT_EQ(run(text).exit_code, 0);
}

// Nine levels of ten aliases each stand for 10^10 values, some 100 GiB when written out.
TEST_F(BadFiles, MayBeBombsOfAliases) {
  std::string text(small_scenario);
  text += "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level <= 9; ++level) {
    const std::vector<std::string> above(10, fmt::format("*a{}", level - 1));
    text += fmt::format("a{0}: &a{0} [{1}]\n", level, fmt::join(above, ", "));
  }
  const Ended ended = run(text);
  expect_refused(ended, "paceline: bad.yaml:21:");  // a4, the first above 100,000 values
  EXPECT_NE(ended.err.find("stands for more than 100000 values"), std::string::npos) << ended.err;
  expect_cheap(ended);
}

TEST_F(BadFiles, MayNestTooDeeply) {
  for (const auto& [open, close] :
       {std::pair{"[", "]"}, std::pair{"{a: ", "}"}, std::pair{"- ", ""}, std::pair{"? ", ""}}) {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += open;
    for (int i = 0; i < 10'000; ++i) text += close;
    const Ended ended = run(text + "\n");
    expect_refused(ended, "paceline: bad.yaml");
    expect_cheap(ended);
  }
}

TEST_F(BadFiles, MayHoldMoreValuesThanTheLimit) {
  std::string text = "[a";
  for (int i = 0; i < 100'000; ++i) text += ",a";
  const Ended ended = run(text + "]\n");
  expect_refused(ended, "paceline: bad.yaml:1:");
  expect_cheap(ended);
}

// 1,000 x 1,000 x 1,000 points.
TEST_F(BadFiles, MaySweepOverABillionPoints) {
  std::string gpus, batches, latencies;
  for (int i = 1; i <= 1000; ++i) {
    gpus += fmt::format("{}, ", 2 * i);
    batches += fmt::format("{}, ", i);
    latencies += fmt::format("{}us, ", i);
  }
  const Ended ended =
      run(changed(small_scenario, "",
                  "sweep:\n  gpus: [" + gpus + "]\n  workload.batch_per_gpu: [" + batches +
                      "]\n  cluster.network.latency: [" + latencies + "]\n"));
  expect_refused(ended, "paceline: bad.yaml:19:28: ");
  EXPECT_NE(ended.err.find("1000 x 1000 x 1000 points; run takes at most 100000 points"),
            std::string::npos)
      << ended.err;
  expect_cheap(ended);
}

// A ring all-reduce of 8,000 GPUs has 2 x 7,999 rounds of 8,000 transfers: 1.28e8.
TEST_F(BadFiles, MayAskForMoreTransfersThanAreSimulatedUnforced) {
  const std::string wide = changed(small_scenario, "  nodes: 2", "  nodes: 4000");
  const Ended ended = run(changed(wide, "fidelity: closed", "fidelity: flow"));
  expect_refused(ended, "paceline: bad.yaml: 8000 GPUs take 6.43e+07 simulated transfers, about ");
  EXPECT_NE(ended.err.find("fidelity: folded"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("--force"), std::string::npos) << ended.err;
  expect_cheap(ended);
}

// Every message is one line and harmless to a terminal, whatever it repeats of the file.
TEST_F(BadFiles, CannotWriteControlCharactersToTheTerminal) {
  const Ended ended =
      run(changed(small_scenario, "strategy: bulk_synchronous", "strategy: \"a\\e[31m\\n\\rb\""));
  expect_refused(ended, "paceline: bad.yaml:14:22: strategy \"a?[31m??b\" has a control character");
}

// Command lines.

struct BadCommand {
  const char* name;
  std::vector<std::string> arguments;  // "FILE" stands for a good scenario's path
  const char* message;
};

void PrintTo(const BadCommand& bad, std::ostream* out) { *out << bad.name; }

class BadCommands : public testing::TestWithParam<BadCommand> {};

TEST_P(BadCommands, AreRefusedInOneLine) {
  const Folder folder;
  auto arguments = GetParam().arguments;
  std::replace(arguments.begin(), arguments.end(), std::string("FILE"),
               folder.write("good.yaml", small_scenario));
  expect_refused(paceline(arguments, folder.path()),
                 std::string("paceline: ") + GetParam().message);
}

const BadCommand settings[] = {
    {"SettingOfAnUnknownKey",
     {"run", "FILE", "--set", "cluster.network.latnecy=5us"},
     "--set cluster.network.latnecy=5us: unknown key \"cluster.network.latnecy\"; did you mean "
     "latency?"},
    {"SettingOfAnUnknownSection",
     {"run", "FILE", "--set", "clutser.nodes=2"},
     "--set clutser.nodes=2: unknown key \"clutser\"; did you mean cluster?"},
    {"SettingOfAnUnknownAxis",
     {"run", "FILE", "--set", "sweep.cluster.nodse=[1, 2]"},
     "--set sweep.cluster.nodse=[1, 2]: unknown key \"cluster.nodse\"; did you mean nodes?"},
    {"SettingWithoutEquals",
     {"run", "FILE", "--set", "cluster.network.latency"},
     "--set cluster.network.latency: is not path=value; write --set cluster.network.latency=5us"},
    {"SettingWithoutPath", {"run", "FILE", "--set", "=5us"}, "--set =5us: is not path=value"},
    {"SettingWithoutUnit",
     {"run", "FILE", "--set", "cluster.network.latency=5"},
     "--set cluster.network.latency=5: latency \"5\" has no unit; write 5us or 5ms"},
    {"SettingOfNothing",
     {"run", "FILE", "--set", "cluster.network.latency="},
     "--set cluster.network.latency=: latency is not a single value"},
    {"SettingThatIsNotYaml", {"run", "FILE", "--set", "sweep.gpus=[2,"}, "--set sweep.gpus=[2,:"},
    {"SettingOfAnEmptyAxis",
     {"run", "FILE", "--set", "sweep.gpus=[]"},
     "--set sweep.gpus=[]: gpus is an empty list"},
    {"SettingBelowAValue",
     {"run", "FILE", "--set", "cluster.network.latency.x=5us"},
     "--set cluster.network.latency.x=5us: "},
    {"SettingOfASectionToAValue",
     {"run", "FILE", "--set", "cluster.network=5"},
     "--set cluster.network=5: network \"5\" is not a map"},
    {"SettingOfALayerThatIsNotThere",
     {"run", "FILE", "--set", "workload.layers.9.forward=5ms"},
     "--set workload.layers.9.forward=5ms: "},
    {"SettingOfTheMeasuredPoints",
     {"run", "FILE", "--set", "measured.source=me"},
     "--set measured.source=me: "},
    {"SettingOfTheWholeSweep", {"run", "FILE", "--set", "sweep=[2, 4]"}, "--set sweep=[2, 4]: "},
    {"SeedThatIsNoNumber",
     {"run", "FILE", "--seed", "x"},
     "--set simulation.seed=x: seed \"x\" is not a number"},
};

const BadCommand usage[] = {
    {"NoArguments", {}, ""},
    {"UnknownCommand", {"rnu", "FILE"}, ""},
    {"NoScenario", {"run"}, ""},
    {"TwoScenarios", {"run", "FILE", "FILE"}, ""},
    {"UnknownOption", {"run", "FILE", "--jsno", "-"}, ""},
    {"OptionWithoutValue", {"run", "FILE", "--json"}, ""},
    {"JobsThatAreNoNumber", {"run", "FILE", "--jobs", "two"}, ""},
    {"NegativeJobs", {"run", "FILE", "--jobs=-1"}, ""},
    {"MoreJobsThanAnyMachineHasCores", {"run", "FILE", "--jobs", "100000"}, ""},
    {"TwoResultsOnStandardOutput",
     {"run", "FILE", "--json", "-", "--csv", "-"},
     "-: standard output takes one of "},
    {"ExplanationOfAClusterBesideAResult", {"run", "FILE", "--explain-cluster", "--json", "-"}, ""},
    {"CollectiveFromLargeToSmall",
     {"collective", "dgx1-v100", "--min", "2MiB", "--max", "1MiB"},
     "--max: is below --min"},
    {"MeanErrorThatIsNoNumber", {"validate", "FILE", "--max-mean-error", "x"}, ""},
    {"MeanErrorThatIsNotANumber", {"validate", "FILE", "--max-mean-error", "nan"}, ""},
    {"ValidationWithoutMeasuredPoints", {"validate", "FILE"}, ""},
    {"BucketsOfAnUnknownModel",
     {"buckets", "resnet19"},
     "command line: model \"resnet19\" is not known; did you mean resnet18? known: "},
    {"BucketCapWithoutUnit",
     {"buckets", "resnet18", "--bucket-cap", "25"},
     "command line: bucket_cap \"25\" has no unit; write 25MiB or 25MB"},
    {"CollectiveOnAnUnknownCluster",
     {"collective", "dgx1-v101"},
     "command line: preset \"dgx1-v101\" is not known; did you mean dgx1-v100? known: "},
    {"UnknownCollective",
     {"collective", "dgx1-v100", "--collective", "all_redcue"},
     "--collective: \"all_redcue\" is not known; known: all_reduce, "},
    {"CollectiveOfAnUnknownAlgorithm",
     {"collective", "dgx1-v100", "--algorithm", "rnig"},
     "command line: algorithm \"rnig\" is not known; did you mean ring? known: "},
    {"CollectiveSizeWithoutUnit",
     {"collective", "dgx1-v100", "--max", "1024"},
     "--max: \"1024\" has no unit; write 1024MiB or 1024MB"},
    {"CollectiveWithAnUnknownInnerAlgorithm",
     {"collective", "dgx1-v100", "--algorithm", "hierarchical", "--inner", "rnig"},
     "command line: inner \"rnig\" is not known; did you mean ring?"},
    {"CollectiveThatNeverGrows", {"collective", "dgx1-v100", "--factor", "1"}, "--factor: "},
};

std::string command_name(const testing::TestParamInfo<BadCommand>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Settings, BadCommands, testing::ValuesIn(settings), command_name);
INSTANTIATE_TEST_SUITE_P(Usage, BadCommands, testing::ValuesIn(usage), command_name);

}  // namespace
}  // namespace paceline::test
