#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "traces/collective_log/lines.h"
#include "traces/nccl_tests/nccl_tests.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using Words = std::vector<std::string_view>;

// Half a row: time, algbw, busbw and how wrong the result was.
constexpr std::size_t words_a_half = 4;

bool is_redop(std::string_view word) {
  constexpr std::string_view known[] = {"sum", "prod", "max", "min", "avg", "mulsum", "none"};
  return std::find(std::begin(known), std::end(known), word) != std::end(known);
}

// Size, count, type, redop: what no other line begins with.
bool begins_row(const Words& words) {
  return words.size() >= 4 && number_of<std::uint64_t>(words[0]) &&
         number_of<std::uint64_t>(words[1]) && is_redop(words[3]);
}

bool is_header(const Words& words) {
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return has("size") && has("count") && has("type") && has("time");
}

struct Half {
  double time_us, algbw;
};

class TextReader {
 public:
  void take(std::size_t number, std::string_view line) {
    const Words words = words_of(line);
    if (words.empty()) return;
    if (begins_row(words)) {
      take_row(number, words);
    } else {
      take_other(number, line, words);
    }
  }

  std::vector<CollectiveLog> logs() {
    finish();
    return std::move(logs_);
  }

 private:
  void take_other(std::size_t number, std::string_view line, const Words& words) {
    if (const auto collective = collective_of_program(line)) {
      // A list of programs names none.
      program_ = line.find("_perf") == line.rfind("_perf") ? collective : std::nullopt;
    }
    if (is_header(words)) {
      finish();
      open();
    }
    if (line.find("Using devices") != std::string_view::npos) hosts_.clear();
    take_rank(words);
    take_comment(line, words);
    take_version(number, line);
  }

  // "#  Rank  0 Group  0 Pid   2574 on host device  0 [0x27] A100-SXM4-40GB"
  void take_rank(const Words& words) {
    if (words.size() < 8 || words[0] != "#" || words[1] != "Rank") return;
    const auto rank = number_of<std::uint32_t>(words[2]);
    const auto on = std::find(words.begin(), words.end(), "on");
    if (!rank || words.end() - on < 5) return;
    if (*rank >= ranks_most) return;
    hosts_[*rank] = on[1];
    std::string device;
    for (auto word = on + 5; word < words.end(); ++word) {
      device += (device.empty() ? "" : " ") + std::string(*word);
    }
    if (!device.empty()) devices_.insert(device);
  }

  // "# GPUs: 8"
  void take_comment(std::string_view line, const Words& words) {
    if (words.size() < 3 || line.front() != '#') return;
    const auto number = number_of<std::uint32_t>(words[2]);
    if (!number || *number == 0 || *number > ranks_most) return;
    if (words[1] == "GPUs:") ranks_told_ = *number;
    if (words[1] == "nodes:") nodes_told_ = *number;
  }

  // "NCCL version 2.8.4-1+cuda11.2", or the number 20804 that nccl-tests print.
  void take_version(std::size_t number, std::string_view line) {
    std::string version;
    if (const auto at = line.find("nccl-library="); at != std::string_view::npos) {
      version = version_of(line.substr(at + 13));
    } else if (const auto in = line.find("NCCL version"); in != std::string_view::npos) {
      auto rest = line.substr(in + 12);
      const auto first = rest.find_first_of("0123456789");
      const auto other = rest.find_first_not_of(": v");
      if (first != std::string_view::npos && first == other) {
        rest.remove_prefix(first);
        version = rest.substr(0, rest.find_first_not_of("0123456789."));
      }
    }
    if (version.empty()) return;
    if (!version_.empty() && version != version_) {
      throw FormatError(number,
                        fmt::format("is of NCCL {}, what came before of {}", version, version_),
                        "give logs of one version, a file each");
    }
    version_ = version;
  }

  static std::string version_of(std::string_view code) {
    const auto value =
        number_of<std::uint32_t>(code.substr(0, code.find_first_not_of("0123456789")));
    constexpr std::uint32_t since_2_9 = 10000;  // before: 1000 and 100
    if (!value) return "";
    if (*value < since_2_9)
      return fmt::format("{}.{}.{}", *value / 1000, *value / 100 % 10, *value % 100);
    return fmt::format("{}.{}.{}", *value / 10000, *value / 100 % 100, *value % 100);
  }

  void skip(std::size_t number, std::string why) {
    open_->skipped.push_back({number, std::move(why)});
  }

  void take_row(std::size_t number, const Words& words) {
    if (!open_) open();
    const auto size = *number_of<std::uint64_t>(words[0]);
    if (size == 0) return;  // warm-up rows of too small sizes
    std::size_t at = 4;
    RowKind kind{words[3] != "none", std::nullopt, 0};
    if (words.size() > at && number_of<std::int64_t>(words[at]) &&
        (words.size() - at) % words_a_half == 1) {
      kind.root = number_of<std::int64_t>(words[at++]);
    }
    CollectiveLog::Row row{number, Bytes(size), {}};
    const std::size_t halves = std::min<std::size_t>((words.size() - at) / words_a_half, 2);
    if (halves == 0) return skip(number, "the line breaks off");
    for (std::size_t half = 0; half < halves; ++half, at += words_a_half) {
      const std::string why = take_half(size, words, at, row, kind);
      if (!why.empty()) return skip(number, why);
    }
    if (at < words.size() && halves < 2) return skip(number, "the line breaks off");
    kinds_.push_back(kind);
    open_->rows.push_back(std::move(row));
  }

  // Why it cannot be used; empty when it can.
  static std::string take_half(std::uint64_t size, const Words& words, std::size_t at,
                               CollectiveLog::Row& row, RowKind& kind) {
    const auto time = number_of<double>(words[at]);
    const auto algbw = number_of<double>(words[at + 1]), busbw = number_of<double>(words[at + 2]);
    if (!time || !algbw || !busbw) return "has a word where a number belongs";
    if (!std::isfinite(*time) || *time <= 0) return fmt::format("a time of {} us", words[at]);
    const std::string_view wrong = words[at + 3];
    // #wrong is a whole number, the old error a power of ten.
    if (const auto count = number_of<std::int64_t>(wrong); count && *count != 0) {
      return fmt::format("{} wrong elements", *count);
    }
    constexpr double loose = 0.05, readable = 1;  // algbw has two decimals
    const double implied = static_cast<double>(size) / (*time * 1e3);
    if (*algbw >= readable && std::abs(implied / *algbw - 1) > loose) {
      return fmt::format("algbw is {} GB/s where size and time give {:.2f}", words[at + 1],
                         implied);
    }
    if (*algbw >= readable) kind.bus_factor = *busbw / *algbw;
    row.times.push_back(Seconds(*time * 1e-6));
    return "";
  }

  // What was said of a table came before it.
  void open() {
    open_.emplace();
    open_->collective = program_;
    program_.reset();
  }

  void finish() {
    if (!open_ || (open_->rows.empty() && open_->skipped.empty())) return;
    std::set<std::string> hosts;
    for (const auto& [rank, host] : hosts_) hosts.insert(host);
    if (!hosts_.empty()) {
      open_->ranks = hosts_.rbegin()->first + 1;
      open_->nodes = static_cast<std::uint32_t>(hosts.size());
    } else {
      open_->ranks = ranks_told_;
      open_->nodes = nodes_told_;
    }
    open_->devices = devices_;
    open_->library_version = version_;
    if (!open_->collective) open_->collective = collective_of_kinds();
    logs_.push_back(std::move(*open_));
    open_.reset();
    kinds_.clear();
  }

  // What the row with the most telling busbw says: the last.
  [[nodiscard]] std::optional<Collective> collective_of_kinds() const {
    for (auto kind = kinds_.rbegin(); kind != kinds_.rend(); ++kind) {
      if (const auto found = collective_of_row(*kind, open_->ranks)) return found;
    }
    return std::nullopt;
  }

  static constexpr std::uint32_t ranks_most = 1U << 20;

  std::vector<CollectiveLog> logs_;
  std::optional<CollectiveLog> open_;
  std::vector<RowKind> kinds_;                  // of open_'s rows
  std::optional<Collective> program_;           // of the next table
  std::map<std::uint32_t, std::string> hosts_;  // by rank
  std::set<std::string> devices_;
  std::string version_;
  std::uint32_t ranks_told_ = 0, nodes_told_ = 0;
};

}  // namespace

bool is_nccl_tests_text(std::string_view text) {
  bool found = false;
  for_each_line(text, [&](std::size_t, std::string_view line) {
    found = found || begins_row(words_of(line));
  });
  return found;
}

std::vector<CollectiveLog> read_nccl_tests_text(std::string_view text) {
  TextReader reader;
  for_each_line(text,
                [&](std::size_t number, std::string_view line) { reader.take(number, line); });
  return reader.logs();
}

}  // namespace paceline::traces
