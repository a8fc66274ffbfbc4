#include "traces/step_trace_file/step_trace_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::CollectiveCall;
using training::LaneKind;
using training::OperationKind;

std::string text_of(const std::vector<TraceRun>& runs) {
  std::ostringstream out;
  write_step_traces(out, runs);
  return out.str();
}

StepTrace two_classes() {
  StepTrace trace;
  trace.program.lanes = {{"compute", LaneKind::compute},
                         {"communication", LaneKind::communication, 2}};
  training::Operation work{"layer 1",    OperationKind::backward, 0, {},
                           Seconds(0.5), {0.5, 1.0, 0.5}};
  work.gradients = {ElementCount(1000), ElementCount(0)};
  trace.program.add(work);
  CollectiveCall call{Collective::all_reduce, ElementCount(1024), ElementSize(4), Rank(0),
                      training::SimulatedCall{"ring", {}, {2.0, Seconds(1e-6), {}, {}}}};
  trace.program.add({"bucket 0", OperationKind::collective, 1, {0}, call});
  call.how = training::KnownCall{Seconds(0.1), "RING_LL"};
  call.is_untold = true;
  call.held = Seconds(1e-3);
  trace.program.add({"of a group", OperationKind::collective, 1, {}, call});
  trace.classes = {{{Rank(0), Rank(2)},
                    {{Seconds(0.1), Seconds(1.0 / 3)},
                     {Seconds(1.0 / 3), Seconds(5e-324 + 2.0 / 3), 0},
                     {Seconds(0.7), Seconds(0.8), 1}}},
                   {{Rank(1)},
                    {{Seconds(0.1), Seconds(0.5)},
                     {Seconds(0.5), Seconds(2.0 / 3), 0},
                     {Seconds(0.7), Seconds(0.8), 1}}}};
  return trace;
}

std::vector<TraceRun> three_runs() {
  return {{"2 GPUs", Origin::predicted, two_classes(), 32, {"one", "another"}, 16, 8},
          {"2 GPUs", Origin::measured, two_classes(), std::nullopt},
          {"\"quoted\" \xc2\xb5", Origin::imported, {{}, {{{Rank(7)}, {}}}}, 1}};
}

void expect_equal(const StepTrace& a, const StepTrace& b) {
  ASSERT_EQ(a.program.lanes.size(), b.program.lanes.size());
  for (std::size_t i = 0; i < a.program.lanes.size(); ++i) {
    EXPECT_EQ(a.program.lanes[i].name, b.program.lanes[i].name);
    EXPECT_EQ(a.program.lanes[i].kind, b.program.lanes[i].kind);
    EXPECT_EQ(a.program.lanes[i].in_flight, b.program.lanes[i].in_flight);
  }
  ASSERT_EQ(a.program.operations.size(), b.program.operations.size());
  for (std::size_t i = 0; i < a.program.operations.size(); ++i) {
    const training::Operation &one = a.program.operations[i], &other = b.program.operations[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.kind, other.kind);
    EXPECT_EQ(one.lane, other.lane);
    EXPECT_EQ(one.after, other.after);
    EXPECT_EQ(one.work, other.work);
    EXPECT_EQ(one.rank_parts, other.rank_parts);
    EXPECT_EQ(one.gradients, other.gradients);
    if (call_of(one) == nullptr) continue;
    EXPECT_EQ(algorithm_of(*call_of(one)), algorithm_of(*call_of(other)));
    EXPECT_EQ(call_of(one)->is_untold, call_of(other)->is_untold);
    EXPECT_EQ(call_of(one)->held, call_of(other)->held);
  }
  ASSERT_EQ(a.classes.size(), b.classes.size());
  for (std::size_t i = 0; i < a.classes.size(); ++i) {
    EXPECT_EQ(a.classes[i].ranks, b.classes[i].ranks);
    EXPECT_EQ(a.classes[i].intervals, b.classes[i].intervals);
  }
}

TEST(StepTraceFile, IsReadAsItWasWritten) {
  const auto runs = three_runs();
  const auto got = read_step_traces(text_of(runs));
  ASSERT_EQ(got.size(), runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(got[i].name, runs[i].name);
    EXPECT_EQ(got[i].origin, runs[i].origin);
    EXPECT_EQ(got[i].batch_per_gpu, runs[i].batch_per_gpu);
    EXPECT_EQ(got[i].assumptions, runs[i].assumptions);
    EXPECT_EQ(got[i].world_size, runs[i].world_size);
    EXPECT_EQ(got[i].gpus_per_node, runs[i].gpus_per_node);
    expect_equal(got[i].trace, runs[i].trace);
  }
  EXPECT_EQ(text_of(got), text_of(runs));
}

// Of random exponents from the smallest times to the longest.
TEST(StepTraceFile, KeepsEveryBitOfATime) {
  std::mt19937_64 random(11);
  StepTrace trace{{{{"compute", LaneKind::compute}}, {}}, {{{Rank(0)}, {}}}};
  for (int i = 0; i < 10'000; ++i) {
    const double fraction = std::generate_canonical<double, 53>(random);
    const double start = std::ldexp(fraction, -static_cast<int>(random() % 1074));
    trace.program.add({"x", OperationKind::forward, 0, {}, Seconds(0)});
    trace.classes[0].intervals.push_back({Seconds(start), Seconds(std::nextafter(start, 2.0))});
  }
  const auto got = read_step_traces(text_of({{"r", Origin::measured, trace, std::nullopt}}));
  for (std::size_t i = 0; i < trace.classes[0].intervals.size(); ++i) {
    const training::Interval &was = trace.classes[0].intervals[i],
                             &is = got.at(0).trace.classes.at(0).intervals.at(i);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(is.start.value()),
              std::bit_cast<std::uint64_t>(was.start.value()));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(is.end.value()),
              std::bit_cast<std::uint64_t>(was.end.value()));
  }
}

TEST(StepTraceFile, IsKnownByItsFirstKey) {
  const std::string text = text_of(three_runs());
  EXPECT_TRUE(is_step_traces(text));
  EXPECT_TRUE(is_step_traces("\xef\xbb\xbf { \"schema\" :\n\"paceline.trace/2\"}"));
  for (const char* other : {"", "{", "{}", "[]", "{\"schema\": \"paceline.result/1\"}",
                            "{\"runs\": [], \"schema\": \"paceline.trace/2\"}",
                            "{\"traceEvents\": [{\"name\": \"paceline.trace/2\"}]}"}) {
    EXPECT_FALSE(is_step_traces(other)) << other;
  }
  EXPECT_TRUE(read_step_traces(text_of({})).empty());
}

// The error of a text that must have one.
std::string error_of(const std::string& text) {
  try {
    (void)read_step_traces(text);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.what();
  }
  ADD_FAILURE() << "is read: " << text.substr(0, 200);
  return "";
}

// One run of three ranks and two operations, with one place changed.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = R"({"schema": "paceline.trace/2", "runs": [{"name": "r", "origin": "imported",
"program": {"lanes": [{"name": "compute", "kind": "compute", "in_flight": 1}], "operations": [
  {"name": "a", "kind": "forward", "lane": 0, "after": [], "time_s": 3},
  {"name": "b", "kind": "copy", "lane": 0, "after": [0], "time_s": 1}]},
"classes": [{"ranks": [0, 1], "intervals": [[0, 1, null], [1.5, 2, 0]]},
            {"ranks": [4], "intervals": [[0, 3, null], [3, 4, 0]]}]}]})";
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(StepTraceFile, NamesThePlaceAndTheKeyOfWhatIsWrong) {
  const std::string first = "runs: [0]: classes: [0]: ", second = "runs: [0]: classes: [1]: ";
  const struct {
    const char *from, *to;
    std::string error;
  } cases[] = {
      {"trace/2", "trace/1", "schema: is paceline.trace/1, and paceline.trace/2 can be read"},
      {"\"runs\"", "\"run\"", "has no \"runs\""},
      {"\"name\": \"r\"", "\"name\": 5", "runs: [0]: name: type must be string, but is number"},
      {"imported", "found", "runs: [0]: origin: unknown word \"found\""},
      {"\"origin\"", "\"batch_per_gpu\": 0, \"origin\"", "runs: [0]: batch_per_gpu: is 0"},
      {"\"origin\"", "\"batch_per_gpu\": -1, \"origin\"",
       "runs: [0]: batch_per_gpu: not a whole number that fits: -1"},
      {"\"in_flight\": 1", "\"in_flight\": 0", "runs: [0]: lanes: [0]: in_flight: is 0"},
      {"\"kind\": \"copy\"", "\"kind\": \"move\"",
       "runs: [0]: program: operations: [1]: kind: unknown word \"move\""},
      {"\"after\": [0], ", "", "runs: [0]: program: operations: [1]: has no \"after\""},
      {"\"time_s\": 3", "\"time_s\": true",
       "runs: [0]: program: operations: [0]: time_s: type must be number, but is boolean"},
      {"1.5", "-1.5", first + "intervals: [1]: starts before 0, or at no number"},
      {"1.5", "null", first + "intervals: [1]: type must be number, but is null"},
      {"[1.5, 2", "[1.5, 1", first + "intervals: [1]: ends before it starts, or at no number"},
      {"[1.5, 2", "[1.5, 1e12", first + "intervals: [1]: ends beyond 1e9 s"},
      {"[0, 1]", "[0, 0]", first + "ranks: has 0 twice"},
      {"[0, 1]", "[1, 0]", first + "ranks: are not ascending"},
      {"[0, 1]", "[]", first + "ranks: has none"},
      {"[0, 1]", "[0, 100000]",
       first + "ranks: has 100000, more than the 65536 that a run may have"},
      {"[4]", "[1]", second + "ranks: has 1 twice"},
      {"[0, 1]", "[5]", second + "ranks: classes are not in the order of their first ranks"},
      {", [3, 4, 0]", "", second + "intervals: are 1, the operations 2"},
  };
  for (const auto& [from, to, error] : cases) EXPECT_EQ(error_of(changed(from, to)), error) << to;
}

// The text of two_classes, with one place changed.
std::string rewritten(const std::string& from, const std::string& to) {
  std::string text = text_of({{"r", Origin::measured, two_classes(), std::nullopt}});
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(StepTraceFile, NamesWhatOfAProgramIsWrong) {
  const std::string operations = "runs: [0]: operations: ", first = "runs: [0]: classes: [0]: ";
  const struct {
    const char *from, *to;
    std::string error;
  } cases[] = {
      {"\"after\":[0]", "\"after\":[1]",
       operations + "[1]: after: names an operation that is not before it"},
      {"\"lane\":1", "\"lane\":9", operations + "[1]: lane: there is none of that number"},
      {"\"element_size_bytes\":4", "\"element_size_bytes\":0",
       operations + "[1]: element_size_bytes: is 0"},
      {"\"count\":1024", "\"count\":1152921504606846976",
       operations + "[1]: count: is of more than 2^56 bytes"},
      {"\"in_flight\":2", "\"in_flight\":0", "runs: [0]: lanes: [1]: in_flight: is 0"},
      {"6666,0],", "6666,7],",
       first + "intervals: [1]: is released by an operation that is not before it"},
      {"6666,0],", "6666],",
       "runs: [0]: classes: [0]: intervals: [1]: is no [start, end, released by]"},
      {"[0.1,", "[-0.1,", first + "intervals: [0]: starts before 0, or at no number"},
      {"[0.7,0.8", "[0.7,0.6", first + "intervals: [2]: ends before it starts, or at no number"},
  };
  for (const auto& [from, to, error] : cases) EXPECT_EQ(error_of(rewritten(from, to)), error) << to;
}

TEST(StepTraceFile, WithANumberBeyondADoubleIsRefused) {
  EXPECT_EQ(error_of(changed("1.5", "1e999")), "has a number beyond all bounds");
}

TEST(StepTraceFile, CutAnywhereNamesTheByte) {
  std::string text = text_of(three_runs());
  text.pop_back();
  for (std::size_t end = 0; end < text.size(); ++end) {
    const std::string error = error_of(text.substr(0, end));
    EXPECT_EQ(error.rfind("is not JSON, or cut off, at byte ", 0), 0U) << error;
  }
}

TEST(StepTraceFile, NestedAsDeepAsItLikesIsRefused) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_NE(error_of(changed("\"lane\": 0", "\"lane\": " + deep)), "");
  EXPECT_NE(error_of(changed("[0, 1]", deep)), "");
}

TEST(StepTraceFile, IsNotWrittenWhenItCouldNotBeRead) {
  StepTrace trace = two_classes();
  trace.classes[0].intervals[0].end = Seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(text_of({{"r", Origin::predicted, trace, std::nullopt}}), FormatError);
  std::vector<Rank> many;
  for (std::uint32_t rank = 0; rank <= 65'536; ++rank) many.emplace_back(rank);
  const StepTrace large{{}, {{many, {}}}};
  EXPECT_THROW(text_of({{"r", Origin::predicted, large, std::nullopt}}), FormatError);
}

}  // namespace
}  // namespace paceline::traces
