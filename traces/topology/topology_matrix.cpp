#include "traces/topology/topology_matrix.h"

#include <algorithm>
#include <map>
#include <utility>

#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

struct MatrixWord {
  std::string text;
  std::size_t column = 0;
};

// Where a terminal's code that starts at `at` ends: ESC [ digits m, whose ESC some copies have
// lost. `at` itself where none starts.
std::size_t end_of_code(std::string_view line, std::size_t at) {
  constexpr char escape = '\x1b';
  std::size_t end = at;
  if (line[end] == escape) ++end;
  if (end >= line.size() || line[end] != '[') return end;  // an ESC alone is passed over, too
  const std::size_t last = line.find_first_not_of("0123456789;", end + 1);
  return last != std::string_view::npos && line[last] == 'm' ? last + 1 : end;
}

// The first words of a line without a terminal's codes.
std::vector<MatrixWord> words_of_row(std::string_view line) {
  constexpr std::size_t words_most = 1 + topology_gpus_most + topology_nics_most + 16;
  std::vector<MatrixWord> words;
  bool inside = false;
  for (std::size_t at = 0; at < line.size();) {
    if (const std::size_t end = end_of_code(line, at); end > at) {
      at = end;
      continue;
    }
    const bool is_blank = line[at] == ' ' || line[at] == '\t';
    if (!is_blank && !inside) {
      if (words.size() == words_most) return words;
      words.push_back({"", at + 1});
    }
    if (!is_blank) words.back().text += line[at];
    inside = !is_blank;
    ++at;
  }
  return words;
}

bool is_gpu(std::string_view word) {
  constexpr std::string_view start = "GPU";
  if (word.substr(0, start.size()) != start) return false;
  word.remove_prefix(start.size());
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// NV12.
std::optional<std::uint32_t> nvlinks(std::string_view word) {
  constexpr std::uint32_t most = 1000;  // as a scenario's lanes
  if (word.substr(0, 2) != "NV") return std::nullopt;
  const auto count = number_of<std::uint32_t>(word.substr(2));
  return count && *count > 0 && *count <= most ? count : std::nullopt;
}

// What the drivers of before 2016 call SYS.
constexpr std::string_view old_system = "SOC";
constexpr std::string_view itself = "X";

bool is_entry(std::string_view word) {
  return word == itself || word == old_system || nvlinks(word) || from_text<PciePath>(word);
}

// Names of GPUs, and no row of one.
bool is_header(const std::vector<MatrixWord>& words) {
  return !words.empty() && is_gpu(words[0].text) && (words.size() == 1 || !is_entry(words[1].text));
}

struct MatrixEntry {
  bool is_self = false;
  std::uint32_t links = 0;
  std::optional<PciePath> path;

  friend bool operator==(const MatrixEntry&, const MatrixEntry&) = default;
};

MatrixEntry entry_of(const MatrixWord& word, std::size_t line) {
  if (word.text == itself) return {true, 0, std::nullopt};
  if (word.text == old_system) return {false, 0, PciePath::system};
  if (const auto count = nvlinks(word.text)) return {false, *count, std::nullopt};
  if (const auto path = from_text<PciePath>(word.text)) return {false, 0, path};
  throw FormatError(line, word.column, "\"" + shown(word.text) + "\" is no entry of the matrix",
                    "give the output of nvidia-smi topo -m as it is: X, NV1, PIX, PXB, PHB, NODE "
                    "or SYS between two devices");
}

struct MatrixRow {
  std::size_t line = 0;
  std::vector<MatrixEntry> entries;
  std::vector<std::size_t> columns;  // where they stand
};

class MatrixReader {
 public:
  void take(std::size_t number, std::string_view line) {
    const auto words = words_of_row(line);
    if (words.empty()) return;
    if (names_.empty()) {
      if (is_header(words)) take_header(number, words);
    } else if (words.size() > 1 && words[1].text == "Legend:") {
      in_legend_ = true;  // "NIC Legend:"
    } else if (words[0].text == "Legend:") {
      in_legend_ = false;
      is_over_ = true;
    } else if (in_legend_ && words.size() == 2 && words[0].text.back() == ':') {
      legend_[words[0].text.substr(0, words[0].text.size() - 1)] = words[1].text;
    } else if (!is_over_ && words.size() > 1 && is_entry(words[1].text)) {
      take_row(number, words);
    }
  }

  [[nodiscard]] NodeTopology topology() && {
    check();
    NodeTopology all;
    all.links_of_pairs_only = true;
    const std::vector<std::size_t> gpus = those(true), nics = those(false);
    for (const std::size_t i : gpus) {
      NodeTopology::Gpu& gpu = all.gpus.emplace_back();
      gpu.name = names_[i].text;
      gpu.at = {rows_.at(gpu.name).line, 1};
      const MatrixRow& row = rows_.at(gpu.name);
      auto& links = all.links.emplace_back();
      auto& paths = all.paths.emplace_back();
      auto& nic_paths = all.nic_paths.emplace_back();
      for (const std::size_t j : gpus) {
        links.push_back(row.entries[j].links);
        paths.push_back(row.entries[j].path);
      }
      for (const std::size_t j : nics) nic_paths.push_back(row.entries[j].path);
    }
    for (const std::size_t j : nics) {
      const auto known = legend_.find(names_[j].text);
      NodeTopology::Nic& nic = all.nics.emplace_back();
      nic.name = shown(known == legend_.end() ? names_[j].text : known->second);
      nic.at = {header_, names_[j].column};
    }
    return all;
  }

 private:
  void take_header(std::size_t number, const std::vector<MatrixWord>& words) {
    header_ = number;
    for (const MatrixWord& word : words) {
      if (word.text == "CPU" || word.text == "NUMA" || word.text == "GPU") break;  // affinities
      const auto is_same = [&](const MatrixWord& other) { return other.text == word.text; };
      if (std::any_of(names_.begin(), names_.end(), is_same)) {
        throw FormatError(number, word.column, "\"" + shown(word.text) + "\" has two columns",
                          "give the output of nvidia-smi topo -m as it is");
      }
      names_.push_back(word);
    }
    const auto gpus = static_cast<std::size_t>(std::count_if(
        names_.begin(), names_.end(), [](const MatrixWord& word) { return is_gpu(word.text); }));
    if (gpus > topology_gpus_most || names_.size() - gpus > topology_nics_most) {
      throw FormatError(number, "names more than 1024 GPUs or NICs", "give the matrix of one node");
    }
  }

  void take_row(std::size_t number, const std::vector<MatrixWord>& words) {
    const MatrixWord& name = words[0];
    const auto is_named = [&](const MatrixWord& other) { return other.text == name.text; };
    if (std::none_of(names_.begin(), names_.end(), is_named)) {
      throw FormatError(number, name.column, "\"" + shown(name.text) + "\" has a row and no column",
                        "give the output of nvidia-smi topo -m as it is, with its first line");
    }
    if (rows_.contains(name.text)) {
      throw FormatError(number, name.column, "\"" + shown(name.text) + "\" has two rows",
                        "give the matrix of one node");
    }
    if (words.size() - 1 < names_.size()) {
      throw FormatError(number, words.back().column,
                        "the row ends after " + std::to_string(words.size() - 1) + " of " +
                            std::to_string(names_.size()) + " entries",
                        "lines that were broken or cut off have to be whole");
    }
    MatrixRow row{number, {}, {}};
    for (std::size_t i = 0; i < names_.size(); ++i) {
      row.entries.push_back(entry_of(words[i + 1], number));
      row.columns.push_back(words[i + 1].column);
    }
    rows_.emplace(name.text, std::move(row));
  }

  [[nodiscard]] std::vector<std::size_t> those(bool gpus) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (is_gpu(names_[i].text) == gpus) found.push_back(i);
    }
    return found;
  }

  void check() const {
    for (const MatrixWord& name : names_) {
      if (!is_gpu(name.text) || rows_.contains(name.text)) continue;
      throw FormatError(header_, name.column, "\"" + name.text + "\" has a column and no row",
                        "give the output of nvidia-smi topo -m whole");
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto row = rows_.find(names_[i].text);
      if (row != rows_.end()) check_row(i, row->second);
    }
  }

  void check_row(std::size_t i, const MatrixRow& row) const {
    for (std::size_t j = 0; j < names_.size(); ++j) {
      if (row.entries[j].is_self != (i == j)) {
        throw FormatError(
            row.line, row.columns[j],
            i == j ? "a device's entry for itself is not X" : "X is between two devices",
            "give the output of nvidia-smi topo -m as it is");
      }
      const auto other = rows_.find(names_[j].text);
      if (other == rows_.end() || other->second.entries[i] == row.entries[j]) continue;
      throw FormatError(row.line, row.columns[j],
                        "differs from the entry of " + shown(names_[j].text) + " for " +
                            shown(names_[i].text) + " (line " + std::to_string(other->second.line) +
                            ")",
                        "a link has the same two ends from either");
    }
  }

  std::size_t header_ = 0;
  std::vector<MatrixWord> names_;  // of columns
  std::map<std::string, MatrixRow> rows_;
  std::map<std::string, std::string> legend_;
  bool in_legend_ = false, is_over_ = false;
};

}  // namespace

bool is_topology_matrix(std::string_view text) {
  return has_line(text, [](std::string_view line) { return is_header(words_of_row(line)); });
}

NodeTopology read_topology_matrix(std::string_view text) {
  MatrixReader reader;
  for_each_line(text,
                [&](std::size_t number, std::string_view line) { reader.take(number, line); });
  return std::move(reader).topology();
}

}  // namespace paceline::traces
