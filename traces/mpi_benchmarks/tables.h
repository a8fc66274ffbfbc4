#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"

// What the readers of both suites share.
namespace paceline::traces {

// Gathers rows into tables. What comments say of one ("# GPUs: 16") holds for those below.
class BenchmarkTables {
 public:
  // Takes a comment; whether the line is one.
  bool take_comment(const std::vector<std::string_view>& words);
  // What comes next belongs to another table; `ranks` is 0 where only a comment may tell them.
  void begin(collectives::Collective collective, std::uint32_t ranks);
  void note(std::string sentence) { open_.notes.push_back(std::move(sentence)); }
  // A row, or why it is none. `is_of_share`: the size is of one rank's part.
  void take(std::size_t number, std::string_view size, std::string_view time_us, bool is_of_share);
  void skip(std::size_t number, std::string why);
  [[nodiscard]] bool has_rows() const { return !open_.rows.empty(); }
  void forget();  // what comes next is another text
  // A test of the suite that is passed over: a note of the first table names it.
  void leave_out(std::string_view name);

  // Throws FormatError when there are none.
  [[nodiscard]] std::vector<CollectiveLog> tables() &&;

 private:
  void close();

  std::vector<CollectiveLog> tables_;
  CollectiveLog open_;
  std::set<std::string> left_out_;
  std::uint32_t said_ranks_ = 0, said_nodes_ = 0;
};

// Whether the words `from` to before `to` have two decimals, as both suites print times
// (FLOAT_PRECISION of OSU's benchmarks, "%.2f" of IMB_output.c): others were cut.
[[nodiscard]] bool are_whole_times(const std::vector<std::string_view>& words, std::size_t from,
                                   std::size_t to);

// Whether both suites print the size of one rank's share.
[[nodiscard]] bool has_size_of_share(collectives::Collective collective);

}  // namespace paceline::traces
