#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
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
#include "scenarios/loader/document/document.h"

namespace paceline::loader {

// One value of a document, for messages about it and for its conversion. Every conversion throws
// InputError with the place, the path's last part and a correct spelling.
class Field {
 public:
  Field(DocumentPtr document, Node node, std::string path)
      : document_(std::move(document)), node_(std::move(node)), path_(std::move(path)) {}

  [[nodiscard]] std::string text() const;  // any scalar
  // Of the file that the text names, from the folder of its document.
  [[nodiscard]] std::string file_path() const;
  [[nodiscard]] Seconds seconds() const;
  [[nodiscard]] Seconds positive_seconds() const;
  [[nodiscard]] Seconds long_time() const;         // as seconds(); hints name minutes and hours
  [[nodiscard]] BytesPerSecond bandwidth() const;  // above 0
  [[nodiscard]] Bytes bytes() const;               // above 0
  [[nodiscard]] FlopsPerSecond flops_per_second() const;  // above 0
  [[nodiscard]] SamplesPerSecond throughput() const;      // above 0
  [[nodiscard]] bool boolean() const;
  // A number without a unit, of the closed range.
  [[nodiscard]] double number(double least, double most) const;
  [[nodiscard]] std::uint64_t count(std::uint64_t least, std::uint64_t most) const;
  // "20%" or 0.2; at least 0.
  [[nodiscard]] double fraction(double most) const;
  // The index of the word among `words`.
  [[nodiscard]] std::size_t word(std::span<const std::string_view> words) const;
  // The value of an enumeration whose word it is.
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
  [[nodiscard]] std::vector<Field> list() const;  // its elements; not empty
  [[nodiscard]] Location location() const { return location_of(*document_, node_); }
  // The same value, as one of several that are compared: where another one of them decides that it
  // means nothing, it may stand all the same.
  [[nodiscard]] Field of_several() const;
  [[nodiscard]] bool is_of_several() const { return is_of_several_; }
  // `what` goes on after the key and the value: `latency "5" <what>`.
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;

 private:
  template <class T>
  T positive(T value, std::string_view what) const;

  DocumentPtr document_;
  Node node_;
  std::string path_;
  bool is_of_several_ = false;
};

// Values that stand in for those of the file, by path: sweep axes and --set.
using Overrides = std::map<std::string, Field>;
inline const Overrides no_overrides;

// One map of a document, read key by key. Keys that were not asked for are errors in finish(), so
// what is asked for is the schema. A map may lie over another one that gives the values it lacks (a
// cluster over its preset), and overrides lie over both.
class Reader {
 public:
  // `overrides` must outlive the reader.
  Reader(DocumentPtr document, Node map, std::string path, const Overrides& overrides);
  // Without any: a map, or the one of a document.
  explicit Reader(const Field& map);
  explicit Reader(const DocumentPtr& document);

  // What this map lacks is looked up there.
  void lay_over(DocumentPtr document, Node map);

  [[nodiscard]] std::optional<Field> find(const std::string& key);
  [[nodiscard]] Field require(const std::string& key, std::string_view example);
  // As find, for a list of maps: overrides may reach below it by number (layers.0.forward).
  [[nodiscard]] std::optional<Field> find_list(const std::string& key);
  // Of a file, whose key `schema` names its format.
  void expect_schema(std::string_view format);
  // The map under a key; empty when there is none.
  [[nodiscard]] Reader map(const std::string& key);
  [[nodiscard]] bool has(const std::string& key);
  // Which of what lies over one another gives it: 0 for an override, then this map, then those that
  // it was laid over. nullopt: none.
  [[nodiscard]] std::optional<std::size_t> layer_of(const std::string& key) const;
  // Whether an override gives it.
  [[nodiscard]] bool is_set(const std::string& key) const {
    return overrides_->contains(below(key));
  }

  // Throws InputError for the first key that is none of these, with the nearest of them. For maps
  // with required keys, before they are asked for: what is told is the key that is misspelt, not
  // the one that is missing for it.
  void expect_only(std::span<const std::string_view> keys) const;

  // Throws InputError for the first key that was not asked for, with the nearest known one.
  void finish() const;

  // Of the map; where the document has none, of the one around it.
  [[nodiscard]] Location location() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::vector<std::pair<std::string, Field>> entries();  // all keys; asks for all

 private:
  struct Layer {
    DocumentPtr document;
    Node map;  // a map, or nothing
  };

  [[nodiscard]] std::string below(const std::string& key) const;
  void expect_among(std::span<const std::string> known) const;
  [[noreturn]] void fail_unknown(const std::string& key, Location where,
                                 std::span<const std::string> known) const;
  // Of an override of this map: the path below it, empty for those of others.
  [[nodiscard]] std::string rest_of(const std::string& overridden_path) const;

  std::vector<Layer> layers_;  // the first wins
  std::string path_;
  std::optional<Location> around_;  // of the map that this one would be in
  const Overrides* overrides_;
  std::set<std::string> asked_;  // keys
  std::set<std::string> open_;   // those of them that overrides may reach below
};

// The candidate with the fewest edits from `word`, if they are few enough to be a slip.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);
// A hint where it is none of them: "did you mean ddp? known: ddp, fsdp".
[[nodiscard]] std::string known_ones(std::string_view word,
                                     std::span<const std::string> candidates);

}  // namespace paceline::loader
