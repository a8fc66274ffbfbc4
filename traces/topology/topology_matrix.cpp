#include <algorithm>
#include <map>
#include <utility>

#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"
#include "traces/topology/matrix_lines.h"
#include "traces/topology/node_topology.h"

namespace paceline::traces {
namespace {

constexpr auto as_it_is = "give the output of nvidia-smi topo -m as it is";
constexpr auto whole_matrix = "give the output of nvidia-smi topo -m whole";

enum class MatrixKind { paths, pcie_only, peer_to_peer, other_status };

// The last letters of "nvidia-smi topo -p2p r"; nullopt for a line that is no such command.
std::optional<MatrixKind> command_in(std::string_view line) {
  const std::size_t at = line.find(" topo ");
  if (!contains(line, "nvidia-smi") || at == std::string_view::npos) {
    return std::nullopt;
  }
  const auto words = words_of(line.substr(at + 5));
  if (words.empty()) return std::nullopt;
  if (words[0] == "-mp" || words[0] == "--matrix_pci") return MatrixKind::pcie_only;
  if (words[0] != "-p2p" && words[0] != "--p2pstatus") return MatrixKind::paths;
  // Reading and writing are what transfers do; n: over NVLink, a: atomics, p: of a driver.
  const bool is_of_transfers = words.size() > 1 && words[1].find_first_of("nap") == words[1].npos;
  return is_of_transfers ? MatrixKind::peer_to_peer : MatrixKind::other_status;
}

// A matrix of a node, or of its pairs' status.
class Matrix {
 public:
  Matrix(std::size_t line, MatrixHeader header, std::optional<MatrixKind> asked)
      : line_(line), names_(std::move(header.names)), has_numa_(header.has_numa), asked_(asked) {
    std::size_t gpus = 0;
    for (const MatrixName& name : names_) {
      if (is_gpu_name(name.text)) ++gpus;
      if (!known_.insert(name.text).second) {
        throw FormatError({line_, name.column}, "\"" + shown(name.text) + "\" has two columns",
                          as_it_is);
      }
    }
    if (gpus > topology_gpus_most || names_.size() - gpus > topology_nics_most) {
      throw FormatError(line_, "names more than 1024 GPUs or NICs", "give the matrix of one node");
    }
  }

  [[nodiscard]] bool has_rows() const { return !rows_.empty(); }
  [[nodiscard]] TextPlace at() const { return {line_, names_[0].column}; }
  [[nodiscard]] MatrixKind kind() const {
    if (asked_ == MatrixKind::pcie_only) return MatrixKind::pcie_only;
    const auto tells = [](const auto& row) {
      return std::ranges::any_of(
          row.second.cells, [](const MatrixCell& cell) { return cell.entry.peer.has_value(); });
    };
    if (std::ranges::none_of(rows_, tells)) return MatrixKind::paths;
    return asked_ == MatrixKind::other_status ? MatrixKind::other_status : MatrixKind::peer_to_peer;
  }
  [[nodiscard]] std::size_t gpus() const { return those(true).size(); }
  [[nodiscard]] bool is_same(const Matrix& other) const {
    const auto is_same_row = [](const auto& a, const auto& b) {
      return a.first == b.first && std::ranges::equal(a.second.cells, b.second.cells, {},
                                                      &MatrixCell::entry, &MatrixCell::entry);
    };
    return std::ranges::equal(rows_, other.rows_, is_same_row);
  }

  bool take(std::size_t number, std::string_view line) {
    auto row = row_in(line, known_);
    if (!row) return false;
    row->line = number;
    const MatrixName& name = row->name;
    if (!known_.contains(name.text)) {
      throw FormatError({number, name.column},
                        "\"" + shown(name.text) + "\" has a row and no column",
                        "give the output of nvidia-smi topo -m as it is, with its first line");
    }
    const std::string key = name.text;
    const std::size_t column = name.column;
    if (!rows_.emplace(key, std::move(*row)).second) {
      throw FormatError({number, column}, "\"" + shown(key) + "\" has two rows",
                        "give the matrix of one node");
    }
    return true;
  }

  void take_legend(const std::string& name, const std::string& nic) { legend_[name] = nic; }

  // Throws FormatError where it is cut off or does not hold together.
  void check() {
    name_columns_without_one();
    for (const auto& [name, row] : rows_) check_size(row);
    for (const MatrixName& name : names_) {
      if (!is_gpu_name(name.text) || rows_.contains(name.text)) continue;
      throw FormatError({line_, name.column}, "\"" + name.text + "\" has a column and no row",
                        whole_matrix);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto row = rows_.find(names_[i].text);
      if (row != rows_.end() && !row->second.endings.empty()) tell_endings_apart(i);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto row = rows_.find(names_[i].text);
      if (row != rows_.end()) check_row(i, row->second);
    }
  }

  // Preconditions: checked; `kind()` is paths.
  [[nodiscard]] NodeTopology topology() const {
    NodeTopology node;
    node.links_of_pairs_only = true;
    for (const std::size_t i : those(true)) add_gpu(i, node);
    const std::vector<std::size_t> nics = those(false);
    for (const std::size_t j : nics) {
      const auto known = legend_.find(names_[j].text);
      NodeTopology::Nic& nic = node.nics.emplace_back();
      nic.name = shown(known == legend_.end() ? names_[j].text : known->second);
      nic.at = {line_, names_[j].column};
      auto& pairs = node.nic_pairs.emplace_back();
      for (const std::size_t other : nics) {
        const auto there = path(j, other);
        pairs.push_back(there ? there : path(other, j));
      }
    }
    if (unnamed_ > 0) {
      node.notes.push_back(
          "The first line of the matrix has lost the names of " + std::to_string(unnamed_) +
          (unnamed_ == 1 ? " NIC, which is called ?." : " NICs, which are called ?."));
    }
    return node;
  }

  // Preconditions: checked, as many GPUs as the node.
  void add_status(NodeTopology& node) const {
    NodeTopology::PeerToPeer found = node.peer_to_peer.value_or(NodeTopology::PeerToPeer{});
    const bool is_first = !node.peer_to_peer;
    std::size_t reach = 0, pairs = 0, reach_unlinked = 0;
    const auto gpus = those(true);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool can = row_of(gpus[i]).cells[gpus[j]].entry.peer == true &&
                         row_of(gpus[j]).cells[gpus[i]].entry.peer == true;
        ++pairs;
        if (can) ++reach;
        if (can && node.links[i][j] == 0) ++reach_unlinked;
      }
    }
    found.pairs = pairs;
    found.reach = is_first ? reach : std::min(found.reach, reach);
    found.all_without_links_fail = found.all_without_links_fail || reach_unlinked == 0;
    node.peer_to_peer = found;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> those(bool gpus) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (is_gpu_name(names_[i].text) == gpus) found.push_back(i);
    }
    return found;
  }
  [[nodiscard]] const MatrixRow& row_of(std::size_t name) const {
    return rows_.at(names_[name].text);
  }
  [[nodiscard]] std::optional<PciePath> path(std::size_t from, std::size_t to) const {
    const auto row = rows_.find(names_[from].text);
    return row == rows_.end() ? std::nullopt : row->second.cells[to].entry.path;
  }
  // All rows of GPUs have as many paths to NICs beyond the first line's names, which are cut off.
  void name_columns_without_one() {
    std::size_t cells = 0;
    for (const auto& [name, row] : rows_) {
      if (cells == 0) cells = row.cells.size();
      if (row.cells.size() != cells || cells <= names_.size() || !is_gpu_name(name)) return;
      for (std::size_t j = names_.size(); j < cells; ++j) {
        if (!row.cells[j].entry.path) return;
      }
    }
    if (cells <= names_.size() || cells > names_.size() + topology_nics_most) return;
    unnamed_ = cells - names_.size();
    while (names_.size() < cells) names_.push_back({"?" + std::to_string(names_.size()), 1});
  }

  void check_size(const MatrixRow& row) const {
    const std::size_t cells = row.cells.size(), columns = names_.size();
    if (cells == columns) return;
    if (cells > columns) {
      throw FormatError({row.line, row.cells[columns].column},
                        "the row has " + std::to_string(cells) +
                            " entries, and the first line names " + std::to_string(columns),
                        whole_matrix);
    }
    if (row.strange) {
      throw FormatError(
          {row.line, row.strange->column},
          "\"" + shown(row.strange->text) + "\" is no entry of the matrix",
          "give the output of nvidia-smi topo -m as it is: X, NV1, PIX, PXB, PHB, NODE "
          "or SYS between two devices");
    }
    throw FormatError({row.line, row.cells.back().column},
                      "the row ends after " + std::to_string(cells) + " of " +
                          std::to_string(columns) + " entries",
                      "lines that were broken or cut off have to be whole");
  }

  // Of "NV20-19" the row of the other device tells whether it has 2 links, or 20.
  void tell_endings_apart(std::size_t i) {
    MatrixRow& row = rows_.at(names_[i].text);
    const std::size_t last = row.cells.size() - 1;
    const auto other = rows_.find(names_[last].text);
    const auto fits = [&](const auto& ending) {
      return row.endings.size() == 1 || (other != rows_.end() && other->second.cells.size() > i &&
                                         other->second.cells[i].entry.links == ending.first);
    };
    const auto found = std::ranges::find_if(row.endings, fits);
    if (found == row.endings.end()) {
      throw FormatError({row.line, row.cells[last].column},
                        "does not tell where its NVLinks end and its affinity begins", as_it_is);
    }
    row.cells[last].entry.links = found->first;
    row.affinities.insert(row.affinities.begin(), found->second);
  }

  void check_row(std::size_t i, const MatrixRow& row) const {
    for (std::size_t j = 0; j < names_.size(); ++j) {
      const MatrixCell& cell = row.cells[j];
      if (cell.entry.is_self != (i == j)) {
        throw FormatError(
            {row.line, cell.column},
            i == j ? "a device's entry for itself is not X" : "X is between two devices", as_it_is);
      }
      const auto other = rows_.find(names_[j].text);
      // What a pair can do may differ by who reads.
      if (other == rows_.end() || other->second.cells[i].entry == cell.entry || cell.entry.peer) {
        continue;
      }
      throw FormatError({row.line, cell.column},
                        "differs from the entry of " + shown(names_[j].text) + " for " +
                            shown(names_[i].text) + " (line " + std::to_string(other->second.line) +
                            ")",
                        "a link has the same two ends from either");
    }
  }

  void add_gpu(std::size_t i, NodeTopology& node) const {
    const MatrixRow& row = row_of(i);
    NodeTopology::Gpu& gpu = node.gpus.emplace_back();
    gpu.name = names_[i].text;
    gpu.at = {row.line, 1};
    if (!row.affinities.empty()) gpu.cpus = row.affinities[0];
    if (has_numa_ && row.affinities.size() > 1) {
      gpu.numa = number_of<std::uint32_t>(row.affinities[1]);
    }
    auto& links = node.links.emplace_back();
    auto& paths = node.paths.emplace_back();
    auto& nic_paths = node.nic_paths.emplace_back();
    for (const std::size_t j : those(true)) {
      links.push_back(row.cells[j].entry.links);
      paths.push_back(row.cells[j].entry.path);
    }
    for (const std::size_t j : those(false)) nic_paths.push_back(row.cells[j].entry.path);
  }

  std::size_t line_;
  std::vector<MatrixName> names_;  // of columns
  MatrixNames known_;
  bool has_numa_;
  std::optional<MatrixKind> asked_;
  std::size_t unnamed_ = 0;  // columns whose names are cut
  std::map<std::string, MatrixRow> rows_;
  std::map<std::string, std::string> legend_;
};

class MatrixReader {
 public:
  void take(std::size_t number, std::string_view line) {
    if (const auto command = command_in(line)) {
      asked_ = command;
      return;
    }
    if (auto header = header_in(line)) {
      matrices_.emplace_back(number, std::move(*header), asked_);
      asked_.reset();
      in_legend_ = false;
      return;
    }
    if (matrices_.empty()) {
      if (!tail_ && row_in(line, {})) tail_ = number;
      return;
    }
    take_below(number, line);
  }

  [[nodiscard]] NodeTopology topology(NodeChoice choice) && {
    if (matrices_.empty()) {
      throw FormatError(tail_.value_or(0), "has rows of a matrix, and not its first line",
                        whole_matrix);
    }
    const bool some_have_rows = std::ranges::any_of(matrices_, &Matrix::has_rows);
    if (some_have_rows) {
      std::erase_if(matrices_, [](const Matrix& one) { return !one.has_rows(); });
    }
    for (Matrix& one : matrices_) one.check();
    const std::vector<Matrix*> nodes = matrices_of_nodes();
    const std::size_t chosen = choose(nodes, choice);
    NodeTopology node = nodes[chosen]->topology();
    add_status(*nodes[chosen], node);
    return node;
  }

 private:
  void take_below(std::size_t number, std::string_view line) {
    const auto words = words_of(line);
    if (words.size() > 1 && words[1] == "Legend:") {
      in_legend_ = true;  // "NIC Legend:"
    } else if (!words.empty() && words[0] == "Legend:") {
      in_legend_ = false;
    } else if (in_legend_ && words.size() == 2 && words[0].back() == ':') {
      matrices_.back().take_legend(std::string(words[0].substr(0, words[0].size() - 1)),
                                   std::string(words[1]));
    } else {
      matrices_.back().take(number, line);
    }
  }

  // Those that show paths, each once.
  [[nodiscard]] std::vector<Matrix*> matrices_of_nodes() {
    std::vector<Matrix*> nodes;
    for (Matrix& one : matrices_) {
      if (one.kind() != MatrixKind::paths) continue;
      const bool is_known =
          std::ranges::any_of(nodes, [&](const Matrix* other) { return other->is_same(one); });
      if (!is_known) nodes.push_back(&one);
      if (nodes.size() > nodes_most) {
        throw FormatError(one.at(), "is one of more than 1000 matrices",
                          "give the matrix of one node");
      }
    }
    if (!nodes.empty()) return nodes;
    const bool hides = matrices_[0].kind() == MatrixKind::pcie_only;
    throw FormatError(matrices_[0].at(),
                      hides ? "is of nvidia-smi topo -mp, which does not show NVLinks"
                            : "is of nvidia-smi topo -p2p, which does not show what joins GPUs",
                      "give what nvidia-smi topo -m prints, too");
  }

  [[nodiscard]] static std::size_t choose(const std::vector<Matrix*>& nodes, NodeChoice choice) {
    std::vector<std::string> names;
    for (const Matrix* one : nodes) {
      const std::size_t gpus = one->gpus();
      names.push_back("line " + std::to_string(one->at().line) + ", " + std::to_string(gpus) +
                      " GPU" + (gpus == 1 ? "" : "s"));
    }
    return chosen_node(names, nodes[nodes.size() > 1 ? 1 : 0]->at(), choice);
  }

  // Of the matrices of status between a node's matrix and the next one; of one node, all.
  void add_status(const Matrix& of, NodeTopology& node) {
    const Matrix* above = nullptr;
    std::size_t nodes = 0;
    for (const Matrix& one : matrices_) {
      if (one.kind() != MatrixKind::paths) continue;
      if (above == nullptr || !one.is_same(*above)) ++nodes;
      above = &one;
    }
    above = nullptr;
    for (const Matrix& one : matrices_) {
      if (one.kind() == MatrixKind::paths) above = &one;
      if (one.kind() != MatrixKind::peer_to_peer || one.gpus() != node.gpus.size()) continue;
      if (nodes == 1 || (above != nullptr && of.is_same(*above))) one.add_status(node);
    }
  }

  static constexpr std::size_t nodes_most = 1000;
  std::vector<Matrix> matrices_;
  std::optional<MatrixKind> asked_;
  std::optional<std::size_t> tail_;  // the first row without a first line
  bool in_legend_ = false;
};

}  // namespace

bool is_topology_matrix(std::string_view text) {
  bool has_header = false, has_row = false;
  const CleanText clean(text);
  for (const CleanLine& line : clean.lines()) {
    has_header = has_header || header_in(line.text);
    has_row = has_row || row_in(line.text, {});
    if (has_header && has_row) return true;
  }
  return (has_header || has_row) && foreign_topology(text).empty();
}

NodeTopology read_topology_matrix(std::string_view text, NodeChoice node) {
  MatrixReader reader;
  const CleanText clean(text);
  for (const CleanLine& line : clean.lines()) reader.take(line.number, line.text);
  return std::move(reader).topology(node);
}

}  // namespace paceline::traces
