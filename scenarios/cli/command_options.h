#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/files/output_file.h"

// CLI11 is headers only, and whoever includes it compiles all of it again, parser, help and
// configuration files: 5 s a source. The commands add their options through here instead.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace paceline::cli {

// What the values of an option are, for shells that complete them.
struct OptionValues {
  bool are_files = false;
  std::vector<std::string> (*words)() = nullptr;  // all that there are
  std::vector<std::string> fixed;                 // likewise
};
using ValuesOfOptions = std::map<const CLI::Option*, OptionValues>;

// An option of a command; copies stand for the same one. Functions return the option itself.
class Option {
 public:
  Option(CLI::Option* option, ValuesOfOptions& values) : option_(option), values_(&values) {}

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
  // Names files that are read. A shipped one is found from any folder: by its path in the checkout,
  // or by its name in `shipped_folder` unless that is empty (files/shipped_input.h).
  const Option& reads_files(std::string_view shipped_folder) const;
  // What shells offer for it; other values are for the command to judge.
  const Option& suggests(std::vector<std::string> (*words)()) const;
  const Option& suggests(const std::vector<std::string>& words) const;

 private:
  CLI::Option* option_;
  ValuesOfOptions* values_;
};

// Where a command adds its options. A value is written when the arguments are read, and has to
// outlive that; what it holds before is the default. A name without dashes is positional.
class CommandOptions {
 public:
  struct Output {
    std::string name;
    files::OutputFile* file;
  };

  CommandOptions(CLI::App& app, std::vector<Output>& outputs, ValuesOfOptions& values)
      : app_(app), outputs_(outputs), values_(values) {}

  // The same command; what is added through it stands below this heading of the help.
  [[nodiscard]] CommandOptions in_group(std::string_view heading) const;

  // Of the types that the source lists: another one is a line there.
  template <class Value>
  Option add_option(const std::string& name, Value& value, const std::string& description);
  Option add_flag(const std::string& name, bool& value, const std::string& description);
  // It is open when the command begins.
  Option add_output(const std::string& name, files::OutputFile& file,
                    const std::string& description);

 private:
  [[nodiscard]] Option added(CLI::Option* option);

  CLI::App& app_;
  std::vector<Output>& outputs_;
  ValuesOfOptions& values_;
  std::string group_;  // empty: CLI11's own headings
};

struct DescribedOption {
  std::vector<std::string> names;  // with dashes; none: it is an argument
  std::string description;
  bool takes_value = false;
  OptionValues values;
};

// The options of a command, and of `paceline` itself where it is null.
[[nodiscard]] std::vector<DescribedOption> describe_options(
    std::function<int()> (*attach)(CommandOptions&));

}  // namespace paceline::cli
