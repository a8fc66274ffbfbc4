#include <memory>
#include <ostream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/report_output.h"
#include "scenarios/compare/write_comparison.h"
#include "scenarios/errors.h"

namespace paceline::cli {
namespace compare_command {

struct Options {
  std::string a, b;
  std::string side;
  ReportOutput report;
  files::OutputFile json;
};

compare::Comparison comparison_of(const Options& options) {
  const auto a = compare::read_result(options.a);
  if (!options.b.empty()) {
    auto made = compare::compare(a, compare::read_result(options.b),
                                 from_text<compare::Kind>(options.side));
    if (!made.pairs.empty()) return made;
    throw InputError({options.b, 0, 0},
                     "has no point with the GPUs and axes of one of " + options.a,
                     options.side.empty() ? "" : "leave out --side");
  }
  if (!options.side.empty()) {
    throw InputError({"--side", 0, 0}, "chooses a side of two files", "give both files");
  }
  auto made = compare::compare_sides(a);
  if (!made.pairs.empty()) return made;
  throw InputError({options.a, 0, 0}, "has no point that is both predicted and measured",
                   "write paceline run SCENARIO --measure --json FILE, or give two files");
}

int run(Options& options) {
  const auto comparison = comparison_of(options);
  options.report.write(options.json.is_standard_output(),
                       [&](std::ostream& out) { compare::write_table(out, comparison); });
  options.json.write_if_asked([&](std::ostream& out) { compare::write_json(out, comparison); });
  return exit_done;
}

}  // namespace compare_command

Action attach_compare(CommandOptions& app) {
  using namespace compare_command;
  auto options = std::make_shared<Options>();
  app.add_option("a", options->a,
                 "a result that run or measure wrote with --json, or traces of a run")
      .required();
  app.add_option("b", options->b,
                 "another; without it: what was predicted in the first against what was measured");
  app.add_option("--side", options->side,
                 "of both files; default: what was measured where it was, else what was predicted")
      .one_of({"predicted", "measured"});
  options->report.add_markdown_to(app);
  app.add_output("--json", options->json, "write the comparison as JSON; - is standard output");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
