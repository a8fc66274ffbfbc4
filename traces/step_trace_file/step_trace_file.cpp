#include "traces/step_trace_file/step_trace_file.h"

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "traces/device_trace/device_trace.h"
#include "traces/json/decode.h"
#include "traces/json/step_trace.h"
#include "traces/text/lines.h"

namespace paceline::traces {

constexpr auto fields_of(const TraceRun*) {
  return Fields(field("name", &TraceRun::name), field("origin", &TraceRun::origin),
                optional_field("batch_per_gpu", &TraceRun::batch_per_gpu),
                optional_field("world_size", &TraceRun::world_size),
                optional_field("gpus_per_node", &TraceRun::gpus_per_node),
                optional_field("device", &TraceRun::device),
                optional_field("step_lengths_s", &TraceRun::step_lengths),
                optional_field("assumptions", &TraceRun::assumptions));
}

namespace {

constexpr std::string_view schema = "paceline.trace/2", any_schema = "paceline.trace/";
constexpr const char* what_to_give =
    "give what paceline run, measure or import wrote as a trace, whole";

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// Checks each of a list. What is wrong names its place.
template <class List, class Check>
void check_each(const char* name, const List& list, const Check& check) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      check(list[i], i);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(std::string(name) + ": [" + std::to_string(i) +
                               "]: " + error.what());
    }
  }
}

constexpr Seconds longest(1e9);  // as of any time that is measured

// No memory holds more; sums of that many do not overflow.
void check_sizes(const training::Operation& operation) {
  constexpr std::uint64_t bytes_most = std::uint64_t{1} << 56;
  constexpr ElementCount elements_most(std::uint64_t{1} << 40);
  for (const ElementCount gradient : operation.gradients) {
    expect(gradient <= elements_most, "gradients: has more than 2^40 elements");
  }
  const auto* call = call_of(operation);
  if (call == nullptr) return;
  expect(call->element_size.value() <= 1024, "element_size_bytes: is more than 1024");
  expect(call->element_size > ElementSize(0), "element_size_bytes: is 0");
  expect(call->count.value() <= bytes_most / call->element_size.value(),
         "count: is of more than 2^56 bytes");
}

// What of training::find_fault a program that ran must keep, whatever carried out its calls.
void check_program(const training::StepProgram& program) {
  check_each("lanes", program.lanes, [](const training::Lane& lane, std::size_t) {
    expect(lane.in_flight > 0, "in_flight: is 0");
  });
  check_each("operations", program.operations, [&](const auto& operation, std::size_t i) {
    expect(operation.lane < program.lanes.size(), "lane: there is none of that number");
    const auto is_before = [i](training::OperationId before) { return before < i; };
    expect(std::ranges::all_of(operation.after, is_before),
           "after: names an operation that is not before it");
    check_sizes(operation);
  });
}

void check_intervals(const StepTrace& trace, const std::vector<training::Interval>& intervals) {
  const std::size_t operations = trace.program.operations.size();
  if (intervals.size() != operations) {
    throw std::runtime_error("intervals: are " + std::to_string(intervals.size()) +
                             ", the operations " + std::to_string(operations));
  }
  check_each("intervals", intervals, [](const training::Interval& ran, std::size_t i) {
    // What is no number fails.
    expect(ran.start >= Seconds(0), "starts before 0, or at no number");
    expect(ran.end >= ran.start, "ends before it starts, or at no number");
    expect(ran.end <= longest, "ends beyond 1e9 s");
    expect(!ran.released_by || *ran.released_by < i,
           "is released by an operation that is not before it");
  });
}

// `taken` has the ranks of the classes before.
void check_ranks(const std::vector<Rank>& ranks, std::vector<bool>& taken) {
  expect(!ranks.empty(), "ranks: has none");
  for (const Rank rank : ranks) {
    if (index(rank) >= traced_ranks_most) {
      throw std::runtime_error("ranks: has " + more_than_a_run_has(index(rank)));
    }
    auto is_taken = taken[index(rank)];
    if (is_taken) throw std::runtime_error("ranks: has " + std::to_string(index(rank)) + " twice");
    is_taken = true;
  }
  expect(std::ranges::is_sorted(ranks), "ranks: are not ascending");
}

void check(const TraceRun& run) {
  const StepTrace& trace = run.trace;
  expect(run.batch_per_gpu != 0U, "batch_per_gpu: is 0");
  for (const Seconds length : run.step_lengths) {
    expect(length > Seconds(0) && length <= longest,
           "step_lengths_s: has one that is not between 0 and 1e9 s");
  }
  check_program(trace.program);
  expect(!trace.classes.empty(), "classes: has none");
  std::vector<bool> taken(traced_ranks_most);
  check_each("classes", trace.classes, [&](const RankClass& members, std::size_t i) {
    check_ranks(members.ranks, taken);
    expect(i == 0 || trace.classes[i - 1].ranks.front() < members.ranks.front(),
           "ranks: classes are not in the order of their first ranks");
    check_intervals(trace, members.intervals);
  });
}

TraceRun run_in(const JsonValue& in) {
  auto run = decode<TraceRun>(in);
  run.trace = {member(in, "program", decode_program), member(in, "classes", decode_classes)};
  check(run);
  return run;
}

void write_run(JsonWriter& out, const TraceRun& run) {
  out.object([&] {
    out.put_fields(run);
    out.key("program");
    write_program(out, run.trace.program);
    out.key("classes");
    write_classes(out, run.trace.classes);
  });
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
    std::string line;
    JsonWriter writer(line);
    write_run(writer, runs[i]);
    out << (i == 0 ? "\n" : ",\n") << line;
  }
  out << "\n]}\n";
}

bool is_step_traces(std::string_view text) {
  text = without_mark(text);
  for (const std::string_view word : {"{", "\"schema\"", ":", "\""}) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
  }
  return text.starts_with(any_schema);
}

std::vector<TraceRun> read_step_traces(std::string_view text) {
  const JsonValue in = parse_json(text, what_to_give);
  try {
    const auto said = member<std::string>(in, "schema");
    if (said != schema) {
      throw std::runtime_error("schema: is " + shown(said) + ", and " + std::string(schema) +
                               " can be read");
    }
    return member(in, "runs", [](const JsonValue& runs) { return decoded_list(runs, run_in); });
  } catch (const std::runtime_error& error) {
    throw FormatError(0, error.what(), what_to_give);
  }
}

}  // namespace paceline::traces
