#include "traces/text/clean_text.h"

#include "traces/text/lines.h"

namespace paceline::traces {

CleanText::CleanText(std::string_view text) {
  for_each_line(text, [&](std::size_t number, std::string_view line) {
    lines_.push_back({number, 1, line});
  });
}

std::string_view kind_of_foreign(std::string_view line) {
  return words_of(line).empty() ? "" : "other";
}

}  // namespace paceline::traces
