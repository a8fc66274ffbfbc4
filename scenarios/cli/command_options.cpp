#include "scenarios/cli/command_options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <type_traits>

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
  return *this;
}

namespace {

// An option that is given says something.
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
  return Option(option);
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
  return Option(app_.add_flag(name, value, description));
}

Option CommandOptions::add_output(const std::string& name, files::OutputFile& file,
                                  const std::string& description) {
  outputs_.push_back({name, &file});
  return add_option(name, file.path, description);
}

}  // namespace paceline::cli
