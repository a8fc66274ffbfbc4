#include "traces/mpi_benchmarks/suites.h"

#include <algorithm>
#include <utility>

namespace paceline::traces {
namespace {

using collectives::Collective;
using Name = std::pair<std::string_view, Collective>;

// What stands before "Latency Test".
constexpr Name osu_names[] = {{"Allreduce", Collective::all_reduce},
                              {"Reduce_scatter", Collective::reduce_scatter},
                              {"Allgather", Collective::all_gather},
                              {"Broadcast", Collective::broadcast},
                              {"Reduce", Collective::reduce},
                              {"All-to-All Personalized Exchange", Collective::all_to_all},
                              {"Scatter", Collective::scatter},
                              {"Gather", Collective::gather}};

constexpr Name imb_names[] = {
    {"Allreduce", Collective::all_reduce}, {"Reduce_scatter", Collective::reduce_scatter},
    {"Allgather", Collective::all_gather}, {"Bcast", Collective::broadcast},
    {"Reduce", Collective::reduce},        {"Alltoall", Collective::all_to_all},
    {"Scatter", Collective::scatter},      {"Gather", Collective::gather}};

std::string joined(const Words& words, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += (i > from ? " " : "") + std::string(words[i]);
  return text;
}

// Pastes lose the # of titles.
std::size_t after_hash(const Words& words) { return !words.empty() && words[0] == "#" ? 1 : 0; }

using TitleOf = std::optional<BenchmarkTitle> (*)(const Words&);

// Where a text lacks `sign`, part of a title, no line is looked at: it may be a trace of gigabytes.
bool has_title(std::string_view text, std::string_view sign, TitleOf title_of, IsTitle is_one) {
  const std::size_t first = text.find(sign);
  if (first == text.npos) return false;
  const CleanText clean(text.substr(text.substr(0, first).rfind('\n') + 1));
  return std::ranges::any_of(clean.lines(), [&](const CleanLine& one) {
    if (!contains(one.text, sign)) return false;
    const auto title = title_of(words_of(one.text));
    return title && is_one(*title);
  });
}

}  // namespace

std::optional<BenchmarkTitle> osu_title_of(const Words& words) {
  const auto test = std::ranges::find(words, "Test");
  const std::size_t at = after_hash(words);
  if (words.size() < at + 3 || words[at] != "OSU" || test == words.end()) return std::nullopt;
  BenchmarkTitle title;
  const auto end = static_cast<std::size_t>(test - words.begin());
  if (end < at + 3) return std::nullopt;
  const std::string_view library = words[at + 1];
  title.name = joined(words, at + 2, end + 1);
  const bool is_known = library == "MPI" || library.starts_with("MPI-") || library == "NCCL" ||
                        library.starts_with("NCCL-");
  if (!is_known || words[end - 1] != "Latency") return title;
  title.is_on_device = library != "MPI";
  title.is_ping_pong = end == at + 3;
  title.collective = value_of(joined(words, at + 2, end - 1), osu_names);
  return title;
}

std::optional<BenchmarkTitle> imb_title_of(const Words& words) {
  const std::size_t at = after_hash(words);
  if (words.size() < at + 2 || words[at] != "Benchmarking") return std::nullopt;
  BenchmarkTitle title;
  title.is_of_imb = true;
  title.name = std::string(words[at + 1]);
  title.is_ping_pong = title.name == "PingPong" || title.name == "PingPongSpecificSource" ||
                       title.name == "PingPongAnySource";
  title.collective = value_of(title.name, imb_names);
  return title;
}

std::optional<std::string_view> imb_processes_of(const Words& words) {
  const std::size_t at = after_hash(words);
  if (words.size() < at + 3 || words[at] != "#processes" || words[at + 1] != "=") {
    return std::nullopt;
  }
  return words[at + 2];
}

bool has_osu_title(std::string_view text, IsTitle is_one) {
  return has_title(text, "OSU ", osu_title_of, is_one);
}

bool has_imb_title(std::string_view text, IsTitle is_one) {
  return has_title(text, "Benchmarking ", imb_title_of, is_one);
}

const char* why_no_row(const Words& words, std::size_t time, std::size_t columns) {
  constexpr std::size_t point_and_decimals = 3;
  if (words.size() < columns) return "the line breaks off";
  for (std::size_t i = time; i < columns; ++i) {
    const std::size_t point = words[i].find('.');
    const bool is_whole = point != words[i].npos && words[i].size() - point == point_and_decimals;
    if (!is_whole && number_of<double>(words[time])) return "the line breaks off";
  }
  return "";
}

}  // namespace paceline::traces
