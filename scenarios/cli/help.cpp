#include "scenarios/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/document/reader.h"
#include "scenarios/text_form.h"

namespace paceline::cli {
namespace {

constexpr std::size_t description_column = 30;  // CLI11's default

constexpr std::pair<std::string_view, std::string_view> variables[] = {
    {"PACELINE_SIM_TIMEOUT", "the seconds that the prediction of one point may take"},
    {"PACELINE_MEMORY",
     "the most memory that paceline may use, such as 8GiB (default: 7/8 of the machine)"},
    {"PACELINE_INPUT_SECONDS", "the seconds that an input pipe may be silent (default: 30)"},
    {"COLUMNS", "the width of tables in characters (default: that of the terminal)"},
    {"PACELINE_HOST_ADDRESS", "the address where ranks of this machine listen"},
    {"PACELINE_CONNECT_TIMEOUT", "how long ranks wait to find each other (default: 8s)"},
    {"PACELINE_MPIRUN", "the mpirun that starts local runs of the backend mpi"},
    {"PACELINE_SECRET_FILE", "the file of a secret that all ranks of a launcher share"},
    {"MASTER_ADDR, MASTER_PORT", "where the ranks of a launcher meet, tcp://HOST:PORT"},
    {"RANK, WORLD_SIZE",
     "the rank and the number of ranks, from torchrun; mpirun and srun have their own"},
};

constexpr std::pair<std::string_view, std::string_view> codes[] = {
    {"0", "the command is done"},
    {"1", "a check failed"},
    {"2", "an option or an input is wrong; nothing was lost"},
    {"3", "the machine or the network failed: a rank died, a disk is full, memory ran out"},
    {"4", "paceline itself has a fault"},
    {"128 + N",
     "signal N, or --time-limit (N is 14), ended it; what was done by then is printed and written"},
};

std::string hint_of(std::string_view word, std::span<const std::string> known) {
  const auto close = loader::nearest(word, known);
  return close ? fmt::format("did you mean {}? ", *close) : "";
}

// Of a line's first words the option or the command, behind which its description goes on.
std::size_t indent_of(std::string_view line) {
  return line.starts_with("  ") ? description_column : 0;
}

// A command that is too long for a line goes on behind a backslash, with its next option.
std::string in_lines(std::string command) {
  std::string text;
  while (command.size() > help_width) {
    const std::size_t option = command.rfind(" --", help_width - 2);
    if (option == std::string::npos || option < 8) break;
    text += command.substr(0, option) + " \\\n";
    command = "     " + command.substr(option);
  }
  return text + command + '\n';
}

}  // namespace

std::string wrapped(std::string_view help, std::size_t width) {
  std::string made;
  while (!help.empty()) {
    const std::string_view line = help.substr(0, help.find('\n'));
    help.remove_prefix(std::min(line.size() + 1, help.size()));
    made += wrapped_line(line, width, indent_of(line));
  }
  return made;
}

std::string examples_text(std::string_view examples) {
  std::string text = "Examples:\n";
  while (!examples.empty()) {
    const std::string_view line = examples.substr(0, examples.find('\n'));
    examples.remove_prefix(std::min(line.size() + 1, examples.size()));
    text += in_lines(fmt::format("  paceline {}", line));
  }
  return text;
}

std::string help_of_all_commands() {
  std::string text;
  const auto add = [&](const char* heading, const auto& rows) {
    text += heading;
    for (const auto& [name, meaning] : rows) {
      text += fmt::format("  {:<{}}{}\n", name, description_column - 2, meaning);
    }
  };
  add("Exit codes:\n", codes);
  add("\nEnvironment variables:\n", variables);
  return text;
}

std::string fault_of_command(std::span<const std::string> words,
                             std::span<const std::string> commands) {
  if (words.empty()) return "a command is missing; see paceline --help";
  const std::string& first = words.front();
  if (first.starts_with('-') || std::ranges::find(commands, first) != commands.end()) return "";
  return fmt::format("there is no command \"{:.40}\"; {}see paceline --help", first,
                     hint_of(first, commands));
}

std::string fault_of_options(const std::string& command, std::span<const std::string> unexpected,
                             std::span<const std::string> options) {
  if (unexpected.empty()) return "";
  const std::string help = command.empty() ? "paceline --help" : "paceline " + command + " --help";
  const auto option = std::ranges::find_if(
      unexpected, [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  if (option == unexpected.end()) {
    return fmt::format("\"{:.40}\" is one word too many; see {}", unexpected.front(), help);
  }
  const std::string name = option->substr(0, option->find('='));
  return fmt::format("there is no option {:.40}; {}see {}", name, hint_of(name, options), help);
}

}  // namespace paceline::cli
