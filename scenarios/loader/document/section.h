#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/settings/settings.h"
#include "scenarios/loader/document/reader.h"

namespace paceline::loader {

// What a map gives the keys of a table, which must outlive it; `around` has what the section around
// it gives. Throws InputError for a value that is not of its key's type and range.
[[nodiscard]] settings::Settings read_settings(Reader& map, std::span<const settings::Key> keys,
                                               const settings::Settings& around);

// What stands in a map itself, of the keys of a table.
[[nodiscard]] std::vector<std::string_view> names_of(std::span<const settings::Key> keys);

// A map of a document read by a table of keys, which must outlive it. All that the table says is
// held against the map: unknown keys, types and ranges when it is read, required keys when they are
// taken, and what keys need in finish(). All members throw InputError.
class Section {
 public:
  Section(Reader map, std::span<const settings::Key> keys);

  // What this map lacks is looked up there. Precondition: no range depends on the section around.
  void lay_over(DocumentPtr document, Node map);
  // What holds in this file where a key is not given.
  void assume(std::string_view key, settings::Value value);

  [[nodiscard]] bool is_given(std::string_view key) const { return settings_.is_given(key); }
  // What is given or holds; nullopt where that depends on other things.
  template <class T>
  [[nodiscard]] std::optional<T> find(std::string_view key) const {
    return settings_.find<T>(key);
  }
  // The same. Precondition: the key is required, or something holds.
  template <class T>
  [[nodiscard]] T get(std::string_view key) {
    if (says(settings_.key_of(key), settings::required)) (void)require(key);
    return settings_.get<T>(key);
  }

  // As it stands in the document, for what is read by hand and for messages; of a key within a map
  // ("optimizer.kind") as well.
  [[nodiscard]] std::optional<Field> field(std::string_view key);
  [[nodiscard]] Field require(std::string_view key);
  // A text; of a key that is not required empty where it is not given.
  [[nodiscard]] std::string text(std::string_view key);
  // The section under a key.
  [[nodiscard]] Section below(std::string_view key);
  [[nodiscard]] Reader& map() { return map_; }
  [[nodiscard]] Location location() const { return map_.location(); }

  // Throws where a setting, and not the file, gives a key that changes nothing: a file may say more
  // than counts, but who sets a key expects something of it. One of several that are compared may.
  void refuse_set(const char* key, const std::string& what, const std::string& hint);

  // Of a key that counts for nothing here: finish() does not ask for what it needs.
  void leave_out(std::string_view key) { left_out_.emplace(key); }

  // Throws for the first key without what it needs.
  void finish();

 private:
  Section(Reader map, std::span<const settings::Key> keys, const settings::Settings& around);

  Reader map_;
  std::span<const settings::Key> keys_;
  settings::Settings settings_;
  std::set<std::string, std::less<>> left_out_;  // keys
};

}  // namespace paceline::loader
