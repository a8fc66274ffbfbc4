#include "traces/text/prefixes.h"

#include <algorithm>
#include <cctype>

#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

bool is_of_name(char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_'; }

// Reads a line from its start; what does not fit leaves `ok` false.
class Scan {
 public:
  explicit Scan(std::string_view line) : line_(line) {}

  Scan& one(char c) {
    ok_ = ok_ && at_ < line_.size() && line_[at_] == c;
    at_ += ok_ ? 1 : 0;
    return *this;
  }
  Scan& any_of(std::string_view chars) {
    ok_ = ok_ && at_ < line_.size() && chars.find(line_[at_]) != std::string_view::npos;
    at_ += ok_ ? 1 : 0;
    return *this;
  }
  Scan& digits(std::size_t least, std::size_t most) { return run(least, most, is_digit); }
  Scan& fail() {
    ok_ = false;
    return *this;
  }
  Scan& name(std::size_t most = 128) { return run(1, most, is_of_name); }
  Scan& word(std::string_view text) {
    ok_ = ok_ && line_.substr(at_).starts_with(text);
    at_ += ok_ ? text.size() : 0;
    return *this;
  }
  Scan& blanks(std::size_t least) {
    return run(least, line_.size(), [](char c) { return c == ' ' || c == '\t'; });
  }
  // Up to the character, which is not taken; at most `most` away.
  Scan& until(char c, std::size_t most) {
    const std::size_t end = ok_ ? line_.substr(0, at_ + most).find(c, at_) : at_;
    ok_ = ok_ && end != std::string_view::npos;
    at_ = ok_ ? end : at_;
    return *this;
  }
  template <class Part>
  Scan& maybe(const Part& part) {
    Scan tried = *this;
    part(tried);
    if (tried.ok_) *this = tried;
    return *this;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool is_at_end() const { return at_ == line_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view taken() const { return line_.substr(0, at_); }

 private:
  template <class Is>
  Scan& run(std::size_t least, std::size_t most, const Is& is) {
    if (!ok_) return *this;
    std::size_t end = at_;
    while (end < line_.size() && end - at_ < most && is(line_[end])) ++end;
    ok_ = end - at_ >= least;
    at_ = ok_ ? end : at_;
    return *this;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

std::uint64_t leading_number(std::string_view text) {
  return number_of<std::uint64_t>(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
}

// Of a terminal's code at `at`: ESC [ ... letter, without ESC in copies of colours; 0: none.
std::size_t code_length(std::string_view line, std::size_t at) {
  constexpr char escape = '\x1b';
  std::size_t end = at;
  const bool has_escape = line[end] == escape;
  if (has_escape) ++end;
  if (end >= line.size() || line[end] != '[') return end - at;  // an ESC alone is none, too
  const std::size_t last = line.find_first_not_of("0123456789;?", end + 1);
  if (last == std::string_view::npos) return has_escape ? end - at : 0;
  const bool is_code = has_escape ? is_letter(line[last]) : line[last] == 'm';
  return is_code ? last + 1 - at : end - at;
}

using Match = Scan (*)(std::string_view line);

// "[1,0]<stdout>:" of Open MPI, "[prterun-host-7@1,0]<stdout>: " of PRRTE.
Scan tag_output(std::string_view line) {
  return Scan(line)
      .one('[')
      .until(']', 128)
      .word("]<std")
      .any_of("oed")
      .until('>', 8)
      .word(">:")
      .maybe([](Scan& s) { s.one(' '); });
}

// "[rank0]: ", "[default3]:" of torchrun.
Scan torchrun(std::string_view line) {
  Scan scan = Scan(line).one('[').maybe([](Scan& s) { s.word("rank"); });
  if (scan.at() == 1) scan.word("default");
  return scan.digits(1, 6).word("]:").maybe([](Scan& s) { s.one(' '); });
}

// "[pod/worker-0/main] " of kubectl logs --prefix.
Scan pod(std::string_view line) { return Scan(line).word("[pod/").until(']', 256).word("] "); }

// "[3] " of mpiexec -prepend-rank.
Scan rank_in_brackets(std::string_view line) { return Scan(line).one('[').digits(1, 6).word("] "); }

// "(worker1, rank=0, pid=4711) ", "(RayTrainWorker pid=4711, ip=10.0.0.2) ".
Scan process(std::string_view line) {
  Scan scan = Scan(line).one('(').until(')', 160);
  const std::size_t pid = scan.taken().find("pid=");
  if (pid == std::string_view::npos || scan.taken().find('(', 1) != std::string_view::npos) {
    return scan.fail();
  }
  return scan.word(") ");
}

// "3: " of srun --label, padded to the widest.
Scan label(std::string_view line) {
  Scan scan = Scan(line).blanks(0).digits(1, 6).one(':');
  return scan.is_at_end() ? scan : scan.any_of(" \t");
}

// "worker-1  | " of docker compose.
Scan service(std::string_view line) { return Scan(line).name(96).blanks(1).word("| "); }

Scan time_of_day(Scan scan) {
  return scan.digits(2, 2).one(':').digits(2, 2).one(':').digits(2, 2).maybe(
      [](Scan& s) { s.any_of(".,").digits(1, 9); });
}

Scan zone(Scan scan) {
  return scan.maybe([](Scan& s) { s.one('Z'); }).maybe([](Scan& s) {
    s.any_of("+-").digits(2, 2).maybe([](Scan& t) { t.one(':'); }).digits(2, 2);
  });
}

// "INFO - ", "[WARNING] ", "ERROR:root:" behind a time.
Scan level(Scan scan) {
  return scan.maybe([](Scan& s) {
    s.maybe([](Scan& t) { t.any_of("-:|"); }).blanks(0).maybe([](Scan& t) { t.one('['); });
    for (const std::string_view word : {"DEBUG", "INFO", "WARNING", "WARN", "ERROR"}) {
      Scan tried = s;
      if (!tried.word(word).ok()) continue;
      s = tried.maybe([](Scan& t) { t.one(']'); }).blanks(0).maybe([](Scan& t) {
        t.any_of("-:|").blanks(0);
      });
      return;
    }
    s = s.fail();
  });
}

// "2026-01-31T10:11:12.345Z ", "2026-01-31 10:11:12,345 - INFO - ", both also in brackets.
Scan date_and_time(std::string_view line) {
  const bool is_in_brackets = line.starts_with('[');
  Scan scan = Scan(line).maybe([](Scan& s) { s.one('['); });
  scan = scan.digits(4, 4).any_of("-/").digits(2, 2).any_of("-/").digits(2, 2).any_of("T ");
  scan = zone(time_of_day(scan));
  if (is_in_brackets) scan.one(']');
  return scan.is_at_end() ? scan : level(scan.any_of(" \t").blanks(0));
}

// "10:11:12 ", "[10:11:12.345] ".
Scan time_alone(std::string_view line) {
  const bool is_in_brackets = line.starts_with('[');
  Scan scan = time_of_day(Scan(line).maybe([](Scan& s) { s.one('['); }));
  if (is_in_brackets) scan.one(']');
  return scan.is_at_end() ? scan : level(scan.any_of(" \t").blanks(0));
}

// "Jan 31 10:11:12 node-a train[4711]: " of syslog and journalctl.
Scan journal(std::string_view line) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t month = months.find(line.substr(0, 3));
  Scan scan(line);
  if (line.size() < 4 || month == std::string_view::npos || month % 3 != 0) return scan.fail();
  scan = time_of_day(scan.name(3).blanks(1).digits(1, 2).blanks(1)).blanks(1).name().blanks(1);
  scan.name().maybe([](Scan& s) { s.one('[').digits(1, 10).one(']'); }).one(':');
  return scan.is_at_end() ? scan : scan.any_of(" \t");
}

// "I0131 10:11:12.345678 4711 logger.cpp:173] " of glog and klog.
Scan google_log(std::string_view line) {
  return time_of_day(Scan(line).any_of("IWEF").digits(4, 4).blanks(1))
      .blanks(1)
      .until(']', 128)
      .word("] ");
}

// "stdout F " behind the time, of containers' logs.
Scan container_log(std::string_view line) {
  return Scan(line).word("std").until(' ', 4).one(' ').any_of("FP").one(' ');
}

// "Thu Oct  2 11:33:44 2025" of mpirun --timestamp-output, before "<stdout>:" or a tag.
Scan day_and_time(std::string_view line) {
  constexpr std::string_view days = "MonTueWedThuFriSatSun";
  const std::size_t day = days.find(line.substr(0, 3));
  Scan scan(line);
  if (line.size() < 4 || day == std::string_view::npos || day % 3 != 0) return scan.fail();
  scan = time_of_day(scan.name(3).blanks(1).name(3).blanks(1).digits(1, 2).blanks(1));
  return scan.blanks(1).digits(4, 4).maybe([](Scan& s) { s.word("<std").until(':', 8).one(':'); });
}

// "> " of Markdown and mail.
Scan quote(std::string_view line) {
  return Scan(line).one('>').maybe([](Scan& s) { s.one(' '); });
}

// Of a line that begins with digits; rows of tables are many, and none is.
bool may_begin_with_time_or_label(std::string_view line, std::size_t first) {
  std::size_t end = first;
  while (end < line.size() && is_digit(line[end])) ++end;
  return end < line.size() && (line[end] == ':' || line[end] == '-' || line[end] == '/');
}

struct Kind {
  std::string_view name, starts;  // characters that it may start with
  bool names_writer;
  Match match;
};

constexpr std::string_view digits = "0123456789";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

constexpr Kind kinds[] = {
    {"mpirun --tag-output", "[", true, tag_output},
    {"torchrun", "[", true, torchrun},
    {"kubectl --prefix", "[", true, pod},
    {"mpiexec -prepend-rank", "[", true, rank_in_brackets},
    {"process", "(", true, process},
    {"srun --label", digits, true, label},
    {"time", "[0123456789", false, date_and_time},
    {"time", "[0123456789", false, time_alone},
    {"journal", "JFMASOND", false, journal},
    {"glog", "IWEF", false, google_log},
    {"container", "s", false, container_log},
    {"time", "MTWFS", false, day_and_time},
    {"container", letters, true, service},
    {"quote", ">", false, quote},
};

constexpr std::string_view host_kind = "host";

// "node-a: ", as pdsh and clush put before lines; empty for others.
std::string_view host_label(std::string_view line) {
  if (line.empty() || !is_letter(line.front())) return {};
  const Scan scan = Scan(line).name(64).one(':');
  if (!scan.ok()) return {};
  return scan.is_at_end() || line[scan.at()] == ' ' ? line.substr(0, scan.at())
                                                    : std::string_view();
}

// What only a table, its comments or a matrix begin with.
bool begins_content(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return false;
  return line[first] == '#' || is_digit(line[first]) || line.substr(first).starts_with("GPU");
}

}  // namespace

Prefixes::Prefixes(std::string_view text) {
  std::map<std::string, std::size_t, std::less<>> seen;
  std::size_t labels = 0, ascending = 0;
  std::uint64_t last = 0;
  constexpr std::size_t hosts_most = 4096;
  for_each_line(text, [&](std::size_t, std::string_view line) {
    if (const auto host = host_label(line); !host.empty()) {
      if (!begins_content(line.substr(host.size()))) return;
      const auto known = seen.find(host);
      if (known != seen.end()) {
        if (++known->second == 2) hosts_.emplace(host);
      } else if (seen.size() < hosts_most) {
        seen.emplace(host, 1);
      }
    } else if (!line.empty() && (is_digit(line.front()) || line.front() == ' ')) {
      const std::size_t first = line.find_first_not_of(' ');
      if (first == line.npos || !may_begin_with_time_or_label(line, first)) return;
      const Scan scan = label(line);
      if (!scan.ok()) return;
      std::string_view number = scan.taken();
      number.remove_prefix(number.find_first_of(digits));
      const auto value = leading_number(number);
      ++labels;
      if (value > last) ++ascending;
      last = value;
    }
  });
  // The number of each line is above that of the one before.
  constexpr std::size_t lines_that_tell = 4;
  numbers_are_of_lines_ = labels >= lines_that_tell && ascending == labels;
}

std::size_t Prefixes::length(std::string_view line, std::string& writer,
                             std::map<std::string, std::size_t>& counts) const {
  constexpr int prefixes_most = 6;
  const std::size_t all = line.size();
  for (int i = 0; i < prefixes_most; ++i) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) break;
    const char start = line[first];
    if (start == '#' || (is_digit(start) && !may_begin_with_time_or_label(line, first))) break;
    const Kind* found = nullptr;
    Scan scan(line);
    for (const Kind& kind : kinds) {
      if (!contains(kind.starts, start)) continue;
      if (first > 0 && kind.match != label && kind.match != quote) continue;
      scan = kind.match(kind.match == quote ? line.substr(first) : line);
      if (!scan.ok()) continue;
      found = &kind;
      break;
    }
    if (found == nullptr) {
      const auto host = first == 0 ? host_label(line) : std::string_view();
      if (host.empty() || !hosts_.contains(host)) break;
      writer.append(host);
      ++counts[std::string(host_kind)];
      line.remove_prefix(host.size());
      continue;
    }
    const bool is_writer = found->names_writer && !(found->match == label && numbers_are_of_lines_);
    if (is_writer) writer.append(trimmed(scan.taken()));
    ++counts[std::string(found->name)];
    line.remove_prefix(scan.at() + (found->match == quote ? first : 0));
  }
  return all - line.size();
}

bool may_have_codes(std::string_view text) {
  return contains_any(text, {"\x1b", "\r", "\xc2\xa0", "[0m", "[4m"});
}

namespace {

// More than blanks and codes.
bool has_words(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t code = code_length(line, at);
    if (code == 0 && line[at] != ' ' && line[at] != '\t' && line[at] != '\r') return true;
    at += std::max(code, std::size_t{1});
  }
  return false;
}

}  // namespace

std::optional<std::string> without_codes(std::string_view line) {
  constexpr std::string_view blank_of_pages = "\xc2\xa0";
  std::optional<std::string> plain;
  std::size_t kept = 0;  // up to here
  const auto drop = [&](std::size_t at, std::size_t length, std::string_view instead) {
    if (!plain) plain.emplace();
    plain->append(line.substr(kept, at - kept)).append(instead);
    kept = at + length;
  };
  for (std::size_t at = 0; at < line.size();) {
    if (const std::size_t code = code_length(line, at); code > 0) {
      drop(at, code, "");
      at += code;
    } else if (line[at] == '\r') {  // what a progress bar wrote is overwritten
      drop(at, 1, "");
      if (has_words(line.substr(at + 1))) plain->clear();
      ++at;
    } else if (line.substr(at).starts_with(blank_of_pages)) {
      drop(at, blank_of_pages.size(), " ");
      at += blank_of_pages.size();
    } else {
      ++at;
    }
  }
  if (plain) plain->append(line.substr(kept));
  return plain;
}

}  // namespace paceline::traces
