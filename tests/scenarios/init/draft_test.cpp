// Drafts of scenarios: what is asked, what is assumed, and that every one loads.

#include "scenarios/init/draft.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "models/shipped_file.h"
#include "scenarios/errors.h"
#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"

namespace paceline::init {
namespace {

Draft draft_of(const Wishes& wishes, const Facts& facts = {}) {
  Asker nobody;
  return make_draft(wishes, facts, nobody, "");
}

// The points of the scenario that the draft becomes.
std::size_t points_of(const Draft& draft) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("s.yaml", scenario_text(draft, "s.yaml")), {});
  for (std::size_t point = 0; point < file.point_count(); ++point) (void)file.scenario(point);
  return file.point_count();
}

std::string value_of(const Draft& draft, const char* path) {
  const Entry* entry = draft.find(path);
  return entry == nullptr ? "" : entry->value;
}

TEST(Draft, OfEveryModelLoadsOnSomePresets) {
  for (const ShippedFile& model : shipped_networks()) {
    for (const char* preset : {"dgx-a100", "dgx1-v100", "flat", "none"}) {
      SCOPED_TRACE(fmt::format("{} on {}", model.name, preset));
      EXPECT_GE(points_of(draft_of({.model = std::string(model.name), .preset = preset})), 2U);
    }
  }
}

TEST(Draft, OfEveryPresetLoads) {
  for (const ShippedFile& preset : shipped_clusters()) {
    SCOPED_TRACE(preset.name);
    EXPECT_GE(points_of(draft_of({.preset = std::string(preset.name)})), 2U);
  }
}

TEST(Draft, OfEveryDeviceLoadsWithoutAPreset) {
  for (const ShippedFile& device : shipped_devices()) {
    SCOPED_TRACE(device.name);
    const Draft draft = draft_of({.device = std::string(device.name)});
    EXPECT_GE(points_of(draft), 2U);
  }
}

TEST(Draft, AssumesWhatNobodySays) {
  const Draft draft = draft_of({});
  EXPECT_EQ(value_of(draft, "workload.model"), "resnet50");
  EXPECT_EQ(value_of(draft, "workload.batch_per_gpu"), "32");
  EXPECT_EQ(value_of(draft, "cluster.preset"), "dgx-a100");
  EXPECT_EQ(value_of(draft, "workload.device"), "a100-sxm4-40gb");
  EXPECT_EQ(value_of(draft, "training.strategy"), "ddp");
  EXPECT_EQ(value_of(draft, "sweep.gpus"), "[1, 8, 32]");  // four nodes of eight
  for (const Entry& entry : draft.entries) EXPECT_EQ(entry.origin, Origin::assumed) << entry.path;
}

TEST(Draft, TakesWhatIsWished) {
  const Draft draft = draft_of({.model = "bert-base",
                                .batch = "16",
                                .device = "v100-sxm2-16gb",
                                .preset = "none",
                                .gpus = "16",
                                .gpus_per_node = "4",
                                .network = "25Gbps",
                                .strategy = "horovod"});
  EXPECT_EQ(value_of(draft, "cluster.network.bandwidth"), "25Gbps");
  EXPECT_EQ(value_of(draft, "sweep.gpus"), "[1, 4, 16]");
  EXPECT_EQ(draft.find("training.strategy")->origin, Origin::given);
  EXPECT_EQ(points_of(draft), 3U);
}

// An empty line takes the default; the second network is misspelt, and asked for again.
TEST(Draft, AsksForWhatIsNotGivenAlone) {
  std::istringstream in("bert-basse\nbert-base\n\n\n\n\n\n");
  std::ostringstream out;
  Asker asker(in, out);
  const Draft draft = make_draft({.strategy = "ddp"}, {}, asker, "");
  EXPECT_EQ(value_of(draft, "workload.model"), "bert-base");
  EXPECT_EQ(draft.find("workload.model")->origin, Origin::answered);
  EXPECT_EQ(draft.find("workload.batch_per_gpu")->origin, Origin::assumed);
  EXPECT_NE(out.str().find("did you mean bert-base?"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("Which GPU? [a100-sxm4-40gb]"), std::string::npos) << out.str();
  EXPECT_EQ(out.str().find("How are gradients reduced?"), std::string::npos) << out.str();
  EXPECT_GE(points_of(draft), 2U);
}

TEST(Draft, SaysThatTheInputEnded) {
  std::istringstream in("vgg16\n");
  std::ostringstream out;
  Asker asker(in, out);
  const Draft draft = make_draft({}, {}, asker, "");
  EXPECT_EQ(value_of(draft, "workload.model"), "vgg16");
  EXPECT_NE(out.str().find("the input ended"), std::string::npos) << out.str();
  EXPECT_GE(points_of(draft), 2U);
}

TEST(Draft, RefusesWhatTheLoaderRefuses) {
  try {
    (void)draft_of({.model = "resnet5"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean resnet50?"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW((void)draft_of({.gpus = "12"}), InputError);  // nodes of eight
  EXPECT_THROW((void)draft_of({.network = "100"}), InputError);
}

doctor::Examination laptop() {
  doctor::Examination machine;
  machine.cpus = 2;
  machine.backends = {{"memory", "threads", "cpus", "", {}, ""},
                      {"gloo", "TCP", "cpus", "0.5.0", {}, ""}};
  return machine;
}

TEST(Draft, OfAMachineWithoutGpusIsMeasuredThere) {
  const Draft draft = draft_of({}, facts_of_machine(laptop(), {}));
  EXPECT_EQ(value_of(draft, "real.backend"), "gloo");
  EXPECT_EQ(value_of(draft, "cluster.gpus_per_node"), "1");
  EXPECT_EQ(draft.largest, "2");
  EXPECT_EQ(points_of(draft), 2U);
}

TEST(Draft, OfAMachineWithGpusHasThem) {
  const std::vector<std::string> names(8, "NVIDIA A100-SXM4-40GB");
  const Draft draft = draft_of({}, facts_of_machine(laptop(), names));
  EXPECT_EQ(value_of(draft, "workload.device"), "a100-sxm4-40gb");
  EXPECT_EQ(value_of(draft, "cluster.preset"), "dgx-a100");
  EXPECT_EQ(draft.largest, "8");
  EXPECT_EQ(points_of(draft), 2U);  // one GPU, and all of the node
}

TEST(ScenarioText, SaysWhatKeysMeanAndWhereValuesComeFrom) {
  const std::string text = scenario_text(draft_of({.model = "resnet50"}), "my run.yaml");
  EXPECT_EQ(text.rfind("# yaml-language-server: $schema=", 0), 0U);
  for (const char* part :
       {"  # a shipped network, a file of schema `paceline.network/1`, or a `.txt` list of "
        "parameters.\n"
        "  model: resnet50  # given\n",
        "  batch_per_gpu: 32  # assumed\n", "#   paceline check 'my run.yaml'\n",
        "# Measure first the throughput of the training script on one a100-sxm4-40gb"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

}  // namespace
}  // namespace paceline::init
