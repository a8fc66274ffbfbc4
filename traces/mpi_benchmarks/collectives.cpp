#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "traces/collective_log/collective_log.h"
#include "traces/collective_log/readers.h"
#include "traces/mpi_benchmarks/suites.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

// "# Intel(R) MPI Benchmarks 2021.7, MPI-1 part", "2019 Update 6"; "Suite V3.2" is of year 0.
std::optional<std::uint32_t> year_of_version(const Words& words) {
  const auto name = std::ranges::find_if(
      words, [](std::string_view word) { return word == "Benchmarks" || word == "Suite"; });
  const bool is_title = words.size() > 4 && words[0].starts_with('#') &&
                        std::ranges::find(words, "Intel(R)") != words.end();
  if (!is_title || name == words.end() || name + 1 == words.end()) return std::nullopt;
  constexpr std::size_t digits = 4;
  return number_of<std::uint32_t>((name + 1)->substr(0, digits)).value_or(0);
}

// Gathers rows into tables. What comments say of one ("# GPUs: 16") holds for those below.
class CollectiveTables {
 public:
  bool take_comment(std::size_t, const Words& words) {
    const Comment said = comment_of(words);
    if (said.ranks) said_ranks_ = *said.ranks;
    if (said.nodes) said_nodes_ = *said.nodes;
    const auto year = year_of_version(words);
    if (year) year_ = year;
    return said.says_something() || year;
  }

  bool begin(std::size_t, std::string_view, const BenchmarkTitle& title) {
    close();
    constexpr std::size_t names_most = 64;  // there are fewer
    if (!title.collective) {
      if (!title.is_ping_pong && left_out_.size() < names_most) left_out_.insert(shown(title.name));
      return false;
    }
    is_of_imb_ = title.is_of_imb;
    open_.collective = title.collective;
    open_.known_by = "its title";
    open_.ranks = said_ranks_;
    open_.nodes = said_nodes_;
    if (!is_of_imb_ && !title.is_on_device) {
      open_.notes.push_back("buffers in host memory: CPUs' collectives, not those of GPUs");
    }
    return true;
  }

  void take_processes(std::size_t, std::string_view processes) {
    const auto ranks = number_of<std::uint32_t>(processes).value_or(0);
    if (ranks > 0 && ranks <= ranks_most) open_.ranks = ranks;
  }

  void take(std::size_t number, std::string_view size, std::string_view time_us) {
    if (is_of_imb_ && size == "0") return;
    if (is_of_imb_ && open_.collective == Collective::reduce_scatter && !year_) {
      return skip(number,
                  "its size is of all or of one rank's share, as IMB's version has it: give the "
                  "lines from \"Intel(R) MPI Benchmarks\" on");
    }
    constexpr std::uint64_t largest = std::uint64_t{1} << 56;  // as measured_size has it
    const auto bytes = measured_size(size);
    if (!bytes) return skip(number, fmt::format("a size of \"{}\"", shown(size)));
    constexpr double us = 1e-6;
    const auto time = measured_time(number_of<double>(time_us).value_or(0), us);
    if (!time) return skip(number, fmt::format("a time of \"{}\"", shown(time_us)));
    if (has_size_of_share() && open_.ranks == 0) {
      return skip(
          number,
          "its size is one rank's share, and nothing tells how many ranks there were: write "
          "\"# GPUs: 16\" above its title");
    }
    const std::uint64_t shares = has_size_of_share() ? open_.ranks : 1;
    if (bytes->value() > largest / shares) {
      return skip(number, fmt::format("a size of \"{}\"", shown(size)));
    }
    open_.rows.push_back({number, *bytes * shares, {*time}});
  }

  void skip(std::size_t number, std::string why) {
    open_.skipped.push_back({number, std::move(why)});
  }
  [[nodiscard]] bool has_rows() const { return !open_.rows.empty(); }

  void forget() {
    close();
    said_ranks_ = said_nodes_ = 0;
    year_.reset();
  }

  [[nodiscard]] std::vector<CollectiveLog> tables() && {
    close();
    if (tables_.empty()) {
      throw FormatError(0, "has the title of a collective, and no row",
                        "give the whole output; the run may have failed");
    }
    if (!left_out_.empty()) {
      tables_.front().notes.push_back(
          fmt::format("left out, as none of ours: {}", fmt::join(left_out_, ", ")));
    }
    return std::move(tables_);
  }

 private:
  void close() {
    if (!open_.rows.empty() || !open_.skipped.empty()) tables_.push_back(std::move(open_));
    open_ = {};
  }

  [[nodiscard]] bool has_size_of_share() const {
    constexpr std::uint32_t first_of_shares = 2019;
    const Collective kind = *open_.collective;
    return kind == Collective::all_gather || kind == Collective::all_to_all ||
           kind == Collective::gather || kind == Collective::scatter ||
           (is_of_imb_ && kind == Collective::reduce_scatter && *year_ >= first_of_shares);
  }

  std::vector<CollectiveLog> tables_;
  CollectiveLog open_;
  std::set<std::string> left_out_;
  std::uint32_t said_ranks_ = 0, said_nodes_ = 0;
  std::optional<std::uint32_t> year_;
  bool is_of_imb_ = false;
};

bool is_of_collective(const BenchmarkTitle& title) { return title.collective.has_value(); }

}  // namespace

bool is_osu_collective(std::string_view text) { return has_osu_title(text, is_of_collective); }
bool is_imb_collective(std::string_view text) { return has_imb_title(text, is_of_collective); }

std::vector<CollectiveLog> read_osu_collective(std::string_view text) {
  CollectiveTables tables;
  read_osu(text, tables);
  return std::move(tables).tables();
}

std::vector<CollectiveLog> read_imb_collective(std::string_view text) {
  CollectiveTables tables;
  read_imb(text, tables);
  return std::move(tables).tables();
}

}  // namespace paceline::traces
