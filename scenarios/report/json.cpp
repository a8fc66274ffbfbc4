#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "scenarios/build_label.h"
#include "scenarios/judge/contradictions.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/report/described.h"
#include "scenarios/report/fields.h"
#include "scenarios/report/report.h"

namespace paceline {

constexpr auto fields_of(const ProposedMeasurement*) {
  return Fields(field("what", &ProposedMeasurement::what),
                field("width_after_over_before", &ProposedMeasurement::narrowed_to));
}

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void write_context(JsonWriter& json, const ScenarioFile& file,
                   const std::vector<PointOutcome>& outcomes) {
  Described head = described(file, outcomes);
  if (!head.gradients.empty()) head.setup.push_back(std::move(head.gradients));
  json.put("paceline", build_label.version);
  json.put("commit", build_label.commit);
  json.put("name", file.name());
  json.put("described", head.setup);
  json.put("defaults", head.defaults);
  json.put("scenario", file.path());
  json.put("scenario_sha256", file.sha256());
  json.put("settings", spelled(file.settings()));
  json.put("simgrid", build_label.simgrid);
  json.put("host", host_name());
  json.put("seed", file.seed());
  json.put("network", file.network());
}

bool is_done(const PointOutcome& outcome) { return outcome.missing() == nullptr; }

}  // namespace

void write_json(std::ostream& out, const ScenarioFile& file,
                const std::vector<PointOutcome>& outcomes, CallsInJson calls) {
  std::size_t calls_predicted = 0;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.predicted) calls_predicted += outcome.predicted->calls.size();
  }
  const bool with_calls = calls == CallsInJson::all || calls_predicted <= calls_in_json_max;
  JsonWriter json(out);
  json.object([&] {
    json.put("schema", "paceline.result/1");
    json.put_object("context", [&] { write_context(json, file, outcomes); });
    json.put("complete", std::ranges::all_of(outcomes, is_done));
    json.put_list("points", outcomes,
                  [&](const PointOutcome& one) { write_point(json, one, with_calls); });
    if (const auto widest = widest_in_words(outcomes)) json.put("widest_interval", *widest);
    if (const auto next = propose_measurement(outcomes)) json.put("measure_next", *next);
    if (const auto found = contradiction_of(outcomes)) {
      json.put("contradictions", std::vector{*found});
    }
  });
}

}  // namespace paceline
