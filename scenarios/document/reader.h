#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/units/units.h"
#include "models/words.h"
#include "scenarios/document/document.h"

namespace paceline::loader {

// One value of a document, which knows its place and its path. Every conversion throws InputError
// with the place, the last part of the path and a correct spelling.
class Field {
 public:
  Field(DocumentPtr document, Node node, std::string path)
      : document_(std::move(document)), node_(std::move(node)), path_(std::move(path)) {}

  [[nodiscard]] std::string text() const;  // any scalar
  // The path of the file that the text names, relative to the folder of the document.
  [[nodiscard]] std::string file_path() const;
  [[nodiscard]] Seconds seconds() const;
  [[nodiscard]] Seconds positive_seconds() const;
  [[nodiscard]] Seconds long_time() const;         // as seconds(); hints name minutes and hours
  [[nodiscard]] BytesPerSecond bandwidth() const;  // above 0
  [[nodiscard]] Bytes bytes() const;               // above 0
  [[nodiscard]] FlopsPerSecond flops_per_second() const;  // above 0
  [[nodiscard]] SamplesPerSecond throughput() const;      // above 0
  [[nodiscard]] bool boolean() const;
  // Numbers without a unit, within a closed range.
  [[nodiscard]] double number(double least, double most) const;
  [[nodiscard]] std::uint64_t count(std::uint64_t least, std::uint64_t most) const;
  // "20%" or 0.2; at least 0.
  [[nodiscard]] double fraction(double most) const;
  // The index of the word among `words`.
  [[nodiscard]] std::size_t word(std::span<const std::string_view> words) const;
  template <HasWords Enum>
  [[nodiscard]] Enum word() const {
    constexpr auto known = words_of(Enum{});
    std::array<std::string_view, known.size()> texts;
    std::ranges::transform(known, texts.begin(), &Word<Enum>::text);
    return known[word(texts)].value;
  }

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const DocumentPtr& document() const { return document_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::vector<Field> list() const;  // at least one element
  [[nodiscard]] Location location() const { return location_of(*document_, node_); }
  // The same value, as one of several compared: not refused where another makes it meaningless.
  [[nodiscard]] Field of_several() const;
  [[nodiscard]] bool is_of_several() const { return is_of_several_; }
  // `what` follows the key and the value: `latency "5" <what>`.
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;

 private:
  DocumentPtr document_;
  Node node_;
  std::string path_;
  bool is_of_several_ = false;
};

// Values that stand in for those of the file, by path: sweep axes and --set.
using Overrides = std::map<std::string, Field>;
inline const Overrides no_overrides;

// Reads one map of a document key by key. finish() refuses the keys that nobody asked for, so the
// code that reads is the schema. A map may lie over another one, which gives the values it lacks (a
// cluster over its preset); overrides lie over both.
class Reader {
 public:
  // `overrides` must outlive the reader.
  Reader(DocumentPtr document, Node map, std::string path, const Overrides& overrides);
  // Without overrides: a map, or a whole document.
  explicit Reader(const Field& map);
  explicit Reader(const DocumentPtr& document);

  // Puts another map below this one; `is_of_setting`: an override names it, and not this map.
  void lay_over(DocumentPtr document, Node map, bool is_of_setting = false);

  [[nodiscard]] std::optional<Field> find(const std::string& key);
  [[nodiscard]] Field require(const std::string& key, std::string_view example);
  // Finds a list of maps, into which overrides may reach by number (layers.0.forward).
  [[nodiscard]] std::optional<Field> find_list(const std::string& key);
  // Refuses a file whose key `schema` names another format.
  void expect_schema(std::string_view format);
  // The map under a key; empty where there is none.
  [[nodiscard]] Reader map(const std::string& key);
  [[nodiscard]] bool has(const std::string& key);
  // Says who gives the key: 0 for an override, 1 for this map, 2 and up for the maps below it.
  // A key of a map in this one may be named, too, "network.transport".
  [[nodiscard]] std::optional<std::size_t> layer_of(std::string_view key) const;
  // The layer whose author decided that: 0 for a map that an override names.
  [[nodiscard]] std::size_t author_of(std::size_t layer) const;
  // What the key had before layers above this one were laid over it.
  [[nodiscard]] std::optional<Field> find_below(std::string_view key, std::size_t layer) const;
  // What the layers below give holds in place of the value. Precondition: it is no override's.
  void leave_out(std::string_view key);
  // This map as the author of the layer wrote it, who knew none above.
  [[nodiscard]] Reader as_of(std::size_t layer) const;
  [[nodiscard]] bool is_set(std::string_view key) const { return overrides_->contains(below(key)); }

  // Throws InputError for the first key that is none of these, with the nearest of them. Called
  // before required keys are read, so that a message names the misspelt key, not the missing one.
  // Where none is near the hint has those that `listed` gives, unless that is null: all.
  using Listed = std::function<std::vector<std::string>()>;
  void expect_only(std::span<const std::string_view> keys, const Listed& listed = nullptr) const;

  // Throws InputError for the first key that was not asked for, with the nearest known one.
  void finish() const;

  // The place of the map; where the document has none, that of the map around it.
  [[nodiscard]] Location location() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::vector<std::pair<std::string, Field>> entries();  // counts as asking for all

 private:
  struct Layer {
    DocumentPtr document;
    Node map;  // a map, or nothing
    bool is_of_setting = false;
    std::set<std::string, std::less<>> left_out = {};  // keys

    [[nodiscard]] Node value(std::string_view key) const;  // nothing, unless one is given
  };

  [[nodiscard]] std::string below(std::string_view key) const;
  void expect_among(std::span<const std::string> known, const Listed& listed) const;
  [[noreturn]] void fail_unknown(const std::string& key, Location where,
                                 std::span<const std::string> known, const Listed& listed) const;
  // The part of an override's path below this map; empty for overrides of other maps.
  [[nodiscard]] std::string rest_of(const std::string& overridden_path) const;

  std::vector<Layer> layers_;  // the first wins
  std::string path_;
  std::optional<Location> around_;  // of the map that this one would be in
  const Overrides* overrides_;
  std::set<std::string> asked_;  // keys
  std::set<std::string> open_;   // those of them that overrides may reach below
};

// The candidate with the fewest edits from `word`, if they are few enough for a slip.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);
// The hint for a word that is none of them: "did you mean ddp? known: ddp, fsdp".
[[nodiscard]] std::string known_ones(std::string_view word,
                                     std::span<const std::string> candidates);

}  // namespace paceline::loader
