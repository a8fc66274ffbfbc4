// The section real, and what it makes of collective.library.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "scenarios/loader/scenario_file.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace real_settings_test {

Scenario loaded(const std::string& text) {
  const Folder folder;
  return ScenarioFile::read(folder.write("scenario.yaml", text), {}).scenario(0);
}

std::string with_real(const std::string& real) {
  return changed(changed(small_scenario, "collective: {library: plan, algorithm: ring}\n", ""), "",
                 "real: " + real + "\n");
}

TEST(RealSettings, HaveDefaults) {
  const RealSettings real = loaded(std::string(small_scenario)).real;
  EXPECT_EQ(real.backend, "gloo");
  EXPECT_EQ(real.measure, (MeasureSettings{CollectiveMode::native, 3, 15}));
  EXPECT_EQ(real.timeout, Seconds(30));
}

TEST(RealSettings, AreRead) {
  const RealSettings real =
      loaded(with_real("{backend: mpi, mode: plan, steps: 7, warmup: 2, timeout: 90s}")).real;
  EXPECT_EQ(real.backend, "mpi");
  EXPECT_EQ(real.measure, (MeasureSettings{CollectiveMode::plan, 2, 7}));
  EXPECT_EQ(real.timeout, Seconds(90));
}

// What is predicted is what is measured beside it, unless the scenario says otherwise.
TEST(RealSettings, DecideWhichLibraryIsPredicted) {
  using cost::Library;
  const std::pair<const char*, Library> cases[] = {{"{backend: gloo}", Library::gloo},
                                                   {"{backend: mpi}", Library::mpi},
                                                   {"{backend: nccl}", Library::nccl},
                                                   {"{backend: memory}", Library::plan},
                                                   {"{backend: gloo, mode: plan}", Library::plan}};
  for (const auto& [real, library] : cases) {
    EXPECT_EQ(loaded(with_real(real)).collective.library, library) << real;
  }
}

// The library's way over TCP; a plan's receives are posted ahead, and its messages are short.
TEST(RealSettings, DecideHowMessagesWaitOverTcp) {
  using topology::Receives;
  const auto network_of = [](const std::string& real, const std::string& more) {
    return loaded(changed(with_real(real), "network: {", "network: {transport: tcp, " + more))
        .cluster.network;
  };
  EXPECT_EQ(network_of("{backend: gloo}", "").receives, Receives::announced);
  EXPECT_EQ(network_of("{backend: gloo, mode: plan}", "").receives, Receives::announced_ahead);
  EXPECT_EQ(network_of("{backend: mpi}", "").receives, Receives::ready);
  EXPECT_EQ(network_of("{backend: mpi}", "").rendezvous_above, Bytes(65'536));
  EXPECT_FALSE(network_of("{backend: mpi, mode: plan}", "").rendezvous_above);
  EXPECT_EQ(network_of("{backend: mpi, mode: plan}", "").receives,
            Receives::announced_to_new_peers);
  EXPECT_EQ(network_of("{backend: memory}", "").receives, Receives::ready);
  EXPECT_EQ(network_of("{backend: gloo}", "receives: ready, ").receives, Receives::ready);
  EXPECT_EQ(network_of("{backend: mpi}", "rendezvous_above: 4KiB, ").rendezvous_above, Bytes(4096));
}

TEST(RealSettings, LeaveALibraryThatIsNamed) {
  const auto text =
      changed(changed(small_scenario, "library: plan, algorithm: ring", "library: nccl"), "",
              "real: {backend: gloo}\n");
  EXPECT_EQ(loaded(text).collective.library, cost::Library::nccl);
}

TEST(RealSettings, DecideNothingWhereTheyAreNot) {
  const auto text = changed(small_scenario, "collective: {library: plan, algorithm: ring}\n", "");
  EXPECT_EQ(loaded(text).collective.library, cost::Library::nccl);
}

TEST(RealSettings, AreRefusedInOneLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"{bakend: gloo}", "unknown key \"real.bakend\"; did you mean backend?"},
      {"{mode: nativ}", "mode \"nativ\" is not known; did you mean native?"},
      {"{steps: 0}", "steps \"0\" is "},
      {"{steps: many}", "steps \"many\" is "},
      {"{warmup: 1}", "warmup \"1\" is "},
      {"{timeout: 30}", "timeout \"30\" has no unit; write "},
      {"{timeout: 0s}", "timeout \"0s\" is not a time above zero"},
      {"[gloo]", "real is "},
  };
  for (const auto& [real, message] : cases) {
    const Folder folder;
    folder.write("bad.yaml", with_real(real));
    for (const char* command : {"run", "measure"}) {
      const Ended ended = paceline({command, "bad.yaml"}, folder.path());
      expect_refused(ended, "paceline: bad.yaml:16:");
      EXPECT_NE(ended.err.find(std::string(": ") + message), std::string::npos) << ended.err;
    }
  }
}

TEST(RealSettings, NameABackendThatIsKnown) {
  const Folder folder;
  folder.write("bad.yaml", with_real("{backend: carrier-pigeon}"));
  const Ended ended = paceline({"measure", "bad.yaml"}, folder.path());
  expect_refused(
      ended, "paceline: bad.yaml:16:17: backend \"carrier-pigeon\" is not known; known: memory, ");
}

}  // namespace real_settings_test
}  // namespace paceline::test
