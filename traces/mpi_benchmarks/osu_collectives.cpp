#include "traces/mpi_benchmarks/osu_collectives.h"

#include "traces/mpi_benchmarks/tables.h"
#include "traces/mpi_benchmarks/titles.h"
#include "traces/text/clean_text.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using Words = std::vector<std::string_view>;

class OsuCollectiveReader {
 public:
  void begin_text() {
    tables_.forget();
    collective_.reset();
  }
  void take(std::size_t number, const Words& words) {
    if (words.empty() || tables_.take_comment(words)) return;
    if (const auto title = osu_title_of(words)) {
      collective_ = title->collective;
      if (collective_) begin(*title);
      if (!collective_ && !title->is_ping_pong) tables_.leave_out(title->name);
    } else if (collective_ && is_whole_number(words[0])) {
      take_row(number, words);
    } else if (words[0].front() == '#' && tables_.has_rows()) {
      collective_.reset();  // another program's
    }
  }
  [[nodiscard]] std::vector<CollectiveLog> tables() && { return std::move(tables_).tables(); }

 private:
  void begin(const BenchmarkTitle& title) {
    tables_.begin(*collective_, 0);
    if (!title.is_on_device) {
      tables_.note("buffers in host memory: CPUs' collectives, not those of GPUs");
    }
  }

  // Size, mean; with -f the least, the most and how many; with -c whether results are right.
  void take_row(std::size_t number, const Words& words) {
    if (words.size() < 2) return tables_.skip(number, "the line breaks off");
    if (words.back() == "Fail") return tables_.skip(number, "its results are wrong");
    if (!are_whole_times(words, 1, 2)) return tables_.skip(number, "the line breaks off");
    tables_.take(number, words[0], words[1], has_size_of_share(*collective_));
  }

  BenchmarkTables tables_;
  std::optional<collectives::Collective> collective_;
};

}  // namespace

bool is_osu_collective(std::string_view text) {
  return has_osu_title(text,
                       [](const BenchmarkTitle& title) { return title.collective.has_value(); });
}

std::vector<CollectiveLog> read_osu_collective(std::string_view text) {
  OsuCollectiveReader reader;
  read_whole_lines(text, reader,
                   [&](const CleanLine& line) { reader.take(line.number, words_of(line.text)); });
  return std::move(reader).tables();
}

}  // namespace paceline::traces
