#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace paceline {

// A line below a report's table: what the figures hang on.
struct Remark {
  int weight;  // the larger, the more a decision may change by it
  std::string text;
};

inline constexpr std::size_t remarks_most = 5;

// Those of a report, in their order, and what it assumes. A report leads with its answer: of more
// than `remarks_most` remarks the heaviest are written, and of assumptions their number. All are
// written where the stream's form lists assumptions; in Markdown, behind a click.
class Remarks {
 public:
  void add(int weight, std::string text);                  // unless that is empty
  void assume(const std::vector<std::string>& sentences);  // each once; empty ones are none
  void add_detail(std::string text);                       // that stands with the assumptions only
  void conclude(std::string text);                         // always written, last
  // Each part after an empty line.
  void write(std::ostream& out) const;

 private:
  std::vector<Remark> remarks_;
  std::vector<std::string> assumptions_, details_;
  std::string conclusion_;
};

}  // namespace paceline
