#pragma once

#include <string>
#include <vector>

#include "scenarios/files/output_file.h"

// CLI11 is headers only, and whoever includes it compiles all of it again, parser, help and
// configuration files: 5 s a source. The commands add their options through here instead.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace paceline::cli {

// An option that was added to a command; copies stand for the same one. Each function returns the
// option itself.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  const Option& required() const;
  const Option& needs(const Option& other) const;
  const Option& excludes(const Option& other) const;
  // May be given several times, with one value each.
  const Option& repeatable() const;
  // One value may hold several, with `delimiter` between them.
  const Option& separated_by(char delimiter) const;
  // Both ends included.
  const Option& in_range(int least, int most) const;
  const Option& one_of(const std::vector<std::string>& values) const;

 private:
  CLI::Option* option_;
};

// Where a command adds its options. A value is written when the arguments are read, and has to
// outlive that; what it holds before is the default. A name without dashes is positional.
class CommandOptions {
 public:
  // The outputs of a command, by the names of their options.
  struct Output {
    std::string name;
    files::OutputFile* file;
  };

  CommandOptions(CLI::App& app, std::vector<Output>& outputs) : app_(app), outputs_(outputs) {}

  // Of the types that the source lists: another one is a line there.
  template <class Value>
  Option add_option(const std::string& name, Value& value, const std::string& description);
  Option add_flag(const std::string& name, bool& value, const std::string& description);
  // It is open when the command begins.
  Option add_output(const std::string& name, files::OutputFile& file,
                    const std::string& description);

 private:
  CLI::App& app_;
  std::vector<Output>& outputs_;
};

}  // namespace paceline::cli
