#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "models/cost/nccl_tuning.h"
#include "traces/collective_log/collective_log.h"
#include "traces/nccl_tests/device_list.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/nccl_tests/row.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

// "NCCL version 2.8.4-1+cuda11.2", or the code 22903 that nccl-tests print. Empty for neither.
std::string version_in(std::string_view line) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::size_t longest = 16;
  std::string_view word;
  if (const auto code = behind(line, "nccl-library=")) {
    word = *code;
  } else if (const auto named = behind(line, "NCCL version")) {
    const auto first = named->find_first_not_of(": v");  // "NCCL version: not stated" has none
    if (first != std::string_view::npos) word = named->substr(first);
  }
  word = word.substr(0, word.find_first_not_of("0123456789."));
  word = word.substr(0, word.find_last_of(digits) + 1);  // the full stop of a sentence
  if (word.empty() || word.size() > longest || word.front() == '.') return "";
  if (contains(word, '.')) return std::string(word);
  return cost::nccl::version_of_code(number_of<std::uint64_t>(word).value_or(0));
}

// What is left of a row that breaks off before its times.
bool is_start_of_row(const Words& words) {
  return words.size() >= 2 && words.size() <= 4 && is_whole_number(words[0]) &&
         is_whole_number(words[1]);
}

// The line that says what a run was asked for, before its devices.
bool starts_run(std::string_view line) {
  return contains(line, "minBytes") && contains(line, "maxBytes");
}

// Why a run ended early, as it prints it (TESTCHECK, NCCLCHECK and CUDACHECK of src/common.h).
bool is_failure(std::string_view line) {
  return contains_any(line, {"Test NCCL failure", "Test CUDA failure", "Test failure"});
}

struct Table {
  CollectiveLog log;
  std::vector<Evidence> kinds;    // of its rows
  std::vector<Program> programs;  // named since the table before, or at its end
  DeviceList devices;             // since the run's beginning
  bool are_own = false;           // these were listed since the table before
  bool says_release = false;      // and so was this
  Comment said;
  TableLayout layout;
  std::size_t halves = 0;            // the most columns that a row had
  bool follows_others = false;       // lines of others since the table before
  std::set<std::string_view> types;  // of its rows
  std::string leading;               // the value of the column before the size

  [[nodiscard]] bool is_filled() const { return !(log.rows.empty() && log.skipped.empty()); }
};

void add_left_out(const CollectiveLog& of, CollectiveLog& to) {
  for (const auto& [kind, lines] : of.left_out) to.left_out[kind] += lines;
}

// A table is open from its header or first row to the next, or the next run's devices, comments.
class TextReader {
 public:
  // `broken`: beginnings of lines that are lost.
  explicit TextReader(std::span<const CleanLine> broken) {
    for (const CleanLine& line : broken) broken_[line.writer].push_back(line);
  }

  void take(const CleanLine& line) {
    take_broken(line);
    const Words words = words_of(line.text);
    if (words.empty()) return;
    if (begins_row(words, open_.layout)) {
      take_row(line.number, words);
    } else if (line.is_mended) {
      take_lost(line);  // nothing else on it would tell that it is right
    } else {
      take_other(line, words);
    }
  }

  std::vector<Table> tables() && {
    close();
    if (!tables_.empty()) add_left_out(open_.log, tables_.back().log);
    return std::move(tables_);
  }

  // The first line that says so; empty where none does.
  [[nodiscard]] const CleanLine& failure() const { return failure_; }
  // The first line with a row that is not read for what stands before it; else without a number.
  [[nodiscard]] const CleanLine& behind() const { return behind_; }

 private:
  void take_row(std::size_t number, const Words& words) {
    const std::size_t leads = open_.layout.leading.empty() ? 0 : 1;
    if (number_of<std::uint64_t>(words[leads]) == 0) return;  // too small for an element a rank
    if (leads > 0) take_leading(words[0]);
    ParsedRow parsed = row_of(number, words, open_.layout);
    open_.types.insert(words[leads + 2]);
    open_.halves = std::max(open_.halves, parsed.halves);
    if (parsed.why_not.empty() && parsed.halves < open_.halves) parsed.why_not = row_breaks_off;
    if (parsed.why_not.empty()) {
      open_.kinds.push_back(parsed.kind);
      open_.log.rows.push_back(std::move(parsed.row));
    } else {
      open_.log.skipped.push_back({number, std::move(parsed.why_not)});
    }
  }

  void take_other(const CleanLine& line, const Words& words) {
    if (open_.is_filled() && is_start_of_row(words)) {
      open_.log.skipped.push_back({line.number, row_breaks_off});
      return;
    }
    // "#mpirun ./all_gather_perf" was not run; "# ./all_gather_perf" is root's prompt.
    const bool is_comment = words[0].size() > 1 && words[0].front() == '#';
    const auto program = is_comment ? std::nullopt : program_in(line.text);
    if (program) take_program(*program, line.text);
    const auto layout = layout_of(words);
    if (layout) {
      close();
      open_.layout = *layout;
    }
    const auto device = device_in(line.text, words);
    const bool lists = contains(line.text, "Using devices");
    if (starts_run(line.text) || lists || (device && open_.is_filled())) {
      close();
      open_.devices = {};
    }
    if (device) {
      open_.devices.add(*device);
      open_.are_own = true;
    }
    const Comment said = comment_of(words);
    take_comment(said);
    const bool is_known = take_version(line.number, line.text) || program || layout || device ||
                          lists || said.says_something() || words[0].front() == '#' ||
                          starts_run(line.text);
    if (!is_known) take_foreign(line);
  }

  void take_broken(const CleanLine& line) {
    if (broken_.empty()) return;
    const auto of_writer = broken_.find(line.writer);
    if (of_writer == broken_.end()) return;
    auto& lines = of_writer->second;
    for (; !lines.empty() && lines.front().number < line.number; lines.pop_front()) {
      take_lost(lines.front());
    }
  }

  void take_lost(const CleanLine& lost) {
    const Words words = words_of(lost.text);
    if (words.size() >= 2 && is_whole_number(words[0]) && is_whole_number(words[1])) {
      open_.log.skipped.push_back({lost.number, "a message of NCCL's broke the line"});
      return;
    }
    // Perhaps one of the list.
    if (open_.is_filled()) close();
    open_.devices.lose_one();
  }

  void take_foreign(const CleanLine& line) {
    if (is_failure(line.text) && failure_.number == 0) failure_ = line;
    const bool is_of_row = has_row(words_of(line.text));
    if (is_of_row && open_.is_filled()) {
      open_.log.skipped.push_back({line.number, "more than a row stands on the line"});
      return;
    }
    if (is_of_row && behind_.number == 0) behind_ = line;
    const std::string_view kind =
        is_of_row ? "rows behind something else" : kind_of_foreign(line.text);
    if (!open_.is_filled() && kind != "NCCL's log") open_.follows_others = true;
    ++open_.log.left_out[std::string(kind)];
    if (open_.is_filled() && kind != "NCCL's log") follows_others_ = true;
  }

  // The line that ends a run names the program once more.
  void take_program(const Program& program, std::string_view line) {
    if (!contains(line, "test concluded")) {
      if (open_.is_filled()) close();
      // The run's own word, before which what was asked for counts no more.
      if (contains(line, "test starting")) open_.programs.clear();
      open_.programs.push_back(program);
    } else if (open_.is_filled() && open_.programs.empty()) {
      open_.programs.push_back(program);
    }
  }

  void take_comment(const Comment& said) {
    if (!said.says_something()) return;
    if (open_.is_filled()) {
      close();
      if (said.ranks || said.nodes) open_.devices = {};
    }
    if (said.ranks) open_.said.ranks = said.ranks;
    if (said.nodes) open_.said.nodes = said.nodes;
    if (said.collective) {
      open_.programs.push_back({to_text(*said.collective), said.collective});
    }
  }

  // Rows of other numbers of GPUs or nodes are other tables.
  void take_leading(std::string_view value) {
    if (open_.is_filled() && open_.leading != value) close();
    open_.leading = std::string(value);
    const auto number = number_of<std::uint32_t>(value);
    if (!number || *number == 0 || *number > ranks_most) return;
    const std::string& name = open_.layout.leading;
    if (name == "nodes") open_.said.nodes = number;
    if (name == "gpus" || name == "GPUs" || name == "ranks" || name == "nranks") {
      open_.said.ranks = number;
    }
  }

  bool take_version(std::size_t number, std::string_view line) {
    const std::string version = version_in(line);
    if (version.empty()) return false;
    const std::string& known = open_.log.release;
    if (open_.is_filled() && !known.empty() && version != known) close();
    if (!open_.is_filled() && open_.says_release && version != known) {
      throw FormatError(number,
                        fmt::format("is of NCCL {}, what came before of {}", version, known),
                        "give logs of one version, a file each");
    }
    open_.log.release = version;
    open_.says_release = true;
    return true;
  }

  // What holds for the next table: the run's devices, layout and release, comments.
  void close() {
    if (!open_.is_filled()) return;
    Table next;
    next.follows_others = std::exchange(follows_others_, false);
    next.devices = open_.devices;
    next.said = open_.said;
    next.layout = open_.layout;
    next.log.release = open_.log.release;
    tables_.push_back(std::exchange(open_, std::move(next)));
  }

  std::map<std::size_t, std::deque<CleanLine>> broken_;  // by writer
  std::vector<Table> tables_;
  Table open_;
  bool follows_others_ = false;  // lines of others behind the rows of the open table
  CleanLine failure_, behind_;
};

// A run of each size prints a table of each: they are one. Their sizes differ, and nothing else.
bool continues(const Table& before, const Table& table) {
  if (table.log.rows.size() != 1 || table.log.release != before.log.release) return false;
  const CollectiveLog::Row& row = table.log.rows.front();
  const auto is_same = [&](const CollectiveLog::Row& other) { return other.size == row.size; };
  if (std::ranges::any_of(before.log.rows, is_same)) return false;
  return table.are_own == before.are_own && table.devices == before.devices &&
         table.said == before.said && table.layout == before.layout &&
         table.leading == before.leading &&
         table.kinds.front().reduces == before.kinds.front().reduces &&
         table.kinds.front().root == before.kinds.front().root &&
         (table.programs.empty() || table.programs == before.programs);
}

std::vector<Table> joined(std::vector<Table> tables) {
  std::vector<Table> all;
  bool is_of_single_rows = false;  // the last one
  for (Table& table : tables) {
    const bool is_single = table.log.rows.size() == 1;
    if (is_single && is_of_single_rows && continues(all.back(), table)) {
      Table& before = all.back();
      CollectiveLog& log = before.log;
      log.rows.push_back(std::move(table.log.rows.front()));
      log.skipped.insert(log.skipped.end(), table.log.skipped.begin(), table.log.skipped.end());
      add_left_out(table.log, log);
      before.kinds.push_back(table.kinds.front());
      continue;
    }
    is_of_single_rows = is_single;
    all.push_back(std::move(table));
  }
  return all;
}

// Sizes that come again are of other types or runs, which one fit takes for repetitions.
void note_repeated(Table& table) {
  std::set<std::uint64_t> sizes;
  for (const CollectiveLog::Row& row : table.log.rows) sizes.insert(row.size.value());
  const std::size_t repeated = table.log.rows.size() - sizes.size();
  if (repeated == 0) return;
  table.log.notes.push_back(
      fmt::format("{} rows are of sizes that came before{}: they count as repetitions", repeated,
                  table.types.size() > 1 ? fmt::format(", of {} types", table.types.size()) : ""));
}

// Rows whose busbw is not that of the others are none.
void take_evidence(Table& table) {
  CollectiveLog& log = table.log;
  log.evidence = agreed(table.kinds);
  std::vector<CollectiveLog::Row> rows;
  for (std::size_t i = 0; i < log.rows.size(); ++i) {
    if (agrees(table.kinds[i], log.evidence)) {
      rows.push_back(std::move(log.rows[i]));
      continue;
    }
    log.skipped.push_back(
        {log.rows[i].line, fmt::format("busbw is {:.4g} of algbw, and {:.4g} in other rows",
                                       table.kinds[i].bus_factor, log.evidence.bus_factor)});
  }
  log.rows = std::move(rows);
}

bool confirms(const Evidence& evidence, std::uint32_t ranks) {
  return !may_be(evidence, ranks).empty();
}

// Programs that are named after the one that the table is of: of the tables that follow.
std::vector<Program> identify_table(Table& table) {
  CollectiveLog& log = table.log;
  take_evidence(table);
  note_repeated(table);
  table.devices.tell(log, 1);
  const bool are_listed = log.ranks > 0;
  const bool is_of_same_run = !table.follows_others && table.programs.empty();
  if (are_listed && !table.are_own && !(is_of_same_run && confirms(log.evidence, log.ranks))) {
    // The list before another table may be of another run.
    log.ranks = log.nodes = 0;
    log.devices.clear();
  }
  if (log.ranks == 0) log.ranks = table.said.ranks.value_or(0);
  if (log.nodes == 0 && !are_listed) log.nodes = table.said.nodes.value_or(0);
  const auto used = identify(table.programs, are_listed, log);
  if (table.layout.has_redop && !log.evidence.reduces && log.collective == Collective::all_gather &&
      !used) {
    log.notes.emplace_back(
        "columns of nccl-tests before 2.10, where an all-to-all's rows look the same");
  }
  if (!used) return {};
  return {table.programs.begin() + static_cast<std::ptrdiff_t>(*used) + 1, table.programs.end()};
}

}  // namespace

bool is_nccl_tests_text(std::string_view text) {
  // What every run prints, with or without rows; else rows alone.
  const bool is_said = contains_any(text, {"algbw", "maxBytes", "# Using devices"});
  constexpr std::size_t looked_at = std::size_t{1} << 20;
  return has_clean_line(is_said ? text : text.substr(0, looked_at), [&](std::string_view line) {
    const Words words = words_of(line);
    return begins_row(words, {}) ||
           (is_said && (layout_of(words) || device_in(line, words) || starts_run(line)));
  });
}

std::vector<CollectiveLog> read_nccl_tests_text(std::string_view text) {
  const CleanText clean(text);
  std::vector<CollectiveLog> logs;
  CleanLine failure, behind;
  for (const std::span<const CleanLine> writer : clean.by_writer()) {
    TextReader reader(clean.broken());
    for (const CleanLine& line : writer) reader.take(line);
    if (failure.number == 0) failure = reader.failure();
    if (behind.number == 0) behind = reader.behind();
    std::vector<Program> left;
    for (Table& table : joined(std::move(reader).tables())) {
      if (table.programs.empty()) table.programs = left;
      left = identify_table(table);
      logs.push_back(std::move(table.log));
    }
  }
  const std::string reason = shown(failure.text);
  if (logs.empty() && failure.number > 0) {
    throw FormatError(failure.number, "is of a run that failed before its first row: " + reason,
                      "give the output of a run that measured");
  }
  if (logs.empty() && behind.number > 0) {
    throw FormatError(behind.number, "has a row behind something that is no known prefix",
                      "give the lines as nccl-tests printed them");
  }
  if (logs.empty()) {
    throw FormatError(0, "is nccl-tests' output without a row of a buffer that is not empty",
                      "give the output of a run that ended, with larger sizes");
  }
  if (failure.number > 0) {
    logs.back().notes.push_back(
        fmt::format("the run failed (line {}): {}", failure.number, reason));
  }
  return logs;
}

}  // namespace paceline::traces
