#include "real/launch/rendezvous.h"

#include <gtest/gtest.h>

#include "tests/real/launch/ranks.h"

namespace paceline::real::test {
namespace rendezvous_test {

using Variables = std::map<std::string, std::string>;

Rendezvous parsed(const std::string& text, const Variables& variables) {
  return parse_rendezvous(text, environment_of(variables));
}

std::string place(const std::string& text, const Variables& variables) {
  const Rendezvous where = parsed(text, variables);
  return to_text({where.host, where.port});
}

TEST(Rendezvous, OfTheEnvironmentIsTorchs) {
  EXPECT_EQ(place("env://", {{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "1234"}}), "node1:1234");
  EXPECT_EQ(place("env://", {{"MASTER_ADDR", "node1"}}), "node1:29500");
}

TEST(Rendezvous, OfAJobStepIsItsFirstHost) {
  EXPECT_EQ(place("env://", {{"SLURM_STEP_NODELIST", "node[01-04,7],gpu2"}}), "node01:29500");
  EXPECT_EQ(place("env://", {{"SLURM_LAUNCH_NODE_IPADDR", "10.1.2.3"}}), "10.1.2.3:29500");
  EXPECT_EQ(first_host("node7,node[1-2]"), "node7");
  EXPECT_EQ(first_host("rack[2,3]-node[08-09],x"), "rack2-node08");
  EXPECT_EQ(first_host("a[1"), "");
}

TEST(Rendezvous, KeepsOffThePortThatTorchrunsAgentHolds) {
  EXPECT_EQ(place("env://", {{"MASTER_ADDR", "a"},
                             {"MASTER_PORT", "29400"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
            "a:29401");
}

TEST(Rendezvous, TakesHostsAndAddresses) {
  EXPECT_EQ(place("tcp://10.0.0.1:80", {}), "10.0.0.1:80");
  EXPECT_EQ(place("tcp://[fd00::1]:29500", {}), "[fd00::1]:29500");
  EXPECT_EQ(parsed("file:///shared/run 1", {}).file, "/shared/run 1");
}

TEST(Rendezvous, ReadsTheNamesOfInterfacesAsGlooAndNcclDo) {
  EXPECT_EQ(parsed("file:///a", {{"NCCL_SOCKET_IFNAME", "=eth0,ib"}}).interfaces,
            (std::vector<std::string>{"eth0", "ib"}));
  EXPECT_TRUE(parsed("file:///a", {{"NCCL_SOCKET_IFNAME", "^docker"}}).interfaces.empty());
  EXPECT_THROW((void)own_host({"no-such-interface"}), UsageError);
  EXPECT_EQ(own_host({"lo"}), "127.0.0.1");
}

TEST(Rendezvous, RefusesWhatIsNone) {
  for (const char* wrong : {"", "http://a", "tcp://a", "tcp://a:0", "tcp://a:70000", "tcp://:80",
                            "tcp://fd00::1:80", "tcp://[::1]", "file://relative", "file:///"}) {
    EXPECT_THROW((void)parsed(wrong, {}), UsageError) << wrong;
  }
  EXPECT_THROW((void)parsed("env://", {}), UsageError);
  EXPECT_THROW((void)parsed("env://", {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "http"}}), UsageError);
}

}  // namespace rendezvous_test
}  // namespace paceline::real::test
