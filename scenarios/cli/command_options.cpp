#include "scenarios/cli/command_options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "scenarios/files/shipped_input.h"

namespace paceline::cli {

const Option& Option::required() const {
  option_->required();
  return *this;
}

const Option& Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

const Option& Option::excludes(const Option& other) const {
  option_->excludes(other.option_);
  return *this;
}

const Option& Option::repeatable() const {
  option_->take_all()->allow_extra_args(false);
  return *this;
}

const Option& Option::separated_by(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

const Option& Option::in_range(int least, int most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

const Option& Option::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return suggests(values);
}

const Option& Option::reads_files(std::string_view shipped_folder) const {
  option_->type_name("FILE");
  option_->transform(CLI::Validator(
      [folder = std::string(shipped_folder)](std::string& path) {
        path = files::with_shipped(path, folder);
        return std::string();
      },
      "", ""));
  (*values_)[option_].are_files = true;
  return *this;
}

const Option& Option::suggests(std::vector<std::string> (*words)()) const {
  (*values_)[option_].words = words;
  return *this;
}

const Option& Option::suggests(const std::vector<std::string>& words) const {
  (*values_)[option_].fixed = words;
  return *this;
}

namespace {

std::string fault_of(const std::string& text) { return text.empty() ? "is empty" : ""; }

// CLI11 takes -2 for 2^64 - 2.
std::string fault_of_count(const std::string& text) {
  return text.starts_with('-') ? "\"" + text + "\" is below 0" : fault_of(text);
}

template <class Value>
constexpr bool is_count =
    std::is_same_v<Value, std::uint32_t> || std::is_same_v<Value, std::uint64_t> ||
    std::is_same_v<Value, std::vector<std::uint32_t>>;

}  // namespace

template <class Value>
Option CommandOptions::add_option(const std::string& name, Value& value,
                                  const std::string& description) {
  CLI::Option* const option = app_.add_option(name, value, description);
  option->check(CLI::Validator(is_count<Value> ? fault_of_count : fault_of, "", ""));
  return added(option);
}

template Option CommandOptions::add_option(const std::string&, std::string&, const std::string&);
template Option CommandOptions::add_option(const std::string&, std::vector<std::string>&,
                                           const std::string&);
template Option CommandOptions::add_option(const std::string&, int&, const std::string&);
template Option CommandOptions::add_option(const std::string&, std::uint32_t&, const std::string&);
template Option CommandOptions::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option CommandOptions::add_option(const std::string&, std::vector<std::uint32_t>&,
                                           const std::string&);
template Option CommandOptions::add_option(const std::string&, std::optional<double>&,
                                           const std::string&);

Option CommandOptions::add_flag(const std::string& name, bool& value,
                                const std::string& description) {
  return added(app_.add_flag(name, value, description));
}

Option CommandOptions::add_output(const std::string& name, files::OutputFile& file,
                                  const std::string& description) {
  outputs_.push_back({name, &file});
  const Option option = add_option(name, file.path, description);
  CLI::Option* const added_option = app_.get_options().back();
  added_option->type_name("FILE");
  values_[added_option].are_files = true;
  return option;
}

CommandOptions CommandOptions::in_group(std::string_view heading) const {
  CommandOptions same = *this;
  same.group_ = heading;
  return same;
}

Option CommandOptions::added(CLI::Option* option) {
  if (!group_.empty()) option->group(group_);
  return Option(option, values_);
}

std::vector<DescribedOption> describe_options(std::function<int()> (*attach)(CommandOptions&)) {
  CLI::App app;
  app.set_help_flag("-h,--help", "Print this help.");
  std::vector<CommandOptions::Output> outputs;
  ValuesOfOptions values;
  std::function<int()> action;  // holds what the options write to
  if (attach != nullptr) {
    CommandOptions options(app, outputs, values);
    action = attach(options);
  } else {
    app.set_version_flag("--version", "", "Print the version.");
  }
  std::vector<DescribedOption> described;
  for (const CLI::Option* option : std::as_const(app).get_options()) {
    DescribedOption one{{}, option->get_description(), option->get_items_expected_max() > 0, {}};
    for (const auto& name : option->get_snames()) one.names.push_back("-" + name);
    for (const auto& name : option->get_lnames()) one.names.push_back("--" + name);
    if (const auto found = values.find(option); found != values.end()) one.values = found->second;
    described.push_back(std::move(one));
  }
  return described;
}

}  // namespace paceline::cli
