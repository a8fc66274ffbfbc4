#include "traces/ping_pong/table.h"

#include <algorithm>

#include "traces/ping_pong/rows.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

constexpr std::string_view size_column = "size(B)";
constexpr std::size_t columns_most = 64;

bool is_header_with_times(const std::vector<std::string_view>& cells) {
  return std::count(cells.begin(), cells.end(), size_column) == 1 &&
         std::any_of(cells.begin(), cells.end(),
                     [](std::string_view cell) { return time_unit_of(cell) > 0; });
}

class TableReader {
 public:
  void begin_text() {
    tables_.forget();
    units_.clear();
  }
  void take(std::size_t number, std::string_view line) {
    const auto words = words_of(line);
    if (words.empty() || tables_.take_place(number, words)) return;
    if (words[0].front() == '#') return refuse_collective(number, words);
    auto cells = cells_of(line, columns_most);
    if (is_header_with_times(cells)) {
      tables_.close();
      take_header(cells);
    } else if (!units_.empty()) {
      take_row(number, cells);
    }
  }
  [[nodiscard]] std::vector<PingPong> tables() && { return std::move(tables_).tables(); }

 private:
  static void refuse_collective(std::size_t number, const std::vector<std::string_view>& words) {
    if (words.size() < 2 || words[0] != "#" || words[1] != "collective:") return;
    throw FormatError(number, "has a collective in a file of ping-pongs", "give them as two files");
  }

  void take_header(const std::vector<std::string_view>& cells) {
    units_.clear();
    for (const std::string_view cell : cells) units_.push_back(time_unit_of(cell));
    size_at_ = static_cast<std::size_t>(std::find(cells.begin(), cells.end(), size_column) -
                                        cells.begin());
  }

  // A row a repetition.
  void take_row(std::size_t number, const std::vector<std::string_view>& cells) {
    if (cells.size() < units_.size()) return tables_.skip(number, "the line breaks off");
    if (cells.size() > units_.size() && number_of<double>(cells.back())) {
      return tables_.skip(number,
                          "has more cells than the header; a comma inside a number parts it");
    }
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (units_[i] > 0) tables_.take(number, cells[size_at_], cells[i], units_[i]);
    }
  }

  PingPongTables tables_;
  std::vector<double> units_;  // by column: seconds of its unit; 0: passed over
  std::size_t size_at_ = 0;
};

}  // namespace

bool is_ping_pong_table(std::string_view text) {
  if (text.find("ping_pong:") == std::string_view::npos) return false;
  return has_clean_line(text, [](std::string_view line) {
    const auto words = words_of(line);
    return words.size() > 1 && words[0] == "#" && words[1] == "ping_pong:";
  });
}

std::vector<PingPong> read_ping_pong_table(std::string_view text) {
  TableReader reader;
  const CleanText clean(text);
  for (const std::span<const CleanLine> writer : clean.by_writer()) {
    reader.begin_text();
    for (const CleanLine& line : writer) {
      if (!line.is_mended) reader.take(line.number, line.text);
    }
  }
  return std::move(reader).tables();
}

}  // namespace paceline::traces
