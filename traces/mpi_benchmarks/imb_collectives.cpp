#include "traces/mpi_benchmarks/imb_collectives.h"

#include <algorithm>

#include "traces/collective_log/comments.h"
#include "traces/mpi_benchmarks/tables.h"
#include "traces/mpi_benchmarks/titles.h"
#include "traces/text/clean_text.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using Words = std::vector<std::string_view>;

// "# Intel(R) MPI Benchmarks 2021.7, MPI-1 part", "2019 Update 6"; before "Benchmark Suite V3.2",
// which is of year 0. nullopt for another line.
std::optional<std::uint32_t> year_of_version(const Words& words) {
  const auto name = std::ranges::find_if(
      words, [](std::string_view word) { return word == "Benchmarks" || word == "Suite"; });
  const bool is_title = words.size() > 4 && words[0].starts_with('#') &&
                        std::ranges::find(words, "Intel(R)") != words.end();
  if (!is_title || name == words.end() || name + 1 == words.end()) return std::nullopt;
  constexpr std::size_t digits = 4;
  return number_of<std::uint32_t>((name + 1)->substr(0, digits)).value_or(0);
}

bool is_header_of_collective(const Words& words) {
  return words.size() > 4 && words[0] == "#bytes" && words[1] == "#repetitions" &&
         words[4] == "t_avg[usec]";
}

class ImbCollectiveReader {
 public:
  void begin_text() {
    tables_.forget();
    collective_.reset();
    has_header_ = false;
    ranks_ = 0;
    year_.reset();
  }
  void take(std::size_t number, const Words& words) {
    if (words.empty() || tables_.take_comment(words)) return;
    if (const auto year = year_of_version(words)) {
      year_ = year;
    } else if (const auto title = imb_title_of(words)) {
      begin(*title);
    } else if (const auto processes = imb_processes_of(words)) {
      ranks_ = number_of<std::uint32_t>(*processes).value_or(0);
      if (ranks_ > ranks_most) ranks_ = 0;
    } else if (collective_ && is_header_of_collective(words)) {
      has_header_ = true;
      tables_.begin(*collective_, ranks_);
    } else if (has_header_ && is_whole_number(words[0])) {
      take_row(number, words);
    } else if (words[0].front() == '#' && tables_.has_rows()) {
      has_header_ = false;  // another program's
    }
  }

  [[nodiscard]] std::vector<CollectiveLog> tables() && { return std::move(tables_).tables(); }

 private:
  void begin(const BenchmarkTitle& title) {
    collective_ = title.collective;
    has_header_ = false;
    ranks_ = 0;
    if (!collective_ && !title.is_ping_pong) tables_.leave_out(title.name);
  }

  void take_row(std::size_t number, const Words& words) {
    if (words[0] == "0") return;
    constexpr std::size_t columns = 5, mean = 4;
    if (words.size() < columns) return tables_.skip(number, "the line breaks off");
    if (!are_whole_times(words, 2, columns)) {
      return tables_.skip(number, "the line breaks off");
    }
    if (collective_ == Collective::reduce_scatter && !year_) {
      return tables_.skip(number,
                          "its size is of all or of one rank's share, as IMB's version has it: "
                          "give the lines from \"Intel(R) MPI Benchmarks\" on");
    }
    constexpr std::uint32_t first_of_shares = 2019;
    const bool is_of_share =
        has_size_of_share(*collective_) ||
        (collective_ == Collective::reduce_scatter && *year_ >= first_of_shares);
    tables_.take(number, words[0], words[mean], is_of_share);
  }

  BenchmarkTables tables_;
  std::optional<Collective> collective_;
  std::uint32_t ranks_ = 0;
  bool has_header_ = false;
  std::optional<std::uint32_t> year_;
};

}  // namespace

bool is_imb_collective(std::string_view text) {
  return has_imb_title(text,
                       [](const BenchmarkTitle& title) { return title.collective.has_value(); });
}

std::vector<CollectiveLog> read_imb_collective(std::string_view text) {
  ImbCollectiveReader reader;
  read_whole_lines(text, reader,
                   [&](const CleanLine& line) { reader.take(line.number, words_of(line.text)); });
  return std::move(reader).tables();
}

}  // namespace paceline::traces
