#include "traces/step_trace_file/step_trace_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "traces/collective_log/lines.h"
#include "traces/device_trace/limits.h"
#include "traces/json/spans.h"
#include "traces/json/values.h"

namespace paceline::traces {
namespace {

using nlohmann::json;

constexpr std::string_view schema = "paceline.trace/1", any_schema = "paceline.trace/";
constexpr std::array origins{Origin::predicted, Origin::measured, Origin::imported};
constexpr const char* what_to_give =
    "give what paceline run, measure or import wrote as a trace, whole";

std::runtime_error wrong(const std::string& what) { return std::runtime_error(what); }

std::string numbered(const char* list, std::size_t i) {
  return std::string(list) + ": [" + std::to_string(i) + "]";
}

void check_times(const Span& span) {
  constexpr double longest_s = 1e9;  // as of any time that is measured
  // Written so that what is no number fails.
  if (!(span.start >= Seconds(0))) throw wrong("start_s: is negative, or no number");
  if (!(span.end >= span.start)) throw wrong("end_s: is before start_s, or no number");
  if (!(span.end <= Seconds(longest_s))) throw wrong("end_s: is beyond 1e9 s");
}

// Whether two ranks did the same there, each in its own time.
bool is_same_operation(const Span& a, const Span& b) {
  return a.name == b.name && a.kind == b.kind && a.lane == b.lane && a.size == b.size &&
         a.collective == b.collective && a.element_size == b.element_size;
}

// No memory holds more; sums of so many do not overflow.
void check_sizes(const Span& span) {
  constexpr std::uint64_t bytes_most = std::uint64_t{1} << 56,
                          elements_most = std::uint64_t{1} << 40;
  if (span.size.value() > bytes_most) throw wrong("size_bytes: is more than 2^56");
  if (span.element_size.value() > 1024) throw wrong("element_size_bytes: is more than 1024");
  for (const ElementCount gradient : span.gradients) {
    if (gradient.value() > elements_most) throw wrong("gradients: has more than 2^40 elements");
  }
}

void check_spans(const StepTrace& trace, const std::vector<Span>& spans) {
  const std::vector<Span>& first = trace.classes.front().spans;
  if (spans.size() != first.size()) {
    throw wrong("spans: are " + std::to_string(spans.size()) + ", those of the first class " +
                std::to_string(first.size()));
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    try {
      if (spans[i].lane >= trace.lanes.size()) throw wrong("lane: there is none of that number");
      check_times(spans[i]);
      check_sizes(spans[i]);
      if (!is_same_operation(spans[i], first[i])) {
        throw wrong("is another operation than in the first class");
      }
    } catch (const std::runtime_error& error) {
      throw wrong(numbered("spans", i) + ": " + error.what());
    }
  }
}

// `taken` has the ranks of the classes before.
void check_ranks(const std::vector<Rank>& ranks, std::vector<bool>& taken) {
  if (ranks.empty()) throw wrong("ranks: has none");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (index(ranks[i]) >= traced_ranks_most) {
      throw wrong("ranks: has " + more_than_a_run_has(index(ranks[i])));
    }
    if (i > 0 && ranks[i] < ranks[i - 1]) throw wrong("ranks: are not ascending");
    if (taken[index(ranks[i])]) {
      throw wrong("ranks: has " + std::to_string(index(ranks[i])) + " twice");
    }
    taken[index(ranks[i])] = true;
  }
}

// Throws std::runtime_error, with the place.
void check(const TraceRun& run) {
  const StepTrace& trace = run.trace;
  if (run.batch_per_gpu == 0U) throw wrong("batch_per_gpu: is 0");
  for (std::size_t i = 0; i < trace.lanes.size(); ++i) {
    if (trace.lanes[i].in_flight == 0) throw wrong(numbered("lanes", i) + ": in_flight: is 0");
  }
  if (trace.classes.empty()) throw wrong("classes: has none");
  std::vector<bool> taken(traced_ranks_most);
  for (std::size_t i = 0; i < trace.classes.size(); ++i) {
    const RankClass& members = trace.classes[i];
    try {
      check_ranks(members.ranks, taken);
      if (i > 0 && members.ranks.front() < trace.classes[i - 1].ranks.front()) {
        throw wrong("ranks: classes are not in the order of their first ranks");
      }
      check_spans(trace, members.spans);
    } catch (const std::runtime_error& error) {
      throw wrong(numbered("classes", i) + ": " + error.what());
    }
  }
}

TraceRun decoded_run(const json& in) {
  TraceRun run;
  run.name = member<std::string>(in, "name");
  run.origin = member(in, "origin", [](const json& origin) {
    return parse_word(origin, origins, [](Origin one) { return to_text(one); });
  });
  if (in.contains("batch_per_gpu")) {
    run.batch_per_gpu = member(in, "batch_per_gpu", whole<std::uint32_t>);
  }
  if (in.contains("assumptions")) {
    run.assumptions = member(in, "assumptions",
                             [](const json& list) { return list.get<std::vector<std::string>>(); });
  }
  run.trace = decode_step_trace(in);
  check(run);
  return run;
}

json encoded(const TraceRun& run) {
  json out = encode_step_trace(run.trace);
  out["name"] = run.name;
  out["origin"] = to_text(run.origin);
  if (run.batch_per_gpu) out["batch_per_gpu"] = *run.batch_per_gpu;
  if (!run.assumptions.empty()) out["assumptions"] = run.assumptions;
  return out;
}

json parsed(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    const auto before = text.substr(0, std::min(error.byte, text.size()));
    throw FormatError(static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
                      "is not JSON, or cut off, at byte " + std::to_string(error.byte),
                      what_to_give);
  } catch (const json::exception&) {
    throw FormatError(0, "has a number beyond all bounds", what_to_give);
  }
}

// What follows the blanks before it, and `word`; nothing when another word follows.
std::optional<std::string_view> behind(std::string_view text, std::string_view word) {
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  text.remove_prefix(first);
  if (!text.starts_with(word)) return std::nullopt;
  return text.substr(word.size());
}

}  // namespace

std::string_view to_text(Origin origin) {
  if (origin == Origin::predicted) return "predicted";
  return origin == Origin::measured ? "measured" : "imported";
}

void write_step_traces(std::ostream& out, const std::vector<TraceRun>& runs) {
  for (const TraceRun& run : runs) {
    try {
      check(run);
    } catch (const std::runtime_error& error) {
      throw FormatError(0, "the run \"" + shown(run.name) + "\" cannot be kept: " + error.what(),
                        "");
    }
  }
  out << "{\"schema\":\"" << schema << "\",\"runs\":[";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    out << (i == 0 ? "\n" : ",\n")
        << encoded(runs[i]).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  out << "\n]}\n";
}

bool is_step_traces(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::optional<std::string_view> rest = text;
  for (const std::string_view word : {std::string_view("{"), std::string_view("\"schema\""),
                                      std::string_view(":"), std::string_view("\"")}) {
    if (rest) rest = behind(*rest, word);
  }
  return rest && rest->starts_with(any_schema);
}

std::vector<TraceRun> read_step_traces(std::string_view text) {
  const json in = parsed(plain_text(text));
  try {
    const auto said = member<std::string>(in, "schema");
    if (said != schema) {
      throw wrong("schema: is " + shown(said) + ", and " + std::string(schema) + " can be read");
    }
    return member(in, "runs", [](const json& runs) { return decoded_list(runs, decoded_run); });
  } catch (const std::runtime_error& error) {
    throw FormatError(0, error.what(), what_to_give);
  }
}

}  // namespace paceline::traces
