#include "traces/ping_pong/rows.h"

#include <fmt/format.h>

#include "traces/text/format_error.h"

namespace paceline::traces {

std::optional<cost::LinkPlace> place_said(std::size_t number,
                                          const std::vector<std::string_view>& words) {
  if (words.size() < 2 || words[0] != "#" || words[1] != "ping_pong:") return std::nullopt;
  const std::string_view name = words.size() > 2 ? words[2] : "";
  const auto place = from_text<cost::LinkPlace>(name);
  if (!place) {
    throw FormatError(number, fmt::format("says a ping-pong of \"{}\"", shown(name)),
                      "write \"# ping_pong: network\" or \"# ping_pong: intra_node\"");
  }
  return place;
}

bool PingPongTables::take_place(std::size_t number, const std::vector<std::string_view>& words) {
  const auto place = place_said(number, words);
  if (!place) return false;
  close();
  open_.between = place;
  return true;
}

void PingPongTables::take(std::size_t number, std::string_view size, std::string_view time,
                          double unit_s) {
  const auto bytes = message_size(size);
  if (!bytes) return skip(number, fmt::format("a size of \"{}\"", shown(size)));
  const auto seconds = measured_time(number_of<double>(time).value_or(0), unit_s);
  if (!seconds) return skip(number, fmt::format("a time of \"{}\"", shown(time)));
  open_.rows.push_back({number, *bytes, *seconds});
}

void PingPongTables::skip(std::size_t number, std::string why) {
  open_.skipped.push_back({number, std::move(why)});
}

void PingPongTables::close() {
  if (open_.rows.empty() && open_.skipped.empty()) return;
  tables_.push_back(open_);
  open_.rows.clear();
  open_.skipped.clear();
}

std::vector<PingPong> PingPongTables::tables() && {
  close();
  if (tables_.empty()) {
    throw FormatError(
        0, "has no row of a ping-pong",
        "give the whole output of osu_latency or of IMB's PingPong, or a table with a "
        "header size(B),time(us)");
  }
  return std::move(tables_);
}

}  // namespace paceline::traces
