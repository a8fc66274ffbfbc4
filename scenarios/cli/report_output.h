#pragma once

#include <functional>
#include <iosfwd>

#include "scenarios/cli/command_options.h"
#include "scenarios/files/output_file.h"

namespace paceline::cli {

// A command's report for people: on standard output, and as Markdown.
struct ReportOutput {
  files::OutputFile markdown;
  bool lists_assumptions = false;

  // Returns the option of --markdown.
  Option add_markdown_to(CommandOptions& app);
  // --assumptions, of reports that make some.
  void add_assumptions_to(CommandOptions& app);

  // Writes the report through `write` to standard output, unless `is_taken` or Markdown goes there,
  // and as Markdown where that is asked for. Throws what `write` and files::OutputFile throw.
  void write(bool is_taken, const std::function<void(std::ostream&)>& write);
};

}  // namespace paceline::cli
