#include "scenarios/document/document.h"

#include <fmt/format.h>
#include <nettle/sha2.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "traces/archive/input.h"

namespace paceline::loader {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;
constexpr std::uint64_t values_max = 100'000;
constexpr std::size_t key_shown_max = 60;

TextPlace place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1};
}

Location at(const std::string& name, const YAML::Mark& mark) {
  const TextPlace place = place_of(mark);
  return {name, place.line, place.column};
}

// Makes a document of what the parser finds. Counts its values with aliases written out, which
// share what they stand for; refuses a second document and keys that stand twice in a map.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& name) : name_(name) {}

  [[nodiscard]] const Node& root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) throw InputError(at(name_, mark), "starts a second document", "keep one a file");
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    count(1, mark);
    add({Node::null(place_of(mark)), 1}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) throw InputError(at(name_, mark), "is within what it names", "");
    count(known->second.size, mark);
    add(known->second, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    count(1, mark);
    if (is_at_key() && !open_.back().known.insert(text).second) {
      throw InputError(at(name_, mark),
                       "key \"" + text.substr(0, key_shown_max) + "\" stands twice",
                       "keep one of them");
    }
    add({Node(text, place_of(mark)), 1}, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, false);
  }
  void OnSequenceEnd() override {
    close([](Open& list) { return Node(std::move(list.elements), list.place); });
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, true);
  }
  void OnMapEnd() override {
    close([](Open& map) {
      std::vector<Node::Entry> entries;
      for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
        entries.emplace_back(map.elements[i], map.elements[i + 1]);
      }
      return Node(std::move(entries), map.place);
    });
  }

 private:
  struct Counted {
    Node node;
    std::uint64_t size;  // in values
  };
  struct Open {
    YAML::anchor_t anchor;
    TextPlace place;
    bool is_map;
    std::uint64_t size = 1;
    std::vector<Node> elements = {};   // of a map keys and values in turn
    std::set<std::string> known = {};  // keys of a map
  };

  [[nodiscard]] bool is_at_key() const {
    return !open_.empty() && open_.back().is_map && open_.back().elements.size() % 2 == 0;
  }

  void count(std::uint64_t values, const YAML::Mark& mark) {
    total_ += values;
    if (total_ <= values_max) return;
    if (anchors_.empty()) {
      throw InputError(at(name_, mark), "has more than " + std::to_string(values_max) + " values",
                       "split it into several files");
    }
    throw InputError(at(name_, mark),
                     "stands for more than " + std::to_string(values_max) +
                         " values when its aliases are written out",
                     "use fewer anchors and aliases");
  }

  void add(const Counted& made, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_.insert_or_assign(anchor, made);
    if (open_.empty()) {
      root_ = made.node;
    } else {
      open_.back().elements.push_back(made.node);
      open_.back().size += made.size;
    }
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_map) {
    count(1, mark);
    open_.push_back({anchor, place_of(mark), is_map});
  }
  template <class Make>
  void close(const Make& make) {
    Open closed = std::move(open_.back());
    open_.pop_back();
    add({make(closed), closed.size}, closed.anchor);
  }

  const std::string& name_;
  bool started_ = false;
  Node root_ = Node::null({});
  std::uint64_t total_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Counted> anchors_;
};

// The length of the UTF-8 sequence that starts the text, 0 when it is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is above U+10FFFF.
  const unsigned char second = byte(1);
  const bool refused = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return refused ? 0 : length;
}

std::optional<std::size_t> first_byte_outside_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

void require_text(const std::string& name, std::string_view text) {
  const auto control = std::ranges::find_if(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  if (control != text.end()) {
    throw InputError({name},
                     "is not a text file: byte " + std::to_string(control - text.begin()) + " is " +
                         std::to_string(static_cast<unsigned char>(*control)),
                     "give a YAML file");
  }
  if (const auto wrong = first_byte_outside_utf8(text)) {
    throw InputError({name}, "is not text: byte " + std::to_string(*wrong) + " is no UTF-8",
                     "save the file as UTF-8");
  }
}

// The map with a value at a path below it, and the maps of that path where they are missing.
Node with(const Node& map, std::string_view path, Node value) {
  const std::size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  if (dot != path.npos) value = with(map[key], path.substr(dot + 1), std::move(value));
  std::vector<Node::Entry> entries = map.entries();
  std::erase_if(entries, [&](const Node::Entry& entry) { return entry.first.scalar() == key; });
  entries.emplace_back(Node(key), std::move(value));
  return Node(std::move(entries));
}

// Standard input and other streams lie nowhere that a user thinks of, even when a file is behind.
std::string folder_of(const std::string& path) {
  std::error_code unknown;
  const bool is_stream = path == traces::standard_input || path.starts_with("/dev/") ||
                         path.starts_with("/proc/") ||
                         !std::filesystem::is_regular_file(path, unknown);
  return is_stream ? "" : std::filesystem::path(path).parent_path().string();
}

}  // namespace

struct Node::Data {
  Kind kind = Kind::nothing;
  TextPlace place = {};
  std::string scalar = {};
  std::vector<Node> list = {};
  std::vector<Entry> entries = {};
};

Node::Node(std::string scalar, TextPlace place)
    : data_(std::make_shared<Data>(Data{Kind::scalar, place, std::move(scalar)})) {}
Node::Node(std::vector<Node> list, TextPlace place)
    : data_(std::make_shared<Data>(Data{Kind::list, place, "", std::move(list)})) {}
Node::Node(std::vector<Entry> map, TextPlace place)
    : data_(std::make_shared<Data>(Data{Kind::map, place, "", {}, std::move(map)})) {}

Node Node::null(TextPlace place) {
  Node made;
  made.data_ = std::make_shared<Data>(Data{Kind::null, place});
  return made;
}

const Node::Data& Node::data() const {
  static const Data nothing;
  return data_ ? *data_ : nothing;
}

bool Node::is(Kind kind) const { return data().kind == kind; }
const std::string& Node::scalar() const { return data().scalar; }
const std::vector<Node>& Node::list() const { return data().list; }
const std::vector<Node::Entry>& Node::entries() const { return data().entries; }
bool operator==(const Node& one, const Node& other) {
  if (!one || !other) return bool(one) == bool(other);
  const auto all_of = [](const Node& node) {
    return std::tie(node.data().kind, node.scalar(), node.list(), node.entries());
  };
  return all_of(one) == all_of(other);
}

TextPlace Node::place() const { return data().place; }

Node Node::operator[](std::string_view key) const {
  for (const auto& [name, value] : entries()) {
    if (name.is_scalar() && name.scalar() == key) return value;
  }
  return {};
}

Location location_of(const Document& document, const Node& node) {
  if (!document.has_lines) return {document.name};
  return {document.name, node.place().line, node.place().column};
}

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return out + '"';
}

std::string comment(std::string_view text, const std::string& indent) {
  constexpr std::size_t width = 100;
  std::istringstream words{std::string(text)};
  std::string all, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      all += line + '\n';
      line.clear();
    }
    line += (line.empty() ? indent + "# " : " ") + word;
  }
  return line.empty() ? all : all + line + '\n';
}

std::string section_text(const Document& document, const std::string& key) {
  return YAML::Dump(YAML::Load(document.text)[key]);
}

DocumentPtr parse_document(std::string name, std::string_view text) {
  require_text(name, text);
  std::string owned(text);
  try {
    std::istringstream stream(owned);
    YAML::Parser parser(stream);
    TreeBuilder builder(name);
    while (parser.HandleNextDocument(builder)) {
    }
    return std::make_shared<Document>(
        Document{std::move(name), "", std::move(owned), builder.root(), true});
  } catch (const YAML::Exception& error) {
    throw InputError(at(name, error.mark), "is not YAML: " + error.msg, "");
  }
}

DocumentPtr read_document(const std::string& path) {
  auto document = std::make_shared<Document>(
      *parse_document(traces::name_of_input(path), files::read_text(path, file_bytes_max)));
  document->folder = folder_of(path);
  return document;
}

DocumentPtr make_document(std::string name, const std::map<std::string, std::string>& values,
                          const std::map<std::string, std::vector<std::string>>& lists,
                          const std::map<std::string, std::string>& yaml) {
  Document made{std::move(name), "", "", Node(std::vector<Node::Entry>()), false};
  const auto take = [&](const std::string& path, const std::string& value) {
    if (const auto wrong = first_byte_outside_utf8(value)) {
      throw InputError({made.name},
                       path + " is not text: its byte " + std::to_string(*wrong) + " is no UTF-8",
                       "");
    }
    made.text += path + ": " + value + "\n";
    return Node(value);
  };
  for (const auto& [path, value] : values) made.root = with(made.root, path, take(path, value));
  for (const auto& [path, list] : lists) {
    std::vector<Node> nodes;
    for (const std::string& value : list) nodes.push_back(take(path, value));
    made.root = with(made.root, path, Node(std::move(nodes)));
  }
  for (const auto& [path, text] : yaml) {
    (void)take(path, text);
    made.root = with(made.root, path, parse_document(made.name, text)->root);
  }
  return std::make_shared<Document>(std::move(made));
}

namespace {

class Hash {
 public:
  Hash() { sha256_init(&context_); }
  void add(std::string_view text) {
    sha256_update(&context_, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  }
  [[nodiscard]] Sha256 digest() {
    Sha256 digest{};
    sha256_digest(&context_, digest.size(), digest.data());
    return digest;
  }

 private:
  sha256_ctx context_;
};

}  // namespace

Sha256 digest_of(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.digest();
}

Sha256 sha256_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> block(std::size_t{1} << 16);
  Hash hash;
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.add({block.data(), static_cast<std::size_t>(in.gcount())});
  }
  if (in.bad() || !in.eof()) throw InputError({path}, "cannot be read", "");
  return hash.digest();
}

std::string sha256_of(const std::string& text) {
  return fmt::format("{:02x}", fmt::join(digest_of(text), ""));
}

}  // namespace paceline::loader
