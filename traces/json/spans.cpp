#include "traces/json/spans.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "traces/json/values.h"

namespace paceline::traces {
namespace {

using nlohmann::json;
using training::LaneKind;
using training::OperationKind;

constexpr std::array operation_kinds{OperationKind::input,     OperationKind::forward,
                                     OperationKind::backward,  OperationKind::copy,
                                     OperationKind::optimizer, OperationKind::collective};
constexpr std::array lane_kinds{LaneKind::compute, LaneKind::communication};

std::string_view word(LaneKind kind) {
  return kind == LaneKind::compute ? "compute" : "communication";
}
constexpr auto by_word = [](auto value) { return word(value); };
constexpr auto by_text = [](auto value) { return to_text(value); };

json encode(const Span& span) {
  json out{{"name", span.name},          {"kind", to_text(span.kind)}, {"lane", span.lane},
           {"start_s", span.start},      {"end_s", span.end},          {"size_bytes", span.size},
           {"algorithm", span.algorithm}};
  if (span.collective) out["collective"] = to_text(*span.collective);
  if (span.element_size > ElementSize(0)) out["element_size_bytes"] = span.element_size;
  if (!span.gradients.empty()) out["gradients"] = span.gradients;
  return out;
}

Span decode_span(const json& in) {
  Span span{member<std::string>(in, "name"),
            member(in, "kind", decode_operation_kind),
            member(in, "lane", whole<training::LaneId>),
            member<Seconds>(in, "start_s"),
            member<Seconds>(in, "end_s"),
            member<Bytes>(in, "size_bytes"),
            member<std::string>(in, "algorithm")};
  if (in.contains("collective")) {
    span.collective = member(in, "collective", [](const json& word) {
      return parse_word(word, collectives::collectives_all, by_text);
    });
  }
  if (in.contains("element_size_bytes")) {
    span.element_size = member<ElementSize>(in, "element_size_bytes");
  }
  if (in.contains("gradients")) {
    span.gradients = member<std::vector<ElementCount>>(in, "gradients");
  }
  return span;
}

training::Lane decode_lane(const json& in) {
  const auto kind_of = [](const json& kind) { return parse_word(kind, lane_kinds, by_word); };
  return {member<std::string>(in, "name"), member(in, "kind", kind_of),
          member(in, "in_flight", whole<std::uint32_t>)};
}

}  // namespace

json encode_lanes(const std::vector<training::Lane>& lanes) {
  json out = json::array();
  for (const auto& lane : lanes) {
    out.push_back({{"name", lane.name}, {"kind", word(lane.kind)}, {"in_flight", lane.in_flight}});
  }
  return out;
}

std::vector<training::Lane> decode_lanes(const json& in) { return decoded_list(in, decode_lane); }

OperationKind decode_operation_kind(const json& in) {
  return parse_word(in, operation_kinds, by_text);
}

json encode_spans(const std::vector<Span>& spans) {
  json out = json::array();
  for (const Span& span : spans) out.push_back(encode(span));
  return out;
}

std::vector<Span> decode_spans(const json& in) { return decoded_list(in, decode_span); }

json encode_step_trace(const StepTrace& trace) {
  json classes = json::array();
  for (const RankClass& members : trace.classes) {
    classes.push_back({{"ranks", members.ranks}, {"spans", encode_spans(members.spans)}});
  }
  return {{"lanes", encode_lanes(trace.lanes)}, {"classes", std::move(classes)}};
}

StepTrace decode_step_trace(const json& in) {
  const auto decode_class = [](const json& members) -> RankClass {
    return {member<std::vector<Rank>>(members, "ranks"), member(members, "spans", decode_spans)};
  };
  return {member(in, "lanes", decode_lanes), member(in, "classes", [&](const json& classes) {
            return decoded_list(classes, decode_class);
          })};
}

}  // namespace paceline::traces
