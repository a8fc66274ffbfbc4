#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace {

constexpr const char* llama = R"(schema: paceline/1
name: llama
workload: {model: llama-3-8b, sequence: 128, batch_per_gpu: 1, precision: bf16, device: h100-sxm5-80gb, lora: {rank: 16}}
cluster: {preset: dgx-h100}
training: {strategy: fsdp, wrap: blocks}
gpus: 8
)";

Ended run(const Folder& folder, const std::string& setting) {
  folder.write("s.yaml", llama);
  return paceline({"run", "s.yaml", "--assumptions", "--set", setting}, folder.path());
}

// 32 blocks with two targets, q of 4,096 to 4,096 and v of 4,096 to 1,024: 16 x (8,192 + 5,120) x
// 32, as PEFT prints it. All of 2 x 8,030,261,248 bytes and the adapters' are sharded eight ways.
TEST(Lora, ReducesAdaptersAlone) {
  const Folder folder;
  const Ended ended = run(folder, "workload.lora.rank=16");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("fsdp: 13.63 MB of bf16 gradients a step in 32 calls"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(
      ended.out.find(
          "lora: adapters of rank 16: 6.82e+06 parameters are trained beside 8.03e+09 frozen ones"),
      std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("parameters 1.9GiB"), std::string::npos) << ended.out;
}

TEST(Lora, IsRefusedWhereATargetIsNoProduct) {
  const Folder folder;
  const Ended none = run(folder, "workload.lora.targets=[c_attn]");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("finds no product called c_attn"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace paceline::test
