#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/build_label.h"
#include "scenarios/loader/described.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/report/contradictions_json.h"
#include "scenarios/report/fields.h"
#include "scenarios/report/report.h"

namespace paceline {
namespace {

using nlohmann::ordered_json;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

ordered_json context_of(const ScenarioFile& file) {
  ordered_json settings = ordered_json::array();
  for (const auto& setting : file.settings())
    settings.push_back(setting.path + "=" + setting.value);
  return {{"paceline", build_label.version},
          {"commit", build_label.commit},
          {"name", file.name()},
          {"described", described(file)},
          {"scenario", file.path()},
          {"scenario_sha256", file.sha256()},
          {"settings", std::move(settings)},
          {"simgrid", build_label.simgrid},
          {"host", host_name()},
          {"seed", file.seed()},
          {"network", to_text(file.network())}};
}

ordered_json axes_of(const PointOutcome& outcome) {
  ordered_json axes = ordered_json::array();
  for (const AxisValue& axis : outcome.axes) {
    ordered_json entry{{"path", axis.path}, {"unit", axis.unit}};
    std::visit([&](const auto& value) { entry["value"] = value; }, axis.value);
    axes.push_back(std::move(entry));
  }
  return axes;
}

ordered_json calls_json(const std::vector<CallTimes>& calls) {
  ordered_json out = ordered_json::array();
  for (const CallTimes& call : calls) {
    out.push_back({{"name", call.name},
                   {"collective", to_text(call.collective)},
                   {"size_bytes", call.size.value()},
                   {"algorithm", call.algorithm},
                   {"start_s", call.start.value()},
                   {"end_s", call.end.value()},
                   {"transfer_s", call.transfer.value()},
                   {"skew_s", call.skew.value()}});
  }
  return out;
}

// A value makes the objects that it is in; a null stands only in one that is there.
template <class T>
void put(ordered_json& object, std::string_view place, const std::optional<T>& value,
         bool is_absent) {
  const auto dot = place.find('.');
  const std::string key(place.substr(0, dot));
  if (dot != std::string_view::npos) {
    if (value || object.contains(key)) put(object[key], place.substr(dot + 1), value, is_absent);
  } else if (value) {
    object[key] = *value;
  } else if (!is_absent && object.is_object()) {
    object[key] = nullptr;
  }
}

ordered_json point_of(const PointOutcome& outcome, bool with_calls) {
  ordered_json point{{"axes", axes_of(outcome)}};
  for (const char* first : {"gpus", "nodes", "predicted", "measured"}) point[first] = nullptr;
  for (const PointField& field : point_fields()) {
    const auto put_value = [&](auto value_of) {
      put(point, field.place, value_of(outcome), field.is_absent);
    };
    if (!field.place.empty()) std::visit(put_value, field.value);
  }
  if (outcome.predicted && (outcome.measurement || with_calls)) {
    point["predicted"]["calls"] = calls_json(outcome.predicted->calls);
  } else if (outcome.predicted) {
    point["predicted"].erase("compute_spread_s");  // that is of the calls
  }
  if (outcome.measurement) point["measured"]["calls"] = calls_json(outcome.calls_measured);
  return point;
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
  ordered_json points = ordered_json::array();
  for (const PointOutcome& outcome : outcomes) {
    points.push_back(point_of(outcome, with_calls));
  }
  ordered_json result{{"schema", "paceline.result/1"},
                      {"context", context_of(file)},
                      {"complete", std::ranges::all_of(outcomes, is_done)},
                      {"points", std::move(points)}};
  if (const auto widest = widest_in_words(outcomes)) result["widest_interval"] = *widest;
  if (const auto next = propose_measurement(outcomes)) {
    result["measure_next"] = {{"what", next->what}, {"width_after_over_before", next->narrowed_to}};
  }
  for (const FoundContradiction& found : contradictions_of(outcomes)) {
    result["contradictions"].push_back(json_of(found));
  }
  // Paths may be any bytes; what is no UTF-8 is replaced.
  out << result.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline
