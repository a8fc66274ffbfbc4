#include "scenarios/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/contract.h"

namespace paceline::cli {
namespace {

std::vector<std::string> words_of_values(const OptionValues& values) {
  return values.words != nullptr ? values.words() : values.fixed;
}

std::vector<DescribedOption> with_names(std::span<const DescribedOption> options, bool have_names) {
  std::vector<DescribedOption> chosen;
  for (const DescribedOption& option : options) {
    if (option.names.empty() != have_names) chosen.push_back(option);
  }
  return chosen;
}

std::string all_names(std::span<const DescribedOption> options) {
  std::string names;
  for (const DescribedOption& option : options) {
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

// The first sentence without its full stop, or what stands before a remark in it.
std::string in_short(const std::string& description) {
  const std::size_t stop =
      std::min({description.find(". "), description.find(" ("), description.find("; ")});
  std::string text = description.substr(0, stop);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// Inside single quotes of a shell, each of `special` behind a backslash.
std::string quoted(std::string_view text, std::string_view special) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
      continue;
    }
    if (special.find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

// ---- bash (Programmable Completion in its manual)

std::string bash_values(const OptionValues& values) {
  std::string actions;
  if (const auto words = words_of_values(values); !words.empty()) {
    actions += fmt::format(" _paceline_words '{}';", fmt::join(words, " "));
  }
  if (values.are_files) actions += " _paceline_files;";
  return actions;
}

constexpr std::string_view bash_head = R"(_paceline_words() {
  local IFS=$' \t\n'
  COMPREPLY+=($(compgen -W "$1" -- "$current"))
}

_paceline_files() {
  compopt -o filenames
  local file
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
}

_paceline() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= i
  # bash takes --json=FILE for three words.
  if [[ $current == '=' ]]; then current=; elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi
  done
  case $command in
)";

std::string bash_command(const DescribedCommand& command) {
  std::string text = fmt::format("    {})\n      case $previous in\n", command.name);
  const auto options = with_names(command.options, true);
  for (const DescribedOption& option : options) {
    if (!option.takes_value) continue;
    text += fmt::format("        {})", fmt::join(option.names, " | "));
    text += bash_values(option.values) + " return ;;\n";
  }
  text += fmt::format(
      "      esac\n      if [[ $current == -* ]]; then _paceline_words '{}'; return; fi\n",
      all_names(options));
  for (const DescribedOption& argument : with_names(command.options, false)) {
    const std::string values = bash_values(argument.values);
    if (!values.empty()) text += "     " + values.substr(0, values.size() - 1) + "\n";
    break;  // later ones are of the same kind
  }
  return text + "      ;;\n";
}

std::string bash_script(std::span<const DescribedCommand> commands,
                        std::span<const DescribedOption> own) {
  std::string names,
      text = "# Completion of paceline for bash, made by: paceline completion bash\n";
  text += bash_head;
  for (const DescribedCommand& command : commands) names += command.name + " ";
  text += fmt::format("    '') _paceline_words '{}{}' ;;\n", names, all_names(own));
  for (const DescribedCommand& command : commands) text += bash_command(command);
  return text + "  esac\n}\n\ncomplete -F _paceline paceline\n";
}

// ---- zsh (Completion System in its manual: _arguments and _describe)

std::string zsh_values(const OptionValues& values) {
  const auto words = words_of_values(values);
  std::string action;
  if (!words.empty()) action = fmt::format("({})", fmt::join(words, " "));
  if (values.are_files) {
    action = words.empty()
                 ? "_files"
                 : fmt::format("_alternative \"words:name:{}\" \"files:file:_files\"", action);
  }
  return action;
}

std::string zsh_option(const DescribedOption& option) {
  const std::string description = quoted(in_short(option.description), "[]\\");
  const std::string value =
      option.takes_value ? ":value:" + quoted(zsh_values(option.values), "") : "";
  std::string text;
  for (const std::string& name : option.names) {
    text += fmt::format(" \\\n        '*{}[{}]{}'", name, description, value);
  }
  return text;
}

std::string zsh_command(const DescribedCommand& command) {
  std::string text = fmt::format("        {})\n          _arguments -s", command.name);
  for (const DescribedOption& option : with_names(command.options, true))
    text += zsh_option(option);
  for (const DescribedOption& argument : with_names(command.options, false)) {
    text += fmt::format(" \\\n        '*:{}:{}'", quoted(in_short(argument.description), ":\\"),
                        quoted(zsh_values(argument.values), ""));
    break;
  }
  return text + "\n          ;;\n";
}

std::string zsh_script(std::span<const DescribedCommand> commands,
                       std::span<const DescribedOption> own) {
  std::string text = "#compdef paceline\n# Made by: paceline completion zsh\n\n_paceline() {\n";
  text += "  local curcontext=$curcontext state line\n  _arguments -C";
  for (const DescribedOption& option : own) text += zsh_option(option);
  text += " \\\n    '1:command:->command' '*::argument:->arguments'\n";
  text += "  case $state in\n    command)\n      local -a commands=(\n";
  for (const DescribedCommand& command : commands) {
    text += fmt::format("        '{}:{}'\n", command.name, quoted(command.summary, ":\\"));
  }
  text += "      )\n      _describe command commands\n      ;;\n    arguments)\n";
  text += "      case $line[1] in\n";
  for (const DescribedCommand& command : commands) text += zsh_command(command);
  text += "      esac\n      ;;\n  esac\n}\n\n";
  // As a file that zsh loads when it first completes, or sourced.
  return text +
         "if [[ $funcstack[1] == _paceline ]]; then _paceline \"$@\"; else compdef _paceline "
         "paceline; fi\n";
}

// ---- fish (complete(1))

std::string fish_option(const std::string& condition, const DescribedOption& option) {
  std::string text = fmt::format("complete -c paceline -n '{}'", condition);
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_value) {
    text += option.values.are_files ? " -r -F" : " -x";
    if (const auto words = words_of_values(option.values); !words.empty()) {
      text += fmt::format(" -a '{}'", fmt::join(words, " "));
    }
  }
  return text + fmt::format(" -d '{}'\n", quoted(in_short(option.description), "\\"));
}

std::string fish_command(const DescribedCommand& command) {
  const std::string condition = "__paceline_command " + command.name;
  std::string text;
  for (const DescribedOption& option : with_names(command.options, true)) {
    text += fish_option(condition, option);
  }
  for (const DescribedOption& argument : with_names(command.options, false)) {
    if (const auto words = words_of_values(argument.values); !words.empty()) {
      text +=
          fmt::format("complete -c paceline -n '{}' -a '{}'\n", condition, fmt::join(words, " "));
    }
    if (argument.values.are_files) {
      text += fmt::format("complete -c paceline -n '{}' -F\n", condition);
    }
    break;
  }
  return text;
}

std::string fish_script(std::span<const DescribedCommand> commands,
                        std::span<const DescribedOption> own) {
  std::string text = R"(# Completion of paceline for fish, made by: paceline completion fish

function __paceline_command
  set -l words (commandline -opc)
  if test (count $argv) -eq 0
    test (count $words) -eq 1
  else
    test (count $words) -gt 1; and test $words[2] = $argv[1]
  end
end

complete -c paceline -f
)";
  for (const DescribedOption& option : own) text += fish_option("__paceline_command", option);
  for (const DescribedCommand& command : commands) {
    text += fmt::format("complete -c paceline -n __paceline_command -a {} -d '{}'\n", command.name,
                        quoted(command.summary, "\\"));
  }
  for (const DescribedCommand& command : commands) text += fish_command(command);
  return text;
}

}  // namespace

std::vector<DescribedCommand> describe_commands() {
  std::vector<DescribedCommand> described;
  for (const Command& row : commands()) {
    described.push_back(
        {std::string(row.name), std::string(row.summary), describe_options(row.attach)});
  }
  std::ranges::sort(described, {}, &DescribedCommand::name);
  return described;
}

std::string completion_script(std::string_view shell, std::span<const DescribedCommand> commands,
                              std::span<const DescribedOption> own) {
  if (shell == "bash") return bash_script(commands, own);
  if (shell == "zsh") return zsh_script(commands, own);
  if (shell == "fish") return fish_script(commands, own);
  PACELINE_UNREACHABLE("a shell without a script");
}

}  // namespace paceline::cli
