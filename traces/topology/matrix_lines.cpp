#include "traces/topology/matrix_lines.h"

#include <algorithm>
#include <array>

#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr std::size_t name_most = 64;

// The first words of a line, without the bars of a table.
std::vector<MatrixName> words_of_row(std::string_view line) {
  constexpr std::size_t words_most = 1 + topology_gpus_most + topology_nics_most + 16;
  std::vector<MatrixName> words;
  bool inside = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool is_blank = line[at] == ' ' || line[at] == '\t' || line[at] == '|';
    if (!is_blank && !inside) {
      if (words.size() == words_most) return words;
      words.push_back({"", at + 1});
    }
    if (!is_blank) words.back().text += line[at];
    inside = !is_blank;
  }
  return words;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// How long a name of a device that any machine has is, where a word starts with one; else 0.
std::size_t known_name(std::string_view word) {
  constexpr std::array<std::string_view, 6> numbered{"GPU",        "NIC",   "mlx4_",
                                                     "mlx5_bond_", "mlx5_", "hfi1_"};
  for (const std::string_view start : numbered) {
    if (word.substr(0, start.size()) != start) continue;
    const std::size_t digits = digits_at(word, start.size());
    if (digits > 0) return start.size() + digits;
  }
  return 0;
}

// "GPU0GPU1mlx5_0": names, and what follows the last; one name where they cannot be told apart.
void split_names(const MatrixName& word, std::vector<MatrixName>& names) {
  const std::size_t before = names.size();
  std::string_view rest = word.text;
  for (std::size_t column = word.column; !rest.empty();) {
    std::size_t size = known_name(rest);
    if (rest.substr(0, 3) == "CPU" || rest.substr(0, 4) == "NUMA") size = rest.size();
    if (size == 0) {
      names.resize(before);
      names.push_back(word);
      return;
    }
    names.push_back({std::string(rest.substr(0, size)), column});
    column += size;
    rest.remove_prefix(size);
  }
}

// Before 2016 SYS was SOC.
constexpr std::pair<std::string_view, PciePath> path_words[] = {
    {"PIX", PciePath::one_switch}, {"PXB", PciePath::switches}, {"PHB", PciePath::host_bridge},
    {"NODE", PciePath::numa_node}, {"SYS", PciePath::system},   {"SOC", PciePath::system}};
// Of nvidia-smi topo -p2p: why it is not OK.
constexpr std::string_view refusals[] = {"NS", "CNS", "GNS", "TNS", "DR", "U"};

struct ReadEntry {
  MatrixEntry entry;
  std::size_t size = 0;
};

constexpr std::uint32_t lanes_most = 1000;  // as a scenario's lanes

std::optional<ReadEntry> entry_at(std::string_view text) {
  if (text.substr(0, 2) == "NV") {
    const std::size_t digits = digits_at(text, 2);
    const auto count = number_of<std::uint32_t>(text.substr(2, digits));
    if (!count || *count == 0) return std::nullopt;
    return ReadEntry{{false, *count, {}, {}}, 2 + digits};
  }
  for (const auto& [word, path] : path_words) {
    if (text.starts_with(word)) return ReadEntry{{false, 0, path, {}}, word.size()};
  }
  if (text.starts_with("X")) return ReadEntry{{true, 0, {}, {}}, 1};
  if (text.starts_with("OK")) return ReadEntry{{false, 0, {}, true}, 2};
  for (const std::string_view word : refusals) {
    if (text.starts_with(word)) return ReadEntry{{false, 0, {}, false}, word.size()};
  }
  return std::nullopt;
}

// "0-19,40-59", "0", "N/A": numbers of CPUs or NUMA nodes, each range from its lower end.
bool is_affinity(std::string_view text) {
  if (text.substr(0, 3) == "N/A") return true;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const auto from = number_of<std::uint32_t>(low);
    const auto to =
        dash == std::string_view::npos ? from : number_of<std::uint32_t>(range.substr(dash + 1));
    if (!from || !to || *to < *from || (low.size() > 1 && low[0] == '0')) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

// Of "NV10-19": NV1 and 0-19, where NV10 leaves no affinity.
void split_ending(std::string_view text, MatrixRow& row) {
  const std::size_t digits = digits_at(text, 2);
  for (std::size_t own = 1; own < digits; ++own) {
    const auto count = number_of<std::uint32_t>(text.substr(2, own));
    const std::string_view affinity = text.substr(2 + own);
    if (count && *count > 0 && *count <= lanes_most && is_affinity(affinity)) {
      row.endings.emplace_back(*count, std::string(affinity));
    }
  }
}

// Entries of a word, one behind another, and an affinity behind them. Whether all of it was such.
bool take_cells(std::string_view text, std::size_t column, MatrixRow& row) {
  const std::size_t before = row.cells.size();
  while (!text.empty()) {
    const auto read = entry_at(text);
    if (!read) break;
    const std::string_view rest = text.substr(read->size);
    row.cells.push_back({read->entry, column});
    if (read->entry.links > 0 && !rest.empty() && (rest[0] == '-' || rest[0] == ',')) {
      split_ending(text, row);
      if (!row.endings.empty()) return true;
      break;
    }
    if (read->entry.links > lanes_most) break;
    text = rest;
    column += read->size;
  }
  if (text.empty()) return true;
  if (is_affinity(text)) {
    row.affinities.emplace_back(text);
    return true;
  }
  row.cells.resize(before);
  return false;
}

// How much of a word is the name of the row that it begins, which may be glued to its first entry.
std::size_t name_size(std::string_view word, const MatrixNames& names) {
  const auto fits = [&](std::size_t size) {
    return size == word.size() || entry_at(word.substr(size)).has_value();
  };
  for (std::size_t size = std::min(word.size(), name_most); size > 0; --size) {
    if (names.contains(word.substr(0, size)) && fits(size)) return size;
  }
  const std::size_t known = known_name(word);
  return known > 0 && fits(known) ? known : 0;
}

}  // namespace

bool is_gpu_name(std::string_view word) {
  constexpr std::string_view start = "GPU";
  return word.size() > start.size() && word.substr(0, start.size()) == start &&
         digits_at(word, start.size()) == word.size() - start.size();
}

std::optional<MatrixHeader> header_in(std::string_view line) {
  const auto words = words_of_row(line);
  if (words.empty() || words[0].text.substr(0, 3) != "GPU") return std::nullopt;
  MatrixHeader header;
  header.has_numa = contains(line, "NUMA Affinity");
  std::vector<MatrixName> names;
  for (const MatrixName& word : words) split_names(word, names);
  for (MatrixName& name : names) {
    if (name.text == "GPU" || name.text.substr(0, 3) == "CPU" || name.text.substr(0, 4) == "NUMA") {
      break;  // affinities
    }
    const bool is_name = name.text.size() <= name_most && std::ranges::any_of(name.text, is_digit);
    if (!is_name) return std::nullopt;
    header.names.push_back(std::move(name));
  }
  if (header.names.empty() || !is_gpu_name(header.names[0].text)) return std::nullopt;
  const bool is_row = header.names.size() > 1 && entry_at(header.names[1].text).has_value();
  return is_row || row_in(line, {}) ? std::nullopt : std::optional(std::move(header));
}

std::optional<MatrixRow> row_in(std::string_view line, const MatrixNames& names) {
  const auto words = words_of_row(line);
  if (words.empty()) return std::nullopt;
  const MatrixName& first = words[0];
  const std::size_t size = name_size(first.text, names);
  if (size == 0) return std::nullopt;
  MatrixRow row;
  row.name = {first.text.substr(0, size), first.column};
  bool is_whole = take_cells(std::string_view(first.text).substr(size), first.column + size, row);
  std::size_t next = 1;
  for (; next < words.size() && is_whole && row.affinities.empty() && row.endings.empty(); ++next) {
    is_whole = take_cells(words[next].text, words[next].column, row);
    if (!is_whole) row.strange = words[next];
  }
  for (; next < words.size() && is_whole; ++next) row.affinities.push_back(words[next].text);
  const std::size_t fewest = names.empty() ? 2 : 1;
  return row.cells.size() < fewest ? std::nullopt : std::optional(std::move(row));
}

}  // namespace paceline::traces
