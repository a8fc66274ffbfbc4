#include "scenarios/cli/page_output.h"

#include <sstream>

#include "scenarios/cli/own_arguments.h"
#include "scenarios/import/shell_word.h"
#include "traces/json/json_value.h"

namespace paceline::cli {
namespace {

// Of the program its name alone: where it lies is of no use elsewhere.
std::string command_of_process() {
  std::string command = "paceline";
  const std::vector<std::string> words = own_arguments();
  for (std::size_t i = 1; i < words.size(); ++i) command += ' ' + shell_word(words[i]);
  return words.empty() ? "" : command;
}

}  // namespace

page::Document document_of(const std::string& name,
                           const std::function<void(std::ostream&)>& write_json) {
  std::ostringstream json;
  write_json(json);
  return {name, std::move(json).str()};
}

std::string name_of(const page::Document& document) {
  using traces::JsonValue;
  const JsonValue all = traces::parse_json(document.json, "");
  const auto first = [&](const char* list) -> const JsonValue& {
    static const JsonValue none;
    const auto& elements = all[list].list_or_empty();
    return elements.empty() ? none : elements.front();
  };
  for (const std::string_view found :
       {all["context"]["name"].text_or_empty(), all["job"].text_or_empty(),
        first("comparisons")["scenario"].text_or_empty(), first("scenarios").text_or_empty(),
        all["scenario"].text_or_empty(), first("steps")["point"].text_or_empty()}) {
    if (!found.empty()) return std::string(found);
  }
  return document.name;
}

Option PageOutput::add_to(CommandOptions& app) {
  return app.in_group("Output").add_output(
      "--html", html,
      "Write the result as a page with charts for a browser: one file that needs no network.");
}

void PageOutput::write_if_asked(const std::string& title,
                                const std::optional<std::string>& scenario,
                                const std::function<std::vector<page::Document>()>& documents) {
  html.write_if_asked([&](std::ostream& out) {
    page::write_page(out, {title, command_of_process(), scenario, documents()});
  });
}

}  // namespace paceline::cli
