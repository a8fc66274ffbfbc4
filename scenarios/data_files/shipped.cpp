#include "scenarios/data_files/shipped.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scenarios/data_files/hugging_face.h"

namespace paceline::loader {
namespace {

DocumentPtr load(const Field& field, const std::string& name,
                 std::span<const ShippedFile> shipped) {
  if (names_a_file(name)) return read_document(field.file_path());
  const auto found = std::ranges::find(shipped, name, &ShippedFile::name);
  if (found != shipped.end()) return parse_document("shipped " + name, found->text);
  field.fail("is not known", known_ones(name, names_of(shipped)) + ", or the path of a .yaml file");
}

}  // namespace

std::vector<std::string> names_of(std::span<const ShippedFile> files) {
  std::vector<std::string> names;
  for (const ShippedFile& file : files) names.emplace_back(file.name);
  return names;
}

DocumentPtr named_document(const Field& name, std::span<const ShippedFile> shipped,
                           std::span<const Key> table) {
  // A sweep asks for the same few files at every point. Keyed by schema, name and who asks.
  static thread_local std::map<std::string, DocumentPtr> cache;
  const std::string_view schema = table.front().example;
  const std::string text = name.text();
  DocumentPtr& document = cache[fmt::format("{} {} {}", schema, text, name.document()->name)];
  if (document) return document;
  DocumentPtr loaded = load(name, text, shipped);
  Reader reader(loaded);
  // A config.json of Hugging Face describes a network, in keys of its own.
  if (!(schema == "paceline.network/1" && is_config(reader))) {
    reader.expect_only(names_of(table));
    reader.expect_schema(schema);
  }
  document = std::move(loaded);
  return document;
}

}  // namespace paceline::loader
