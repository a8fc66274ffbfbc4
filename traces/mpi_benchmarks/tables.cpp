#include "traces/mpi_benchmarks/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "traces/collective_log/comments.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {

using collectives::Collective;

bool are_whole_times(const std::vector<std::string_view>& words, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    constexpr std::size_t point_and_decimals = 3;
    const std::size_t point = words[i].find('.');
    if (point == words[i].npos || words[i].size() - point != point_and_decimals) return false;
  }
  return true;
}

bool has_size_of_share(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::all_to_all ||
         collective == Collective::gather || collective == Collective::scatter;
}

bool BenchmarkTables::take_comment(const std::vector<std::string_view>& words) {
  const Comment said = comment_of(words);
  if (said.ranks) said_ranks_ = *said.ranks;
  if (said.nodes) said_nodes_ = *said.nodes;
  return said.says_something();
}

void BenchmarkTables::begin(Collective collective, std::uint32_t ranks) {
  close();
  open_.collective = collective;
  open_.known_by = "its title";
  open_.ranks = ranks > 0 ? ranks : said_ranks_;
  open_.nodes = said_nodes_;
}

void BenchmarkTables::take(std::size_t number, std::string_view size, std::string_view time_us,
                           bool is_of_share) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 56;  // as measured_size has it
  const auto bytes = measured_size(size);
  if (!bytes) return skip(number, fmt::format("a size of \"{}\"", shown(size)));
  constexpr double us = 1e-6;
  const auto time = measured_time(number_of<double>(time_us).value_or(0), us);
  if (!time) return skip(number, fmt::format("a time of \"{}\"", shown(time_us)));
  if (is_of_share && open_.ranks == 0) {
    return skip(number,
                "its size is one rank's share, and nothing tells how many ranks there were: write "
                "\"# GPUs: 16\" above its title");
  }
  const std::uint64_t shares = is_of_share ? open_.ranks : 1;
  if (bytes->value() > largest / shares) {
    return skip(number, fmt::format("a size of \"{}\"", shown(size)));
  }
  open_.rows.push_back({number, *bytes * shares, {*time}});
}

void BenchmarkTables::skip(std::size_t number, std::string why) {
  open_.skipped.push_back({number, std::move(why)});
}

void BenchmarkTables::leave_out(std::string_view name) {
  constexpr std::size_t names_most = 64;  // there are fewer
  if (left_out_.size() < names_most) left_out_.insert(shown(name));
}

void BenchmarkTables::close() {
  if (!open_.rows.empty() || !open_.skipped.empty()) tables_.push_back(std::move(open_));
  open_ = {};
}

void BenchmarkTables::forget() {
  close();
  open_ = {};
  said_ranks_ = said_nodes_ = 0;
}

std::vector<CollectiveLog> BenchmarkTables::tables() && {
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

}  // namespace paceline::traces
