#include "scenarios/cli/result_output.h"

#include "scenarios/cli/common_options.h"

namespace paceline::cli {

void ResultOutput::add_json_to(CommandOptions& app, const std::string& what) {
  add_json(app, json, what);
}

void ResultOutput::add_to(CommandOptions& app, const std::string& what) {
  add_json_to(app, what);
  report.add_assumptions_to(app);
  report.add_markdown_to(app);
  page.add_to(app);
}

void ResultOutput::write_but_page(const Write& text, const Write& as_json) {
  report.write(json.is_standard_output(), text);
  json.write_if_asked(as_json);
}

void ResultOutput::write(const Write& text, const Write& as_json, const std::string& title,
                         const std::optional<std::string>& scenario) {
  write_but_page(text, as_json);
  page.write_if_asked(title, scenario, [&]() -> std::vector<page::Document> {
    return {document_of("result", as_json)};
  });
}

}  // namespace paceline::cli
