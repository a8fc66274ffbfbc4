#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/traces/kineto/kineto_fixture.h"
#include "traces/formats/formats.h"
#include "traces/horovod_timeline/engine.h"
#include "traces/run_record/readers.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using Cell = RunRecord::Cell;

std::string timeline(const std::string& name) {
  const std::string text =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/tests/fixtures/horovod_timeline/" + name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

Cell fact(const RunRecord& record, const std::string& name) {
  for (const auto& [known, value] : record.facts) {
    if (known == name) return value;
  }
  ADD_FAILURE() << "no fact " << name;
  return std::string();
}

double us(const Cell& time) { return std::get<Seconds>(time).value() * 1e6; }

// The row whose first cells are these.
std::vector<Cell> row(const RunRecord& record, const std::string& title,
                      const std::vector<Cell>& first) {
  for (const RunRecord::Table& table : record.tables) {
    if (!table.title.starts_with(title)) continue;
    for (const auto& cells : table.rows) {
      EXPECT_EQ(cells.size(), table.columns.size());
      if (std::equal(first.begin(), first.end(), cells.begin())) return cells;
    }
  }
  ADD_FAILURE() << "no such row in " << title;
  return std::vector<Cell>(16, Cell(std::string()));
}

bool has_note(const RunRecord& record, const std::string& part) {
  return std::ranges::any_of(
      record.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

std::string setting(const RunRecord& record, const std::string& key) {
  for (const auto& [known, value] : record.settings) {
    if (known == key) return value;
  }
  return "";
}

// 1,024 x 256 + 256 floats fused: 1,049,600 bytes in the 1,000 us from 20,560 to 21,560; then the
// first alone, 1,048,576 bytes in 800 us.
TEST(HorovodTimeline, FindsWhatIsFusedInOneCall) {
  const RunRecord record = read_horovod_timeline(timeline("release_0_19.json"));
  EXPECT_EQ(record.title, "Horovod's timeline of 3 ranks");
  EXPECT_EQ(fact(record, "calls"), Cell(std::uint64_t{2}));
  EXPECT_EQ(fact(record, "calls of several tensors"), Cell(std::uint64_t{1}));
  EXPECT_EQ(fact(record, "largest fused call"), Cell(Bytes(1'049'600)));
  const std::string all_reduce = "ALLREDUCE", by = "NCCL_ALLREDUCE";
  const auto fused = row(record, "calls", {all_reduce, by, std::uint64_t{2}, Bytes(1'049'600)});
  EXPECT_EQ(fused[4], Cell(std::uint64_t{1}));
  EXPECT_NEAR(us(fused[5]), 1000, 1e-6);
  EXPECT_NEAR(std::get<BytesPerSecond>(fused[6]).value(), 1'049'600 / 1e-3, 1);
  const auto alone = row(record, "calls", {all_reduce, by, std::uint64_t{1}, Bytes(1'048'576)});
  EXPECT_NEAR(us(alone[5]), 800, 1e-6);
  EXPECT_TRUE(has_note(record, "the fusion threshold is 1025KiB or more"));
  EXPECT_EQ(setting(record, "training.fusion_threshold"), "");
}

// The first tensor: rank 0 at 5,100 us, 1 at 10,200, 2 at 20,300; the second 5,110, 10,205, 20,310;
// the first again: 1 at 45,100, 0 2 us later, 2 at 50,250. So rank 2 held up the others for 10,100
// + 10,105 + 5,148 us, and was 15,200 us behind in the median.
TEST(HorovodTimeline, TellsWhichRankTheOthersWaitedFor) {
  const RunRecord record = read_horovod_timeline(timeline("release_0_19.json"));
  const auto last = row(record, "ranks", {std::uint64_t{2}});
  EXPECT_EQ(last[1], Cell(std::uint64_t{3}));
  EXPECT_NEAR(us(last[2]), 10'100 + 10'105 + 5'148, 1e-6);
  EXPECT_NEAR(us(last[4]), 15'200, 1e-6);
  const auto first = row(record, "ranks", {std::uint64_t{0}});
  EXPECT_EQ(first[1], Cell(std::uint64_t{0}));
  EXPECT_EQ(first[3], Cell(std::uint64_t{2}));
  EXPECT_NEAR(us(fact(record, "from the first rank ready to the last, median")), 15'200, 1e-6);
  EXPECT_FALSE(has_note(record, "name no rank"));
}

// The second tensor began to be negotiated at 55,100 us; the last mark is at 65,100.
TEST(HorovodTimeline, NamesWhatIsWaitedForWhereItEnds) {
  const RunRecord record = read_horovod_timeline(timeline("release_0_19.json"));
  const auto waited = row(record, "still waited for", {std::string("HorovodAllreduce_grads_1")});
  EXPECT_NEAR(us(waited[1]), 10'000, 1e-6);
  EXPECT_EQ(waited[2], Cell(std::string("0, 1")));
}

// Marks each 5 ms but for one after 5.1; operations begin 20,400 - 20,000 and 50,300 - 50,000 us
// after a wake: two are too few for a setting.
TEST(HorovodTimeline, TellsTheCycleWhereMostAreAlike) {
  const RunRecord record = read_horovod_timeline(timeline("release_0_19.json"));
  EXPECT_EQ(fact(record, "cycles"), Cell(std::uint64_t{13}));
  EXPECT_NEAR(us(fact(record, "cycle, median")), 5000, 1e-6);
  EXPECT_NEAR(us(fact(record, "from a wake to its first operation, median")), 300, 1e-6);
  EXPECT_EQ(setting(record, "training.strategy"), "horovod");
  EXPECT_EQ(setting(record, "training.cycle_time"), "5ms");
  EXPECT_EQ(setting(record, "training.negotiation"), "");
}

// Cycles of 1, 1, then 8 to 18 ms: most did something.
TEST(HorovodTimeline, TellsNoCycleWhereMostHadWork) {
  std::string text = "[\n";
  int at = 0;
  for (int i = 0; i < 14; ++i) {
    text += R"({"ph": "i", "name": "CYCLE_START", "ts": )" + std::to_string(at) + "},\n";
    at += i < 2 ? 1000 : 1000 * (6 + i);
  }
  const RunRecord record = read_horovod_timeline(text);
  EXPECT_EQ(setting(record, "training.cycle_time"), "");
  EXPECT_TRUE(has_note(record, "do not tell training.cycle_time"));
}

// Releases since 0.21 write a list that is closed, many events on a line. Three tensors of two
// bytes, 9,408 + 512,000 + 1,000 elements: 1,044,816 bytes by three transfers of 100, 400, 100 us.
TEST(HorovodTimeline, ReadsNewReleasesAndTransfersInSeveralParts) {
  const RunRecord record = read_horovod_timeline(timeline("release_0_28.json"));
  EXPECT_EQ(fact(record, "tensors"), Cell(std::uint64_t{4}));
  EXPECT_EQ(fact(record, "calls"), Cell(std::uint64_t{3}));
  const auto fused =
      row(record, "calls",
          {std::string("ALLREDUCE"), std::string("NCCL_REDUCESCATTER"), std::uint64_t{3}});
  EXPECT_EQ(fused[3], Cell(Bytes(1'044'816)));
  EXPECT_NEAR(us(fused[5]), 600, 1e-6);
  EXPECT_EQ(setting(record, "training.hierarchical_allreduce"), "true");
  EXPECT_TRUE(has_note(record, "6 of 7 negotiations name no rank"));
  EXPECT_TRUE(has_note(record, "no cycle is marked"));
  EXPECT_NEAR(us(fact(record, "from a tensor's operation to its next, median")), 50'000, 1e-6);
  // A tensor without a dimension is an element.
  EXPECT_EQ(row(record, "tensors", {std::string("parameter.0")})[3], Cell(Bytes(8)));
}

TEST(HorovodTimeline, IsTheSameHoweverItsEventsAreLaidOut) {
  for (const char* name : {"release_0_19.json", "release_0_28.json"}) {
    std::string text = timeline(name);
    const RunRecord record = read_horovod_timeline(text);
    if (text.ends_with(",\n")) text.replace(text.size() - 2, 2, "]");
    const auto list = nlohmann::ordered_json::parse(text);
    for (const int indent : {-1, 2}) {
      const RunRecord other = read_horovod_timeline(list.dump(indent));
      ASSERT_EQ(other.tables.size(), record.tables.size());
      for (std::size_t i = 0; i < record.tables.size(); ++i) {
        EXPECT_EQ(other.tables[i].rows, record.tables[i].rows) << record.tables[i].title;
      }
    }
  }
}

TEST(HorovodTimeline, IsReadWhereverItIsCut) {
  const std::string text = timeline("release_0_28.json");
  for (std::size_t size = 0; size < text.size(); ++size) {
    try {
      const RunRecord record = read_horovod_timeline(text.substr(0, size));
      const bool is_between = text[size - 1] == '}' || text[size - 1] == ',' ||
                              text[size - 1] == '\n' || text[size] == '{';
      EXPECT_TRUE(is_between || has_note(record, "cut off")) << size;
      EXPECT_FALSE(has_note(record, "left out:")) << size;
    } catch (const FormatError& error) {
      EXPECT_STREQ(error.what(), "is a timeline of Horovod without an event that has a time");
      EXPECT_LT(size, 600U);
    }
  }
}

TEST(HorovodTimeline, CountsWhatIsBrokenAndReadsOn) {
  std::string text = timeline("release_0_19.json");
  const RunRecord whole = read_horovod_timeline(text);
  text.replace(text.find("{\"ph\": \"i\""), 0, "{\"ph\": \"B\", \"name\": \"QUE\nhello\n");
  const RunRecord record = read_horovod_timeline(text);
  EXPECT_TRUE(
      has_note(record, R"(left out: 1 piece of what is no event, the first in line 2: {"ph")"))
      << record.notes.back();
  EXPECT_EQ(fact(record, "events"), fact(whole, "events"));
}

// The file of a run whose timeline was started later begins with ends.
TEST(HorovodTimeline, SaysThatItBeginsInTheMiddle) {
  std::string text = timeline("release_0_19.json");
  const std::size_t begin = text.find(R"({"ph": "B", "name": "NCCL_ALLREDUCE")");
  const RunRecord record = read_horovod_timeline("[\n" + text.substr(begin));
  EXPECT_TRUE(has_note(record, "without a beginning"));
}

TEST(HorovodTimeline, IsNoTraceOfAProfilerAndNoneOfTheseIsIts) {
  for (const char* name : {"release_0_19.json", "release_0_28.json"}) {
    const std::string text = timeline(name);
    EXPECT_TRUE(is_horovod_timeline(text));
    for (const DeviceTraceFormat& format : device_trace_formats()) {
      EXPECT_FALSE(format.is_one(text)) << name << " as " << format.name;
    }
  }
  for (const char* name : {"with_metadata.json", "odd.json", "torch_1_8.json", "torch_2_4.json"}) {
    for (const RunRecordFormat& format : run_record_formats()) {
      EXPECT_FALSE(format.is_one(test::kineto_fixture(name))) << name << " as " << format.name;
    }
  }
  EXPECT_FALSE(is_horovod_timeline(R"([{"name": "process_name", "ph": "M"}])"));
  EXPECT_FALSE(is_horovod_timeline(R"({"traceEvents": [{"ph": "B", "name": "NEGOTIATE_X"}]})"));
}

TEST(HorovodTimeline, TellsTransfersFromOtherActivities) {
  EXPECT_TRUE(horovod::is_transfer("GLOO_ALLREDUCE"));
  EXPECT_FALSE(horovod::is_transfer("INIT_NCCL"));
}

}  // namespace
}  // namespace paceline::traces
