#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "traces/ddp_logging/reports.h"

namespace paceline::traces::ddp_logging {

// A key of torch's whose value counts here.
[[nodiscard]] bool is_known(std::string_view key);

// Dictionaries in the lines of a text, as print(), pprint, rich and json write them: over several
// lines, long strings in pieces, inside others. What is around them is passed over.
class Dictionaries {
 public:
  void take(std::size_t number, std::string_view line);
  // Those that ended, and those of torch's that did not.
  [[nodiscard]] Reports all() &&;

 private:
  struct Open {
    Report report;
    std::string key, value;
    bool has_key = false, has_value = false;
  };

  void take_string(std::string_view line, std::size_t& at);
  void take_word(std::string_view line, std::size_t& at);
  void add_string(std::string_view text);
  void take_mark(std::size_t number, char mark);
  void end_value();
  void close(bool is_cut);

  std::vector<Open> open_;
  std::string last_string_;
  char continued_ = '\0';              // the quote of a list of numbers that a terminal broke
  std::size_t lines_for_nothing_ = 0;  // since one was open and had a key
  Reports found_;
};

}  // namespace paceline::traces::ddp_logging
