#include "traces/step_trace_file/first_version.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "traces/json/fields.h"
#include "traces/json/step_trace.h"
#include "traces/learn/inferred_step.h"

namespace paceline::traces {

using nlohmann::json;

// Only read. The last three may lack.
template <>
constexpr auto fields<TracedSpan> =
    std::tuple{field("name", &TracedSpan::name),
               field("kind", &TracedSpan::kind),
               field("lane", &TracedSpan::lane),
               field("start_s", &TracedSpan::start),
               field("end_s", &TracedSpan::end),
               field("size_bytes", &TracedSpan::size),
               field("algorithm", &TracedSpan::algorithm),
               field("collective", &TracedSpan::collective),
               field<Key::may_lack>("element_size_bytes", &TracedSpan::element_size),
               field<Key::may_lack>("gradients", &TracedSpan::gradients)};

template <>
constexpr auto fields<TracedRanks> =
    std::tuple{field("ranks", &TracedRanks::ranks), field("spans", &TracedRanks::spans)};

namespace {

// What inferring a step relies on; the rest is checked as of any version.
void check_span(const TracedSpan& span, std::size_t lanes) {
  if (span.lane >= lanes) throw std::runtime_error("lane: there is none of that number");
  // Written so that what is no number fails.
  if (!(span.start >= Seconds(0))) throw std::runtime_error("start_s: is negative, or no number");
  if (!(span.end >= span.start)) throw std::runtime_error("end_s: is before start_s, or no number");
}

// Whether two ranks did the same there, each in its own time.
bool is_same_operation(const TracedSpan& a, const TracedSpan& b) {
  return a.name == b.name && a.kind == b.kind && a.lane == b.lane && a.size == b.size &&
         a.collective == b.collective && a.element_size == b.element_size;
}

void check_spans(const std::vector<TracedSpan>& spans, const std::vector<TracedSpan>& first,
                 std::size_t lanes) {
  if (spans.size() != first.size()) {
    throw std::runtime_error("spans: are " + std::to_string(spans.size()) +
                             ", those of the first class " + std::to_string(first.size()));
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::string place = "spans: [" + std::to_string(i) + "]: ";
    try {
      check_span(spans[i], lanes);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(place + error.what());
    }
    if (!is_same_operation(spans[i], first[i])) {
      throw std::runtime_error(place + "is another operation than in the first class");
    }
  }
}

}  // namespace

StepTrace decode_first_version(const json& in) {
  auto lanes = member(in, "lanes", decode_lanes);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].in_flight == 0)
      throw std::runtime_error("lanes: [" + std::to_string(i) + "]: in_flight: is 0");
  }
  const auto ranks = member(in, "classes", decode<std::vector<TracedRanks>>);
  if (ranks.empty()) throw std::runtime_error("classes: has none");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    try {
      if (ranks[i].ranks.empty()) throw std::runtime_error("ranks: has none");
      check_spans(ranks[i].spans, ranks.front().spans, lanes.size());
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("classes: [" + std::to_string(i) + "]: " + error.what());
    }
  }
  return inferred_step(std::move(lanes), ranks);
}

}  // namespace paceline::traces
