#include "traces/step_trace_file/step_trace_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

#include "traces/device_trace/limits.h"
#include "traces/json/fields.h"
#include "traces/json/step_trace.h"
#include "traces/step_trace_file/first_version.h"
#include "traces/text/lines.h"
#include "traces/text/plain_text.h"

namespace paceline::traces {

using nlohmann::json;

template <>
constexpr auto fields<TraceRun> =
    std::tuple{field("name", &TraceRun::name),
               field("origin", &TraceRun::origin),
               field("batch_per_gpu", &TraceRun::batch_per_gpu),
               field("world_size", &TraceRun::world_size),
               field("gpus_per_node", &TraceRun::gpus_per_node),
               field<Key::unless_default>("device", &TraceRun::device),
               field<Key::unless_default>("step_lengths_s", &TraceRun::step_lengths),
               field<Key::unless_default>("assumptions", &TraceRun::assumptions)};

namespace {

constexpr std::string_view schema = "paceline.trace/2", first_schema = "paceline.trace/1",
                           any_schema = "paceline.trace/";
constexpr const char* what_to_give =
    "give what paceline run, measure or import wrote as a trace, whole";

std::string numbered(const char* list, std::size_t i) {
  return std::string(list) + ": [" + std::to_string(i) + "]";
}

void check_times(const training::Interval& ran) {
  constexpr double longest_s = 1e9;  // as of any time that is measured
  // Written so that what is no number fails.
  if (!(ran.start >= Seconds(0))) throw std::runtime_error("starts before 0, or at no number");
  if (!(ran.end >= ran.start)) throw std::runtime_error("ends before it starts, or at no number");
  if (!(ran.end <= Seconds(longest_s))) throw std::runtime_error("ends beyond 1e9 s");
}

// No memory holds more; sums of that many do not overflow.
void check_sizes(const training::Operation& operation) {
  constexpr std::uint64_t bytes_most = std::uint64_t{1} << 56,
                          elements_most = std::uint64_t{1} << 40;
  for (const ElementCount gradient : operation.gradients) {
    if (gradient.value() > elements_most)
      throw std::runtime_error("gradients: has more than 2^40 elements");
  }
  const auto* call = call_of(operation);
  if (call == nullptr) return;
  if (call->element_size.value() > 1024)
    throw std::runtime_error("element_size_bytes: is more than 1024");
  if (call->element_size == ElementSize(0)) throw std::runtime_error("element_size_bytes: is 0");
  if (call->count.value() > bytes_most / call->element_size.value()) {
    throw std::runtime_error("count: is of more than 2^56 bytes");
  }
}

// What of training::find_fault a program that ran must keep, whatever carried out its calls.
void check_program(const training::StepProgram& program) {
  for (std::size_t i = 0; i < program.lanes.size(); ++i) {
    if (program.lanes[i].in_flight == 0)
      throw std::runtime_error(numbered("lanes", i) + ": in_flight: is 0");
  }
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const training::Operation& operation = program.operations[i];
    try {
      if (operation.lane >= program.lanes.size())
        throw std::runtime_error("lane: there is none of that number");
      const auto is_before = [i](training::OperationId before) { return before < i; };
      if (!std::ranges::all_of(operation.after, is_before)) {
        throw std::runtime_error("after: names an operation that is not before it");
      }
      check_sizes(operation);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(numbered("operations", i) + ": " + error.what());
    }
  }
}

void check_intervals(const StepTrace& trace, const std::vector<training::Interval>& intervals) {
  const std::size_t operations = trace.program.operations.size();
  if (intervals.size() != operations) {
    throw std::runtime_error("intervals: are " + std::to_string(intervals.size()) +
                             ", the operations " + std::to_string(operations));
  }
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    try {
      check_times(intervals[i]);
      if (intervals[i].released_by && *intervals[i].released_by >= i) {
        throw std::runtime_error("is released by an operation that is not before it");
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(numbered("intervals", i) + ": " + error.what());
    }
  }
}

// `taken` has the ranks of the classes before.
void check_ranks(const std::vector<Rank>& ranks, std::vector<bool>& taken) {
  if (ranks.empty()) throw std::runtime_error("ranks: has none");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (index(ranks[i]) >= traced_ranks_most) {
      throw std::runtime_error("ranks: has " + more_than_a_run_has(index(ranks[i])));
    }
    if (i > 0 && ranks[i] < ranks[i - 1]) throw std::runtime_error("ranks: are not ascending");
    if (taken[index(ranks[i])]) {
      throw std::runtime_error("ranks: has " + std::to_string(index(ranks[i])) + " twice");
    }
    taken[index(ranks[i])] = true;
  }
}

// Throws std::runtime_error, with the place.
void check(const TraceRun& run) {
  const StepTrace& trace = run.trace;
  if (run.batch_per_gpu == 0U) throw std::runtime_error("batch_per_gpu: is 0");
  for (const Seconds length : run.step_lengths) {
    if (!(length > Seconds(0) && length <= Seconds(1e9))) {
      throw std::runtime_error("step_lengths_s: has one that is not between 0 and 1e9 s");
    }
  }
  check_program(trace.program);
  if (trace.classes.empty()) throw std::runtime_error("classes: has none");
  std::vector<bool> taken(traced_ranks_most);
  for (std::size_t i = 0; i < trace.classes.size(); ++i) {
    const RankClass& members = trace.classes[i];
    try {
      check_ranks(members.ranks, taken);
      if (i > 0 && members.ranks.front() < trace.classes[i - 1].ranks.front()) {
        throw std::runtime_error("ranks: classes are not in the order of their first ranks");
      }
      check_intervals(trace, members.intervals);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(numbered("classes", i) + ": " + error.what());
    }
  }
}

StepTrace decoded_trace(const json& in) {
  return {member(in, "program", decode_program), member(in, "classes", decode_classes)};
}

// `trace_of` decodes what the schema's version has of the step.
template <class TraceOf>
TraceRun decoded_run(const json& in, const TraceOf& trace_of) {
  auto run = decode<TraceRun>(in);
  run.trace = trace_of(in);
  check(run);
  return run;
}

json encoded(const TraceRun& run) {
  json out = encode(run);
  out["program"] = encode_program(run.trace.program);
  out["classes"] = encode_classes(run.trace.classes);
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

// What follows the blanks before it, and `word`; nullopt when another word follows.
std::optional<std::string_view> behind(std::string_view text, std::string_view word) {
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  text.remove_prefix(first);
  if (!text.starts_with(word)) return std::nullopt;
  return text.substr(word.size());
}

}  // namespace

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
    if (said != schema && said != first_schema) {
      throw std::runtime_error("schema: is " + shown(said) + ", and " + std::string(schema) +
                               " and " + std::string(first_schema) + " can be read");
    }
    const auto trace_of = said == schema ? decoded_trace : decode_first_version;
    return member(in, "runs", [&](const json& runs) {
      return decoded_list(runs, [&](const json& run) { return decoded_run(run, trace_of); });
    });
  } catch (const std::runtime_error& error) {
    throw FormatError(0, error.what(), what_to_give);
  }
}

}  // namespace paceline::traces
