// scenarios/report/SCHEMAS.md lists the formats that paceline writes, and the documents that it
// names have their fields: those that commands write, and no others.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/sweep/store.h"
#include "tests/scenarios/loader/job/small_job.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/report/page/payload.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test::schemas {
namespace {

using nlohmann::json;

const std::string source_folder = PACELINE_SOURCE_DIR;

// Half as fast as described, at the point that is measured: that is a contradiction.
constexpr std::string_view sweep_of_two =
    R"(sweep: {gpus: [1, 2], cluster.network.latency: [5us, 1ms]}
measured:
  source: a test
  by: one
  points: [{gpus: 2, cluster.network.latency: 5us, step: 14ms}]
)";

constexpr std::string_view sweep_of_another = R"(sweep: {gpus: [2, 4]}
measured:
  source: a test
  by: another
  points: [{gpus: 2, step: 7.1ms}, {gpus: 4, step: 7.3ms}]
)";

// Of a network, whose memory is known, and of so few samples that its launches take longest.
constexpr std::string_view one_node = R"(schema: paceline/1
name: one node
workload: {model: bert-base, batch_per_gpu: 4, device: a100-sxm4-40gb}
cluster: {gpus_per_node: 2, intra_node: {bandwidth: 100GBps}}
training: {strategy: bulk_synchronous}
collective: {library: plan}
simulation: {fidelity: folded}
measured: {source: a test, points: [{step: 60ms}]}
)";

// NVSwitches that reduce, and ranks whose calls are held by compute.
constexpr std::string_view switches = R"(schema: paceline/1
name: switches
workload: {model: resnet18, batch_per_gpu: 32, device: h100-sxm5-80gb}
cluster: {preset: dgx-h100}
gpus: 8
training: {strategy: ddp}
)";

constexpr std::string_view claim_of_two = R"(schema: paceline.claim/1
claim: two GPUs do nearly twice as much as one
source: folklore
base:
  workload.model: resnet18
  workload.batch_per_gpu: 32
  workload.device: v100-sxm2-16gb
  cluster.preset: dgx1-v100
  training.strategy: ddp
  simulation.fidelity: folded
before: {gpus: 1}
after: {gpus: 2}
quantity: throughput_ratio
range: {least: 1.9}
given: {quantity: communication_share, range: {least: 0.1%}}
conditions: {workload.batch_per_gpu: [8, 32]}
)";

// What each field is seen in: a command a line. What stands behind an option for files is read.
constexpr std::string_view commands = R"(
run swept.yaml --json result.json --trace run.trace --timeline run.timeline --html run.html
run model.yaml --json model.json
run small.yaml --measure --set real.backend=memory --set real.mode=plan --set real.steps=2 --quiet --json measured.json
measure small.yaml --backend memory --mode plan --steps 2 --set training.strategy=horovod --quiet --trace engine.trace
run switches.yaml --quiet --trace switches.trace
run swept.yaml --set collective.library=nccl --set training.strategy=parameter_server --quiet --trace servers.trace
run small.yaml --set training.strategy=parameter_server --set training.hierarchical=false --quiet --trace pushes.trace
compare measured.json --json comparison.json
compare result.json result.json --json alike.json
advise small.yaml --gpus 2 --quiet --json advice.json
explain switches.yaml --quiet --json explanation.json
explain swept.yaml --quiet --json closed.json
strategies swept.yaml --quiet --json strategies.json
sweep swept.yaml --store points.db --quiet --json sweep.json --html points.html
capacity job.yaml --quiet --json capacity.json
claims claim.yaml --json claims.json
buckets resnet18 --json buckets.json
nccl dgx-a100 --max 4KiB --json nccl.json
collective dgx-a100 --max 4KiB --quiet --json collective.json
collective --measure --backend memory --mode plan --algorithm ring --gpus 2 --max 4KiB --json ring.json
doctor --json doctor.json
import run.trace $fixtures/kineto/torch_1_11.json -o imported.trace --json traces.json
import $fixtures/kineto/with_metadata.json -o nodes.trace
import $fixtures/kineto/one_rank_of_eight.json -o steps.trace
import $fixtures/torch/two_ranks.0.json $fixtures/torch/two_ranks.1.json -o ranks.trace --json ranks.json
import $fixtures/flight_recorder/rank_0.json $fixtures/flight_recorder/rank_1.json --json hangs.json
import $fixtures/collective_log/inspector_rank0.jsonl $fixtures/ping_pong/imb_ping_pong.txt none.txt --json logs.json
import $fixtures/topology/pcie_8.txt --json topology.json
import $fixtures/horovod_timeline/release_0_28.json --json records.json
calibrate $fixtures/ping_pong/imb_ping_pong.txt --between nodes -o links.yaml
calibrate $fixtures/pasted/no-hash-signs.txt -o release.yaml
calibrate --cluster rtx-3090-pcie-8 $library/logs/rtx3090-2node.csv -o pcie.yaml
calibrate --cluster dgx-a100 $library/logs/vtrain-a100-8gpu.csv -o logs.yaml
calibrate another.yaml --all-rows --quiet -o learnt.yaml
calibrate small.yaml --set training.optimizer.time=2ms --known gpus=4,step=9ms --quiet -o settings.yaml
validate $library/logs/vtrain-a100-8gpu.csv swept.yaml --calibration logs.yaml --json validation.json
validate swept.yaml another.yaml --leave-out source --json left_out.json
validate $library/logs/abci-a100-16gpu.csv $fixtures/link_test/p2p.txt --preset dgx-a100 --json health.json
)";

// What no command of paceline writes.
const std::vector<std::string> recordings{"tests/fixtures/torch/one_rank.json",
                                          "tests/fixtures/torch/watched.0.json"};

// Documented, and in none of these outputs: what it takes.
struct Unseen {
  std::string_view schema, row, what;
};
constexpr Unseen unseen_fields[] = {
    {"paceline.result/1", "points.failure", "a machine that fails"},
    {"paceline.result/1", "points.measure_failure", "a machine that fails"},
    {"paceline.result/1", "points.steps_measured_s", "a machine that fails"},
    {"paceline.import/1", "notes[].file", "an archive that is cut off"},
    {"paceline.import/1", "notes[].note", "an archive that is cut off"},
    {"paceline.calibration/1", "sources[].skipped", "a log with rows that are none"},
    {"paceline.calibration/1", "learnt[].had_logs", "logs of the machine of a scenario"},
};

// Fields are told by where they are: `points[].gpus`. Each with its row, as an object's table may
// be used in several places.
struct Fields {
  std::map<std::string, std::string> rows;
  std::set<std::string> maps;  // whose keys are not fixed: what is in them has no rows
};

struct Row {
  std::string name, type;
};

std::vector<std::string> quoted_in(const std::string& text) {
  static const std::regex quoted("`([^`]+)`");
  std::vector<std::string> words;
  for (std::sregex_iterator it(text.begin(), text.end(), quoted), end; it != end; ++it) {
    words.push_back((*it)[1]);
  }
  return words;
}

const std::regex& schema_pattern() {
  static const std::regex pattern(R"(paceline\.[a-z_-]+/\d+)");
  return pattern;
}

// The rows of a schema's tables, by the object that a table is of, as `gain` of "field of a
// `gain`"; empty: of the whole. Its section ends where a heading names another schema.
std::map<std::string, std::vector<Row>> rows_of(const std::string& document,
                                                const std::string& schema) {
  std::map<std::string, std::vector<Row>> rows;
  std::string object;
  bool is_inside = false;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    std::smatch heading;
    if (line.starts_with("#") && std::regex_search(line, heading, schema_pattern())) {
      is_inside = heading.str() == schema;
    }
    if (!is_inside || !line.starts_with("| ")) continue;
    const auto first = line.find(" | "), second = line.find(" | ", first + 3);
    if (first == line.npos || second == line.npos) continue;
    const std::string name = line.substr(0, first);
    if (name.starts_with("| field")) {
      const auto objects = quoted_in(name);
      object = objects.empty() ? "" : objects.front();
    } else if (name.starts_with("| `")) {
      const std::string type = line.substr(first + 3, second - first - 3);
      for (const std::string& one : quoted_in(name)) rows[object].push_back({one, type});
    }
  }
  return rows;
}

void add_places(const std::map<std::string, std::vector<Row>>& rows, const std::string& object,
                const std::string& before, Fields& fields) {
  for (const auto& [name, type] : rows.at(object)) {
    const std::string place = before + name;
    const bool is_list = type.starts_with("list of");
    fields.rows.emplace(place, object.empty() ? name : object + ": " + name);
    if (type.starts_with("map")) fields.maps.insert(place);
    if (type.starts_with("list of maps")) fields.maps.insert(place + "[]");
    for (const std::string& inner : quoted_in(type)) {
      if (rows.contains(inner)) add_places(rows, inner, place + (is_list ? "[]." : "."), fields);
    }
  }
}

// By schema, what the documents say that SCHEMAS.md names for those that are written.
std::map<std::string, Fields> documented_fields() {
  const std::filesystem::path folder = source_folder + "/scenarios/report";
  const std::string all = text_of(folder / "SCHEMAS.md"),
                    written = all.substr(0, all.find("\n## "));
  const std::regex row(R"(\n\| `(paceline\.[^`]+)` \|[^\n]*\]\(([^)]+)\) \|)");
  std::map<std::string, Fields> documented;
  for (std::sregex_iterator it(written.begin(), written.end(), row), end; it != end; ++it) {
    const std::string schema = (*it)[1], document = (*it)[2];
    const auto rows = rows_of(text_of(folder / document), schema);
    EXPECT_TRUE(rows.contains("")) << document << " has no table of " << schema;
    Fields& fields = documented[schema];
    if (rows.contains("")) add_places(rows, "", "", fields);
  }
  return documented;
}

json json_of(const YAML::Node& node) {
  if (node.IsMap()) {
    json object = json::object();
    for (const auto& entry : node) object[entry.first.as<std::string>()] = json_of(entry.second);
    return object;
  }
  if (node.IsSequence()) {
    json list = json::array();
    for (const YAML::Node& element : node) list.push_back(json_of(element));
    return list;
  }
  return node.IsNull() ? json() : json(node.Scalar());
}

// The places of all that was written, by schema.
class WrittenPlaces {
 public:
  explicit WrittenPlaces(const std::map<std::string, Fields>& documented)
      : documented_(documented) {}

  // JSON, lines of it, YAML, or a page.
  void add(const std::string& name, const std::string& text) {
    if (name.ends_with(".html")) {
      add_document(payload_of(text));
    } else if (name.ends_with(".yaml")) {
      add_document(json_of(YAML::Load(text)));
    } else if (json::accept(text)) {
      add_document(json::parse(text));
    } else {
      add_lines(text);
    }
  }

  [[nodiscard]] const std::set<std::string>& of(const std::string& schema) {
    return places_[schema];
  }
  [[nodiscard]] const std::map<std::string, std::set<std::string>>& all() const { return places_; }

 private:
  void add_document(const json& document) {
    const json& named = document.contains("otherData") ? document.at("otherData") : document;
    add_members(document, named.at("schema"), "");
  }

  void add_lines(const std::string& text) {
    std::istringstream lines(text);
    std::string schema;
    for (std::string line; std::getline(lines, line);) {
      const json one = json::parse(line);
      if (schema.empty()) schema = one.at("schema");
      add_members(one, schema, "");
    }
  }

  void add_members(const json& object, const std::string& schema, const std::string& before) {
    for (const auto& [key, value] : object.items()) add_value(value, schema, before + key);
  }

  // Objects have no places themselves, only what is in them. A document within one has its own
  // schema.
  void add_value(const json& value, const std::string& schema, const std::string& place) {
    const auto known = documented_.find(schema);
    if (known != documented_.end() && known->second.maps.contains(place)) {
      if (!place.ends_with("[]")) places_[schema].insert(place);
      if (value.is_object() && value.contains("schema")) add_document(value);
    } else if (value.is_object()) {
      add_members(value, schema, place + ".");
    } else {
      places_[schema].insert(place);
      if (!value.is_array()) return;
      for (const json& element : value) {
        if (element.is_object()) add_value(element, schema, place + "[]");
      }
    }
  }

  const std::map<std::string, Fields>& documented_;
  std::map<std::string, std::set<std::string>> places_;
};

std::string with_folders(std::string word) {
  for (const auto& [mark, folder] :
       {std::pair<std::string, std::string>{"$fixtures", "/tests/fixtures"},
        {"$library", "/scenarios/library"}}) {
    if (word.starts_with(mark)) word.replace(0, mark.size(), source_folder + folder);
  }
  return word;
}

// Runs a command, and reads what it wrote.
void run(const std::string& command, const Folder& folder, WrittenPlaces& written) {
  static const std::set<std::string> options{"--json", "-o", "--trace", "--timeline", "--html"};
  std::vector<std::string> arguments, outputs;
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    if (!arguments.empty() && options.contains(arguments.back())) outputs.push_back(word);
    arguments.push_back(with_folders(word));
  }
  const Ended ended = paceline(arguments, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << command << '\n' << ended.err;
  for (const std::string& output : outputs) written.add(output, text_of(folder.path() / output));
}

void run_all(WrittenPlaces& written) {
  const Folder folder;
  folder.write("small.yaml", small_scenario);
  folder.write("swept.yaml", std::string(small_scenario).append(sweep_of_two));
  folder.write("another.yaml", std::string(small_scenario).append(sweep_of_another));
  folder.write("model.yaml", one_node);
  folder.write("switches.yaml", switches);
  folder.write("none.txt", "nothing that paceline reads\n");
  folder.write("claim.yaml", claim_of_two);
  folder.write("two.yaml", two_machines);
  folder.write("job.yaml", short_job);
  std::istringstream lines{std::string(commands)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) run(line, folder, written);
  }
  for (const std::string& recording : recordings) {
    written.add(recording, text_of(source_folder + "/" + recording));
  }
}

// RESULT.md has no [] in its fields.
std::string without_brackets(std::string place) {
  for (auto at = place.find("[]"); at != place.npos; at = place.find("[]")) place.erase(at, 2);
  return place;
}

bool is_within(const std::string& place, const std::string& outer) {
  return place.starts_with(outer + ".") || place.starts_with(outer + "[]");
}

bool is_unseen(const std::string& schema, const std::string& row) {
  return std::ranges::any_of(
      unseen_fields, [&](const Unseen& one) { return one.schema == schema && one.row == row; });
}

// An object that may be null needs no row of its own, where its fields have one. Measured calls
// are as the predicted ones.
bool is_documented(const std::string& place, const Fields& fields) {
  return fields.rows.contains(place) || place.starts_with("points.measured.calls.") ||
         std::ranges::any_of(
             fields.rows, [&](const auto& inner) { return inner.first.starts_with(place + "."); });
}

void expect_rows_of(const std::string& schema, const Fields& fields,
                    const std::set<std::string>& written) {
  for (const std::string& place : written) {
    EXPECT_TRUE(is_documented(place, fields)) << schema << ": " << place << " has no row";
  }
}

void expect_written(const std::string& schema, const Fields& fields,
                    const std::set<std::string>& written) {
  std::map<std::string, bool> is_seen;  // by row
  for (const auto& [place, row] : fields.rows) {
    is_seen[row] = is_seen[row] || std::ranges::any_of(written, [&](const std::string& inner) {
                     return inner == place || is_within(inner, place);
                   });
  }
  for (const auto& [row, seen] : is_seen) {
    EXPECT_NE(seen, is_unseen(schema, row))
        << schema << ": " << row
        << (seen ? " is written: take it from `unseen_fields`" : " is documented, and not written");
  }
  for (const Unseen& one : unseen_fields) {
    if (one.schema != schema) continue;
    EXPECT_TRUE(is_seen.contains(std::string(one.row))) << schema << ": " << one.row;
  }
}

void compare_fields(const std::string& schema, const Fields& fields,
                    const std::set<std::string>& written) {
  const bool has_brackets = std::ranges::any_of(
      fields.rows, [](const auto& row) { return row.first.find("[]") != std::string::npos; });
  std::set<std::string> places;
  for (const std::string& place : written) {
    places.insert(has_brackets ? place : without_brackets(place));
  }
  expect_rows_of(schema, fields, places);
  expect_written(schema, fields, places);
}

TEST(Schemas, HaveTheFieldsThatAreDocumented) {
  const auto documented = documented_fields();
  ASSERT_GE(documented.size(), 20U);
  WrittenPlaces written(documented);
  run_all(written);
  for (const auto& [schema, fields] : documented) {
    compare_fields(schema, fields, written.of(schema));
  }
  for (const auto& [schema, places] : written.all()) {
    EXPECT_TRUE(documented.contains(schema)) << schema << " is not in the table of SCHEMAS.md";
  }
}

// The second cells of RESULT.md's table of points.
std::set<std::string> documented_columns() {
  const std::string text = text_of(source_folder + "/scenarios/report/RESULT.md");
  const std::regex row(R"(\n\|[^|\n]*\| `([a-z_]+)` \|)");
  std::set<std::string> columns;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    columns.insert((*it)[1]);
  }
  return columns;
}

TEST(Schemas, HaveTheColumnsOfCsvThatAreDocumented) {
  const Folder folder;
  folder.write("swept.yaml", std::string(small_scenario).append(sweep_of_two));
  const std::set<std::string> documented = documented_columns();
  for (const std::vector<std::string>& command : {std::vector<std::string>{"run", "swept.yaml"},
                                                  {"sweep", "swept.yaml", "--store", "s.db"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--quiet", "--csv", "points.csv"});
    ASSERT_EQ(paceline(arguments, folder.path()).exit_code, 0);
    const std::string text = text_of(folder.path() / "points.csv");
    std::istringstream header(text.substr(0, text.find('\n')));
    std::set<std::string> written;
    for (std::string column; std::getline(header, column, ',');) {
      if (!column.starts_with("axis ") && column != "scenario") written.insert(column);
    }
    EXPECT_EQ(written, documented) << command.front();
  }
}

TEST(Schemas, HaveTheVersionOfStores) {
  const std::string version = fmt::format("`PRAGMA user_version`: {} |", sweep::schema_version);
  EXPECT_NE(text_of(source_folder + "/scenarios/report/SCHEMAS.md").find(version),
            std::string::npos);
}

// What sources write or read, C++, Python and JavaScript.
TEST(Schemas, AreAllListed) {
  const std::string listed = text_of(source_folder + "/scenarios/report/SCHEMAS.md");
  static const std::set<std::string> endings{".h", ".cpp", ".cu", ".py", ".js"};
  std::map<std::string, std::string> found;
  for (const char* top : {"models", "traces", "sim", "real", "scenarios"}) {
    const std::filesystem::recursive_directory_iterator files(source_folder + "/" + top);
    for (const auto& file : files) {
      if (!endings.contains(file.path().extension().string())) continue;
      const std::string text = text_of(file.path());
      for (std::sregex_iterator it(text.begin(), text.end(), schema_pattern()), end; it != end;
           ++it) {
        found.emplace(it->str(), file.path().string());
      }
    }
  }
  EXPECT_GE(found.size(), 25U);
  for (const auto& [schema, file] : found) {
    EXPECT_NE(listed.find("`" + schema + "`"), listed.npos) << file << " names " << schema;
  }
}

}  // namespace
}  // namespace paceline::test::schemas
