// Lines of texts as people have them: any bytes are lines, which are parts of the text but for
// those made whole of two, in the order of their writers, and once each.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
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
// number is lower than the one before, another writer begins, behind where the last one began. A
// line that was broken may come behind the message that broke it, which has its number.
void check_order(const CleanText& clean) {
  std::set<std::size_t> of_writer;
  std::size_t began = 0, before = 0;
  for (const CleanLine& line : clean.lines()) {
    if (of_writer.contains(line.number)) continue;
    if (line.number < before) {
      require(line.number > began, "a writer comes before one whose first line is earlier");
      of_writer.clear();
    }
    if (of_writer.empty()) began = line.number;
    of_writer.insert(line.number);
    before = line.number;
  }
}

// Each byte of the text stands in one line at most. One that was made whole has bytes of its own.
void check_length(const CleanText& clean, std::string_view text) {
  std::size_t length = 0;
  for (const CleanLine& line : clean.lines()) length += line.text.size();
  require(length <= text.size(), "lines are longer than the text");
}

void check_changes(const CleanText& clean, std::string_view text) {
  for (const auto& [kind, count] : clean.changes()) {
    require(!kind.empty() && count > 0, "a change says nothing");
    require(count <= text.size(), "there are more changes than bytes");
  }
}

// The text's lines, each with an end.
std::string checked(std::string_view text) {
  const CleanText clean(text);
  const std::size_t lines = lines_of(text);
  require(clean.lines().size() <= 2 * lines, "there are more lines than can be broken");
  for (const CleanLine& line : clean.lines()) check_line(line, lines);
  check_order(clean);
  check_length(clean, text);
  check_changes(clean, text);
  std::string out;
  for (const CleanLine& line : clean.lines()) out.append(line.text).push_back('\n');
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Clean lines may be cleaned once more: of seven prefixes on end one is left.
  (void)checked(checked({reinterpret_cast<const char*>(data), size}));
  return 0;
}
