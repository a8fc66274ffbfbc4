#include "traces/link_test/link_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "traces/json/json_value.h"
#include "traces/text/clean_text.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr const char* what_to_give = "give the whole output, as the program wrote it";

// What says that more than one link's one way was measured, or not what it can carry.
constexpr std::pair<std::string_view, const char*> unfit[] = {
    {"Lost/Total", "run iperf3 without -u"},
    {"\"UDP\"", "run iperf3 without -u"},
    {"[RX-C]", "run iperf3 without --bidir"},
    {"_bidir_", "run iperf3 without --bidir"},
    {"Bidirectional BW Test", "run it without -b"}};

// Of nvbandwidth: each pair alone, one way, by copy engines.
constexpr std::pair<std::string_view, TestedLink> copies[] = {
    {"host_to_device_memcpy_ce.", TestedLink::to_gpu},
    {"device_to_host_memcpy_ce.", TestedLink::from_gpu},
    {"device_to_device_memcpy_read_ce.", TestedLink::gpus},
    {"device_to_device_memcpy_write_ce.", TestedLink::gpus}};

double number_in(std::string_view word) { return number_of<double>(word).value_or(-1); }

// Bytes of "Gbits/sec", "GBytes", "MB/sec]". iperf3 counts bits by 1000 and bytes by 1024
// (units.c); so does perftest, whose MB are MiB, as the messages a second beside them show.
double unit_in(std::string_view word) {
  const auto power = static_cast<double>(std::string_view("KMGT").find(word.substr(0, 1)) + 1);
  return contains(word.substr(0, 2), 'b') ? std::pow(1000, power) / 8 : std::pow(1024, power);
}

class Reader {
 public:
  void take(std::size_t line, std::string_view text) {
    line_ = line;
    const Words words = words_of(text);
    if (awaits_ == a_row) return take_row(words);
    if (awaits_ == a_header) {
      columns_ = words.size() - (contains(text, '\\') ? 1 : 0);  // "D\D" stands before them
      awaits_ = a_row;
    } else if (!words.empty() && !take_title(text, words)) {
      has_sums_ = has_sums_ || words[0] == "[SUM]";
      if (text.starts_with('[') && words.back() == "receiver") take_sum(words);
      if (average_ > 0 && is_whole_number(words[0])) take_size(words);
    }
  }

  [[nodiscard]] std::vector<LinkTest> all() && {
    if (awaits_ != nullptr) refuse(fmt::format("is cut off before {}", awaits_));
    if (tests_.empty()) refuse("has no rate of a link that is known");
    return std::move(tests_);
  }

 private:
  static constexpr const char *a_header = "the numbers of GPUs", *a_row = "the last row of GPUs",
                              *a_size = "a row of 64 KiB or more",
                              *a_sum = "what all streams received";

  [[noreturn]] void refuse(const std::string& what) const {
    throw FormatError(line_, what, what_to_give);
  }

  // `again`: the same by other figures, as they are rounded.
  void add(TestedLink link, double rate, double again) {
    constexpr double most = 1e15, of_digits = 0.02, of_decimals = 2e6;  // 0.01 Gb/s
    if (!(rate > 0 && rate < most && std::abs(rate - again) <= of_digits * rate + of_decimals)) {
      refuse("is damaged or cut off: it has no rate that agrees with its other figures");
    }
    tests_.push_back({line_, link, name_, {}, BytesPerSecond(rate)});
  }

  bool take_title(std::string_view text, const Words& words) {
    const bool is_of_peers = contains(text, "Unidirectional P2P=Enabled Bandwidth");
    if (words[0] == "Running") {
      copy_ = value_of(words.back(), copies);
    } else if (is_of_peers || (words[0] == "memcpy" && copy_)) {
      link_ = is_of_peers ? TestedLink::gpus : *copy_;
      awaits_ = a_header;
      rows_ = 0;
      sum_ = 0;
    } else if (words[0] == "SUM" && copy_) {
      const double rounded = 0.01 * static_cast<double>(columns_ * columns_ + 1);
      if (!(std::abs(number_in(words.back()) - sum_) < rounded)) {
        refuse("is damaged: it is not the sum of the cells above it");
      }
    } else if (const auto device = behind(text, "Device         :")) {
      name_ = shown(trimmed(*device));
    } else if (const auto host = behind(text, "Connecting to host ")) {
      name_ = shown(host->substr(0, host->find(',')));
      has_sums_ = false;
    } else if (const auto unit = behind(text, "BW average[")) {
      const Words before = words_of(text.substr(0, text.size() - unit->size()));
      average_ = before.size() - static_cast<std::size_t>(std::ranges::count(before, "BW")) - 1;
      unit_ = unit_in(*unit);
      awaits_ = a_size;
    } else if (words[0].starts_with("---")) {
      average_ = 0;
    } else if (text.starts_with("[ ID]")) {
      streams_ = 0;
      awaits_ = a_sum;
    } else {
      return false;
    }
    return true;
  }

  void take_row(const Words& words) {
    const bool is_of_gpus = link_ == TestedLink::gpus;
    if (words.size() != columns_ + 1 || words[0] != std::to_string(rows_)) {
      refuse(fmt::format("is no row of {} GPUs: cut off, or damaged", columns_));
    }
    for (std::uint32_t i = 0; i < columns_; ++i) {
      const double rate = words[i + 1] == "N/A" ? 0 : number_in(words[i + 1]);
      sum_ += rate;
      if (rate == 0 || (is_of_gpus && i == rows_)) continue;  // no peers; its own memory
      const std::uint32_t other = is_of_gpus ? rows_ : i;
      name_ = is_of_gpus ? fmt::format("GPU {} and GPU {}", other, i) : fmt::format("GPU {}", i);
      add(link_, rate * 1e9, rate * 1e9);
      tests_.back().gpus = {other, i};
    }
    if (++rows_ == (is_of_gpus ? columns_ : 1)) awaits_ = nullptr;
  }

  // Of a sweep over sizes the last. Those below perftest's own fill no link.
  void take_size(const Words& words) {
    if (number_in(words[0]) < 65536) return;
    if (words.size() <= average_) refuse("is cut off");
    const bool has_messages = words.size() > average_ + 1;  // millions a second
    const double rate = number_in(words[average_]) * unit_;
    add(TestedLink::network, rate,
        has_messages ? number_in(words[0]) * number_in(words[average_ + 1]) * 1e6 : rate);
    if (awaits_ == nullptr) tests_.erase(tests_.end() - 2);
    awaits_ = nullptr;
  }

  // "[SUM]   0.00-10.04  sec  26.0 GBytes  22.2 Gbits/sec                  receiver"
  void take_sum(const Words& words) {
    const auto second = std::ranges::find(words, "sec");
    if (second - words.begin() < 2 || words.end() - second < 6) refuse("is damaged");
    const double seconds = number_in(second[-1].substr(second[-1].find('-') + 1));
    add(TestedLink::network, number_in(second[3]) * unit_in(second[4]),
        number_in(second[1]) * unit_in(second[2]) / seconds);
    if (streams_ > 0) tests_.erase(tests_.end() - 2);
    const bool is_sum = words[0] == "[SUM]";
    streams_ += is_sum ? 0 : 1;
    tests_.back().name += streams_ == 1 ? " by one stream of TCP, where NCCL opens several (-P 8)"
                                        : fmt::format(" by {} streams of TCP", streams_);
    awaits_ = is_sum || (streams_ == 1 && !has_sums_) ? nullptr : a_sum;
  }

  std::vector<LinkTest> tests_;
  std::size_t line_ = 0;
  std::string name_ = "one link";
  const char* awaits_ = nullptr;  // what has to come yet
  // Of nvbandwidth; of a matrix, whose cells have that sum.
  std::optional<TestedLink> copy_;
  TestedLink link_{};
  std::size_t columns_ = 0;
  std::uint32_t rows_ = 0;
  double sum_ = 0;
  std::size_t average_ = 0, streams_ = 0;  // perftest's column, of such a unit; of iperf3
  double unit_ = 0;
  bool has_sums_ = false;  // of several streams
};

std::string cells_of(const JsonValue& row) {
  std::string cells;
  for (const JsonValue& cell : row.list_or_empty()) cells.append(" ").append(cell.text_or_empty());
  return cells;
}

// As the lines that it would be in text.
void take_json(const JsonValue& all, Reader& reader) {
  const auto take = [&](const std::string& line) { reader.take(0, line); };
  for (const JsonValue& copy : all["nvbandwidth"]["testcases"].list_or_empty()) {
    const auto& rows = copy["bandwidth_matrix"].list_or_empty();
    if (rows.empty()) continue;  // waived, where there are no peers
    take(fmt::format("Running {}.", copy["name"].text_or_empty()));
    take("memcpy");
    take(cells_of(rows[0]));
    for (std::size_t i = 0; i < rows.size(); ++i) take(std::to_string(i) + cells_of(rows[i]));
  }
  if (all.find("nvbandwidth") != nullptr) return;
  const JsonValue& sum = all["end"]["sum_received"];
  const std::size_t streams = all["end"]["streams"].list_or_empty().size();
  take(
      fmt::format("Connecting to host {},", all["start"]["connecting_to"]["host"].text_or_empty()));
  for (std::size_t i = 0; i <= streams; ++i) {
    take(fmt::format("{} 0-{} sec {} Bytes {} bits/sec receiver", i < streams ? "[0]" : "[SUM]",
                     sum["seconds"].spelled(), sum["bytes"].spelled(),
                     sum["bits_per_second"].spelled()));
  }
}

}  // namespace

bool is_link_test(std::string_view text) {
  text = searched(text);
  if (text.starts_with('{')) return contains_any(text, {"\"iperf 3", "\"nvbandwidth\""});
  if (contains_any(text, {"busbw", "# OSU", "# Benchmarking"})) return false;
  return contains_any(text, {"[ ID] Interval", "BW average[", "memcpy CE CPU(", "memcpy CE GPU(",
                             "Unidirectional P2P=Enabled Bandwidth"});
}

std::vector<LinkTest> read_link_tests(std::string_view text) {
  text = plain_text(text);
  for (const auto& [said, hint] : unfit) {
    const std::size_t at = text.find(said);
    if (at == text.npos) continue;
    throw FormatError(line_at(text, at), "is of UDP, or of both ways at once", hint);
  }
  Reader reader;
  if (text.starts_with('{')) {
    take_json(parse_json(text, what_to_give), reader);
  } else {
    const auto take = [&](const CleanLine& line) { reader.take(line.number, line.text); };
    read_whole_lines(
        text, [] {}, take);
  }
  std::vector<LinkTest> all = std::move(reader).all();
  const std::size_t last = all.back().line;
  if (text.ends_with('\n') || last == 0 || last < line_at(text, text.size())) return all;
  throw FormatError(last, "is cut off within a line", what_to_give);
}

}  // namespace paceline::traces
