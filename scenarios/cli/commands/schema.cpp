#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/schema/json_schema.h"

namespace paceline::cli {
namespace schema_command {

struct Options {
  std::string kind = "scenario";
  files::OutputFile output{"-"};
};

int run(Options& options) {
  const auto kind = std::ranges::find(schema::kinds(), options.kind, &schema::Kind::name);
  const std::string text = schema::json_schema(*kind);
  options.output.write([&](std::ostream& out) { out << text; });
  return exit_done;
}

}  // namespace schema_command

Action attach_schema(CommandOptions& app) {
  using namespace schema_command;
  auto options = std::make_shared<Options>();
  std::vector<std::string> names;
  for (const schema::Kind& kind : schema::kinds()) names.emplace_back(kind.name);
  app.add_option("kind", options->kind, "The kind of file (default: scenario).").one_of(names);
  app.add_output("-o,--output", options->output,
                 "Write the schema to this file (default: standard output).");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
