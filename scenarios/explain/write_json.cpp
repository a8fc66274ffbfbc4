#include "models/text/json_writer.h"
#include "scenarios/explain/explanation.h"

namespace paceline::explain {

constexpr auto fields_of(const AlgorithmTime*) {
  return Fields(field("algorithm", &AlgorithmTime::algorithm),
                field("time_s", &AlgorithmTime::time));
}

constexpr auto fields_of(const BusiestLink*) {
  return Fields(field("name", &BusiestLink::name), field("shared_by", &BusiestLink::shared_by),
                field("bandwidth_bytes_per_s", &BusiestLink::bandwidth),
                field("busy_s", &BusiestLink::busy));
}

constexpr auto fields_of(const CallParts*) {
  return Fields(field("time_s", &CallParts::time), field("start_s", &CallParts::start),
                field("latency_s", &CallParts::latency),
                field("bandwidth_s", &CallParts::bandwidth), field("rounds", &CallParts::rounds),
                field("busiest_link", &CallParts::link));
}

constexpr auto fields_of(const ExplainedCall*) {
  using Call = ExplainedCall;
  return Fields(field("name", &Call::name), field("collective", &Call::collective),
                field("size_bytes", &Call::size), field("group", &Call::group),
                field("algorithm", &Call::algorithm), field("chosen_by", &Call::chosen_by),
                field("chosen", &Call::chosen), field("next", &Call::next),
                field("ready_s", &Call::ready), field("start_s", &Call::start),
                field("joined_s", &Call::joined), field("end_s", &Call::end),
                field("waited_for", unless_empty<&Call::waited_for>),
                field("exposed_s", &Call::exposed), field("together_s", &Call::together),
                field("held_s", &Call::held), field("alone", &Call::parts));
}

constexpr auto fields_of(const Without*) {
  constexpr auto refused = [](const Without& one) {
    return one.step ? std::nullopt : std::optional(one.refusal);
  };
  return Fields(field("what", &Without::what),
                field("settings", [](const Without& one) { return spelled(one.settings); }),
                field("step_s", &Without::step), field("refused", refused));
}

constexpr auto fields_of(const Width*) {
  return Fields(field("quantity", &Width::quantity), field("low", &Width::low),
                field("high", &Width::high), field("share", &Width::share));
}

constexpr auto fields_of(const Term*) {
  return Fields(field("name", &Term::name), field("time_s", &Term::time),
                field("share", &Term::share), field("formula", &Term::formula),
                field("source", &Term::source));
}

constexpr auto fields_of(const Explanation*) {
  return Fields(
      constant("schema", "paceline.explanation/1"), field("scenario", &Explanation::path),
      field("settings", [](const Explanation& made) { return spelled(made.point); }),
      field("gpus", at<&Explanation::outcome, &PointOutcome::gpus>),
      field("step_s", at<&Explanation::outcome, &PointOutcome::step>),
      field("step_s_low", at<&Explanation::outcome, &PointOutcome::step_low>),
      field("step_s_high", at<&Explanation::outcome, &PointOutcome::step_high>),
      field("throughput_per_s", at<&Explanation::outcome, &PointOutcome::predicted_throughput>),
      field("speedup", at<&Explanation::outcome, &PointOutcome::predicted_speedup>),
      field("rank", &Explanation::rank), field("terms", &Explanation::terms),
      field("calls", &Explanation::calls), field("without", &Explanation::without),
      field("interval", &Explanation::widths));
}

void write_json(std::ostream& out, const Explanation& made) { JsonWriter(out).value(made); }

}  // namespace paceline::explain
