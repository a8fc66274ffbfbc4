#include "scenarios/cli/report_output.h"

#include <iostream>

#include "scenarios/text_form.h"

namespace paceline::cli {

Option ReportOutput::add_markdown_to(CommandOptions& app) {
  return app.in_group("Output").add_output(
      "--markdown", markdown,
      "Write the report as Markdown for GitHub to this file; - is standard output.");
}

void ReportOutput::add_assumptions_to(CommandOptions& app) {
  app.in_group("Output").add_flag(
      "--assumptions", lists_assumptions,
      "List all assumptions and details in the report, not only their number.");
}

void ReportOutput::write(bool is_taken, const std::function<void(std::ostream&)>& write) {
  if (!is_taken && !markdown.is_standard_output()) {
    TextForm form = text_form(std::cout);
    form.lists_assumptions = lists_assumptions;
    set_text_form(std::cout, form);
    write(std::cout);
  }
  markdown.write_if_asked([&](std::ostream& out) {
    const TextForm before = text_form(out);
    set_text_form(out, {.is_markdown = true});
    write(out);
    set_text_form(out, before);
  });
}

}  // namespace paceline::cli
