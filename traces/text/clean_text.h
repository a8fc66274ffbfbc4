#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::traces {

struct CleanLine {
  std::size_t number = 0;  // in the file, from 1; of one that was broken in two, of its beginning
  std::size_t column = 0;  // of its first byte there, from 1
  std::string_view text;   // without its end, what was put before it, and a terminal's codes
  std::size_t writer = 0;  // 0 is the first, ...
  // Made whole of two parts: what it says needs something that agrees with it.
  bool is_mended = false;
  bool follows_loss = false;  // a line before it is lost that was no row of numbers
};

// The lines of a text as people have it: behind prefixes of launchers, schedulers and loggers
// (mpirun --tag-output, srun --label, Ray, torchrun, Kubernetes, timestamps), quoted in Markdown,
// with a terminal's codes or blanks of web pages, and of several writers at once.
//
// Lines of one writer, as prefixes name it, follow one another; writers come in the order of their
// first lines. A line that a message of NCCL's (INFO, WARN) broke in two is whole again where its
// end follows, and the message a line of its own. A text without any of these has its own lines,
// none of them copied: O(1) memory a line.
class CleanText {
 public:
  explicit CleanText(std::string_view text);  // which has to outlive it

  [[nodiscard]] std::span<const CleanLine> lines() const { return lines_; }
  // The lines of one writer after the other, each a text of its own: what one says, as a number of
  // GPUs, does not hold for another. What no prefix names, as the command, goes before the first
  // writer.
  [[nodiscard]] std::vector<std::span<const CleanLine>> by_writer() const;
  // Parts of lines that a message broke and of which something is lost: no lines any more.
  [[nodiscard]] std::span<const CleanLine> broken() const { return broken_; }
  // Lines by kind of prefix ("prefix of mpirun --tag-output"), and those made whole.
  [[nodiscard]] const std::map<std::string, std::size_t>& changes() const { return changes_; }

 private:
  std::vector<CleanLine> lines_, broken_;
  std::optional<std::size_t> nameless_;  // the writer that no prefix names
  std::deque<std::string> made_;         // texts of lines that are no part of the file
  std::map<std::string, std::size_t> changes_;
};

// Gives `take` the lines that were not mended. Calls `begin_text` where another writer's begin, and
// where a title may be lost.
template <class BeginText, class Take>
void read_whole_lines(std::string_view text, const BeginText& begin_text, const Take& take) {
  const CleanText clean(text);
  for (const std::span<const CleanLine> writer : clean.by_writer()) {
    begin_text();
    for (const CleanLine& line : writer) {
      if (line.follows_loss) begin_text();
      if (!line.is_mended) take(line);
    }
  }
}

// Whether a line of a text is one; the first MiB is looked at before the rest.
template <class IsOne>
[[nodiscard]] bool has_clean_line(std::string_view text, const IsOne& is_one) {
  constexpr std::size_t looked_at = std::size_t{1} << 20;
  const auto has = [&](std::string_view part) {
    const CleanText clean(part);
    return std::ranges::any_of(clean.lines(),
                               [&](const CleanLine& line) { return is_one(line.text); });
  };
  return has(text.substr(0, looked_at)) || (text.size() > looked_at && has(text));
}

// Whose line it is: "NCCL's log", "MPI", "shell", "Markdown", "other"; empty: blank.
[[nodiscard]] std::string_view kind_of_foreign(std::string_view line);

}  // namespace paceline::traces
