#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "models/settings/settings.h"
#include "scenarios/document/reader.h"

namespace paceline::loader {

using settings::automatic;
using settings::Bandwidth;
using settings::ComputeSpeed;
using settings::Count;
using settings::Flag;
using settings::Form;
using settings::Fraction;
using settings::Key;
using settings::Map;
using settings::Needs;
using settings::Number;
using settings::OneOf;
using settings::Owners;
using settings::required;
using settings::rows;
using settings::Size;
using settings::Structure;
using settings::Text;
using settings::texts_of;
using settings::Throughput;
using settings::Time;
using settings::value_of;

// Reads the keys of a table, which must outlive the result, from a map. `around` holds the settings
// of the section around it. Throws InputError for a value outside its key's type and range.
[[nodiscard]] settings::Settings read_settings(Reader& map, std::span<const Key> keys,
                                               const settings::Settings& around);

// The names that stand in a map itself: "optimizer" for the key "optimizer.kind".
[[nodiscard]] std::vector<std::string_view> names_of(std::span<const Key> keys);

// Whether a key of the table has the same value twice: nullopt where it is not given.
[[nodiscard]] bool are_alike(const Key& key, const std::optional<Field>& one,
                             const std::optional<Field>& other);

// A value that does not fit this run: a layer above changes an owner (settings::Owners), or a key
// that the value needs.
struct Outlived {
  const Key* key;
  std::string value;      // as it is spelled, as are the next; a list or a map is "another"
  std::string given_for;  // "bandwidth 100Gbps"
  std::string here;       // "10Gbps"
  bool is_left_out;
};

// A map of a document, read by a table of keys, which must outlive it. The constructor refuses
// unknown keys and values outside their types and ranges, and leaves out what outlived its owners;
// reading a required key refuses its absence; finish() refuses keys without what they need. All
// members throw InputError.
class Section {
 public:
  Section(Reader map, std::span<const Key> keys);

  // Puts another map below this one (Reader::lay_over). Precondition: no range depends on the
  // section around.
  void lay_over(DocumentPtr document, Node map, bool is_of_setting);
  // Sets what holds in this file where a key is not given.
  void assume(std::string_view key, settings::Value value);

  [[nodiscard]] bool is_given(std::string_view key) const { return settings_.is_given(key); }
  // The value that is given, or that holds; nullopt where that depends on other things.
  template <class T>
  [[nodiscard]] std::optional<T> find(std::string_view key) const {
    return settings_.find<T>(key);
  }
  // The same. Precondition: the key is required, or a value holds without it.
  template <class T>
  [[nodiscard]] T get(std::string_view key) {
    if (says(settings_.key_of(key), required)) (void)require(key);
    return settings_.get<T>(key);
  }

  // The value as it stands in the document, also of a key within a map ("optimizer.kind").
  [[nodiscard]] std::optional<Field> field(std::string_view key);
  [[nodiscard]] Field require(std::string_view key);
  // A text; empty where a key is neither required nor given.
  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] Section below(std::string_view key);
  [[nodiscard]] Reader& map() { return map_; }
  [[nodiscard]] Location location() const { return map_.location(); }

  // Whether the key is given and outlived its owner.
  [[nodiscard]] bool is_outlived(std::string_view key) const;
  // The section as whoever gave the key wrote it, with no layer above. Precondition: it is given.
  [[nodiscard]] Section as_given_with(std::string_view key) const;
  // The reader of the section cannot convert the value: it is left out. Precondition: outlived.
  void leave_out(std::string_view key);
  // A line for each owner whose values were left out.
  void say_left_out(Assumptions& assumptions) const;

  // Refuses a key without effect that a setting gives. A file may hold such keys; whoever sets one
  // expects something of it. One of several values that are compared may be set.
  void refuse_set(const char* key, const std::string& what, const std::string& hint);

  // Throws for the first key without what it needs.
  void finish();

 private:
  Section(Reader map, std::span<const Key> keys, const settings::Settings& around);

  void read(const settings::Settings& around);
  [[nodiscard]] std::vector<std::string> names_that_apply();
  [[nodiscard]] std::optional<Outlived> outlived(const Key& key);
  // Whether a layer whose author is above that one's gives the key.
  [[nodiscard]] bool is_replaced(std::string_view key, std::size_t layer) const;

  Reader map_;
  std::span<const Key> keys_;
  std::vector<Outlived> outlived_;
  settings::Settings settings_;
};

}  // namespace paceline::loader
