#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/errors.h"
#include "traces/text/format_error.h"

namespace paceline::loader {

using traces::TextPlace;

// A value of a YAML text, and where it stands. Immutable; any thread may read it.
class Node {
 public:
  using Entry = std::pair<Node, Node>;  // a key and its value

  Node() = default;  // nothing: what a map has under a key that it lacks
  explicit Node(std::string scalar, TextPlace place = {});
  explicit Node(std::vector<Node> list, TextPlace place = {});
  explicit Node(std::vector<Entry> map, TextPlace place = {});
  [[nodiscard]] static Node null(TextPlace place);

  explicit operator bool() const { return data_ != nullptr; }
  [[nodiscard]] bool is_null() const { return is(Kind::null); }
  [[nodiscard]] bool is_scalar() const { return is(Kind::scalar); }
  [[nodiscard]] bool is_list() const { return is(Kind::list); }
  [[nodiscard]] bool is_map() const { return is(Kind::map); }

  // Empty of other kinds.
  [[nodiscard]] const std::string& scalar() const;
  [[nodiscard]] const std::vector<Node>& list() const;
  [[nodiscard]] const std::vector<Entry>& entries() const;
  [[nodiscard]] Node operator[](std::string_view key) const;

  [[nodiscard]] TextPlace place() const;

  // Whether they say the same, wherever they stand.
  friend bool operator==(const Node& one, const Node& other);

 private:
  enum class Kind { nothing, null, scalar, list, map };
  struct Data;

  [[nodiscard]] const Data& data() const;
  [[nodiscard]] bool is(Kind kind) const;

  std::shared_ptr<const Data> data_;
};

// A YAML text and the name that messages give it.
struct Document {
  std::string name;
  std::string folder;  // where its relative paths start; empty: the working directory
  std::string text;
  Node root;
  bool has_lines = true;  // false: a command-line value; messages give no line
};

using DocumentPtr = std::shared_ptr<const Document>;

// Both throw InputError: a file that is missing, unreadable, above 1 MiB, or not text; YAML that
// does not parse or is more than one document; and YAML whose aliases stand for more than 100,000
// values (an "alias bomb"). The file may be a pipe.
[[nodiscard]] DocumentPtr read_document(const std::string& path);
[[nodiscard]] DocumentPtr parse_document(std::string name, std::string_view text);

// A document that no text has: the single values of its maps, by path ("cluster.nodes"), lists of
// such, and parts that are YAML. No path is below another one. Messages give no line. Its text, for
// a hash, is a line for each value. Throws InputError for a value that is no UTF-8.
[[nodiscard]] DocumentPtr make_document(
    std::string name, const std::map<std::string, std::string>& values,
    const std::map<std::string, std::vector<std::string>>& lists = {},
    const std::map<std::string, std::string>& yaml = {});

[[nodiscard]] Location location_of(const Document& document, const Node& node);

// As a YAML scalar in quotation marks: what JSON has, it has. Of bytes that are no ASCII "?".
[[nodiscard]] std::string yaml_quoted(std::string_view text);

// A comment of a YAML text, in lines of 100 characters at most, broken at blanks.
[[nodiscard]] std::string comment(std::string_view text, const std::string& indent = "");

// A section of the document as a YAML text of its own. Precondition: it has one.
[[nodiscard]] std::string section_text(const Document& document, const std::string& key);

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 digest_of(std::string_view text);
// Of what a regular file holds. Throws InputError when it cannot be read.
[[nodiscard]] Sha256 sha256_of_file(const std::string& path);
// In hexadecimal digits.
[[nodiscard]] std::string sha256_of(const std::string& text);

}  // namespace paceline::loader
