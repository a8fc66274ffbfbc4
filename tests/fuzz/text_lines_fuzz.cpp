// Lines of texts as people have them: any bytes are lines, which are parts of the text but for
// those made whole of two, in the order of their writers; cleaning them again changes nothing.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "traces/text/clean_text.h"

namespace {

using paceline::traces::CleanLine;
using paceline::traces::CleanText;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::size_t lines_of(std::string_view text) {
  std::size_t lines = text.empty() || text.back() == '\n' ? 0 : 1;
  for (const char c : text) lines += c == '\n' ? 1U : 0U;
  return lines;
}

void check_line(const CleanLine& line, std::size_t lines) {
  require(line.number >= 1 && line.number <= lines, "a line's number is none of the text's");
  require(line.column >= 1, "a line has no column");
  require(line.text.find('\n') == std::string_view::npos, "a line has an end inside");
  (void)paceline::traces::kind_of_foreign(line.text);
}

// Within a writer numbers ascend, and writers come in the order of their first lines: where a
// number is lower than the one before, another writer begins, behind where the last one began.
void check_order(const CleanText& clean) {
  std::size_t began = 0, before = 0;
  for (const CleanLine& line : clean.lines()) {
    if (began == 0 || line.number < before) {
      require(line.number >= began, "a writer comes before one whose first line is earlier");
      began = line.number;
    }
    before = line.number;
  }
}

// Each byte of the text stands in one line at most. One that was made whole has bytes of its own.
void check_length(const CleanText& clean, std::string_view text) {
  std::size_t length = 0;
  for (const CleanLine& line : clean.lines()) length += line.text.size();
  require(length <= text.size(), "lines are longer than the text");
}

void check_changes(const CleanText& clean, std::size_t lines) {
  for (const auto& [kind, count] : clean.changes()) {
    require(!kind.empty() && count > 0, "a change says nothing");
    require(count <= 2 * lines, "a change is of more lines than there are");
  }
}

std::string joined(const CleanText& clean) {
  std::string out;
  for (const CleanLine& line : clean.lines()) out.append(line.text).push_back('\n');
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const CleanText clean(text);
  const std::size_t lines = lines_of(text);
  for (const CleanLine& line : clean.lines()) check_line(line, lines);
  check_order(clean);
  check_length(clean, text);
  check_changes(clean, lines);
  const std::string once = joined(clean);
  const CleanText again(once);
  require(joined(again) == once, "cleaning clean lines changes them");
  return 0;
}
