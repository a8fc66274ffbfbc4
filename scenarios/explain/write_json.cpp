#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/explain/explanation.h"

namespace paceline::explain {
namespace {

using nlohmann::ordered_json;

ordered_json json_of_settings(const Settings& settings) {
  ordered_json list = ordered_json::array();
  for (const ScenarioFile::Setting& one : settings) list.push_back(one.path + "=" + one.value);
  return list;
}

ordered_json json_of_time(const std::optional<Seconds>& time) {
  return time ? ordered_json(time->value()) : ordered_json(nullptr);
}

ordered_json json_of_choice(const std::optional<AlgorithmTime>& one) {
  if (!one) return nullptr;
  return {{"algorithm", one->algorithm}, {"time_s", one->time.value()}};
}

ordered_json json_of_parts(const std::optional<CallParts>& parts) {
  if (!parts) return nullptr;
  ordered_json link = nullptr;
  if (parts->link) {
    link = {{"name", parts->link->name},
            {"shared_by", parts->link->shared_by},
            {"bandwidth_bytes_per_s", parts->link->bandwidth.value()},
            {"busy_s", parts->link->busy.value()}};
  }
  return {{"time_s", parts->time.value()},
          {"start_s", parts->start.value()},
          {"latency_s", parts->latency.value()},
          {"bandwidth_s", parts->bandwidth.value()},
          {"rounds", parts->rounds},
          {"busiest_link", std::move(link)}};
}

ordered_json json_of_call(const ExplainedCall& call) {
  return {{"name", call.name},
          {"collective", to_text(call.collective)},
          {"size_bytes", call.size.value()},
          {"group", to_text(call.group)},
          {"algorithm", call.algorithm},
          {"chosen_by", call.chosen_by},
          {"chosen", json_of_choice(call.chosen)},
          {"next", json_of_choice(call.next)},
          {"ready_s", call.ready.value()},
          {"start_s", call.start.value()},
          {"joined_s", call.joined.value()},
          {"end_s", call.end.value()},
          {"waited_for",
           call.waited_for.empty() ? ordered_json(nullptr) : ordered_json(call.waited_for)},
          {"exposed_s", call.exposed.value()},
          {"together_s", call.together.value()},
          {"held_s", call.held.value()},
          {"alone", json_of_parts(call.parts)}};
}

}  // namespace

void write_json(std::ostream& out, const Explanation& made) {
  const PointOutcome& outcome = made.outcome;
  const Prediction& predicted = *outcome.predicted;
  const Seconds step = predicted.totals.step;
  ordered_json terms = ordered_json::array(), calls = ordered_json::array(),
               without = ordered_json::array(), widths = ordered_json::array();
  for (const Term& term : made.terms) {
    terms.push_back({{"name", term.name},
                     {"time_s", term.time.value()},
                     {"share", term.time / step},
                     {"formula", term.formula},
                     {"source", term.source}});
  }
  for (const ExplainedCall& call : made.calls) calls.push_back(json_of_call(call));
  for (const Without& one : made.without) {
    without.push_back({{"what", one.what},
                       {"settings", json_of_settings(one.settings)},
                       {"step_s", json_of_time(one.step)},
                       {"refused", one.step ? ordered_json(nullptr) : ordered_json(one.refusal)}});
  }
  for (const Width& one : made.widths) {
    widths.push_back(
        {{"quantity", one.quantity}, {"low", one.low}, {"high", one.high}, {"share", one.share}});
  }
  const ordered_json all{{"schema", "paceline.explanation/1"},
                         {"scenario", made.path},
                         {"settings", json_of_settings(made.point)},
                         {"gpus", outcome.gpus},
                         {"step_s", step.value()},
                         {"step_s_low", predicted.interval.low.value()},
                         {"step_s_high", predicted.interval.high.value()},
                         {"throughput_per_s", outcome.predicted_throughput().value()},
                         {"speedup", outcome.predicted_speedup()},
                         {"rank", made.rank.value()},
                         {"terms", std::move(terms)},
                         {"calls", std::move(calls)},
                         {"without", std::move(without)},
                         {"interval", std::move(widths)}};
  out << all.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::explain
