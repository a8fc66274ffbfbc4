// scenarios/report/RESULT.md lists the fields of a result: those that are written, and no others.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

using Fields = std::set<std::string>;

Fields listed_fields() {
  const std::string text =
      text_of(std::string(PACELINE_SOURCE_DIR) + "/scenarios/report/RESULT.md");
  Fields fields;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    const std::regex name("`([a-z0-9_.]+)`");
    for (std::sregex_iterator it(cell.begin(), cell.end(), name), end; it != end; ++it) {
      fields.insert((*it)[1]);
    }
  }
  return fields;
}

// Objects that are told by what is in them are not listed themselves; measured calls are as the
// predicted ones.
void add_fields(const nlohmann::json& value, const std::string& path, Fields& fields) {
  if (value.is_array()) {
    fields.insert(path);
    for (const auto& element : value) {
      if (element.is_object()) add_fields(element, path, fields);
    }
  } else if (value.is_object()) {
    const bool is_named = path.ends_with("memory");
    if (is_named) fields.insert(path);
    for (const auto& [key, inner] : value.items()) {
      add_fields(inner, path.empty() ? key : path + "." + key, fields);
    }
  } else if (!path.ends_with(".predicted") && !path.ends_with(".measured")) {
    fields.insert(path);
  }
}

Fields written_fields(const std::string& scenario, const std::vector<std::string>& arguments) {
  const Folder folder;
  folder.write("scenario.yaml", scenario);
  std::vector<std::string> all{arguments.front(), "scenario.yaml", "--json", "-"};
  all.insert(all.end(), arguments.begin() + 1, arguments.end());
  const Ended ended = paceline(all, folder.path());
  Fields fields;
  add_fields(nlohmann::json::parse(ended.out), "", fields);
  return fields;
}

TEST(ResultFields, AreThoseThatAreListed) {
  const std::string swept = changed(small_scenario, "", "sweep: {gpus: [1, 2]}\n");
  const std::string model =
      "schema: paceline/1\nname: one node\n"
      "workload: {model: bert-base, batch_per_gpu: 8, device: a100-sxm4-40gb}\n"
      "cluster: {gpus_per_node: 2, intra_node: {bandwidth: 100GBps}}\n"
      "training: {strategy: bulk_synchronous}\ncollective: {library: plan}\n";
  Fields written = written_fields(model, {"run", "--set", "workload.batch_per_gpu=4"});
  const std::string row = "measured: {source: a test, points: [{step: 1s}]}\n";
  written.merge(written_fields(model + row, {"run"}));
  const std::vector<std::string> on_threads{
      "--set", "real.backend=memory", "--set", "real.mode=plan", "--set", "real.steps=2"};
  std::vector<std::string> measured{"run", "--measure"};
  measured.insert(measured.end(), on_threads.begin(), on_threads.end());
  written.merge(written_fields(swept, measured));
  // Half as fast as described.
  const std::string contradicting =
      swept + "measured: {source: a test, points: [{gpus: 2, step: 14ms}]}\n";
  written.merge(written_fields(contradicting, {"run"}));
  Fields failed = {"points.failure", "points.measure_failure", "points.steps_measured_s"};
  written.merge(failed);  // the tests of failures see them
  Fields calls;
  for (const std::string& field : written) {
    if (!field.starts_with("points.measured.calls.")) calls.insert(field);
  }
  EXPECT_EQ(listed_fields(), calls);
}

}  // namespace
}  // namespace paceline::test
