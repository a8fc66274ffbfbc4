// `paceline topology` through the built program.

#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace topology_test {

std::string fixture(const std::string& name) {
  return std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/topology/" + name;
}

TEST(Topology, WritesAClusterThatOtherCommandsTake) {
  const Folder folder;
  const Ended made =
      paceline({"topology", fixture("dgx_a100.xml"), "-o", "cluster.yaml"}, folder.path());
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "");
  const Ended used = paceline(
      {"collective", "cluster.yaml", "--gpus", "16", "--min", "1MiB", "--max", "1MiB", "--quiet"},
      folder.path());
  EXPECT_EQ(used.exit_code, 0) << used.err;
}

TEST(Topology, PrintsTheClusterWithoutAName) {
  const Folder folder;
  const Ended ended = paceline({"topology", fixture("dgx1_v100.txt"), "--device", "v100-sxm2-16gb",
                                "--nics", "2", "--network-bandwidth", "25Gbps"},
                               folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("\ngpu: v100-sxm2-16gb\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n  kind: nvlink_mesh\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n    - [0, 1, 1, 2, 2, 0, 0, 0]\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n  bandwidth: 25Gbps\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n  nics_per_node: 2\n"), std::string::npos) << ended.out;
}

TEST(Topology, EndsInOneLineWhereInputIsBad) {
  const Folder folder;
  const auto said = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "topology");
    const Ended ended = paceline(arguments, folder.path());
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    return ended.err;
  };
  folder.write("broken.txt", "\tGPU0\tGPU1\nGPU0\tX\tNV2\nGPU1\tNV1\tX\n");
  EXPECT_EQ(
      said({"broken.txt"}),
      "paceline: broken.txt:2:8: differs from the entry of GPU1 for GPU0 (line 3); a link has "
      "the same two ends from either\n");
  folder.write("empty", "");
  EXPECT_EQ(said({"empty"}),
            "paceline: empty: is no topology of a node; give what nvidia-smi topo -m prints, what "
            "NCCL_TOPO_DUMP_FILE names, or a log with NCCL_DEBUG=INFO\n");
  EXPECT_EQ(said({"nowhere"}).rfind("paceline: nowhere: ", 0), 0U);
  EXPECT_EQ(
      said({fixture("dgx_a100.txt")}).find(": does not say the kind of GPU") == std::string::npos,
      false);
  EXPECT_EQ(said({fixture("dgx_a100.txt"), "--device", "a1000"}).rfind("paceline: --device", 0),
            0U);
  EXPECT_EQ(said({fixture("dgx_a100.txt"), "--link-bandwidth", "20"})
                .rfind("paceline: --link-bandwidth: \"20\"", 0),
            0U);
}

}  // namespace topology_test
}  // namespace paceline::test
