// `paceline list` through the built program.

#include <gtest/gtest.h>

#include <string>

#include "models/collectives/registry.h"
#include "models/shipped_file.h"
#include "models/training/strategy.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"

namespace paceline::test {
namespace list_test {

TEST(List, HasAllThatIsShipped) {
  const Folder folder;
  const Ended ended = paceline({"list"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto has = [&](std::string_view name) {
    EXPECT_NE(ended.out.find("\n  " + std::string(name) + " "), std::string::npos) << name;
  };
  for (const auto& files : {shipped_networks(), shipped_devices(), shipped_clusters()}) {
    for (const ShippedFile& file : files) has(file.name);
  }
  for (const training::Strategy* one : training::strategies()) has(one->name);
  for (const auto& row : collectives::algorithms()) {
    has(std::string(to_text(row.collective)) + " " + std::string(row.name));
  }
  for (const char* backend : {"memory", "gloo", "mpi", "nccl", "cuda-local"}) has(backend);
  for (const ShippedFile& file : shipped_scenarios()) has(file.name);
  // A name without words to go with it would say nothing.
  for (std::size_t at = 0; (at = ended.out.find('\n', at)) != std::string::npos; ++at) {
    EXPECT_NE(ended.out[at - 1], ' ') << ended.out.substr(0, at);
  }
}

TEST(List, HasOneKindAlone) {
  const Folder folder;
  const Ended ended = paceline({"list", "devices"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with("devices: ")) << ended.out;
  EXPECT_NE(ended.out.find("h100-sxm5-80gb"), std::string::npos);
  EXPECT_EQ(ended.out.find("dgx-h100"), std::string::npos);
}

TEST(List, SaysWhatThereIsInPlaceOfAnUnknownKind) {
  const Folder folder;
  const Ended ended = paceline({"list", "clusters"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find("it has models, devices, presets, catalogues, strategies, algorithms"),
            std::string::npos)
      << ended.err;
}

}  // namespace list_test
}  // namespace paceline::test
