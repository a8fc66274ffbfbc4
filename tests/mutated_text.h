#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Texts as they come out of terminals, launchers, web pages and hands: the same every time.
namespace paceline::test {

class TextMutator {
 public:
  explicit TextMutator(std::uint64_t seed) : random_(seed) {}

  // Not std::uniform_int_distribution: it may differ between libraries.
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

  std::string prefixed(const std::string& text) {
    const std::size_t kind = below(prefix_kinds);
    return of_lines(text, [&](const std::string& line) { return prefix(kind, 0) + line; });
  }

  // Lines of two writers behind the same kind of prefix, each in its order.
  std::string interleaved(const std::string& one, const std::string& other) {
    const std::size_t kind = below(writer_kinds);
    const auto first = lines_of(one), second = lines_of(other);
    std::string out;
    for (std::size_t i = 0, j = 0; i < first.size() || j < second.size();) {
      const bool is_first = j == second.size() || (i < first.size() && below(2) == 0);
      out += prefix(kind, is_first ? 0 : 1) + (is_first ? first[i++] : second[j++]) + "\n";
    }
    return out;
  }

  std::string noise() {
    std::string out;
    for (std::size_t i = 0, lines = 1 + below(12); i < lines; ++i) out += message() + "\n";
    return out;
  }

  // As Markdown and mails quote it.
  std::string quoted(const std::string& text) {
    static constexpr std::array<std::string_view, 4> marks{"> ", "    ", ">> ", "| "};
    if (below(3) == 0) return "```\n" + text + (text.ends_with('\n') ? "" : "\n") + "```\n";
    const std::string mark(one_of(marks));
    return of_lines(text, [&](const std::string& line) { return mark + line; });
  }

  std::string coloured(const std::string& text) {
    static constexpr std::array<std::string_view, 4> colours{"\x1b[32m", "\x1b[1;31m", "\x1b[4m",
                                                             "\x1b[38;5;208m"};
    const std::size_t every = 1 + below(3);
    std::size_t number = 0;
    return of_lines(text, [&](const std::string& line) {
      if (number++ % every != 0) return line;
      return std::string(one_of(colours)) + line + (below(2) == 0 ? "\x1b[0m" : "\x1b[m\x1b[K");
    });
  }

  std::string with_prompts(const std::string& text) {
    static constexpr std::array<std::string_view, 5> prompts{
        "user@node-a:~$ ls", "[user@node-a ~]$ cat run.log", "$ ./run.sh", "root@node-b:/work# ",
        "(base) user@node-a:~/nccl$ "};
    return with_lines(text, 1 + below(3), [&] { return std::string(one_of(prompts)); });
  }

  std::string with_messages(const std::string& text) {
    return with_lines(text, 1 + below(8), [&] { return message(); });
  }

  // A message inside a line, which goes on in the next one.
  std::string broken(std::string text) {
    if (text.empty()) return text;
    const std::size_t at = below(text.size());
    return text.substr(0, at) + message() + "\n" + text.substr(at);
  }

  std::string cut_end(const std::string& text) { return text.substr(0, below(text.size() + 1)); }
  std::string cut_start(const std::string& text) { return text.substr(below(text.size() + 1)); }

  std::string cut_lines(const std::string& text) {
    auto lines = lines_of(text);
    const std::size_t from = below(2) == 0 ? 0 : below(lines.size() + 1);
    const std::size_t to = from + below(lines.size() - from + 1);
    return joined({lines.begin() + static_cast<std::ptrdiff_t>(from),
                   lines.begin() + static_cast<std::ptrdiff_t>(to)});
  }

  std::string without_hashes(const std::string& text) {
    const bool blank = below(2) == 0;
    return of_lines(text, [&](const std::string& line) {
      if (!line.starts_with('#')) return line;
      return (blank ? " " : "") + line.substr(1);
    });
  }

  std::string without_tabs(const std::string& text) {
    std::string out;
    const std::size_t width = 1 + below(8);
    for (const char c : text) {
      if (c == '\t') {
        out.append(width, ' ');
      } else {
        out += c;
      }
    }
    return out;
  }

  static std::string with_carriage_returns(const std::string& text) {
    return replaced(text, '\n', "\r\n");
  }
  // Blanks as web pages have them: of every `every`th line.
  static std::string with_hard_blanks(const std::string& text, std::size_t every) {
    std::size_t number = 0;
    return of_lines(text, [&](const std::string& line) {
      return number++ % every == 0 ? replaced(line, ' ', "\xc2\xa0") : line;
    });
  }
  std::string with_blank_lines(const std::string& text) {
    return replaced(text, '\n', below(2) == 0 ? "\n\n" : "\n \n");
  }
  std::string with_ends_of_blanks(const std::string& text) {
    return of_lines(text,
                    [&](const std::string& line) { return line + std::string(below(5), ' '); });
  }

  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }

  static std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }

 private:
  static constexpr std::size_t writer_kinds = 9, prefix_kinds = 18;

  // Of launchers and schedulers, which name the writer; then those that only say when. After the
  // manuals of Open MPI, Slurm, Ray, torchrun, kubectl, stern, Docker Compose, pdsh and syslog.
  std::string prefix(std::size_t kind, int writer) {
    const std::string number = std::to_string(writer),
                      clock = two(below(24)) + ":" + two(below(60));
    const std::string second = clock + ":" + two(below(60)),
                      milli = std::to_string(100 + below(900));
    switch (kind) {
      case 0: return "[1," + number + "]<stdout>:";
      case 1: return number + ": ";
      case 2: return "(pid=47" + number + "1) ";
      case 3: return "(worker" + number + ", rank=" + number + ", pid=4711) ";
      case 4: return "[rank" + number + "]: ";
      case 5: return "[default" + number + "]:";
      case 6: return "node-" + std::string(1, static_cast<char>('a' + writer)) + ": ";
      case 7: return "[pod/nccl-worker-" + number + "/main] ";
      case 8: return "nccl-" + number + "  | ";
      case 9: return " " + number + ": ";
      case 10: return "nccl-launcher-x" + number + " main ";
      case 11: return "2026-11-26T" + second + "." + milli + "456Z ";
      case 12: return "2026-11-26 " + second + "," + milli + " INFO ";
      case 13: return "[2026-11-26 " + second + "] ";
      case 14: return "Nov 26 " + second + " node-a job[4711]: ";
      case 15: return "Thu Nov 26 " + second + " 2026<stdout>:";
      case 16: return "(RayTrainWorker pid=4711, ip=192.0.2.7) ";
      default: return second + "." + milli + " ";
    }
  }

  // As NCCL's log has them, none of which tells how many ranks there are.
  std::string message() {
    static constexpr std::array<std::string_view, 8> messages{
        "node-a:1001:1011 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>",
        "node-b:1002:1012 [1] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)",
        "node-a:1001:1011 [0] NCCL INFO Launch mode Parallel",
        "node-a:1001:1012 [0] NCCL INFO 1048576 Bytes -> Algo 1 proto 2 time 118.250000",
        "node-a:1001:1011 [3] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f10 recvbuff 0x7f20 count "
        "262144 datatype 7 op 0 root 0 comm 0x7f20 stream 0x55d0",
        "node-b:1002:1013 [0] NCCL WARN Call to recv failed : Broken pipe",
        "node-a:1001:1011 [0] misc/socket.cc:46 NCCL WARN socketProgress: Connection closed",
        "[2026-11-26 09:36:33] node-b:1002:1012 [1] init.cc:1380 NCCL INFO Destroyed",
    };
    return std::string(one_of(messages));
  }

  static std::string two(std::size_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  }

  static std::string replaced(const std::string& text, char from, std::string_view to) {
    std::string out;
    for (const char c : text) {
      if (c == from) {
        out += to;
      } else {
        out += c;
      }
    }
    return out;
  }

  template <class Change>
  static std::string of_lines(const std::string& text, const Change& change) {
    std::string out;
    for (const std::string& line : lines_of(text)) out += change(line) + "\n";
    if (!text.ends_with('\n') && !out.empty()) out.pop_back();
    return out;
  }

  template <class Make>
  std::string with_lines(const std::string& text, std::size_t count, const Make& make) {
    auto lines = lines_of(text);
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(below(lines.size() + 1));
      lines.insert(lines.begin() + at, make());
    }
    return joined(lines);
  }

  std::mt19937_64 random_;
};

// Which of these a reader has to bear.
struct Bearable {
  bool cuts_of_lines = true;  // losing lines leaves others as they are
  bool cuts_of_bytes = true;  // ... and losing parts of one is seen
  bool messages_inside = true;
};

// One to four mutations, and what they were.
struct MutatedText {
  std::string text, how;
};

inline MutatedText mutated_once(MutatedText in, const Bearable& bearable, TextMutator& change) {
  const std::string& text = in.text;
  const auto made = [&](std::string out, const char* how) {
    return MutatedText{std::move(out), in.how + (in.how.empty() ? "" : ", ") + how};
  };
  switch (change.below(16)) {
    case 0:
    case 1: return made(change.prefixed(text), "prefixed");
    case 2: return made(change.quoted(text), "quoted");
    case 3: return made(change.coloured(text), "coloured");
    case 4: return made(change.with_prompts(text), "prompts");
    case 5: return made(change.interleaved(text, change.noise()), "interleaved");
    case 6: return made(change.with_messages(text), "messages");
    case 7: return made(change.without_tabs(text), "tabs lost");
    case 8: return made(TextMutator::with_carriage_returns(text), "CRLF");
    case 9: {
      const std::size_t every = bearable.cuts_of_lines ? 1 + change.below(4) : 1;
      return made(TextMutator::with_hard_blanks(text, every), "hard blanks");
    }
    case 10: return made(change.with_blank_lines(text), "blank lines");
    case 11: return made(change.with_ends_of_blanks(text), "blank ends");
    default: break;
  }
  if (!bearable.cuts_of_lines) return made(change.with_blank_lines(text), "blank lines");
  switch (change.below(4)) {
    case 0: return made(change.cut_lines(text), "lines cut");
    case 1: return made(change.without_hashes(text), "# lost");
    case 2:
      if (!bearable.messages_inside) break;
      return made(change.broken(text), "message inside");
    default: break;
  }
  if (!bearable.cuts_of_bytes) return made(change.cut_lines(text), "lines cut");
  return change.below(2) == 0 ? made(change.cut_end(text), "end cut")
                              : made(change.cut_start(text), "start cut");
}

inline MutatedText mutated(const std::string& text, const Bearable& bearable, TextMutator& change) {
  MutatedText out{text, ""};
  for (std::size_t i = 0, count = 1 + change.below(4); i < count; ++i) {
    out = mutated_once(std::move(out), bearable, change);
  }
  return out;
}

// How many cases: a test's share, or as many as PACELINE_MUTATIONS says.
inline std::size_t mutation_cases(std::size_t otherwise) {
  const char* said = std::getenv("PACELINE_MUTATIONS");
  return said == nullptr ? otherwise : std::strtoul(said, nullptr, 10);
}

}  // namespace paceline::test
