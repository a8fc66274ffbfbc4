#include <memory>
#include <ostream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/compare/comparison.h"
#include "scenarios/errors.h"

namespace paceline::cli {
namespace compare_command {

struct Options {
  std::string a, b;
  std::string side;
  ResultOutput output;
};

compare::Comparison comparison_of(const compare::ResultFile& a,
                                  const std::optional<compare::ResultFile>& b,
                                  const std::string& side) {
  if (b) {
    auto made = compare::compare(a, *b, from_text<compare::Kind>(side));
    if (!made.pairs.empty()) return made;
    throw InputError({b->path}, "has no point with the GPUs and axes of one of " + a.path,
                     side.empty() ? "" : "leave out --side");
  }
  if (!side.empty()) {
    throw InputError({"--side"}, "chooses a side of two files", "give both files");
  }
  auto made = compare::compare_sides(a);
  if (!made.pairs.empty()) return made;
  throw InputError({a.path}, "has no point that is both predicted and measured",
                   "write paceline run SCENARIO --measure --json FILE, or give two files");
}

std::vector<page::Document> documents_of(const compare::ResultFile& a,
                                         const std::optional<compare::ResultFile>& b,
                                         const compare::Comparison& comparison) {
  std::vector<page::Document> all;
  if (!a.json.empty()) all.push_back({a.path, a.json});
  if (b && !b->json.empty()) all.push_back({b->path, b->json});
  all.push_back(
      document_of("comparison", [&](std::ostream& out) { compare::write_json(out, comparison); }));
  return all;
}

int run(Options& options) {
  const compare::ResultFile a = compare::read_result(options.a);
  std::optional<compare::ResultFile> b;
  if (!options.b.empty()) b = compare::read_result(options.b);
  const auto comparison = comparison_of(a, b, options.side);
  options.output.write_but_page([&](std::ostream& out) { write_text(out, comparison); },
                                [&](std::ostream& out) { write_json(out, comparison); });
  if (options.output.page.is_asked()) {
    const auto documents = documents_of(a, b, comparison);
    options.output.page.write_if_asked(name_of(documents.front()), std::nullopt,
                                       [&] { return documents; });
  }
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
  options->output.add_json_to(app, "the comparison");
  options->output.report.add_markdown_to(app);
  options->output.page.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
