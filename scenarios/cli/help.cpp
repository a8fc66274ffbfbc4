#include "scenarios/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/line_width.h"
#include "scenarios/loader/document/reader.h"

namespace paceline::cli {
namespace {

constexpr std::size_t description_column = 30;  // CLI11's default

struct Variable {
  std::string_view name, meaning;
};

constexpr Variable variables[] = {
    {"PACELINE_SIM_TIMEOUT", "seconds that the prediction of one point may take"},
    {"PACELINE_MEMORY", "the most that paceline may take, as 8GiB; else 7/8 of the machine"},
    {"PACELINE_INPUT_SECONDS", "how long a pipe that is read may send nothing; else 30"},
    {"COLUMNS", "how wide tables may be; else as wide as the terminal"},
    {"PACELINE_HOST_ADDRESS", "the address that ranks of this machine listen at"},
    {"PACELINE_CONNECT_TIMEOUT", "how long ranks have to find each other; else 8s"},
    {"PACELINE_MPIRUN", "the mpirun that local runs of backend mpi start"},
    {"PACELINE_SECRET_FILE", "the file of a secret that all ranks of a launcher share"},
    {"MASTER_ADDR, MASTER_PORT", "where ranks of a launcher meet: tcp://HOST:PORT"},
    {"RANK, WORLD_SIZE", "of a rank, from torchrun; of mpirun and srun their own"},
};

struct ExitCode {
  int code;
  std::string_view meaning;
};

constexpr ExitCode codes[] = {
    {0, "done"},
    {1, "a check failed"},
    {2, "a wrong option or bad input; nothing was lost"},
    {3, "the machine or the network failed: a rank, a full disk, no memory"},
    {4, "a fault of paceline itself"},
};

std::string hint_of(std::string_view word, std::span<const std::string> known) {
  const auto close = loader::nearest(word, known);
  return close ? fmt::format("did you mean {}? ", *close) : "";
}

// Of a line's first words the option or the command, behind which its description goes on.
std::size_t indent_of(std::string_view line) {
  return line.starts_with("  ") ? description_column : 0;
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

std::string help_of_all_commands() {
  std::string text = "Exit codes:\n";
  for (const auto& [code, meaning] : codes) {
    text += fmt::format("  {:<{}}{}\n", code, description_column - 2, meaning);
  }
  text += fmt::format("  {:<{}}{}\n", "128 + N", description_column - 2,
                      "ended by signal N; what was done by then is printed and written");
  text += "\nEnvironment variables:\n";
  for (const auto& [name, meaning] : variables) {
    text += fmt::format("  {:<{}}{}\n", name, description_column - 2, meaning);
  }
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
