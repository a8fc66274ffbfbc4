#include "scenarios/report/page/page.h"

#include <ostream>
#include <span>
#include <stdexcept>

#include "models/contract.h"
#include "models/shipped_file.h"
#include "models/text/json_writer.h"
#include "scenarios/build_label.h"
#include "scenarios/text_form.h"
#include "traces/json/json_value.h"
#include "traces/text/format_error.h"

namespace paceline {

std::span<const ShippedFile> shipped_page_template();
std::span<const ShippedFile> shipped_page_script();
std::span<const ShippedFile> shipped_page_style();

namespace page {
namespace {

// What is not JSON would leave the whole page empty.
traces::JsonValue content_of(const Document& document) {
  try {
    return traces::parse_json(document.json, "");
  } catch (const traces::FormatError& error) {
    throw std::invalid_argument(document.name + " is not JSON: " + error.what());
  }
}

// "</script" would end a script element, and "<!--" change how its end is found (HTML Living
// Standard, 4.12.1.3). JSON has "<" in strings only, which may escape it.
std::string inside_script(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

std::string made_by() {
  return "paceline " + std::string(build_label.version) + " (" + std::string(build_label.commit) +
         ")";
}

std::string payload_of(const Contents& contents) {
  std::string text;
  JsonWriter json(text);
  const auto write_document = [&](const Document& document) {
    json.object([&] {
      json.put("name", document.name);
      json.put("content", content_of(document));
    });
  };
  json.object([&] {
    json.put("schema", "paceline.report/1");
    json.put("title", contents.title);
    json.put("command", contents.command);
    json.put("made_by", made_by());
    json.put("scenario", contents.scenario);
    json.put_list("documents", contents.documents, write_document);
  });
  return inside_script(text);
}

// As UTF-8, by way of JSON, which replaces what is not.
std::string title_of(const Contents& contents) {
  std::string text;
  JsonWriter(text).value(contents.title);
  return in_markup(traces::parse_json(text, "").text());
}

}  // namespace

std::string_view template_text() { return shipped_page_template().front().text; }
std::string_view script_text() { return shipped_page_script().front().text; }
std::string_view style_text() { return shipped_page_style().front().text; }

void write_page(std::ostream& out, const Contents& contents) {
  const std::string title = title_of(contents), payload = payload_of(contents);
  const struct {
    std::string_view mark, text;
  } parts[] = {{"{{title}}", title},
               {"{{css}}", style_text()},
               {"{{payload}}", payload},
               {"{{js}}", script_text()}};
  // In the template's order, each once: what is filled in is not looked at again.
  std::string_view left = template_text();
  for (const auto& [mark, text] : parts) {
    const auto at = left.find(mark);
    PACELINE_EXPECTS(at != std::string_view::npos);
    out << left.substr(0, at) << text;
    left.remove_prefix(at + mark.size());
  }
  out << left;
}

}  // namespace page
}  // namespace paceline
