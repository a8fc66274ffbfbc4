#include "scenarios/loader/document/document.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "scenarios/files/input_file.h"
#include "traces/archive/input.h"

namespace paceline::loader {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;
constexpr std::uint64_t values_max = 100'000;
constexpr std::size_t key_shown_max = 60;

Location at(const std::string& name, const YAML::Mark& mark) {
  if (mark.is_null()) return {name, 0, 0};
  return {name, static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1};
}

// Counts the values of a document with its aliases written out, without writing them out, and
// refuses a second document and keys that stand twice in a map.
class ValueCounter : public YAML::EventHandler {
 public:
  explicit ValueCounter(const std::string& name) : name_(name) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) throw InputError(at(name_, mark), "starts a second document", "keep one a file");
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    next_in_map(mark, nullptr);
    leaf(mark, anchor, 1);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    next_in_map(mark, nullptr);
    leaf(mark, 0, sizes_[anchor]);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    next_in_map(mark, &text);
    leaf(mark, anchor, 1);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    next_in_map(mark, nullptr);
    open(mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    next_in_map(mark, nullptr);
    open(mark, anchor);
    open_.back().is_map = true;
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YAML::anchor_t anchor;
    std::uint64_t size;
    bool is_map = false;
    bool at_value = false;       // of a map: what comes next is no key
    std::set<std::string> keys;  // of a map
  };

  // Keys and values come in turn; `text` is null for what is no word.
  void next_in_map(const YAML::Mark& mark, const std::string* text) {
    if (open_.empty() || !open_.back().is_map) return;
    Open& map = open_.back();
    const bool is_key = !map.at_value;
    map.at_value = is_key;
    if (!is_key || text == nullptr || map.keys.insert(*text).second) return;
    throw InputError(at(name_, mark), "key \"" + text->substr(0, key_shown_max) + "\" stands twice",
                     "keep one of them");
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    leaf(mark, 0, 1);
    open_.push_back({anchor, 1, false, false, {}});
  }
  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor != 0) sizes_[closed.anchor] = closed.size;
    if (!open_.empty()) open_.back().size += closed.size;
  }
  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, std::uint64_t size) {
    if (anchor != 0) sizes_[anchor] = size;
    if (!open_.empty()) open_.back().size += size;
    total_ += size;
    if (total_ > values_max) {
      throw InputError(at(name_, mark),
                       "stands for more than " + std::to_string(values_max) +
                           " values when its aliases are written out",
                       "use fewer anchors and aliases");
    }
  }

  const std::string& name_;
  bool started_ = false;
  std::uint64_t total_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::uint64_t> sizes_;
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
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  if (control != text.end()) {
    throw InputError({name, 0, 0},
                     "is not a text file: byte " + std::to_string(control - text.begin()) + " is " +
                         std::to_string(static_cast<unsigned char>(*control)),
                     "give a YAML file");
  }
  if (const auto wrong = first_byte_outside_utf8(text)) {
    throw InputError({name, 0, 0}, "is not text: byte " + std::to_string(*wrong) + " is no UTF-8",
                     "save the file as UTF-8");
  }
}

// Puts a value below a map, and the maps of its path where they are missing.
void put(YAML::Node map, std::string_view path, const YAML::Node& value) {
  const std::size_t dot = path.find('.');
  YAML::Node below = map[std::string(path.substr(0, dot))];
  if (dot == path.npos) {
    below = value;
  } else {
    put(below, path.substr(dot + 1), value);
  }
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

Location location_of(const Document& document, const YAML::Node& node) {
  if (!document.has_lines) return {document.name, 0, 0};
  return at(document.name, node.Mark());
}

DocumentPtr parse_document(std::string name, std::string_view text) {
  require_text(name, text);
  std::string owned(text);
  try {
    std::istringstream counted(owned);
    YAML::Parser parser(counted);
    ValueCounter counter(name);
    while (parser.HandleNextDocument(counter)) {
    }
    const auto root = YAML::Load(owned);
    return std::make_shared<Document>(Document{std::move(name), "", std::move(owned), root, true});
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
  Document made{std::move(name), "", "", YAML::Node(YAML::NodeType::Map), false};
  const auto take = [&](const std::string& path, const std::string& value) {
    if (const auto wrong = first_byte_outside_utf8(value)) {
      throw InputError({made.name, 0, 0},
                       path + " is not text: its byte " + std::to_string(*wrong) + " is no UTF-8",
                       "");
    }
    made.text += path + ": " + value + "\n";
  };
  for (const auto& [path, value] : values) {
    take(path, value);
    put(made.root, path, YAML::Node(value));
  }
  for (const auto& [path, list] : lists) {
    YAML::Node sequence(YAML::NodeType::Sequence);
    for (const std::string& value : list) {
      take(path, value);
      sequence.push_back(value);
    }
    put(made.root, path, sequence);
  }
  for (const auto& [path, text] : yaml) {
    take(path, text);
    put(made.root, path, parse_document(made.name, text)->root);
  }
  return std::make_shared<Document>(std::move(made));
}

}  // namespace paceline::loader
