#include <iostream>
#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/compare/write_comparison.h"
#include "scenarios/errors.h"

namespace paceline::cli {
namespace compare_command {

struct Options {
  std::string a, b;
  std::string side;
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
  if (!options.json.is_standard_output()) compare::write_table(std::cout, comparison);
  options.json.write_if_asked([&](std::ostream& out) { compare::write_json(out, comparison); });
  return exit_done;
}

}  // namespace compare_command

Action attach_compare(CommandOptions& app) {
  using namespace compare_command;
  auto options = std::make_shared<Options>();
  app.add_option("a", options->a,
                 "A result that run or measure wrote with --json, or the traces of a run.")
      .required()
      .reads_files("");
  app.add_option("b", options->b,
                 "The result to compare with (default: the measurements in the first file, which "
                 "are compared with its predictions).")
      .reads_files("");
  app.add_option("--side", options->side,
                 "The values to use of both files, predicted or measured (default: measured where "
                 "present, else predicted).")
      .one_of({"predicted", "measured"});
  add_json(app, options->json, "the comparison");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
